//! A prompt comes in: it is made durable, and answered now or when its turn comes.

use super::deciding::Deciding;
use super::{Effect, NewPrompt, PromptStart, Refusal, State};
use crate::fact::{Fact, Posted};
use crate::id::MessageId;
use crate::stamp::{Millis, Stamp};
use crate::types::message::{UserMessage, UserRole};
use crate::types::part::{Created, Part};

impl Deciding<'_> {
    /// Invariant I7: once this is committed the prompt is never lost and keeps its place, whatever
    /// happens to the step that runs now.
    pub(super) fn admit_prompt(&mut self, prompt: NewPrompt) {
        let state = self.now();
        let Some(info) = state.info.as_deref() else { return self.refuse(Refusal::Gone) };
        if let Some(message) = &prompt.message
            && is_known(&state, message)
        {
            return self.refuse(Refusal::MessageExists(message.clone()));
        }
        let created = next_message_time(self.stamp);
        let message = prompt.message.clone().unwrap_or_else(|| self.stamp.message_id());
        let wants_reply = prompt.wants_reply;
        let session = info.id.clone();
        let parts = prompt.parts.into_iter().map(|(chosen, body)| Part {
            id: chosen.unwrap_or_else(|| self.stamp.part_id()),
            session_id: session.clone(),
            message_id: message.clone(),
            body,
        });
        let parts = parts.collect();
        let user = UserMessage {
            id: message.clone(),
            session_id: session.clone(),
            role: UserRole::User,
            time: Created { created },
            format: prompt.format,
            summary: None,
            agent: prompt.agent,
            model: prompt.model,
            system: prompt.system,
            tools: prompt.tools,
        };
        let posted = Box::new(Posted {
            info: user,
            parts,
            touched: Some(self.stamp.now().max(created)),
            failures: prompt.failures,
        });
        if !wants_reply {
            return self.fact(Fact::MessageAdded { posted });
        }
        let held = state.is_idle() && prompt.start == PromptStart::WhenResumed;
        let begins = state.is_idle() && !held;
        let delivery = prompt.delivery;
        self.fact(Fact::PromptAdmitted { posted, begins, delivery, held, digest: prompt.digest });
        // Not always this one: those that were left waiting may come first.
        if let Some(user) = self.now().next_prompts().pop().filter(|_| begins) {
            self.effect(Effect::Prepare { user });
        }
    }
}

fn is_known(state: &State, message: &MessageId) -> bool {
    let waits = state.machine.waiting.iter().any(|waiting| waiting.message == *message);
    waits || state.machine.turn.as_ref().is_some_and(|turn| turn.user.as_ref() == Some(message))
}

impl Deciding<'_> {
    /// Takes a prompt back that nobody has begun to answer.
    pub(super) fn withdraw_prompt(&mut self, message: MessageId) {
        let state = self.now();
        if !state.machine.waiting.iter().any(|waiting| waiting.message == message) {
            return self.refuse(Refusal::UnknownPrompt(message));
        }
        if !state.is_idle() && state.open_step().is_none() {
            // It is being taken up this very moment.
            return self.refuse(Refusal::Busy);
        }
        self.fact(Fact::PromptWithdrawn { message });
    }

    /// Goes on with the prompts that an abort or a restart left waiting.
    pub(super) fn resume(&mut self) {
        let state = self.now();
        if state.is_idle() {
            self.resume_waiting();
        }
    }

    pub(super) fn resume_waiting(&mut self) {
        let state = self.now();
        if let Some(newest) = state.next_prompts().pop() {
            self.continue_with(newest);
        }
    }
}

/// A time for a message of its own: whatever comes behind it is later, also when two come in one
/// millisecond. Clients sort by time and then by an id of their own making.
pub(super) fn next_message_time(stamp: &mut Stamp) -> Millis {
    let created = stamp.now();
    stamp.tick(created + 1);
    created
}
