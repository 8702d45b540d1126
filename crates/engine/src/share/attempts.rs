//! Between whoever asks for a session to be shared or taken back, and the task that does it.
//!
//! Only that task talks to the service about a link, so two who ask at once meet one attempt. Whoever asks wakes the
//! task, also when it waits to try again, and looks at the stored link whenever an attempt has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::SessionId;
use tokio::sync::{Notify, watch};

/// One entry for each link that has a task or somebody who waits for it.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    by_session: Mutex<HashMap<SessionId, Arc<Attempt>>>,
}

#[derive(Debug, Default)]
pub(super) struct Attempt {
    asked: Notify,
    /// Counts attempts that have ended.
    ended: watch::Sender<u64>,
    /// Why the link is given up for good. The link itself says how its deletion goes, and may be gone already.
    refusal: Mutex<Option<&'static str>>,
}

impl Attempts {
    pub(super) fn join(&self, session: &SessionId) -> Arc<Attempt> {
        self.lock().entry(session.clone()).or_default().clone()
    }

    /// The last one to leave takes the entry away.
    pub(super) fn leave(&self, session: &SessionId, attempt: Arc<Attempt>) {
        let mut all = self.lock();
        drop(attempt);
        if all.get(session).is_some_and(|kept| Arc::strong_count(kept) == 1) {
            all.remove(session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Attempt>>> {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// Do it now.
    pub(super) fn ask(&self) {
        self.asked.notify_one();
    }

    /// Waits until somebody asks.
    pub(super) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Whoever waits looks at the link.
    pub(super) fn end(&self) {
        self.ended.send_modify(|count| *count += 1);
    }

    /// Says why the link is given up, or that nothing is known against a new one.
    pub(super) fn set_refusal(&self, why: Option<&'static str>) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(super) fn refusal(&self) -> Option<&'static str> {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }
}
