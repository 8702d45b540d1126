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
use sturdy_engine::reads::{Before, MessageQuery, PageWithin, ReadError};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::types::message::MessageWithParts;

/// How many are sent when nobody says how many; older ones are on the next page.
const LIMIT_DEFAULT: u32 = 2000;

/// A page of this size is read at one moment, and says at which. A longer one is read as it is sent.
const AT_ONCE_MAX: u32 = 100;

/// Of such a page so much is held. What goes beyond is read as it is sent: a hundred prompts can hold gigabytes.
const AT_ONCE_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list)).routes(routes!(get))
}

/// Messages, oldest first; with `limit` the newest of them.
#[utoipa::path(get, path = "/session/{sessionID}/message", operation_id = "session.messages", params(
    ("sessionID" = String, Path),
    ("limit" = Option<u32>, Query, description = "0 or absent: 2000"),
    ("before" = Option<String>, Query, description = "A cursor of the page before, with `limit`"),
    ("around" = Option<String>, Query, description = "A message that is in the middle of the page, with `limit`"),
    ("after" = Option<String>, Query, description = "A message that is before the page, with `limit`"),
), responses((status = 200, description = "Messages with parts", body = [MessageWithParts]), (status = 400, description = "Bad query"),
    (status = 404, description = "No such session or message")))]
async fn list(
    State(app): State<App>,
    OfSession(id): OfSession,
    query: Query,
    request: Request,
) -> Result<Response, ApiError> {
    let limit = query.limit()?;
    let place = PagePlace::of(&query, limit)?;
    app.engine().session_record(&id).await?;
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(LIMIT_DEFAULT);
    let wanted = place.page(&app, &id, limit).await?;
    // Nothing is behind the message: not the same as no limit.
    if wanted.limit == Some(0) {
        return Ok(reply::text(reply::array(std::iter::empty::<String>())));
    }
    let store = app.engine().reads();
    let (mut response, found) = if limit <= AT_ONCE_MAX {
        let PageWithin { page, unread } = store.messages_within(&id, wanted, AT_ONCE_BYTES_MAX).await?;
        let read = page.items.iter().map(joined);
        let response = if unread.is_empty() {
            let mut response = reply::text(reply::array(read));
            response.headers_mut().insert(POSITION, app.position(page.position));
            response
        } else {
            let begun = read.collect::<Vec<_>>().join(",");
            reply::chunks(one_by_one(&app, id, begun, unread))
        };
        (response, page)
    } else {
        let found = store.message_heads(&id, wanted).await?;
        let mut ids = found.items.iter().map(|message| message.id.clone());
        // A store that cannot be read says so before the answer begins.
        let first = match ids.next() {
            Some(first) => store.message(&id, &first).await?,
            None => None,
        };
        let begun = first.as_ref().map(joined).unwrap_or_default();
        (reply::chunks(one_by_one(&app, id, begun, ids.collect())), found)
    };
    if let (true, Some(oldest)) = (found.more, found.items.first()) {
        let (parts, _) = request.into_parts();
        response.headers_mut().extend(page::headers(&parts, &query, limit, &page::cursor_of(oldest)));
    }
    Ok(response)
}

/// Where a page stands.
enum PagePlace {
    Newest,
    Before(Before),
    Around(MessageId),
    After(MessageId),
}

impl PagePlace {
    /// A place without a limit is a client that lost half of its link; two places are none.
    fn of(query: &Query, limit: Option<u32>) -> Result<Self, ApiError> {
        let message = |text: &str| MessageId::parse(text).map_err(|_| ApiError::Handler);
        let place = match (query.get("before"), query.get("around"), query.get("after")) {
            (None, None, None) => return Ok(Self::Newest),
            (Some(text), None, None) => Self::Before(page::read_cursor(text).ok_or(ApiError::Handler)?),
            (None, Some(text), None) => Self::Around(message(text)?),
            (None, None, Some(text)) => Self::After(message(text)?),
            _ => return Err(ApiError::Handler),
        };
        if limit.is_none_or(|limit| limit == 0) { Err(ApiError::Handler) } else { Ok(place) }
    }

    /// The same page as what is before some message, or before the end.
    async fn page(self, app: &App, session: &SessionId, limit: u32) -> Result<MessageQuery, ApiError> {
        let (id, newer) = match self {
            Self::Newest => return Ok(MessageQuery { limit: Some(limit), before: None }),
            Self::Before(before) => return Ok(MessageQuery { limit: Some(limit), before: Some(before) }),
            Self::Around(id) => (id, limit / 2),
            Self::After(id) => {
                let found = ids_after(app, session, &id, limit).await?;
                let before = found.get(limit as usize).map(before_message);
                // At most `limit`, which is a u32.
                let count = u32::try_from(found.len()).unwrap_or(limit).min(limit);
                return Ok(MessageQuery { limit: Some(count), before });
            }
        };
        let found = ids_after(app, session, &id, newer).await?;
        Ok(MessageQuery { limit: Some(limit), before: found.get(newer as usize).map(before_message) })
    }
}

/// So many behind a message, and one more if there is one.
async fn ids_after(
    app: &App,
    session: &SessionId,
    id: &MessageId,
    count: u32,
) -> Result<Vec<MessageId>, ApiError> {
    let limit = (count as usize).saturating_add(1);
    let found = app.engine().reads().message_ids_after(session, id, limit).await?;
    found.ok_or_else(|| ApiError::NoMessage(id.clone()))
}

fn before_message(id: &MessageId) -> Before {
    // Removed between two reads: then it is the newest page, which the reader can tell by its ids.
    Before { id: id.clone(), time: u64::MAX }
}

/// The list, read from the store as it is sent: a client that reads slowly, or a conversation with many
/// files in it, costs one message at a time. `begun` is what was read of it before.
fn one_by_one(
    app: &App,
    session: SessionId,
    begun: String,
    ids: Vec<MessageId>,
) -> impl Stream<Item = Result<Bytes, ReadError>> + use<> {
    let store = app.engine().reads().clone();
    let ids = ids.into_iter();
    let is_first = begun.is_empty();
    let begin = Bytes::from(format!("[{begun}"));
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
    stream::once(ready(Ok(begin))).chain(rest).chain(end)
}

/// One message with its parts.
#[utoipa::path(get, path = "/session/{sessionID}/message/{messageID}", operation_id = "session.message",
    params(("sessionID" = String, Path), ("messageID" = String, Path)),
    responses((status = 200, description = "Message with parts", body = MessageWithParts),
        (status = 404, description = "No such session or message")))]
async fn get(State(app): State<App>, OfMessage(session, id): OfMessage) -> Result<Response, ApiError> {
    app.engine().session_record(&session).await?;
    let found = app.engine().reads().message(&session, &id).await?;
    let message = found.ok_or(ApiError::NoMessage(id))?;
    Ok(reply::text(joined(&message)))
}
