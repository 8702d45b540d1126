//! Large values: what `?large=link` put a link in the place of.
//!
//! A value is asked for by its hash and by where it stands, because nothing is kept by hash: the part that has it is
//! looked into again. So a value is given to whoever may read the session it is asked of, and to nobody else, however
//! well they know its hash.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::Params;
use crate::wire::query::Query;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde::Deserialize;
use std::convert::Infallible;
use sturdy_engine::records;
use sturdy_engine::records::large::{LargeValue, value_in};
use sturdy_session::id::{PartId, SessionId};
use tokio::sync::OwnedSemaphorePermit;

const HASH_CHARS: usize = 64;
const NAME_CHARS_MAX: usize = 120;
/// What is handed to the socket at once.
const CHUNK_BYTES: usize = 64 * 1024;

const FOR_EVER: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");
/// A browser that is led here saves what it gets and runs nothing of it.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(blob))
}

/// A large value that was sent as a link.
#[utoipa::path(get, path = "/sturdy/blob/{hash}", operation_id = "sturdy.blob", params(
    ("hash" = String, Path, description = "`$blob` of the link"),
    ("session" = String, Query, description = "The session it was read of"),
    ("part" = String, Query, description = "The part that has it"),
), responses((status = 200, description = "The text itself, or the JSON of a list or an object", content_type = "text/plain", body = String),
    (status = 304, description = "As the client has it"),
    (status = 400, description = "No hash, no session or no part"), (status = 404, description = "No such session, part or value"),
    (status = 503, description = "Too many are being sent")))]
async fn blob(
    State(app): State<App>,
    params: Params,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let wanted = WantedValue::of(params.get("hash"), &query)?;
    let tag = format!("\"{}\"", wanted.hash);
    let sent = wanted.find(&app).await?.send();
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        sent
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, FOR_EVER);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}

/// A value by its hash and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WantedValue {
    session: SessionId,
    part: PartId,
    hash: String,
}

impl WantedValue {
    fn of(hash: &str, query: &Query) -> Result<Self, ApiError> {
        if !is_hash(hash) {
            return Err(ApiError::schema(Kind::Params, "Expected 64 hexadecimal digits\n  at [\"hash\"]"));
        }
        let session = query.id("session", SessionId::parse)?;
        let part = query.id("part", PartId::parse)?;
        Ok(Self { session, part, hash: hash.to_owned() })
    }

    async fn find(self, app: &App) -> Result<FoundValue, ApiError> {
        let Some(room) = app.large_value() else {
            let why = "Too many large values are being sent. Try again in a moment.";
            return Err(ApiError::Overloaded(why.to_owned()));
        };
        app.engine().session_record(&self.session).await?;
        let part = app.engine().reads().part(&self.session, &self.part).await?.ok_or(ApiError::NoValue)?;
        // It may be tens of megabytes: not on a thread that serves others.
        let look = move |_: &App| {
            let value = value_in(&part, &self.hash)?;
            Some((value, FileName::of(&part)))
        };
        let (value, name) = app.on_a_thread(look).await?.ok_or(ApiError::NoValue)?;
        Ok(FoundValue { value, name, room })
    }
}

pub(super) fn is_hash(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == HASH_CHARS && text.bytes().all(is_digit)
}

/// A value as a file: what a `data:` URL holds, or the text.
pub(super) async fn saved(
    app: &App,
    session: SessionId,
    part: PartId,
    hash: String,
) -> Result<Response, ApiError> {
    let found = WantedValue { session, part, hash }.find(app).await?;
    let FoundValue { value, name, room } = found;
    let (bytes, name, kind) = match value {
        LargeValue::Text(text) => match bytes_of_url(&text) {
            Some(bytes) => (bytes, name.of_file(), "application/octet-stream"),
            None => (Bytes::from(text), name.with("txt"), "text/plain; charset=utf-8"),
        },
        LargeValue::Json(text) => (Bytes::from(text), name.with("json"), "application/json"),
    };
    let mut response = sent(bytes, room, HeaderValue::from_static(kind));
    let disposition =
        format!("attachment; filename*=UTF-8''{}", percent_encode(name.as_bytes(), NON_ALPHANUMERIC));
    let disposition = HeaderValue::from_str(&disposition).expect("BUG: what is encoded is plain text");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    Ok(response)
}

/// The bytes of a `data:` URL in base64.
fn bytes_of_url(text: &str) -> Option<Bytes> {
    let (head, body) = text.strip_prefix("data:")?.split_once(',')?;
    let body = head.ends_with(";base64").then_some(body)?;
    BASE64_STANDARD.decode(body).ok().map(Bytes::from)
}

/// What a value is called when it is saved: a file by its own name, what a call holds by its tool.
struct FileName(String);

#[derive(Deserialize)]
struct Named {
    filename: Option<String>,
    tool: Option<String>,
}

impl FileName {
    fn of(part: &str) -> Self {
        let named: Option<Named> = records::fields("a part", part).ok();
        let name = named.and_then(|named| named.filename.or(named.tool)).unwrap_or_default();
        // A name of another machine may be a path of its own kind.
        let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let plain: String = last.chars().filter(|letter| !letter.is_control()).take(NAME_CHARS_MAX).collect();
        Self(if plain.trim_matches('.').is_empty() { "value".to_owned() } else { plain })
    }

    fn of_file(self) -> String {
        self.0
    }

    fn with(self, end: &str) -> String {
        format!("{}.{end}", self.0)
    }
}

struct FoundValue {
    value: LargeValue,
    name: FileName,
    room: OwnedSemaphorePermit,
}

impl FoundValue {
    fn send(self) -> Response {
        let kind = match &self.value {
            LargeValue::Text(_) => "text/plain; charset=utf-8",
            LargeValue::Json(_) => "application/json",
        };
        let bytes = Bytes::from(self.value.into_text());
        sent(bytes, self.room, HeaderValue::from_static(kind))
    }
}

fn sent(bytes: Bytes, room: OwnedSemaphorePermit, kind: HeaderValue) -> Response {
    let length = bytes.len();
    let chunks = stream::unfold((bytes, Some(room)), |(mut rest, room)| async move {
        let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
        // The room is given back with the last of it: whoever has read it all finds room for the next.
        let room = room.filter(|_| !rest.is_empty());
        (!chunk.is_empty()).then_some((Ok::<_, Infallible>(chunk), (rest, room)))
    });
    // Whatever packs it asks once more at the end.
    let mut response = Response::new(Body::from_stream(chunks.fuse()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    response
}
