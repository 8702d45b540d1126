//! Sub-agents are asked as people ask: their sessions and prompts take the same way in.

use crate::directory::Instance;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records;
use crate::requests::mentions;
use crate::requests::prompt::PromptRequest;
use crate::requests::sessions::NewSession;
use crate::run::subagents::{ChildPrompt, NewChild, Subagents};
use futures_util::FutureExt as _;
use std::sync::{Arc, Weak};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::types::part::{PartBody, TextPart};

/// The way from a running call to the engine, which holds the room that the call runs in. Gone when the engine is.
pub(crate) fn subagents(engine: &Weak<Inner>) -> Subagents {
    let creates = engine.clone();
    let prompts = engine.clone();
    Subagents {
        create: Box::new(move |instance, child| create(creates.upgrade(), instance, child).boxed()),
        prompt: Box::new(move |session, prompt| ask(prompts.upgrade(), session, prompt).boxed()),
    }
}

async fn create(
    inner: Option<Arc<Inner>>,
    instance: Arc<Instance>,
    child: NewChild,
) -> Result<SessionId, EngineError> {
    let engine = Engine { inner: inner.ok_or(EngineError::Closing)? };
    let new = NewSession {
        parent: Some(child.parent),
        title: Some(child.title),
        agent: Some(child.agent),
        permission: Some(child.permission),
        ..NewSession::default()
    };
    Ok(engine.create_session(&instance, new).await?.id)
}

async fn ask(
    inner: Option<Arc<Inner>>,
    session: SessionId,
    prompt: ChildPrompt,
) -> Result<MessageId, EngineError> {
    let engine = Engine { inner: inner.ok_or(EngineError::Closing)? };
    let info = records::session_info(&engine.inner.store, &session).await?;
    let instance = engine.inner.directories.instance(&info.directory).await?;
    let agent = instance.agent(&prompt.agent)?;
    let named = mentions::named_in(&engine.inner, &instance, &prompt.text).await;
    // A model wrote this: what its sub-agent would have to ask for does not come in by being named.
    let named = engine.inner.shown(&instance, &info, agent, named).await?;
    let text = PartBody::Text(TextPart { text: prompt.text, ..TextPart::default() });
    let request = PromptRequest {
        agent: Some(prompt.agent),
        model: Some(prompt.model),
        variant: prompt.variant,
        parts: std::iter::once(text).chain(named).map(|part| (None, part)).collect(),
        ..PromptRequest::default()
    };
    engine.prompt(&session, request).await
}
