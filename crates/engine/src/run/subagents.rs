//! What a call of the task tool asks of whoever is above: a session for a sub-agent, and a prompt in it.
//!
//! A sub-agent is asked as a person asks: its prompt is looked up, checked and taken in by the same code. That code
//! stands on top of this room (`requests/subagents.rs`), so a call reaches it through this port.

use crate::directory::Instance;
use crate::error::EngineError;
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::types::session::Rule;

/// The session of a sub-agent.
#[derive(Clone, Debug)]
pub(crate) struct NewChild {
    pub(crate) parent: SessionId,
    pub(crate) title: String,
    pub(crate) agent: String,
    pub(crate) permission: Vec<Rule>,
}

/// What a sub-agent is asked. Files that its text names come along if the sub-agent may read them without asking.
#[derive(Clone, Debug)]
pub(crate) struct ChildPrompt {
    pub(crate) agent: String,
    /// Provider and model.
    pub(crate) model: (String, String),
    pub(crate) variant: Option<String>,
    pub(crate) text: String,
}

/// What becomes of something that was asked.
pub(crate) type Asked<T> = BoxFuture<'static, Result<T, EngineError>>;

/// The way to them.
pub(crate) struct Subagents {
    pub(crate) create: Box<dyn Fn(Arc<Instance>, NewChild) -> Asked<SessionId> + Send + Sync>,
    /// Makes the prompt durable. The turn goes on by itself.
    pub(crate) prompt: Box<dyn Fn(SessionId, ChildPrompt) -> Asked<MessageId> + Send + Sync>,
}

impl fmt::Debug for Subagents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subagents").finish_non_exhaustive()
    }
}
