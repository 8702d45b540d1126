//! What a running call asks a person: it is durable, any client may answer, it is closed with its turn.

use super::input::{Answer, Ask};
use super::state::OpenStep;
use super::{Decision, Effect, Refusal, State};
use crate::fact::Fact;
use crate::id::{PartId, PermissionId, QuestionId};
use crate::stamp::Stamp;
use crate::types::ask::{AskedBy, PermissionReply, PermissionRequest, QuestionRequest};

/// A call wants to know something before it acts.
pub(super) fn asked(state: &State, part: PartId, ask: Ask, stamp: &mut Stamp, out: &mut Decision) {
    let (Some(info), Some(step)) = (state.info.as_deref(), state.open_step()) else { return };
    let Some(call) = state.open_call(&part) else { return };
    let session_id = info.id.clone();
    let tool = Some(AskedBy { message_id: step.message.clone(), call_id: call.call.clone() });
    match ask {
        Ask::Permission { permission, patterns, always, metadata } => {
            let id = stamp.permission_id();
            let request = PermissionRequest { id, session_id, permission, patterns, metadata, always, tool };
            out.fact(Fact::PermissionAsked { request: Box::new(request) });
        }
        Ask::Question { questions } => {
            let request = QuestionRequest { id: stamp.question_id(), session_id, questions, tool };
            out.fact(Fact::QuestionAsked { request: Box::new(request) });
        }
    }
}

/// A person answered. An answer to an ask that is not open is refused, not ignored:
/// somebody is looking at an old screen and should know.
pub(super) fn answered(state: &State, ask: &str, answer: Answer, _stamp: &mut Stamp, out: &mut Decision) {
    let open = state
        .open_step()
        .and_then(|step| step.calls.iter().find(|call| call.asks.iter().any(|open| open == ask)));
    let Some(call) = open else { return out.refuse(Refusal::UnknownAsk(ask.to_owned())) };
    let part = call.part.clone();
    match &answer {
        Answer::Permission { reply, message } => {
            let Ok(request) = PermissionId::parse(ask) else {
                return out.refuse(Refusal::UnknownAsk(ask.to_owned()));
            };
            out.fact(Fact::PermissionReplied { request, reply: *reply, message: message.clone() });
        }
        Answer::Question { answers } => {
            let Ok(request) = QuestionId::parse(ask) else {
                return out.refuse(Refusal::UnknownAsk(ask.to_owned()));
            };
            out.fact(Fact::QuestionReplied { request, answers: answers.clone() });
        }
        Answer::Dismissed => {
            let Ok(request) = QuestionId::parse(ask) else {
                return out.refuse(Refusal::UnknownAsk(ask.to_owned()));
            };
            out.fact(Fact::QuestionRejected { request });
        }
    }
    out.effect(Effect::Deliver { part, ask: ask.to_owned(), answer });
}

/// The turn ends: what nobody answered is taken back, so that a late answer runs nothing.
pub(super) fn withdraw_all(step: &OpenStep, out: &mut Decision) {
    for ask in step.calls.iter().flat_map(|call| &call.asks) {
        if let Ok(request) = PermissionId::parse(ask) {
            let reply = PermissionReply::Reject;
            out.fact(Fact::PermissionReplied { request, reply, message: None });
        } else if let Ok(request) = QuestionId::parse(ask) {
            out.fact(Fact::QuestionRejected { request });
        }
    }
}
