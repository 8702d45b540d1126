//! A prompt comes in: it is made durable, and answered now or when its turn comes.

use super::{Decision, Effect, NewPrompt, Refusal, State};
use crate::fact::{Edit, Fact};
use crate::id::MessageId;
use crate::stamp::{Millis, Stamp};
use crate::types::message::{UserMessage, UserRole};
use crate::types::part::{Created, Part};
use crate::types::session::{Action, Rule, Session, SessionModel};
use crate::types::status::Status;

/// The literal that stands for "none" in a session's model.
const NO_VARIANT: &str = "default";

/// Invariant I7: once this is committed the prompt is never lost and keeps its place, whatever
/// happens to the step that runs now.
pub(super) fn prompt(state: &State, prompt: NewPrompt, stamp: &mut Stamp, out: &mut Decision) {
    let Some(info) = state.info.as_deref() else { return out.refuse(Refusal::Gone) };
    if let Some(message) = &prompt.message
        && is_known(state, message)
    {
        return out.refuse(Refusal::MessageExists(message.clone()));
    }
    let created = next_message_time(state, stamp);
    let message = prompt.message.clone().unwrap_or_else(|| stamp.message_id());

    let mut record = info.clone();
    if choose(&mut record, &prompt, created) {
        edited(out, Edit::Chosen, &record);
    }
    out.facts.extend(prompt.failures.iter().cloned().map(|error| Fact::SessionFailed { error }));
    let (parts, user) = write_message(prompt, message.clone(), info, created, stamp);
    let (wants_reply, tools) = (user.1, user.0.tools.clone());
    out.fact(Fact::MessageAdded { info: Box::new(user.0) });
    out.facts.extend(parts.into_iter().map(|part| Fact::PartWritten { part: Box::new(part) }));

    record.time.updated = stamp.now().max(created);
    edited(out, Edit::Touched, &record);
    if let Some(tools) = tools.filter(|tools| !tools.is_empty()) {
        record.permission = Some(tools.iter().map(|(name, on)| switch(name.to_owned(), on)).collect());
        edited(out, Edit::Permitted, &record);
    }
    if !wants_reply {
        return;
    }
    out.fact(Fact::PromptAdmitted { message: message.clone() });
    if state.is_idle() {
        out.fact(Fact::StatusChanged { status: Status::Busy });
        out.effect(Effect::Prepare { user: message });
    }
}

fn is_known(state: &State, message: &MessageId) -> bool {
    let waits = state.machine.waiting.iter().any(|waiting| waiting.message == *message);
    waits || state.machine.turn.as_ref().is_some_and(|turn| turn.user.as_ref() == Some(message))
}

/// Takes a prompt back that nobody has begun to answer.
pub(super) fn withdraw(state: &State, message: MessageId, out: &mut Decision) {
    if !state.machine.waiting.iter().any(|waiting| waiting.message == message) {
        return out.refuse(Refusal::UnknownPrompt(message));
    }
    if !state.is_idle() && state.open_step().is_none() {
        // It is being taken up this very moment.
        return out.refuse(Refusal::Busy);
    }
    out.fact(Fact::PromptWithdrawn { message: message.clone() });
    out.fact(Fact::MessageRemoved { message, cost: Default::default(), tokens: Default::default() });
}

/// Goes on with the prompts that an abort or a restart left waiting.
pub(super) fn resume(state: &State, out: &mut Decision) {
    if state.is_idle() {
        resume_waiting(state, out);
    }
}

pub(super) fn resume_waiting(state: &State, out: &mut Decision) {
    if let Some(newest) = state.machine.waiting.last() {
        out.fact(Fact::StatusChanged { status: Status::Busy });
        out.effect(Effect::Prepare { user: newest.message.clone() });
    }
}

/// Later than every message before it, also when two come in one millisecond.
pub(super) fn next_message_time(state: &State, stamp: &Stamp) -> Millis {
    stamp.now().max(state.machine.newest_message + 1)
}

fn edited(out: &mut Decision, edit: Edit, record: &Session) {
    out.fact(Fact::SessionEdited { edit, info: Box::new(record.clone()) });
}

/// Notes agent and model of the latest prompt on the session, if they differ.
fn choose(record: &mut Session, prompt: &NewPrompt, created: Millis) -> bool {
    let stored_variant =
        record.model.as_ref().and_then(|model| model.variant.as_deref()).filter(|name| *name != NO_VARIANT);
    let same_model = record.model.as_ref().is_some_and(|model| {
        model.id == prompt.model.model_id && model.provider_id == prompt.model.provider_id
    });
    if same_model
        && record.agent.as_deref() == Some(&prompt.agent)
        && stored_variant == prompt.model.variant.as_deref()
    {
        return false;
    }
    record.agent = Some(prompt.agent.clone());
    record.model = Some(SessionModel {
        id: prompt.model.model_id.clone(),
        provider_id: prompt.model.provider_id.clone(),
        variant: Some(prompt.model.variant.clone().unwrap_or_else(|| NO_VARIANT.to_owned())),
    });
    record.time.updated = created;
    true
}

fn write_message(
    prompt: NewPrompt,
    id: MessageId,
    session: &Session,
    created: Millis,
    stamp: &mut Stamp,
) -> (Vec<Part>, (UserMessage, bool)) {
    let parts = prompt.parts.into_iter().map(|(chosen, body)| Part {
        id: chosen.unwrap_or_else(|| stamp.part_id()),
        session_id: session.id.clone(),
        message_id: id.clone(),
        body,
    });
    let parts = parts.collect();
    let user = UserMessage {
        id,
        session_id: session.id.clone(),
        role: UserRole::User,
        time: Created { created },
        format: prompt.format,
        summary: None,
        agent: prompt.agent,
        model: prompt.model,
        system: prompt.system,
        tools: prompt.tools,
    };
    (parts, (user, prompt.wants_reply))
}

fn switch(permission: String, on: bool) -> Rule {
    let action = if on { Action::Allow } else { Action::Deny };
    Rule { permission, pattern: "*".to_owned(), action }
}
