//! Server-sent events: resumes at a cursor, sends entries and heartbeats.
//!
//! A stream has no queue: it holds a cursor and takes from the feed when the socket has room. A client
//! that stops reading costs its socket's buffers and one chunk; when it reads again it goes on where
//! it was, from the log if it must. A frame that is larger than a chunk goes out in pieces of the text that
//! all readers share.
//!
//! Everything that is ready goes out as one chunk. A client that comes back says what it saw last
//! (`Last-Event-ID`) and gets exactly what came after; if that cannot be told, it is told so.

mod filter;

pub(crate) use filter::EventFilter;

use crate::app::App;
use crate::error::ApiError;
use crate::reply::NeverPacked;
use crate::ui;
use crate::wire::event::{Frame, Stream, resync_frame, server_frame};
use crate::wire::query::Query;
use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream as Chunks, StreamExt as _, stream};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::convert::Infallible;
use sturdy_engine::feed::{Body as EventBody, Cursor, Follower, Scope, Shown, Step};
use sturdy_engine::records::large::LargeValues;
use sturdy_session::json::Nothing;
use sturdy_session::types::event::Event;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tracing::warn;

/// What goes out at once. More is no faster, and a client that stalls holds this much.
const CHUNK_BYTES_MAX: usize = 60 * 1024;

/// Follows the feed.
pub(crate) struct Following {
    app: App,
    stream: Stream,
    /// Only entries of this directory; none is all.
    directory: Option<String>,
    filter: EventFilter,
    large: LargeValues,
    /// The client knows our own words: it is greeted, and told how far it is when nothing was for it.
    is_ours: bool,
    follower: Follower,
    heartbeat: Interval,
    /// A frame that did not fit into the last chunk.
    cut: Option<Frame>,
    /// What is sent first.
    greeting: Option<Bytes>,
    is_over: bool,
}

/// Where the query may hold a cursor.
const NAMES: [&str; 3] = ["after", "lastEventId", "last_event_id"];

/// The cursor a client brings along.
pub(crate) fn cursor(headers: &HeaderMap, query: &Query) -> Option<String> {
    let header =
        headers.get("last-event-id").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let said = header.or_else(|| NAMES.iter().find_map(|name| query.get(name)).map(str::to_owned));
    // An empty one is how a browser says that it has none.
    said.filter(|text| !text.is_empty())
}

/// Whether a client says that it knows our own events.
pub(crate) fn is_ours(query: &Query) -> bool {
    matches!(query.get("sturdy"), Some("1" | "true"))
}

/// Answers with a stream that begins after `cursor`, or now; for those who come back from a restart
/// without a cursor, with how that restart ended what was open.
pub(crate) async fn follow(
    app: &App,
    stream: Stream,
    directory: Option<String>,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let engine = app.engine();
    let cursor = cursor(headers, query);
    let cursor = cursor.as_deref();
    let is_ours = is_ours(query);
    let scope = directory.clone().map_or(Scope::All, Scope::Directory);
    // Attached before the first frame is written: nothing that happens from now on is missed.
    let follower = Follower::new(engine.feed(), scope, cursor, Some(engine.clock().now()));
    // Looked up behind it: a descendant that is born meanwhile is in the stream.
    let filter = EventFilter::of(app, query).await?;
    let large = query.large()?;
    // Who has no cursor gets one at once: a connection that is lost before its first event misses nothing either.
    let begins = cursor.is_none().then(|| follower.cursor().text(follower.epoch()));
    let connected = Event::ServerConnected(Nothing {});
    let connected = server_frame(stream, engine.clock().now(), &connected, begins.as_deref());
    let greeting = if is_ours {
        let hello = hello(app, stream, cursor).await?;
        Bytes::from([hello, connected].concat())
    } else {
        connected
    };
    let following = Following {
        app: app.clone(),
        stream,
        directory,
        filter,
        large,
        is_ours,
        follower,
        heartbeat: heartbeat(app),
        cut: None,
        greeting: Some(greeting),
        is_over: false,
    };
    let chunks = stream::unfold(following, |mut following| async move {
        let chunk = following.next().await?;
        Some((chunk, following))
    });
    Ok(event_stream(chunks))
}

