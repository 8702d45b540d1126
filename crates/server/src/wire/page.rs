//! Cursors of pages of messages.

use crate::wire::query::Query;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use serde::{Deserialize, Serialize};
use sturdy_engine::reads::{Before, RawMessage};
use sturdy_session::id::MessageId;
use sturdy_session::json::Num;

pub(crate) const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");
const EXPOSED: HeaderValue = HeaderValue::from_static("Link, X-Next-Cursor");

/// What is inside the opaque text.
#[derive(Serialize, Deserialize)]
struct Cursor {
    id: MessageId,
    time: Num,
}

pub(crate) fn cursor_of(oldest: &RawMessage) -> String {
    cursor_at(&Before { id: oldest.id.clone(), time: oldest.created })
}

/// The same of a message that was not read.
pub(crate) fn cursor_at(oldest: &Before) -> String {
    let cursor = Cursor { id: oldest.id.clone(), time: oldest.time.into() };
    let json = serde_json::to_vec(&cursor).expect("BUG: a cursor is always JSON");
    BASE64_URL_SAFE_NO_PAD.encode(json)
}

/// `None` if this server did not make the cursor.
pub(crate) fn read_cursor(text: &str) -> Option<Before> {
    let json = BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    let cursor: Cursor = serde_json::from_slice(&json).ok()?;
    (cursor.time.0.is_finite() && cursor.time.0 >= 0.0)
        .then(|| Before { id: cursor.id, time: cursor.time.count() })
}

/// The headers of a page that is not the last one.
pub(crate) fn headers(request: &Parts, query: &Query, limit: u32, cursor: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    // A host that cannot stand in a header cannot have come in one; then the cursor alone must do.
    if let Ok(link) = HeaderValue::from_str(&link(request, query, limit, cursor)) {
        headers.insert(header::LINK, link);
    }
    if let Ok(cursor) = HeaderValue::from_str(cursor) {
        headers.insert(NEXT_CURSOR, cursor);
    }
    headers
}

/// The request's own address with `limit` and `before` set.
fn link(request: &Parts, query: &Query, limit: u32, cursor: &str) -> String {
    let said = |name: &str| request.headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = said("x-forwarded-proto").filter(|scheme| *scheme == "https").unwrap_or("http");
    let host = said("x-forwarded-host").or_else(|| said("host")).unwrap_or("localhost");
    let limit = limit.to_string();
    let mut pairs = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in query.pairs() {
        // Each where it stood, so that the links of all pages look alike.
        match name {
            "limit" => pairs.append_pair(name, &limit),
            "before" => pairs.append_pair(name, cursor),
            // The page before begins where this one does, wherever that was.
            "around" | "after" => &mut pairs,
            // Links are written down: in logs, in histories. Whoever follows one knows the password.
            "auth_token" => &mut pairs,
            _ => pairs.append_pair(name, value),
        };
    }
    if query.get("before").is_none() {
        pairs.append_pair("before", cursor);
    }
    format!("<{scheme}://{host}{}?{}>; rel=\"next\"", request.uri.path(), pairs.finish())
}
