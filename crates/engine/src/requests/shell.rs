//! A person's own command, run in the session's directory.

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records::{self, readable};
use crate::run::request;
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::{Input, NewShell};
use sturdy_session::types::message::{Message, ModelRef};
use sturdy_store::RawMessage;

/// What a client asked, not yet resolved.
#[derive(Clone, Debug, Default)]
pub struct ShellRequest {
    pub command: String,
    pub agent: String,
    /// Provider and model.
    pub model: Option<(String, String)>,
    pub message: Option<MessageId>,
}

impl Engine {
    /// Runs a command and gives the message with its output. Refused while the session is busy.
    pub async fn shell(&self, session: &SessionId, request: ShellRequest) -> Result<RawMessage, EngineError> {
        let info = request::session_info(&self.inner.sessions, session).await?;
        let instance = self.inner.directories.instance(&info.directory).await?;
        let agent = instance.agent(&request.agent)?;
        let own = agent.model.as_ref().map(|model| (model.provider_id.clone(), model.model_id.clone()));
        let (provider_id, model_id) = match request.model.or(own) {
            Some(model) => model,
            None => self.inner.current_model(&instance, &info).await?,
        };
        let message = self.inner.fresh_ids(request.message, &[])?;
        let shell = NewShell {
            message: Some(message.clone()),
            agent: request.agent,
            model: ModelRef { provider_id, model_id, variant: None },
            path: instance.paths(),
            command: request.command,
        };
        let inside = self.inner.gates.enter(session).await?;
        let mut inputs = self.inner.clean_up(session).await?;
        inputs.push(Input::Shell(Box::new(shell)));
        self.inner.sessions.say(session, inputs).await?;
        drop(inside);
        self.inner.sessions.session(session).await?.answered(&message).await;
        self.inner.answer_to(session, &message).await
    }
}

impl Inner {
    /// The first answer to a message; looked for from the newest, where it usually is.
    async fn answer_to(
        self: &Arc<Self>,
        session: &SessionId,
        asked: &MessageId,
    ) -> Result<RawMessage, EngineError> {
        let is_answer = |raw: &RawMessage| matches!(readable(records::message(&raw.id, &raw.info)), Some(Message::Assistant(info)) if info.parent_id == *asked);
        let found = request::find_back(&self.sessions, session, is_answer).await?;
        found.ok_or_else(|| EngineError::NoSession(session.clone()))
    }
}
