//! What terminals were told and a program that embeds one has yet to do.

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// More than a program leaves undone between two questions; the oldest goes first.
const KEPT_MAX: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Controls {
    state: Mutex<State>,
    told: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether anybody has asked yet.
    is_wanted: bool,
    requests: VecDeque<Value>,
}

impl Controls {
    pub(crate) fn tell(&self, request: impl FnOnce() -> Value) {
        let mut state = self.lock();
        if !state.is_wanted {
            return;
        }
        if state.requests.len() == KEPT_MAX {
            state.requests.pop_front();
        }
        state.requests.push_back(request());
        self.told.notify_one();
    }

    /// Waits until there is one.
    pub(crate) async fn next(&self) -> Value {
        loop {
            if let Some(request) = self.take() {
                return request;
            }
            self.told.notified().await;
        }
    }

    fn take(&self) -> Option<Value> {
        let mut state = self.lock();
        state.is_wanted = true;
        state.requests.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
