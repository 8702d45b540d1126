//! Cursor in, entries out, heartbeat.
//!
//! A stream has no queue: it holds a cursor and takes from the feed when the socket has room. A client
//! that stops reading costs its socket's buffers and one chunk; when it reads again it goes on where
//! it was, from the log if it must.
//!
//! Everything that is ready goes out as one chunk. A client that comes back says what it saw last
//! (`Last-Event-ID`) and gets exactly what came after.

use crate::app::App;
use crate::edge::NeverPacked;
use crate::extract::Query;
use crate::wire::event::{Stream, frame, server_frame};
use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use sturdy_engine::feed::{Body as Told, Reader, Shown};
use sturdy_session::fact::Fact;
use sturdy_session::json::Nothing;
use sturdy_session::types::event::Event;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tracing::warn;

/// What goes out at once. More is no faster, and a client that stalls holds this much.
const CHUNK_BYTES_MAX: usize = 60 * 1024;
/// What a stream may hold back between two chunks; more is read again when its turn comes.
const HELD_BYTES_MAX: usize = 64 * 1024;

/// Follows the feed.
pub(crate) struct Following {
    app: App,
    stream: Stream,
    /// Only entries of this directory; none is all.
    directory: Option<String>,
    reader: Reader,
    heartbeat: Interval,
    /// Read and not yet sent.
    held: VecDeque<Arc<Shown>>,
    /// The last stored entry that was sent or passed over.
    position: u64,
    is_new: bool,
    is_over: bool,
}

/// The cursor a client brings along. One that is no number is none of ours.
pub(crate) fn cursor(headers: &HeaderMap, query: &Query) -> Option<u64> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let said = header.or_else(|| query.get("lastEventId")).or_else(|| query.get("last_event_id"));
    said?.trim().parse().ok()
}

/// Answers with a stream that begins after `cursor`, or now; for those who come back from a restart
/// without a cursor, with how that restart ended what was open.
pub(crate) fn follow(app: &App, stream: Stream, directory: Option<String>, cursor: Option<u64>) -> Response {
    let feed = app.engine().feed();
    // Attached before the first frame is written: nothing that happens from now on is missed.
    let reader = cursor
        .map_or_else(|| feed.newcomer(app.engine().clock().now()), |position| feed.reader_after(position));
    let pace = app.heartbeat();
    let mut heartbeat = interval_at(Instant::now() + pace, pace);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let following = Following {
        app: app.clone(),
        stream,
        directory,
        position: reader.position(),
        reader,
        heartbeat,
        held: VecDeque::new(),
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
            if self.is_over {
                return None;
            }
            tokio::select! {
                biased;
                () = closing.cancelled() => return None,
                read = self.reader.next() => match read {
                    Ok(entries) => self.held.extend(entries),
                    Err(cause) => {
                        // The client comes back with its cursor and misses nothing.
                        warn!(%cause, "an event stream ends: the store cannot be read");
                        return None;
                    }
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
        let mut only: Option<Bytes> = None;
        let mut joined = BytesMut::new();
        while let Some(shown) = self.held.pop_front() {
            let frame = if self.concerns(&shown) { frame(&shown, self.stream) } else { Bytes::new() };
            let size = only.as_ref().map_or(joined.len(), Bytes::len);
            if size > 0 && size + frame.len() > CHUNK_BYTES_MAX {
                self.held.push_front(shown);
                break;
            }
            if let Some(position) = shown.position() {
                self.position = position;
            }
            if frame.is_empty() {
                continue;
            }
            match only.take() {
                None if joined.is_empty() => only = Some(frame),
                first => {
                    if let Some(first) = first {
                        joined.reserve(CHUNK_BYTES_MAX.min(first.len() * (self.held.len() + 2)));
                        joined.extend_from_slice(&first);
                    }
                    joined.extend_from_slice(&frame);
                }
            }
            if self.ends_with(&shown) {
                self.held.clear();
                self.is_over = true;
            }
        }
        self.let_go();
        only.or_else(|| (!joined.is_empty()).then(|| joined.freeze()))
    }

    /// Drops what is held if it is much: it can be read again. A client that stalls then holds
    /// one chunk and not a page of entries as well.
    fn let_go(&mut self) {
        let held: usize = self.held.iter().map(|shown| weight(shown)).sum();
        let can_be_read_again = || self.held.iter().all(|shown| shown.position().is_some());
        if held > HELD_BYTES_MAX && can_be_read_again() {
            self.held = VecDeque::new();
            self.reader = self.app.engine().feed().reader_after(self.position);
        }
    }

    fn concerns(&self, shown: &Shown) -> bool {
        match &self.directory {
            None => true,
            Some(directory) => shown.directory.as_deref() == Some(directory),
        }
    }

    /// The instance this stream belongs to is gone.
    fn ends_with(&self, shown: &Shown) -> bool {
        match (&self.directory, &shown.body) {
            (Some(mine), Told::Event(event)) => {
                matches!(event.as_ref(), Event::InstanceDisposed { directory } if directory == mine)
            }
            _ => false,
        }
    }
}

/// Roughly the bytes an entry holds.
pub(crate) fn weight(shown: &Shown) -> usize {
    const OVERHEAD: usize = 256;
    match &shown.body {
        Told::Fact(fact) => {
            let growth = if let Fact::TextGrew { delta, .. } = &fact.fact { delta.len() } else { 0 };
            OVERHEAD + growth + fact.row.as_ref().map_or(0, String::len)
        }
        Told::Event(_) => OVERHEAD,
    }
}
