//! Messages with their parts: pages, and one.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfMessage, OfSession, Query};
use crate::reply::{self, POSITION};
use crate::wire::page;
use axum::extract::{Request, State};
use axum::response::Response;
use sturdy_store::{MessageQuery, RawMessage};

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list)).routes(routes!(get))
}

/// Messages, oldest first; with `limit` the newest of them.
#[utoipa::path(get, path = "/session/{sessionID}/message", operation_id = "session.messages", params(
    ("sessionID" = String, Path),
    ("limit" = Option<u32>, Query, description = "0 or absent: all"),
    ("before" = Option<String>, Query, description = "A cursor of the page before, with `limit`"),
), responses((status = 200, description = "Messages with parts", body = [Object]), (status = 400, description = "Bad query"),
    (status = 404, description = "No such session")))]
async fn list(
    State(app): State<App>,
    OfSession(id): OfSession,
    query: Query,
    request: Request,
) -> Result<Response, ApiError> {
    let limit = query.limit()?;
    let before = match (query.get("before"), limit) {
        (None, _) => None,
        // A cursor without a limit is a client that lost half of its link.
        (Some(_), None | Some(0)) => return Err(ApiError::Handler),
        (Some(text), Some(_)) => Some(page::read_cursor(text).ok_or(ApiError::Handler)?),
    };
    app.engine().session_record(&id).await?;
    let found = app.engine().store().messages(&id, MessageQuery { limit, before }).await?;
    let mut response = reply::text(reply::array(found.items.iter().map(joined)));
    response.headers_mut().insert(POSITION, app.position(found.position));
    if let (true, Some(oldest), Some(limit)) = (found.more, found.items.first(), limit) {
        let (parts, _) = request.into_parts();
        response.headers_mut().extend(page::headers(&parts, &query, limit, &page::cursor_of(oldest)));
    }
    Ok(response)
}

/// One message with its parts.
#[utoipa::path(get, path = "/session/{sessionID}/message/{messageID}", operation_id = "session.message",
    params(("sessionID" = String, Path), ("messageID" = String, Path)),
    responses((status = 200, description = "Message with parts", body = Object),
        (status = 404, description = "No such session or message")))]
async fn get(State(app): State<App>, OfMessage(session, id): OfMessage) -> Result<Response, ApiError> {
    app.engine().session_record(&session).await?;
    let found = app.engine().store().message(&session, &id).await?;
    let message = found.ok_or(ApiError::NoMessage(id))?;
    Ok(reply::text(joined(&message)))
}

/// `{"info":…,"parts":[…]}` from texts that are JSON already.
pub(crate) fn joined(message: &RawMessage) -> String {
    let parts: usize = message.parts.iter().map(|part| part.len() + 1).sum();
    let mut out = String::with_capacity(message.info.len() + parts + 24);
    out.push_str("{\"info\":");
    out.push_str(&message.info);
    out.push_str(",\"parts\":[");
    for (index, part) in message.parts.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(part);
    }
    out.push_str("]}");
    out
}
