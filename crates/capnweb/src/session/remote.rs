//! A writable stream of the peer's, written to from here.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use super::{Mode, import::ImportRef, send::StreamSent};
use crate::{
    Flow, Thrown, Value,
    stream::closed,
    value::reference::ends::{RemoteObject, RemoteWriter},
};

/// The peer's end and our count of what is on its way.
pub(super) struct PeerStream {
    import: Arc<ImportRef>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    flow: Flow,
    failed: Option<Thrown>,
    closed: bool,
    wakers: Vec<Waker>,
}

impl State {
    fn keep(&mut self, waker: &Waker) {
        if !self.wakers.iter().any(|known| known.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
    }
}

impl PeerStream {
    pub(super) fn new(import: Arc<ImportRef>) -> PeerStream {
        PeerStream { import, state: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_open(&self) -> Result<(), Thrown> {
        let state = self.lock();
        match (&state.failed, state.closed) {
            (Some(reason), _) => Err(reason.clone()),
            (None, true) => Err(closed()),
            (None, false) => Ok(()),
        }
    }

    /// Counts a message until it is acknowledged, and remembers the first that fails.
    fn watch(&self, sent: StreamSent) {
        let session = Arc::clone(self.import.session());
        let ticket = self.lock().flow.sent(sent.units, session.now());
        let state = Arc::clone(&self.state);
        let answer = sent.import;
        let cell = Arc::clone(answer.cell());
        cell.wait(Box::new(move || {
            let wakers = {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.flow.acknowledged(ticket, session.now());
                if let Some(Err(reason)) = answer.cell().value() {
                    state.failed.get_or_insert_with(|| reason.clone());
                }
                std::mem::take(&mut state.wakers)
            };
            wakers.into_iter().for_each(Waker::wake);
            drop(answer);
        }));
    }

    /// Wakes the task when an answer comes, which may be a failure.
    pub(super) fn wake_on_failure(&self, cx: &Context<'_>) {
        self.lock().keep(cx.waker());
    }

    pub(super) fn mode(&self) -> Mode {
        self.import.session().mode()
    }
}

impl RemoteWriter for PeerStream {
    fn import(&self) -> Arc<dyn RemoteObject> {
        let import: Arc<ImportRef> = Arc::clone(&self.import);
        import
    }

    fn write(&self, chunk: Value) -> Result<(), Thrown> {
        self.check_open()?;
        let sent = self.import.session().stream_call(self.import.id(), "write", &[chunk])?;
        self.watch(sent);
        Ok(())
    }

    fn poll_room(&self, cx: &Context<'_>) -> Poll<Result<(), Thrown>> {
        let mut state = self.lock();
        if let Some(reason) = &state.failed {
            return Poll::Ready(Err(reason.clone()));
        }
        // A batch is sent before the first answer comes: waiting for one would be for ever.
        if state.flow.is_open() || self.import.session().mode() == Mode::BatchClient {
            return Poll::Ready(Ok(()));
        }
        state.keep(cx.waker());
        Poll::Pending
    }

    fn close(&self) -> Result<Arc<dyn RemoteObject>, Thrown> {
        self.check_open()?;
        self.lock().closed = true;
        let sent = self.import.session().stream_call(self.import.id(), "close", &[])?;
        Ok(sent.import)
    }

    fn abort(&self, reason: &Thrown) {
        if self.check_open().is_err() {
            return;
        }
        self.lock().closed = true;
        let sent =
            self.import.session().stream_call(self.import.id(), "abort", std::slice::from_ref(&reason.0));
        // The answer does not matter, but it must find somebody.
        if let Ok(sent) = sent {
            let cell = Arc::clone(sent.import.cell());
            cell.wait(Box::new(move || drop(sent)));
        }
    }

    fn failure(&self) -> Option<Thrown> {
        self.lock().failed.clone()
    }
}
