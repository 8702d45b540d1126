//! Looks up the stored rows that an input refers to, right before it is decided.
//!
//! A session's task is the only one that writes its rows, and it decides such an input alone: everything before it is
//! durable, and nothing comes between the lookup and the commit. So two requests that are made at once cannot both find
//! an id free, subtract the same usage twice, or write a part into a message that is gone.

use crate::error::EngineError;
use crate::records;
use crate::run::handle::Mail;
use std::slice;
use sturdy_session::fork::usage_of;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::turn::{Input, NewPrompt, Refusal, State};
use sturdy_session::types::part::{Part, PartBody};
use sturdy_store::Store;

/// Prompts that may wait behind the one that is answered.
pub(crate) const WAITING_MAX: usize = 64;
/// And how much they may hold together.
pub(crate) const WAITING_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Whether mail depends on what is stored at the moment it is decided.
pub(crate) fn needs_lookup(mail: &Mail) -> bool {
    mail.inputs.iter().any(|input| {
        matches!(
            input,
            Input::Prompt(_)
                | Input::Shell(_)
                | Input::RemoveMessage { .. }
                | Input::WritePart { .. }
                | Input::RemovePart { .. }
        )
    })
}

/// The inputs as they are true now, or why they are refused.
pub(crate) async fn look_up(
    store: &Store,
    session: &SessionId,
    state: &State,
    inputs: Vec<Input>,
) -> Result<Vec<Input>, EngineError> {
    if state.info().is_none() {
        // Whatever it is, the machine refuses it or creates the session.
        return Ok(inputs);
    }
    let mut looked = Vec::with_capacity(inputs.len());
    for input in inputs {
        looked.push(match input {
            Input::Prompt(prompt) => {
                check_prompt(store, session, state, &prompt).await?;
                Input::Prompt(prompt)
            }
            Input::Shell(shell) => {
                check_ids(store, session, shell.message.as_ref(), &[]).await?;
                Input::Shell(shell)
            }
            Input::RemoveMessage { message, .. } => {
                let (cost, tokens) = usage_of(&bodies_of(store, session, &message).await?);
                Input::RemoveMessage { message, cost, tokens }
            }
            Input::RemovePart { message, part, .. } => {
                let known = find_part(store, session, &part).await?;
                let known = known.filter(|known| known.message_id == message).ok_or(EngineError::Absent)?;
                let (cost, tokens) = usage_of([&known.body]);
                Input::RemovePart { message, part, cost, tokens }
            }
            Input::WritePart { part } => {
                check_part(store, session, &part).await?;
                Input::WritePart { part }
            }
            other => other,
        });
    }
    Ok(looked)
}

async fn check_prompt(
    store: &Store,
    session: &SessionId,
    state: &State,
    prompt: &NewPrompt,
) -> Result<(), EngineError> {
    let parts: Vec<PartId> = prompt.parts.iter().filter_map(|(id, _)| id.clone()).collect();
    check_ids(store, session, prompt.message.as_ref(), &parts).await?;
    let waiting: Vec<MessageId> = state.waiting().cloned().collect();
    if !prompt.wants_reply || waiting.is_empty() {
        return Ok(());
    }
    let bytes: u64 = store.parts_bytes(session, &waiting).await?.iter().sum();
    let is_full = waiting.len() >= WAITING_MAX || bytes >= WAITING_BYTES_MAX;
    if is_full { Err(EngineError::QueueFull(session.clone())) } else { Ok(()) }
}

/// An id of a session is never used twice: what has it would be overwritten.
async fn check_ids(
    store: &Store,
    session: &SessionId,
    message: Option<&MessageId>,
    parts: &[PartId],
) -> Result<(), EngineError> {
    let messages = message.map(slice::from_ref).unwrap_or_default();
    if messages.is_empty() && parts.is_empty() {
        return Ok(());
    }
    let taken = store.rows_of(session, messages, parts).await?;
    if let Some((id, _)) = taken.messages.into_iter().next() {
        return Err(Refusal::MessageExists(id).into());
    }
    match taken.parts.first() {
        Some((id, _)) => Err(EngineError::Bad(format!("A part {id} exists already"))),
        None => Ok(()),
    }
}

async fn check_part(store: &Store, session: &SessionId, part: &Part) -> Result<(), EngineError> {
    let message = &part.message_id;
    if store.message_info(session, message).await?.is_none() {
        return Err(EngineError::Unknown(format!("Message not found: {message}")));
    }
    let old = find_part(store, session, &part.id).await?;
    if old.as_ref().is_some_and(|old| old.message_id != *message) {
        return Err(EngineError::Bad(format!("The part {} belongs to another message", part.id)));
    }
    let is_account = |part: &Part| matches!(part.body, PartBody::StepFinish(_));
    if old.as_ref() != Some(part) && (is_account(part) || old.as_ref().is_some_and(is_account)) {
        return Err(EngineError::Bad(
            "A step-finish part holds the cost of a step and cannot be changed".to_owned(),
        ));
    }
    Ok(())
}

/// What a message is made of. A part that cannot be read used nothing that could be given back.
async fn bodies_of(
    store: &Store,
    session: &SessionId,
    message: &MessageId,
) -> Result<Vec<PartBody>, EngineError> {
    if store.message_info(session, message).await?.is_none() {
        return Err(EngineError::Absent);
    }
    let parts = store.parts_of(session, message).await?;
    Ok(records::parts(message, &parts).map(|part| part.body).collect())
}

pub(crate) async fn find_part(
    store: &Store,
    session: &SessionId,
    id: &PartId,
) -> Result<Option<Part>, EngineError> {
    let rows = store.rows_of(session, &[], slice::from_ref(id)).await?;
    let Some((_, text)) = rows.parts.into_iter().next() else { return Ok(None) };
    Ok(Some(records::part(id, &text)?))
}
