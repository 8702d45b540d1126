//! A state put together again: from its rows at a start, from a keyframe for readers that were away.

use super::state::{CallPhase, Machine, State};
use crate::id::{MessageId, PartId};
use crate::types::message::{Message, MessageWithParts, UserMessage};
use crate::types::session::Session;
use serde::{Deserialize, Serialize};

/// A stored state does not fit together. The session is quarantined; the server goes on.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("the stored machine state is not readable")]
    Machine(#[source] serde_json::Error),
    #[error("open {what} {id} has no row")]
    Missing { what: &'static str, id: String },
}

/// A whole state as a value that can be stored: what `restore` needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Keyframe {
    info: Session,
    machine: String,
    /// The open step's message with its open parts, and the prompts that wait or are being answered.
    messages: Vec<MessageWithParts>,
}

impl State {
    /// Puts a state together from its rows: the session, its machine column, and the messages of
    /// `open_messages`, the open step's with the growth of its parts.
    pub fn restore(
        info: Session,
        machine: &str,
        messages: Vec<MessageWithParts>,
    ) -> Result<Self, RestoreError> {
        let machine: Machine = match machine {
            "" => Machine::default(),
            text => crate::depth::read_stored(text).map_err(RestoreError::Machine)?,
        };
        let mut state = Self { info: Some(Box::new(info)), machine };
        let user_of = |id: &MessageId| {
            let found = messages.iter().find(|message| message.info.id() == id);
            let Some(Message::User(user)) = found.map(|message| &message.info) else {
                return Err(RestoreError::missing("prompt", id));
            };
            Ok(Some(user.clone()))
        };
        for waiting in &mut state.machine.waiting {
            waiting.info = user_of(&waiting.message)?;
        }
        let Some(turn) = state.machine.turn.as_mut() else { return Ok(state) };
        if let Some(user) = &turn.user {
            turn.asked = user_of(user)?;
        }
        if let Some(compact) = &mut turn.compact {
            compact.info = user_of(&compact.message)?;
        }
        let Some(step) = turn.step.as_mut() else { return Ok(state) };
        if step.ready.kind.is_compaction() {
            step.request = user_of(&step.user)?;
        }
        let open = messages.iter().find(|message| *message.info.id() == step.message);
        let Some(MessageWithParts { info: Message::Assistant(info), parts }) = open else {
            return Err(RestoreError::missing("message", &step.message));
        };
        step.info = Some(info.clone());
        let body_of = |id: &PartId| parts.iter().find(|part| part.id == *id).cloned().map(Box::new);
        for text in &mut step.texts {
            text.body = Some(body_of(&text.part).ok_or_else(|| RestoreError::missing("part", &text.part))?);
        }
        for call in step.calls.iter_mut().filter(|call| call.phase != CallPhase::Ended) {
            call.body = Some(body_of(&call.part).ok_or_else(|| RestoreError::missing("call", &call.part))?);
        }
        Ok(state)
    }

    /// Which messages the store must hand over so that `restore` can find what is open. The first is the
    /// one that is wanted with its parts, if a step is open; of the others the message is enough.
    pub fn open_messages(machine: &str) -> Result<OpenMessages, RestoreError> {
        if machine.is_empty() {
            return Ok(OpenMessages::default());
        }
        let machine: Machine = crate::depth::read_stored(machine).map_err(RestoreError::Machine)?;
        Ok(machine.open_messages())
    }

    /// What is known now, for whoever reads the log from here on.
    #[must_use]
    pub fn keyframe(&self) -> Keyframe {
        let info = self.info.as_deref().expect("BUG: a session that is gone has no keyframe").clone();
        let user = |user: &UserMessage| MessageWithParts {
            info: Message::User(Box::new(user.clone())),
            parts: Vec::new(),
        };
        let mut messages: Vec<_> =
            self.machine.waiting.iter().filter_map(|waiting| waiting.info.as_deref()).map(user).collect();
        if let Some(turn) = &self.machine.turn {
            let compact = turn.compact.as_ref().and_then(|compact| compact.info.as_deref());
            messages.extend(turn.asked.as_deref().into_iter().chain(compact).map(user));
        }
        if let Some(step) = self.open_step() {
            messages.extend(step.request.as_deref().map(user));
            let texts = step.texts.iter().filter_map(|text| text.body.as_deref().cloned());
            let calls = step.calls.iter().filter_map(|call| call.body.as_deref().cloned());
            messages.extend(step.info.clone().map(|info| MessageWithParts {
                info: Message::Assistant(info),
                parts: texts.chain(calls).collect(),
            }));
        }
        Keyframe { info, machine: self.machine_text(), messages }
    }

    pub fn from_keyframe(keyframe: Keyframe) -> Result<Self, RestoreError> {
        let Keyframe { info, machine, messages } = keyframe;
        Self::restore(info, &machine, messages)
    }

    /// The same without the count of edits, which is not stored: whoever was told it is gone with its process.
    #[must_use]
    pub fn without_edits(&self) -> Self {
        let machine = Machine { edits: 0, ..self.machine.clone() };
        Self { info: self.info.clone(), machine }
    }
}

impl Machine {
    fn open_messages(self) -> OpenMessages {
        let mut prompts: Vec<_> = self.waiting.into_iter().map(|waiting| waiting.message).collect();
        let Some(turn) = self.turn else { return OpenMessages { step: None, prompts } };
        prompts.extend(turn.user);
        prompts.extend(turn.compact.map(|compact| compact.message));
        let Some(step) = turn.step else { return OpenMessages { step: None, prompts } };
        if step.ready.kind.is_compaction() {
            prompts.push(step.user);
        }
        OpenMessages { step: Some(step.message), prompts }
    }
}

/// What `restore` wants to be handed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenMessages {
    /// With its parts.
    pub step: Option<MessageId>,
    /// Without.
    pub prompts: Vec<MessageId>,
}

impl RestoreError {
    fn missing(what: &'static str, id: &impl ToString) -> Self {
        Self::Missing { what, id: id.to_string() }
    }
}
