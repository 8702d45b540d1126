//! Changes to what was said: messages and parts removed or rewritten, prompts that wait taken back.
//!
//! What does not exist cannot be removed, and nobody is told off for it: the wish is met already.

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records;
use crate::run::lookup::find_part;
use crate::run::request;
use std::collections::HashSet;
use std::sync::Arc;
use sturdy_session::fork::usage_of;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::revert::{Boundary, behind};
use sturdy_session::stamp::Stamp;
use sturdy_session::turn::{Input, Refusal};
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::{Part, PartBody};
use sturdy_store::RawMessage;
use sturdy_worktree::snapshot::SnapshotError;

impl Engine {
    /// Removes a message with its parts; what its steps used leaves the session's totals. Refused while
    /// the session is busy. False when there is no such message.
    pub async fn remove_message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<bool, EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        self.inner.refuse_undone(session, message, None).await?;
        // What it used is looked up when it is decided.
        let (cost, tokens) = usage_of([]);
        let input = Input::RemoveMessage { message: message.clone(), cost, tokens };
        match self.inner.sessions.say(session, vec![input]).await {
            Ok(()) => Ok(true),
            Err(EngineError::Absent) => {
                let is_idle = self.inner.sessions.session(session).await?.view().is_idle;
                if is_idle { Ok(false) } else { Err(Refusal::Busy.into()) }
            }
            Err(cause) => Err(cause),
        }
    }

    /// Replaces a part of a message, or adds one. A part that is still being written is refused, and so
    /// is the account of a step, what it used and what it changed: totals and undos are made of it.
    pub async fn write_part(
        &self,
        session: &SessionId,
        message: &MessageId,
        part: Part,
    ) -> Result<(), EngineError> {
        if part.session_id != *session || part.message_id != *message {
            return Err(EngineError::Bad("The part names another session or message".to_owned()));
        }
        // An undo believes these.
        let names_trees = |part: &Part| matches!(part.body, PartBody::Patch(_) | PartBody::Snapshot(_));
        let old = find_part(&self.inner.store, session, &part.id).await?;
        if old.as_ref() != Some(&part) && old.as_ref().is_some_and(names_trees) {
            return Err(EngineError::Bad("What a step changed cannot be rewritten".to_owned()));
        }
        if matches!(part.body, PartBody::Patch(_)) && !self.inner.names_tree_after(session, message).await? {
            let why = "A patch needs a part before it that names the tree after it: a snapshot, or the end of a step";
            return Err(EngineError::Bad(why.to_owned()));
        }
        self.inner.sessions.say(session, vec![Input::WritePart { part: Box::new(part) }]).await
    }

    /// Removes a part. False when the message has no such part.
    pub async fn remove_part(
        &self,
        session: &SessionId,
        message: &MessageId,
        part: &PartId,
    ) -> Result<bool, EngineError> {
        let _inside = self.inner.gates.enter(session).await?;
        self.inner.refuse_undone(session, message, Some(part)).await?;
        let (cost, tokens) = usage_of([]);
        let input = Input::RemovePart { message: message.clone(), part: part.clone(), cost, tokens };
        match self.inner.sessions.say(session, vec![input]).await {
            Ok(()) => Ok(true),
            Err(EngineError::Absent) => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    /// The prompts that nobody has begun to answer, in the order they will be.
    pub async fn waiting(&self, session: &SessionId) -> Result<Vec<RawMessage>, EngineError> {
        let view = self.inner.sessions.session(session).await?.view();
        let mut waiting = Vec::with_capacity(view.prompts.len());
        for message in &view.prompts {
            // One that was withdrawn meanwhile does not wait any more.
            waiting.extend(self.inner.store.message(session, message).await?);
        }
        Ok(waiting)
    }

    /// Withdraws a waiting prompt and removes its message.
    pub async fn withdraw(&self, session: &SessionId, message: &MessageId) -> Result<(), EngineError> {
        self.inner.sessions.say(session, vec![Input::Withdraw { message: message.clone() }]).await
    }
}

impl Inner {
    /// What lies behind a cut says which files the undo took back: without it they could not come again.
    async fn refuse_undone(
        self: &Arc<Self>,
        session: &SessionId,
        message: &MessageId,
        part: Option<&PartId>,
    ) -> Result<(), EngineError> {
        let info = match request::session_info(&self.sessions, session).await {
            Ok(info) => info,
            // Whoever decides says so, in its own words.
            Err(EngineError::NoSession(_)) => return Ok(()),
            Err(cause) => return Err(cause),
        };
        let Some(revert) = &info.revert else { return Ok(()) };
        let messages = self.sessions.conversation(session).await?;
        let files = Boundary::of_files(revert);
        let mut undone = [Some(Boundary::of(revert)), files].into_iter().flatten();
        if undone.any(|cut| is_behind(&messages, &cut, message, part)) {
            let why = "this is undone; take the undo back, or make it final with the next prompt, before removing it";
            return Err(SnapshotError::Malformed(why.to_owned()).into());
        }
        Ok(())
    }

    async fn names_tree_after(&self, session: &SessionId, message: &MessageId) -> Result<bool, EngineError> {
        let parts = self.store.parts_of(session, message).await?;
        let names_tree = |part: Part| matches!(part.body, PartBody::StepFinish(_) | PartBody::Snapshot(_));
        Ok(records::parts(message, &parts).any(names_tree))
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

fn is_behind(
    messages: &[MessageWithParts],
    cut: &Boundary,
    message: &MessageId,
    part: Option<&PartId>,
) -> bool {
    let behind = behind(messages, cut);
    let is_in_message = behind.messages.iter().any(|one| one.info.id() == message);
    let is_cut_inside = cut.part.is_some() && cut.message == *message;
    match part {
        None => is_in_message || is_cut_inside,
        Some(part) => is_in_message || behind.parts.iter().any(|one| one.id == *part),
    }
}
