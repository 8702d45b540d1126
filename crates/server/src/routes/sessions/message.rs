//! Messages with their parts: pages, and one.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfMessage, OfSession};
use crate::reply::{self, POSITION};
use crate::wire::message::joined;
use crate::wire::page;
use crate::wire::query::Query;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use std::future::ready;
use sturdy_engine::reads::{MessageQuery, ReadError};
use sturdy_session::id::{MessageId, SessionId};

/// How many are sent when nobody says how many; older ones are on the next page.
const LIMIT_DEFAULT: u32 = 2000;

/// A page of this size is read at one moment, and says at which. A longer one is read as it is sent.
const AT_ONCE_MAX: u32 = 100;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list)).routes(routes!(get))
}

/// Messages, oldest first; with `limit` the newest of them.
#[utoipa::path(get, path = "/session/{sessionID}/message", operation_id = "session.messages", params(
    ("sessionID" = String, Path),
    ("limit" = Option<u32>, Query, description = "0 or absent: 2000"),
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
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(LIMIT_DEFAULT);
    let wanted = MessageQuery { limit: Some(limit), before };
    let store = app.engine().reads();
    let (mut response, found) = if limit <= AT_ONCE_MAX {
        let found = store.messages(&id, wanted).await?;
        let mut response = reply::text(reply::array(found.items.iter().map(joined)));
        response.headers_mut().insert(POSITION, app.position(found.position));
        (response, found)
    } else {
        let found = store.message_heads(&id, wanted).await?;
        let ids = found.items.iter().map(|message| message.id.clone()).collect();
        (reply::chunks(one_by_one(&app, id, ids).await?), found)
    };
    if let (true, Some(oldest)) = (found.more, found.items.first()) {
        let (parts, _) = request.into_parts();
        response.headers_mut().extend(page::headers(&parts, &query, limit, &page::cursor_of(oldest)));
    }
    Ok(response)
}

/// The list, read from the store as it is sent: a client that reads slowly, or a conversation with many
/// files in it, costs one message at a time.
async fn one_by_one(
    app: &App,
    session: SessionId,
    ids: Vec<MessageId>,
) -> Result<impl Stream<Item = Result<Bytes, ReadError>> + use<>, ApiError> {
    let store = app.engine().reads().clone();
    let mut ids = ids.into_iter();
    // A store that cannot be read says so before the answer begins.
    let first = match ids.next() {
        Some(id) => store.message(&session, &id).await?,
        None => None,
    };
    let first = first.as_ref().map(joined);
    let is_first = first.is_none();
    let begin = Bytes::from(format!("[{}", first.unwrap_or_default()));
    let rest = stream::try_unfold(
        (store, session, ids, is_first),
        |(store, session, mut ids, is_first)| async move {
            let Some(id) = ids.next() else { return Ok(None) };
            // One that was removed meanwhile is left out.
            let message = store.message(&session, &id).await?.as_ref().map(joined);
            let chunk = match &message {
                Some(message) if is_first => message.clone(),
                Some(message) => format!(",{message}"),
                None => String::new(),
            };
            Ok(Some((Bytes::from(chunk), (store, session, ids, is_first && message.is_none()))))
        },
    );
    let end = stream::once(ready(Ok(Bytes::from_static(b"]"))));
    Ok(stream::once(ready(Ok(begin))).chain(rest).chain(end))
}

/// One message with its parts.
#[utoipa::path(get, path = "/session/{sessionID}/message/{messageID}", operation_id = "session.message",
    params(("sessionID" = String, Path), ("messageID" = String, Path)),
    responses((status = 200, description = "Message with parts", body = Object),
        (status = 404, description = "No such session or message")))]
async fn get(State(app): State<App>, OfMessage(session, id): OfMessage) -> Result<Response, ApiError> {
    app.engine().session_record(&session).await?;
    let found = app.engine().reads().message(&session, &id).await?;
    let message = found.ok_or(ApiError::NoMessage(id))?;
    Ok(reply::text(joined(&message)))
}
