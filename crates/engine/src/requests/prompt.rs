//! A prompt on its way in: agent and model are found, then it is made durable.

use crate::behalf;
use crate::directory::instance::Instance;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records::{self, readable};
use crate::requests::intake::{Intake, ResolvedParts};
use crate::requests::revert::settle_left;
use std::sync::Arc;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::turn::{Answer, Input, NewPrompt, PromptStart, Refusal};
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::delivery::Delivery;
use sturdy_session::types::format::OutputFormat;
use sturdy_session::types::message::{Message, ModelRef, Switches};
use sturdy_session::types::part::PartBody;
use sturdy_session::types::session::Session;
use sturdy_store::share::Refusal as Denied;
use sturdy_store::{AskQuery, MessageQuery, RawMessage};

/// Messages looked at for the model of the newest prompt. A turn with more steps falls back to the default.
const LOOK_BACK: u32 = 32;

/// Parts of one prompt, through whichever door it comes. What follows looks through them again and again.
const PARTS_MAX: usize = 1024;

/// What a client asked, not yet resolved.
#[derive(Clone, Debug, Default)]
pub struct PromptRequest {
    pub message: Option<MessageId>,
    pub agent: Option<String>,
    /// Provider and model.
    pub model: Option<(String, String)>,
    pub variant: Option<String>,
    pub no_reply: bool,
    pub delivery: Delivery,
    pub start: PromptStart,
    /// Of what the client sent, if it may send it again.
    pub digest: Option<String>,
    pub system: Option<String>,
    pub tools: Option<Switches>,
    pub format: Option<OutputFormat>,
    pub parts: Vec<(Option<PartId>, PartBody)>,
}

impl Engine {
    /// Makes a prompt durable. The turn goes on by itself.
    pub async fn prompt(
        &self,
        session: &SessionId,
        request: PromptRequest,
    ) -> Result<MessageId, EngineError> {
        if request.parts.len() > PARTS_MAX {
            let count = request.parts.len();
            return Err(EngineError::Bad(format!(
                "A prompt has at most {PARTS_MAX} parts, this one has {count}"
            )));
        }
        let parts: Vec<PartId> = request.parts.iter().filter_map(|(id, _)| id.clone()).collect();
        let message = self.inner.fresh_ids(request.message.clone(), &parts)?;
        let mut prompt = self.inner.resolve(session, request).await?;
        prompt.message = Some(message.clone());
        let _inside = self.inner.gates.enter(session).await?;
        let mut inputs = self.inner.clean_up(session).await?;
        inputs.push(Input::Prompt(Box::new(prompt)));
        self.inner.sessions.say(session, inputs).await?;
        Ok(message)
    }

    /// Waits until the session is idle and gives the newest answer: that of the turn which just ended.
    pub async fn answer(&self, session: &SessionId, prompt: &MessageId) -> Result<RawMessage, EngineError> {
        self.inner.sessions.answer(session, prompt).await
    }

    /// Goes on with prompts that an abort or a restart left waiting.
    pub async fn resume(&self, session: &SessionId) -> Result<(), EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        settle_left(&self.inner, session).await?;
        self.inner.sessions.say(session, vec![Input::Resume]).await
    }

    /// Stops what runs, and waits until it has ended: whoever asks for something behind this finds nothing in
    /// the way. A session that does not exist has nothing to stop.
    pub async fn abort(&self, session: &SessionId) -> Result<(), EngineError> {
        self.inner.sessions.abort(session).await
    }
}

impl Inner {
    /// Invariant: an unknown agent or model is refused here, and nothing has changed.
    async fn resolve(
        self: &Arc<Self>,
        session: &SessionId,
        request: PromptRequest,
    ) -> Result<NewPrompt, EngineError> {
        let info = records::session_info(&self.store, session).await?;
        let instance = self.directories.instance(&info.directory).await?;
        let name = match &request.agent {
            Some(name) => name.clone(),
            None => instance.agents.default_agent()?.name.clone(),
        };
        let agent = instance.agent(&name)?;
        let own = agent.model.as_ref().map(|model| (model.provider_id.clone(), model.model_id.clone()));
        let chosen = match request.model.or_else(|| own.clone()) {
            Some(model) => model,
            None => self.current_model(&instance, &info).await?,
        };
        let entry = instance.model(&chosen.0, &chosen.1)?;
        let variant = request.variant.or_else(|| {
            let of_agent = agent.variant.clone().filter(|_| own.as_ref() == Some(&chosen));
            of_agent.filter(|name| entry.info.variants.contains_key(name))
        });
        let (provider_id, model_id) = chosen;
        let memory = self.sessions.session(session).await?.memory.clone();
        let intake = Intake { inner: self, instance: &instance, session: &info, agent, memory };
        let ResolvedParts { parts, failures } = intake.take(request.parts).await?;
        Ok(NewPrompt {
            message: request.message,
            agent: name,
            model: ModelRef { provider_id, model_id, variant },
            parts,
            system: request.system,
            tools: request.tools,
            format: request.format,
            wants_reply: !request.no_reply,
            delivery: request.delivery,
            start: request.start,
            digest: request.digest,
            failures,
        })
    }

    /// The model of the session, else that of its newest prompt, else the default.
    pub(crate) async fn current_model(
        &self,
        instance: &Instance,
        info: &Session,
    ) -> Result<(String, String), EngineError> {
        if let Some(model) = &info.model {
            return Ok((model.provider_id.clone(), model.id.clone()));
        }
        if let Some(model) = self.last_model(&info.id).await? {
            return Ok(model);
        }
        let environment = self.options.environment.clone();
        let recent = self.files.run(&instance.directory, move || environment.recent_models()).await?;
        let entry = instance.catalog().default_model(instance.settings.model(), &recent);
        let entry = entry.map_err(|cause| EngineError::Unknown(cause.to_string()))?;
        Ok((entry.info.provider_id.clone(), entry.info.id.clone()))
    }

    /// The model of the newest prompt: a copy of a conversation goes on with it.
    async fn last_model(&self, session: &SessionId) -> Result<Option<(String, String)>, EngineError> {
        let query = MessageQuery { limit: Some(LOOK_BACK), before: None };
        let page = self.store.messages(session, query).await?;
        let model = |raw: &RawMessage| match readable(records::message(&raw.id, &raw.info)) {
            Some(Message::User(info)) => Some((info.model.provider_id, info.model.model_id)),
            Some(Message::Assistant(_)) | None => None,
        };
        Ok(page.items.iter().rev().find_map(model))
    }
}

impl Engine {
    /// Answers a permission or question. Anybody may, also after a restart; once.
    pub async fn answer_ask(&self, id: &str, answer: Answer) -> Result<(), EngineError> {
        let is_by_grant = behalf::current().is_some_and(|by| by.grant.is_some());
        if let Answer::Permission { reply, .. } = &answer {
            // What is allowed for always is allowed in every session of the project.
            if is_by_grant && *reply == PermissionReply::Always {
                return Err(EngineError::Denied(Denied::ForbiddenScope("allowing for always")));
            }
            // Those are of no session's log, where a grant could be judged.
            if !is_by_grant && self.inner.directories.answer_unstored(id, *reply).await {
                return Ok(());
            }
        }
        let open = self.inner.store.asks(AskQuery::default()).await?;
        let unknown = || EngineError::Refused(Refusal::UnknownAsk(id.to_owned()));
        let ask = open.into_iter().find(|ask| ask.id == id).ok_or_else(unknown)?;
        self.inner.sessions.say(&ask.session, vec![Input::Answered { ask: id.to_owned(), answer }]).await
    }
}
