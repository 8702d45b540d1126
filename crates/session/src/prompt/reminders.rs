//! What the model should not forget, said again with the newest prompt.
//!
//! Reminders are never stored: they depend on who answers now, and a stored one would still
//! forbid edits after the user has allowed them. Their texts stand in files beside this one.

use crate::id::PartId;
use crate::types::message::{Message, MessageWithParts};
use crate::types::part::{Part, PartBody, TextPart};
use std::borrow::Borrow;
use std::sync::Arc;

const PLAN: &str = include_str!("reminders/plan.md");
const LAST_STEP: &str = include_str!("reminders/last_step.md");
const GO_ON: &str = include_str!("reminders/go_on.md");
const STRUCTURED: &str = include_str!("reminders/structured.md");
const BUILD: &str = include_str!("reminders/build.md");

/// Said behind the history when an agent's last step begins.
#[must_use]
pub fn last_step() -> &'static str {
    LAST_STEP.trim_end()
}

/// Said behind the history when it would end with words of the model, which some models do not accept.
#[must_use]
pub fn go_on() -> &'static str {
    GO_ON.trim_end()
}

/// Said in the system text when the answer has to fit a schema.
#[must_use]
pub fn structured_output() -> &'static str {
    STRUCTURED.trim_end()
}

/// The reminder for the agent that answers, if there is one.
#[must_use]
pub fn reminder<M: Borrow<MessageWithParts>>(history: &[M], agent: &str) -> Option<&'static str> {
    match agent {
        "plan" => Some(PLAN.trim_end()),
        "build" if history.iter().any(|message| is_planned(message.borrow())) => Some(BUILD.trim_end()),
        _ => None,
    }
}

fn is_planned(message: &MessageWithParts) -> bool {
    match &message.info {
        Message::Assistant(assistant) => assistant.agent == "plan",
        Message::User(_) => false,
    }
}

/// Adds the reminder to the newest user message, in memory. Whoever shares the message does not see it.
pub fn remind(history: &mut [Arc<MessageWithParts>], agent: &str) {
    let Some(text) = reminder(history, agent) else { return };
    let newest = history
        .iter_mut()
        .filter(|message| matches!(message.info, Message::User(_)))
        .max_by(|a, b| (a.info.created(), a.info.id()).cmp(&(b.info.created(), b.info.id())));
    let Some(message) = newest else { return };
    let message = Arc::make_mut(message);

    let body = TextPart { text: text.to_owned(), synthetic: Some(true), ..TextPart::default() };
    message.parts.push(Part {
        // Not from a stamp: this part is never stored and never shown.
        id: PartId::parse("prt_reminder").expect("BUG: own id has its prefix"),
        session_id: message.info.session_id().clone(),
        message_id: message.info.id().clone(),
        body: PartBody::Text(body),
    });
}
