//! A pipe: the peer writes at one end, somebody here reads at the other.
//!
//! A write is acknowledged when its chunk is taken, not when it arrives, so an unread pipe
//! holds its writer back. What waits is bounded, per pipe and per session.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use crate::{
    ErrorValue, Outcome, Readable, Thrown, Value,
    value::reference::{cell::Resolver, ends::PipeReader},
};

pub(crate) struct Pipe {
    state: Mutex<State>,
    bytes_max: usize,
    session_bytes_max: usize,
    session_bytes: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Chunk>,
    bytes: usize,
    end: Option<End>,
    /// Set when the reader wants no more: writes fail with this.
    refused: Option<Thrown>,
    reader: Option<Waker>,
}

struct Chunk {
    value: Value,
    bytes: usize,
    taken: Resolver,
}

enum End {
    /// Closed by the writer; acknowledged when the reader gets there.
    Closing(Resolver),
    Closed,
    Failed(Thrown),
}

impl Pipe {
    pub(crate) fn open(
        bytes_max: usize,
        session_bytes_max: usize,
        session_bytes: &Arc<AtomicUsize>,
    ) -> (Arc<Pipe>, Readable) {
        let pipe = Arc::new(Pipe {
            state: Mutex::default(),
            bytes_max,
            session_bytes_max,
            session_bytes: Arc::clone(session_bytes),
        });
        (Arc::clone(&pipe), Readable::from_pipe(pipe))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, value: Value, taken: Resolver) {
        let bytes = value.weight();
        let refused = {
            let mut state = self.lock();
            let refused = self.refusal(&state, bytes);
            if refused.is_none() {
                state.bytes += bytes;
                self.session_bytes.fetch_add(bytes, Ordering::Relaxed);
                state.waiting.push_back(Chunk { value, bytes, taken });
                wake(state);
                return;
            }
            refused
        };
        taken.settle(refused.map_or(Ok(Value::Undefined), Err));
    }

    fn refusal(&self, state: &State, bytes: usize) -> Option<Thrown> {
        if let Some(reason) = &state.refused {
            return Some(reason.clone());
        }
        match &state.end {
            Some(End::Failed(reason)) => return Some(reason.clone()),
            Some(_) => return Some(closed()),
            None => {}
        }
        let all = self.session_bytes.load(Ordering::Relaxed);
        // One chunk always fits, or a large one could never pass.
        let full = state.bytes + bytes > self.bytes_max && !state.waiting.is_empty();
        (full || all + bytes > self.session_bytes_max).then(|| {
            ErrorValue::range_error("the pipe is full: its reader is slower than its writer")
                .code("pipe_full")
                .into()
        })
    }

    pub(super) fn close(&self, done: Resolver) {
        let mut state = self.lock();
        let reason = state.refused.clone().or_else(|| match &state.end {
            Some(End::Failed(reason)) => Some(reason.clone()),
            Some(_) => Some(closed()),
            None => None,
        });
        match reason {
            None => {
                state.end = Some(End::Closing(done));
                wake(state);
            }
            Some(reason) => {
                drop(state);
                done.settle(Err(reason));
            }
        }
    }

    /// The writer gives up. Chunks nobody has taken are lost with it.
    pub(super) fn fail(&self, reason: Thrown) {
        let (lost, end) = {
            let mut state = self.lock();
            if matches!(state.end, Some(End::Closed | End::Failed(_))) {
                return;
            }
            let end = state.end.replace(End::Failed(reason.clone()));
            let lost = self.empty(&mut state);
            wake(state);
            (lost, end)
        };
        for chunk in lost {
            chunk.taken.settle(Err(reason.clone()));
        }
        if let Some(End::Closing(done)) = end {
            done.settle(Err(reason));
        }
    }

    /// The writer is gone. If it had closed, the reader still gets everything.
    pub(super) fn dropped(&self, reason: Thrown) {
        let open = self.lock().end.is_none();
        if open {
            self.fail(reason);
        }
    }

    fn empty(&self, state: &mut State) -> VecDeque<Chunk> {
        self.session_bytes.fetch_sub(state.bytes, Ordering::Relaxed);
        state.bytes = 0;
        std::mem::take(&mut state.waiting)
    }
}

impl PipeReader for Pipe {
    fn refuse(&self, reason: Thrown) {
        let (lost, end) = {
            let mut state = self.lock();
            if state.refused.is_some() || matches!(state.end, Some(End::Closed)) {
                return;
            }
            state.refused = Some(reason.clone());
            let end = match state.end.take() {
                Some(End::Closing(done)) => Some(done),
                other => {
                    state.end = other;
                    None
                }
            };
            (self.empty(&mut state), end)
        };
        for chunk in lost {
            chunk.taken.settle(Err(reason.clone()));
        }
        if let Some(done) = end {
            done.settle(Err(reason));
        }
    }

    fn poll_take(&self, cx: &Context<'_>) -> Poll<Option<Outcome>> {
        let mut state = self.lock();
        if let Some(chunk) = state.waiting.pop_front() {
            state.bytes -= chunk.bytes;
            self.session_bytes.fetch_sub(chunk.bytes, Ordering::Relaxed);
            drop(state);
            chunk.taken.settle(Ok(Value::Undefined));
            return Poll::Ready(Some(Ok(chunk.value)));
        }
        if let Some(reason) = &state.refused {
            return Poll::Ready(Some(Err(reason.clone())));
        }
        match state.end.take() {
            Some(End::Closing(done)) => {
                state.end = Some(End::Closed);
                drop(state);
                done.settle(Ok(Value::Undefined));
                Poll::Ready(None)
            }
            Some(End::Closed) => {
                state.end = Some(End::Closed);
                Poll::Ready(None)
            }
            Some(End::Failed(reason)) => {
                state.end = Some(End::Failed(reason.clone()));
                Poll::Ready(Some(Err(reason)))
            }
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.lock());
        self.empty(&mut state);
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(waker) = reader {
        waker.wake();
    }
}

pub(crate) fn closed() -> Thrown {
    ErrorValue::type_error("the stream is closed").code("stream_closed").into()
}
