//! Changes to what was said: messages and parts removed or rewritten, prompts that wait taken back.
//!
//! What does not exist cannot be removed, and nobody is told off for it: the wish is met already.

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::run::look::find_part;
use std::collections::HashSet;
use sturdy_session::fork::usage_of;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::stamp::Stamp;
use sturdy_session::turn::{Input, Refusal};
use sturdy_session::types::part::Part;
use sturdy_store::RawMessage;

impl Engine {
    /// Removes a message with its parts; what its steps used leaves the session's totals. Refused while
    /// the session is busy. False when there is no such message.
    pub async fn remove_message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<bool, EngineError> {
        // What it used is looked up when it is decided.
        let (cost, tokens) = usage_of([]);
        let input = Input::RemoveMessage { message: message.clone(), cost, tokens };
        match self.inner.say(session, vec![input]).await {
            Ok(()) => Ok(true),
            Err(EngineError::Absent) => {
                let is_idle = self.inner.session(session).await?.view().is_idle;
                if is_idle { Ok(false) } else { Err(Refusal::Busy.into()) }
            }
            Err(cause) => Err(cause),
        }
    }

    /// Replaces a part of a message, or adds one. A part that is still being written is refused, and so
    /// is the account of a step: the session's totals are made of it.
    pub async fn write_part(
        &self,
        session: &SessionId,
        message: &MessageId,
        part: Part,
    ) -> Result<(), EngineError> {
        if part.session_id != *session || part.message_id != *message {
            return Err(EngineError::Bad("The part names another session or message".to_owned()));
        }
        self.inner.say(session, vec![Input::WritePart { part: Box::new(part) }]).await
    }

    /// Removes a part. False when the message has no such part.
    pub async fn remove_part(
        &self,
        session: &SessionId,
        message: &MessageId,
        part: &PartId,
    ) -> Result<bool, EngineError> {
        let (cost, tokens) = usage_of([]);
        let input = Input::RemovePart { message: message.clone(), part: part.clone(), cost, tokens };
        match self.inner.say(session, vec![input]).await {
            Ok(()) => Ok(true),
            Err(EngineError::Absent) => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    /// The prompts that nobody has begun to answer, in the order they will be.
    pub async fn waiting(&self, session: &SessionId) -> Result<Vec<RawMessage>, EngineError> {
        let view = self.inner.session(session).await?.view();
        let mut waiting = Vec::with_capacity(view.prompts.len());
        for message in &view.prompts {
            // One that was withdrawn meanwhile does not wait any more.
            waiting.extend(self.inner.store.message(session, message).await?);
        }
        Ok(waiting)
    }

    /// Takes a waiting prompt back; its message goes with it.
    pub async fn withdraw(&self, session: &SessionId, message: &MessageId) -> Result<(), EngineError> {
        self.inner.say(session, vec![Input::Withdraw { message: message.clone() }]).await
    }
}

impl Inner {
    /// A part of a session by its id.
    pub(crate) async fn part(&self, session: &SessionId, id: &PartId) -> Result<Option<Part>, EngineError> {
        find_part(&self.store, session, id).await
    }

    /// The id a client chose for its message, or a fresh one. Whether it is taken is found out when it is decided.
    pub(crate) fn fresh_ids(
        &self,
        message: Option<MessageId>,
        parts: &[PartId],
    ) -> Result<MessageId, EngineError> {
        let mut seen = HashSet::with_capacity(parts.len());
        if let Some(id) = parts.iter().find(|id| !seen.insert(*id)) {
            return Err(EngineError::Bad(format!("The part id {id} is used twice")));
        }
        Ok(message.unwrap_or_else(|| self.clock.id(Stamp::message_id)))
    }
}
