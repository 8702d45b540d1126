//! Changes to what was said: messages and parts removed or rewritten, prompts that wait taken back.
//!
//! What does not exist cannot be removed, and nobody is told off for it: the wish is met already.

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use sturdy_session::fork::usage_of;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::turn::{Input, Refusal};
use sturdy_session::types::part::{Part, PartBody};
use sturdy_store::RawMessage;

impl Engine {
    /// Removes a message with its parts; what its steps used leaves the session's totals. Refused while
    /// the session is busy. False when there is no such message.
    pub async fn remove_message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<bool, EngineError> {
        let handle = self.inner.session(session).await?;
        let Some(raw) = self.inner.store.message(session, message).await? else {
            return if handle.view().is_idle { Ok(false) } else { Err(Refusal::Busy.into()) };
        };
        let parts = raw.parts.iter().filter_map(|part| serde_json::from_str::<Part>(part).ok());
        let bodies: Vec<PartBody> = parts.map(|part| part.body).collect();
        let (cost, tokens) = usage_of(&bodies);
        let message = message.clone();
        self.inner.say(session, vec![Input::RemoveMessage { message, cost, tokens }]).await?;
        Ok(true)
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
        self.inner.session(session).await?;
        if self.inner.store.message(session, message).await?.is_none() {
            return Err(EngineError::Unknown(format!("Message not found: {message}")));
        }
        let old = self.inner.part(&part.id).await?;
        if old.as_ref().is_some_and(|old| old.message_id != *message) {
            return Err(EngineError::Bad(format!("The part {} belongs to another message", part.id)));
        }
        let is_account = |part: &Part| matches!(part.body, PartBody::StepFinish(_));
        if old.as_ref() != Some(&part) && (is_account(&part) || old.as_ref().is_some_and(is_account)) {
            return Err(EngineError::Bad("What a step used cannot be rewritten".to_owned()));
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
        self.inner.session(session).await?;
        let known = self.inner.part(part).await?;
        let is_it = |known: &Part| known.session_id == *session && known.message_id == *message;
        let Some(known) = known.filter(is_it) else { return Ok(false) };
        let (cost, tokens) = usage_of([&known.body]);
        let (message, part) = (known.message_id, known.id);
        self.inner.say(session, vec![Input::RemovePart { message, part, cost, tokens }]).await?;
        Ok(true)
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
    /// A part by its id, wherever it is.
    pub(crate) async fn part(&self, id: &PartId) -> Result<Option<Part>, EngineError> {
        let rows = self.store.rows_of(&[], std::slice::from_ref(id)).await?;
        let Some((_, text)) = rows.parts.into_iter().next() else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|cause| {
            let (what, place) = (cause.to_string(), format!("part {id}"));
            sturdy_store::ReadError::Broken { what, place }.into()
        })
    }

    /// The id a client chose for its message, or a fresh one. An id is never used twice, in any session:
    /// it would take the other's place.
    pub(crate) async fn fresh_ids(
        &self,
        message: Option<MessageId>,
        parts: &[PartId],
    ) -> Result<MessageId, EngineError> {
        let rows = self.store.rows_of(message.as_slice(), parts).await?;
        if let Some((taken, _)) = rows.messages.into_iter().next() {
            return Err(Refusal::MessageExists(taken).into());
        }
        if let Some((taken, _)) = rows.parts.first() {
            return Err(EngineError::Bad(format!("A part {taken} exists already")));
        }
        let twice = parts.iter().enumerate().find(|(at, id)| parts[..*at].contains(id));
        if let Some((_, id)) = twice {
            return Err(EngineError::Bad(format!("The part id {id} is used twice")));
        }
        Ok(message.unwrap_or_else(|| self.clock.stamp().message_id()))
    }
}