/// The first word to a client of ours: where the log is, which store and which run of the server this is, and whether the
/// client can go on where it was.
async fn hello(app: &App, stream: Stream, cursor: Option<&str>) -> Result<Bytes, ApiError> {
    let store = app.engine().reads();
    let head = store.head();
    let horizon = store.horizon().await?;
    let epoch = store.epoch();
    let parsed = cursor.map(|text| Cursor::parse(text, &epoch, head));
    let resumable = match parsed {
        None => true,
        Some(Ok(cursor)) => cursor.position + 1 >= horizon,
        Some(Err(_)) => false,
    };
    let now = app.engine().clock().now();
    let hello = Event::SturdyHello {
        head,
        horizon,
        store: epoch.to_string(),
        boot: app.boot().to_owned(),
        now,
        page: ui::build().to_owned(),
        resumable,
    };
    Ok(server_frame(stream, now, &hello, None))
}

/// Ticks when a stream has been silent for long.
fn heartbeat(app: &App) -> Interval {
    let pace = app.heartbeat();
    let mut heartbeat = interval_at(Instant::now() + pace, pace);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat
}

/// The same for the streams of the v2 API.
pub(crate) fn spare_heartbeat(app: &App) -> Interval {
    heartbeat(app)
}

/// An answer that goes on as long as its client listens.
pub(crate) fn event_stream(chunks: impl Chunks<Item = Bytes> + Send + 'static) -> Response {
    let chunks = chunks.map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(chunks));
    response.extensions_mut().insert(NeverPacked);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl Following {
    /// The next chunk, or none when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        let closing = self.app.closing().clone();
        loop {
            if let Some(chunk) = self.join() {
                return Some(chunk);
            }
            if self.is_over && self.cut.is_none() {
                return None;
            }
            tokio::select! {
                biased;
                () = closing.cancelled() => return None,
                read = self.follower.fill() => if let Err(cause) = read {
                    // The client comes back with its cursor and misses nothing.
                    warn!(%cause, "an event stream ends: the store cannot be read");
                    return None;
                },
                _ = self.heartbeat.tick() => return Some(self.beat()),
            }
        }
    }

    /// A sign of life; to a client of ours with the place it has come to, also when nothing there was for it.
    fn beat(&self) -> Bytes {
        let now = self.app.engine().clock().now();
        let cursor = self.is_ours.then(|| self.follower.cursor().text(self.follower.epoch()));
        server_frame(self.stream, now, &Event::ServerHeartbeat(Nothing {}), cursor.as_deref())
    }

    /// Everything that is ready, as one chunk.
    fn join(&mut self) -> Option<Bytes> {
        let mut chunk = BytesMut::new();
        if let Some(cut) = self.cut.take() {
            self.put(&mut chunk, cut);
        }
        while self.cut.is_none() && !self.is_over && chunk.len() < CHUNK_BYTES_MAX {
            match self.follower.ready() {
                None => break,
                Some(Step::Resync(why, cursor)) => {
                    let now = self.app.engine().clock().now();
                    let frame = resync_frame(self.stream, now, why, cursor, self.follower.epoch());
                    chunk.extend_from_slice(&frame);
                }
                Some(Step::Event { shown, index, .. }) if !self.filter.wants(&shown, index) => {
                    self.is_over = self.ends_with(&shown);
                }
                Some(Step::Event { shown, index, cursor }) => {
                    let event = self.large.event(shown.events[index].clone());
                    let frame = Frame::new(&shown, index, event, cursor, self.stream, self.follower.epoch());
                    self.is_over = self.ends_with(&shown);
                    self.put(&mut chunk, frame);
                }
            }
        }
        self.follower.let_go();
        (!chunk.is_empty()).then(|| chunk.freeze())
    }

    /// Adds as much of a frame as there is room for, and remembers the rest.
    fn put(&mut self, chunk: &mut BytesMut, mut frame: Frame) {
        let room = CHUNK_BYTES_MAX.saturating_sub(chunk.len());
        if frame.len() <= room {
            chunk.reserve(frame.len());
            chunk.extend_from_slice(&frame.head);
            chunk.extend_from_slice(&frame.event);
            chunk.extend_from_slice(frame.tail.as_bytes());
            return;
        }
        if frame.head.len() < room {
            chunk.extend_from_slice(&frame.head);
            let mut end = frame.event.len().min(room - frame.head.len());
            frame.head = Bytes::new();
            // Between characters: not every client waits for the rest of one.
            while end > 0 && frame.event.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
                end -= 1;
            }
            chunk.extend_from_slice(&frame.event.split_to(end));
        }
        self.cut = Some(frame);
    }

    /// The instance this stream belongs to is gone.
    fn ends_with(&self, shown: &Shown) -> bool {
        match (&self.directory, &shown.body) {
            (Some(mine), EventBody::Told(event)) => {
                matches!(event.as_ref(), Event::InstanceDisposed { directory } if directory == mine)
            }
            _ => false,
        }
    }
}
