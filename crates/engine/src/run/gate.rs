//! One at a time changes a session's past: whoever prompts or undoes goes through the gate of the session.

use crate::error::EngineError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use sturdy_session::id::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// With more gates than this, unused ones are removed.
const GATES_MAX: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Gates {
    by_session: Mutex<HashMap<SessionId, Arc<Semaphore>>>,
}

impl Gates {
    /// Waits until nobody else is inside.
    pub(crate) async fn enter(&self, session: &SessionId) -> Result<OwnedSemaphorePermit, EngineError> {
        let gate = {
            let mut gates = self.by_session.lock().unwrap_or_else(PoisonError::into_inner);
            if gates.len() >= GATES_MAX {
                gates.retain(|_, gate| Arc::strong_count(gate) > 1);
            }
            gates.entry(session.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        gate.acquire_owned().await.map_err(|_| EngineError::Closing)
    }
}
