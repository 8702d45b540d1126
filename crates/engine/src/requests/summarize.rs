//! A person asks for a summary of the conversation.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::run::request;
use sturdy_session::id::SessionId;
use sturdy_session::turn::{Input, NewSummary};
use sturdy_session::types::message::ModelRef;

impl Engine {
    /// Summarises the conversation with this model and waits until the turn is over. While something
    /// runs, the summary is made as soon as its step has ended.
    pub async fn summarize(
        &self,
        session: &SessionId,
        provider: &str,
        model: &str,
    ) -> Result<(), EngineError> {
        self.summarize_with(session, provider, model, false).await
    }

    /// As `summarize`; with `auto` the model goes on behind the summary.
    pub async fn summarize_with(
        &self,
        session: &SessionId,
        provider: &str,
        model: &str,
        auto: bool,
    ) -> Result<(), EngineError> {
        let info = request::session_info(&self.inner.sessions, session).await?;
        let instance = self.inner.directories.instance(&info.directory).await?;
        let entry = instance.model(provider, model)?;
        let agent = match info.agent.filter(|name| instance.agents.get(name).is_some()) {
            Some(agent) => agent,
            None => instance.agents.default_agent()?.name.clone(),
        };
        let model = ModelRef {
            provider_id: entry.info.provider_id.clone(),
            model_id: entry.info.id.clone(),
            variant: None,
        };
        let wish = NewSummary { agent, model, auto };
        let inside = self.inner.gates.enter(session).await?;
        let mut inputs = self.inner.clean_up(session).await?;
        inputs.push(Input::Summarize(Box::new(wish)));
        self.inner.sessions.say(session, inputs).await?;
        drop(inside);
        self.inner.sessions.until_idle(session).await
    }
}
