//! Reads the status and the waiting prompts from a stored machine, without restoring a session.

use super::state::Machine;
use crate::id::MessageId;
use crate::types::status::Status;

/// What a session is doing, as of its row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glance {
    pub status: Status,
    /// Prompts nobody has begun to answer, in order.
    pub waiting: Vec<MessageId>,
}

impl Glance {
    /// Reads the text that is stored beside a session; empty is idle with nothing waiting.
    pub fn of(machine: &str) -> Result<Self, serde_json::Error> {
        if machine.is_empty() {
            return Ok(Self::default());
        }
        let machine: Machine = crate::depth::read_stored(machine)?;
        let status = machine.status();
        let waiting = machine.waiting.into_iter().map(|waiting| waiting.message).collect();
        Ok(Self { status, waiting })
    }
}
