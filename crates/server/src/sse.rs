//! Cursor in, entries out, heartbeat.
//!
//! A stream has no queue: it holds a cursor and takes from the feed when the socket has room. A client
//! that stops reading costs its socket's buffers and one chunk; when it reads again it goes on where
//! it was, from the log if it must. A frame that is larger than a chunk goes out in pieces of the text that
//! all readers share.
//!
//! Everything that is ready goes out as one chunk. A client that comes back says what it saw last
//! (`Last-Event-ID`) and gets exactly what came after; if that cannot be told, it is told so.

use crate::app::App;
use crate::edge::NeverPacked;
use crate::extract::Query;
use crate::wire::event::{Frame, Stream, resync_frame, server_frame};
use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::convert::Infallible;
use sturdy_engine::feed::{Body as Told, Follower, Scope, Shown, Step};
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
    follower: Follower,
    heartbeat: Interval,
    /// A frame that did not fit into the last chunk.
    cut: Option<Frame>,
    is_new: bool,
    is_over: bool,
}

/// The cursor a client brings along.
pub(crate) fn cursor(headers: &HeaderMap, query: &Query) -> Option<String> {
    let header =
        headers.get("last-event-id").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let said =
        header.or_else(|| query.get("lastEventId").or_else(|| query.get("last_event_id")).map(str::to_owned));
    // An empty one is how a browser says that it has none.
    said.filter(|text| !text.is_empty())
}

/// Answers with a stream that begins after `cursor`, or now; for those who come back from a restart
/// without a cursor, with how that restart ended what was open.
pub(crate) fn follow(app: &App, stream: Stream, directory: Option<String>, cursor: Option<&str>) -> Response {
    let engine = app.engine();
    let scope = directory.clone().map_or(Scope::All, Scope::Directory);
    // Attached before the first frame is written: nothing that happens from now on is missed.
    let follower = Follower::new(engine.feed(), scope, cursor, Some(engine.clock().now()));
    let pace = app.heartbeat();
    let mut heartbeat = interval_at(Instant::now() + pace, pace);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let following = Following {
        app: app.clone(),
        stream,
        directory,
        follower,
        heartbeat,
        cut: None,
        is_new: true,
        is_over: false,
    };
    let chunks = stream::unfold(following, |mut following| async move {
        let chunk = following.next().await?;
        Some((Ok::<_, Infallible>(chunk), following))
    });
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
        if std::mem::take(&mut self.is_new) {
            return Some(self.own(&Event::ServerConnected(Nothing {})));
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
                _ = self.heartbeat.tick() => return Some(self.own(&Event::ServerHeartbeat(Nothing {}))),
            }
        }
    }

    fn own(&self, event: &Event) -> Bytes {
        server_frame(self.stream, self.app.engine().clock().now(), event)
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
                Some(Step::Event { shown, index, cursor }) => {
                    let frame = Frame::new(&shown, index, cursor, self.stream, self.follower.epoch());
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
            (Some(mine), Told::Told(event)) => {
                matches!(event.as_ref(), Event::InstanceDisposed { directory } if directory == mine)
            }
            _ => false,
        }
    }
}
