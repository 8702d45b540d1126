//! Sub-agents are asked as people ask: their sessions and prompts take the same way in.

use crate::directory::Instance;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::requests::prompt::PromptRequest;
use crate::requests::sessions::NewSession;
use crate::run::subagents::{ChildPrompt, NewChild, Subagents};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::types::part::{PartBody, TextPart};

impl Subagents for Inner {
    fn create_child(
        self: Arc<Self>,
        instance: Arc<Instance>,
        child: NewChild,
    ) -> BoxFuture<'static, Result<SessionId, EngineError>> {
        let engine = Engine { inner: self };
        let new = NewSession {
            parent: Some(child.parent),
            title: Some(child.title),
            agent: Some(child.agent),
            permission: Some(child.permission),
            ..NewSession::default()
        };
        async move { Ok(engine.create_session(&instance, new).await?.id) }.boxed()
    }

    fn prompt_child(
        self: Arc<Self>,
        child: SessionId,
        prompt: ChildPrompt,
    ) -> BoxFuture<'static, Result<MessageId, EngineError>> {
        let engine = Engine { inner: self };
        let text = TextPart { text: prompt.text, ..TextPart::default() };
        let request = PromptRequest {
            agent: Some(prompt.agent),
            model: Some(prompt.model),
            variant: prompt.variant,
            parts: vec![(None, PartBody::Text(text))],
            ..PromptRequest::default()
        };
        async move { engine.prompt(&child, request).await }.boxed()
    }
}
