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

/// What a sub-agent is asked. Its text is not expanded: a file that the model may not read must not come in by its name.
#[derive(Clone, Debug)]
pub(crate) struct ChildPrompt {
    pub(crate) agent: String,
    /// Provider and model.
    pub(crate) model: (String, String),
    pub(crate) variant: Option<String>,
    pub(crate) text: String,
}

pub(crate) trait Subagents: fmt::Debug + Send + Sync {
    fn create_child(
        self: Arc<Self>,
        instance: Arc<Instance>,
        child: NewChild,
    ) -> BoxFuture<'static, Result<SessionId, EngineError>>;

    /// Makes the prompt durable. The turn goes on by itself.
    fn prompt_child(
        self: Arc<Self>,
        child: SessionId,
        prompt: ChildPrompt,
    ) -> BoxFuture<'static, Result<MessageId, EngineError>>;
}
