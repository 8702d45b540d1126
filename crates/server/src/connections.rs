//! Who is connected, and who has to go when there is no more room.
//!
//! A connection that waits for its next request costs little, but places are counted, and anybody can
//! open one without a password. When all places are taken, the one that has been idle longest is closed
//! for the newcomer. If none is idle the newcomer is told to come back, with 503 and not with silence.
//!
//! Not here: how many of them may be event streams or uploads (`streams.rs`, `app.rs`).

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) struct Connections {
    max: usize,
    next: AtomicU64,
    open: Arc<Mutex<HashMap<u64, Arc<State>>>>,
}

#[derive(Debug, Default)]
struct State {
    /// Requests that are being answered; at most one, as long as nobody sends the next too early.
    requests: AtomicUsize,
    /// When it became idle, as a number that grows.
    idle_since: AtomicU64,
    closing: CancellationToken,
}

/// One connection's place. Free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    state: Arc<State>,
    open: Arc<Mutex<HashMap<u64, Arc<State>>>>,
}

/// A request is being answered as long as this exists.
#[derive(Debug)]
pub(crate) struct Answering {
    state: Arc<State>,
    idle_since: u64,
}

impl Connections {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, next: AtomicU64::new(0), open: Arc::default() }
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// A place for one more. None if all are busy.
    pub(crate) fn open(&self) -> Option<Connection> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= self.max {
            let idle = open.iter().filter(|(_, state)| state.requests.load(Ordering::Acquire) == 0);
            let longest = idle.min_by_key(|(_, state)| state.idle_since.load(Ordering::Acquire));
            let number = longest.map(|(number, _)| *number)?;
            if let Some(state) = open.remove(&number) {
                state.closing.cancel();
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let state = Arc::new(State { idle_since: AtomicU64::new(number), ..State::default() });
        open.insert(number, state.clone());
        Some(Connection { number, state, open: self.open.clone() })
    }

    /// Makes room where the system has none: no descriptors are left.
    pub(crate) fn close_one(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = open.iter().find(|(_, state)| state.requests.load(Ordering::Acquire) == 0);
        let number = idle.map(|(number, _)| *number);
        if let Some(state) = number.and_then(|number| open.remove(&number)) {
            state.closing.cancel();
        }
    }

    /// A request of this connection begins.
    pub(crate) fn answering(&self, connection: &Connection) -> Answering {
        let state = connection.state.clone();
        state.requests.fetch_add(1, Ordering::AcqRel);
        Answering { state, idle_since: self.next.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Connection {
    /// Ends when another one needs the place.
    pub(crate) async fn closed(&self) {
        self.state.closing.cancelled().await;
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state.requests.load(Ordering::Acquire) == 0
    }
}

impl Answering {
    /// Goes on until the answer is sent or given up.
    pub(crate) fn hold(self, body: Body) -> Body {
        Body::new(Held { body, _answering: self })
    }
}

/// A body that is being sent.
struct Held {
    body: Body,
    _answering: Answering,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.number);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.state.idle_since.store(self.idle_since, Ordering::Release);
        self.state.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// WebSockets at once. They leave the listener's count when they are upgraded, so they have their own.
pub(crate) const SOCKETS_MAX: usize = 256;

/// Who may hold a WebSocket.
#[derive(Clone, Debug)]
pub(crate) struct Sockets(Arc<Semaphore>);

impl Default for Sockets {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(SOCKETS_MAX)))
    }
}

impl Sockets {
    pub(crate) fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.0.clone().try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests;
