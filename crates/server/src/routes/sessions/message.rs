//! Messages with their parts: pages, and one.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfMessage, OfSession};
use crate::reply::{self, POSITION};
use crate::wire::message::{join_behind, joined, list_of};
use crate::wire::page;
use crate::wire::query::Query;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use std::collections::VecDeque;
use std::future::ready;
use std::panic::resume_unwind;
use sturdy_engine::reads::{Before, MessagePlace, MessageQuery, PagePlaces, PageWithin, ReadError, Slice};
use sturdy_engine::records::large::LargeValues;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::types::message::MessageWithParts;
use tokio::task::JoinHandle;

/// A page of this size is read at one moment, and says at which. A longer one is read as it is sent.
const AT_ONCE_MAX: u32 = 100;

/// Of such a page so much is held. What goes beyond is read as it is sent: a hundred prompts can hold gigabytes.
const AT_ONCE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A longer page is read in slices of at most so many messages, until they hold so much.
const SLICE_MAX: usize = 100;
const SLICE_BYTES_MAX: usize = 256 * 1024;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list)).routes(routes!(get))
}

/// Messages, oldest first; with `limit` the newest of them.
#[utoipa::path(get, path = "/session/{sessionID}/message", operation_id = "session.messages", params(
    ("sessionID" = String, Path),
    ("limit" = Option<u32>, Query, description = "0 or absent: all"),
    ("before" = Option<String>, Query, description = "A cursor of the page before, with `limit`"),
    ("around" = Option<String>, Query, description = "A message that is in the middle of the page, with `limit`"),
    ("after" = Option<String>, Query, description = "A message that is before the page, with `limit`"),
    ("large" = Option<String>, Query, description = "`link`: large values as `{$blob, bytes}`, see `/sturdy/blob/{hash}`"),
), responses((status = 200, description = "Messages with parts", body = [MessageWithParts]), (status = 400, description = "Bad query"),
    (status = 404, description = "No such session or message")))]
async fn list(
    State(app): State<App>,
    OfSession(id): OfSession,
    query: Query,
    request: Request,
) -> Result<Response, ApiError> {
    let limit = query.limit()?.filter(|limit| *limit > 0);
    let large = query.large()?;
    let place = PagePlace::of(&query, limit)?;
    let page = match limit {
        Some(limit) => page(&app, &id, place, limit, large).await,
        None => all(&app, &id, large).await,
    };
    // Asked only now, because a session of which something is found is there.
    if page.as_ref().map_or(true, |page| page.is_empty) {
        app.engine().session_record(&id).await?;
    }
    let Page { mut response, next, .. } = page?;
    if let (Some(cursor), Some(limit)) = (next, limit) {
        let (parts, _) = request.into_parts();
        response.headers_mut().extend(page::headers(&parts, &query, limit, &cursor));
    }
    Ok(response)
}

/// The answer to whoever asks for a page.
struct Page {
    response: Response,
    is_empty: bool,
    /// Where the older ones begin, if there are any.
    next: Option<String>,
}

async fn page(
    app: &App,
    id: &SessionId,
    place: PagePlace,
    limit: u32,
    large: LargeValues,
) -> Result<Page, ApiError> {
    let wanted = place.page(app, id, limit).await?;
    // Nothing is behind the message: not the same as no limit.
    if wanted.limit == Some(0) {
        let response = reply::text(reply::array(std::iter::empty::<String>()));
        return Ok(Page { response, is_empty: true, next: None });
    }
    let store = app.engine().reads();
    if limit > AT_ONCE_MAX {
        return in_slices(app, id, wanted, large).await;
    }
    let PageWithin { page, unread } = store.messages_within(id, wanted, large, AT_ONCE_BYTES_MAX).await?;
    let oldest = page.items.first();
    let is_empty = oldest.is_none();
    let next = oldest.filter(|_| page.more).map(page::cursor_of);
    let response = if unread.is_empty() {
        let mut response = reply::text(list_of(&page.items));
        response.headers_mut().insert(POSITION, app.position(page.position));
        response
    } else {
        let mut begun = String::new();
        join_behind(&mut begun, &page.items);
        reply::chunks(Slices::new(app.clone(), id.clone(), unread, large).behind(begun))
    };
    Ok(Page { response, is_empty, next })
}

/// The whole conversation, however long it is.
async fn all(app: &App, id: &SessionId, large: LargeValues) -> Result<Page, ApiError> {
    in_slices(app, id, MessageQuery { limit: None, before: None }, large).await
}

/// A page that is read as it is sent.
async fn in_slices(
    app: &App,
    id: &SessionId,
    wanted: MessageQuery,
    large: LargeValues,
) -> Result<Page, ApiError> {
    let PagePlaces { places, next } = app.engine().reads().message_places(id, wanted).await?;
    let is_empty = places.is_empty();
    let mut slices = Slices::new(app.clone(), id.clone(), places, large);
    // A store that cannot be read says so before the answer begins.
    let first = slices.next().await?.unwrap_or_default();
    let response = reply::chunks(slices.behind(first));
    Ok(Page { response, is_empty, next: next.as_ref().map(page::cursor_at) })
}

