//! Event streams: how many there may be, and whether they have been sent everything.
//!
//! A stream lasts as long as its client likes, so streams have a number of places of their own, fewer
//! than there are connections. What is left is for short requests, `/global/health` among them.
//!
//! The command line client of this wire (`opencode run`) prints what its stream shows, and stops listening as
//! soon as its prompt is answered: an answer that overtakes the last event is printed without its text. So the
//! answer to that client waits until its streams have handed out everything there is and it had a moment to
//! read it. No other program waits: they go on listening, and where they are is in their cursor.
//!
//! Not here: what a stream sends (`sse.rs`).

use crate::access::door::Ends;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::FromRequestParts;
use axum::response::Response;
use futures_util::StreamExt as _;
use futures_util::task::AtomicWaker;
use http::HeaderValue;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use hyper::body::{Frame, SizeHint};
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;

/// A client that does not read holds an answer up no longer than this.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// What was handed to the socket is not read yet. The program that asked is given this long to read it; if
/// it does not listen, its answer does not wait.
const READ_TIME: Duration = Duration::from_millis(50);

/// How its `User-Agent` begins.
const COMMAND_LINE_CLIENT: &[u8] = b"opencode/";

#[derive(Clone, Debug)]
pub(crate) struct Streams(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max: usize,
    /// Grows with every question whether the streams have been sent everything.
    asked: AtomicU64,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    streams: HashMap<u64, Listener>,
}

#[derive(Debug)]
struct Listener {
    /// None if nobody has to wait for it.
    program: Option<Program>,
    progress: Arc<Progress>,
}

/// The program behind a request, as far as a server can tell: where it runs and what it calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    peer: Option<IpAddr>,
    agent: Option<HeaderValue>,
}

impl Program {
    /// The one client that stops listening when it is answered.
    fn stops_listening_when_answered(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.as_bytes().starts_with(COMMAND_LINE_CLIENT))
    }

    pub(crate) fn of(request: &Parts) -> Self {
        let peer = request.extensions.get::<Ends>().map(|ends| ends.theirs.ip());
        Self { peer, agent: request.headers.get(USER_AGENT).cloned() }
    }
}

impl<S: Sync> FromRequestParts<S> for Program {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

/// How far a stream is.
#[derive(Debug, Default)]
struct Progress {
    /// The last question at which it had nothing more to send.
    empty_at: AtomicU64,
    waker: AtomicWaker,
    changed: Notify,
}

/// The place of one stream.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    number: u64,
    progress: Arc<Progress>,
    streams: Streams,
}

impl Streams {
    pub(crate) fn new(max: usize) -> Self {
        Self(Arc::new(Inner { max, asked: AtomicU64::new(0), open: Mutex::default() }))
    }

    /// A place for one more; none if all are taken.
    pub(crate) fn open(&self, program: Option<Program>) -> Option<StreamPlace> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.streams.len() >= self.0.max {
            return None;
        }
        let number = open.next;
        open.next += 1;
        let progress = Arc::<Progress>::default();
        open.streams.insert(number, Listener { program, progress: progress.clone() });
        Some(StreamPlace { number, progress, streams: self.clone() })
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner).streams.len()
    }

    /// Waits until every stream of this program has handed out what there is now, if it would miss it otherwise.
    pub(crate) async fn sent(&self, program: &Program) {
        if !program.stops_listening_when_answered() {
            return;
        }
        let question = self.0.asked.fetch_add(1, Ordering::AcqRel) + 1;
        let open: Vec<_> = {
            let open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
            let theirs = open.streams.values().filter(|listener| listener.program.as_ref() == Some(program));
            theirs.map(|listener| listener.progress.clone()).collect()
        };
        if open.is_empty() {
            return;
        }
        let all = async {
            for progress in &open {
                progress.waker.wake();
                progress.until(question).await;
            }
        };
        if tokio::time::timeout(WAIT_MAX, all).await.is_ok() {
            tokio::time::sleep(READ_TIME).await;
        }
    }
}

impl Progress {
    async fn until(&self, question: u64) {
        loop {
            let changed = self.changed.notified();
            if self.empty_at.load(Ordering::Acquire) >= question {
                return;
            }
            changed.await;
        }
    }

    fn is_empty_at(&self, question: u64) {
        self.empty_at.fetch_max(question, Ordering::AcqRel);
        self.changed.notify_waiters();
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut open = self.streams.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.streams.remove(&self.number);
        self.progress.is_empty_at(u64::MAX);
    }
}

/// Ends an answer that is an event stream as soon as `end` is over; any other answer stays as it is.
pub(crate) fn stream_until(response: Response, end: impl Future<Output = ()> + Send + 'static) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))))
}

/// A stream's body, watched.
struct Watched {
    body: Body,
    place: StreamPlace,
}

impl StreamPlace {
    /// Lets the answer hold this place until it has ended.
    pub(crate) fn watch(self, body: Body) -> Body {
        Body::new(Watched { body, place: self })
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.place.progress.waker.register(context.waker());
        // Before the look: what was asked behind it is not answered by it.
        let question = self.place.streams.0.asked.load(Ordering::Acquire);
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() {
            self.place.progress.is_empty_at(question);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
