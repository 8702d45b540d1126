//! Tells whoever waits for a session that it has moved. Only a hint: what moved is read from the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use sturdy_session::id::SessionId;
use tokio::sync::Notify;

/// Which sessions somebody waits for to move. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved {
    waiting: Arc<Mutex<HashMap<SessionId, Arc<Notify>>>>,
}

impl Moved {
    /// Called by the committer's thread for every commit, so it is short.
    pub(crate) fn tell(&self, session: &SessionId) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = waiting.get(session) {
            notify.notify_one();
        }
    }

    /// Hears of a session until `leave`. None: somebody does already, and is told now.
    pub(crate) fn join(&self, session: &SessionId) -> Option<Arc<Notify>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = waiting.get(session) {
            notify.notify_one();
            return None;
        }
        let notify = Arc::new(Notify::new());
        waiting.insert(session.clone(), notify.clone());
        Some(notify)
    }

    pub(crate) fn leave(&self, session: &SessionId) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}