/// Where a page stands.
enum PagePlace {
    Newest,
    Before(Before),
    Around(MessageId),
    After(MessageId),
}

impl PagePlace {
    /// A position without a limit comes from a client that lost half of its link; two positions contradict each other.
    fn of(query: &Query, limit: Option<u32>) -> Result<Self, ApiError> {
        let message = |text: &str| MessageId::parse(text).map_err(|_| ApiError::Handler);
        let place = match (query.get("before"), query.get("around"), query.get("after")) {
            (None, None, None) => return Ok(Self::Newest),
            (Some(text), None, None) => Self::Before(page::read_cursor(text).ok_or(ApiError::Handler)?),
            (None, Some(text), None) => Self::Around(message(text)?),
            (None, None, Some(text)) => Self::After(message(text)?),
            _ => return Err(ApiError::Handler),
        };
        if limit.is_none() { Err(ApiError::Handler) } else { Ok(place) }
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

/// Messages that are read from the store as they are sent: a client that reads slowly, or a conversation with many
/// files in it, costs the slice that is sent and the one behind it.
struct Slices {
    app: App,
    session: SessionId,
    /// Where they stand, oldest first.
    unread: VecDeque<MessagePlace>,
    large: LargeValues,
    /// Something was sent before: what comes next stands behind a comma.
    is_begun: bool,
    /// The next slice, which is read while the one before is sent.
    ahead: Option<JoinHandle<Result<Slice, ReadError>>>,
}

impl Slices {
    fn new(app: App, session: SessionId, unread: Vec<MessagePlace>, large: LargeValues) -> Self {
        Self { app, session, unread: unread.into(), large, is_begun: false, ahead: None }
    }

    /// The next messages as they are sent; those that were removed meanwhile are left out.
    async fn next(&mut self) -> Result<Option<String>, ReadError> {
        let read = match self.ahead.take() {
            Some(ahead) => ahead.await.unwrap_or_else(|cause| resume_unwind(cause.into_panic()))?,
            None => match self.read() {
                Some(read) => read.await?,
                None => return Ok(None),
            },
        };
        let unread = self.unread.partition_point(|place| *place <= read.reached);
        self.unread.drain(..unread);
        self.ahead = self.read().map(|ahead| self.app.engine().tasks().spawn("slice of messages", ahead));
        let mut slice = String::new();
        if self.is_begun && !read.messages.is_empty() {
            slice.push(',');
        }
        join_behind(&mut slice, &read.messages);
        self.is_begun |= !read.messages.is_empty();
        Ok(Some(slice))
    }

    /// Reads the next slice; none when everything was read.
    fn read(&self) -> Option<impl Future<Output = Result<Slice, ReadError>> + use<>> {
        let first = self.unread.front()?.clone();
        let last = self.unread.iter().take(SLICE_MAX).next_back()?.clone();
        let store = self.app.engine().reads().clone();
        let session = self.session.clone();
        let large = self.large;
        Some(async move { store.slice_of_messages(&session, &first, &last, large, SLICE_BYTES_MAX).await })
    }

    /// The whole list: what was read of it before, and the rest.
    fn behind(mut self, begun: String) -> impl Stream<Item = Result<Bytes, ReadError>> {
        self.is_begun = !begun.is_empty();
        let begin = Bytes::from(format!("[{begun}"));
        let rest = stream::try_unfold(self, async |mut slices| {
            let slice = slices.next().await?;
            Ok(slice.map(|slice| (Bytes::from(slice), slices)))
        });
        let end = stream::once(ready(Ok(Bytes::from_static(b"]"))));
        stream::once(ready(Ok(begin))).chain(rest).chain(end)
    }
}

/// One message with its parts.
#[utoipa::path(get, path = "/session/{sessionID}/message/{messageID}", operation_id = "session.message",
    params(("sessionID" = String, Path), ("messageID" = String, Path),
        ("large" = Option<String>, Query, description = "`link`: large values as `{$blob, bytes}`, see `/sturdy/blob/{hash}`")),
    responses((status = 200, description = "Message with parts", body = MessageWithParts),
        (status = 400, description = "Bad query"), (status = 404, description = "No such session or message")))]
async fn get(
    State(app): State<App>,
    OfMessage(session, id): OfMessage,
    query: Query,
) -> Result<Response, ApiError> {
    let large = query.large()?;
    // Clients know the same answer for a session that is not there.
    let message = app.engine().reads().message_with(&session, &id, large).await?;
    Ok(reply::text(joined(&message.ok_or(ApiError::NoMessage(id))?)))
}
