//! What a call needs before it acts. The rules are applied here, a person is asked where they say so, and what
//! everybody allowed becomes a fact before the call acts.
//!
//! What a person is asked is durable, any client may answer, and it is closed with its turn. A rule that forbids and an
//! answer that refuses end the call in the same decision: nothing is started for it, now or after a restart. What a
//! person allowed is remembered by the call, so a call that plans again after a restart is not asked about twice.

use super::deciding::Deciding;
use super::effect::{NeedAnswer, RunTool};
use super::input::{Answer, Ask};
use super::phase::Phase;
use super::state::{CallPhase, OpenAsk, OpenCall, OpenStep, of_ask};
use super::{Effect, Refusal};
use crate::fact::{Fact, Outcome};
use crate::id::{PartId, PermissionId, QuestionId};
use crate::rules::{Verdict, approvals_of, judge};
use crate::types::ask::{AskedBy, PermissionReply, PermissionRequest, QuestionRequest};
use crate::types::part::PartBody;
use crate::types::session::Rule;

impl Deciding<'_> {
    /// A call that plans needs something. One that acts already, or asks for something else meanwhile, is not heard.
    pub(super) fn needs(&mut self, part: PartId, ask: Ask) {
        let state = self.now();
        let (Some(info), Some(step)) = (state.info.as_deref(), state.open_step()) else { return };
        let Some(call) = state.open_call(&part).filter(|call| is_planning(step, call)) else { return };
        let session_id = info.id.clone();
        let tool = Some(AskedBy { message_id: step.message.clone(), call_id: call.call.clone() });
        match ask {
            Ask::Permission { id, wanted, rules, always, metadata, checkout } => {
                if call.granted.contains(&of_ask(&wanted.permission, &wanted.patterns, &metadata)) {
                    return self.effect(Effect::AnswerTool { part, answer: NeedAnswer::Allowed });
                }
                match rules.judge(&wanted) {
                    Verdict::Allow => self.effect(Effect::AnswerTool { part, answer: NeedAnswer::Allowed }),
                    Verdict::Deny(rules) => {
                        let error = denied_text(&rules);
                        self.effect(Effect::AnswerTool {
                            part: part.clone(),
                            answer: NeedAnswer::Denied(rules),
                        });
                        self.returned(part, Outcome::Failed { error, metadata: None });
                    }
                    Verdict::Ask => {
                        let permission = wanted.permission;
                        let patterns = wanted.patterns;
                        let request = PermissionRequest {
                            id,
                            session_id,
                            permission,
                            patterns,
                            metadata,
                            always,
                            tool,
                        };
                        self.fact(Fact::PermissionAsked { request: Box::new(request), checkout });
                    }
                }
            }
            Ask::Question { id, questions } => match &call.answers {
                Some(answers) => {
                    self.effect(Effect::AnswerTool { part, answer: NeedAnswer::Answers(answers.clone()) });
                }
                None => {
                    let request = QuestionRequest { id, session_id, questions, tool };
                    self.fact(Fact::QuestionAsked { request: Box::new(request) });
                }
            },
        }
    }

    /// Everything a call needs is allowed.
    ///
    /// Invariant I5: that is a fact before the call acts. A call without it has certainly changed nothing; a call with
    /// it may have, and is not repeated.
    pub(super) fn planned(&mut self, part: PartId) {
        let state = self.now();
        let Some(step) = state.open_step() else { return };
        if state.open_call(&part).is_some_and(|call| is_planning(step, call)) {
            self.fact(Fact::ToolAllowed { part: part.clone() });
            self.effect(Effect::AnswerTool { part, answer: NeedAnswer::Allowed });
        }
    }

    /// A person answered. An answer to an ask that is not open is refused, not ignored:
    /// somebody is looking at an old screen and should know.
    pub(super) fn answered(&mut self, ask: &str, answer: Answer) {
        let state = self.now();
        let open = state.open_step().and_then(|step| Some((step, find(step, ask)?)));
        let Some((step, (call, open))) = open else {
            return self.refuse(Refusal::UnknownAsk(ask.to_owned()));
        };
        let Some(fact) = reply(open, &answer) else {
            return self.refuse(Refusal::UnknownAsk(ask.to_owned()));
        };
        self.fact(fact);
        self.deliver(step, call, answer.clone());
        let mut refused = Vec::new();
        refused.extend(refusal(step, &answer).map(|outcome| (call.part.clone(), outcome)));

        if let Answer::Permission { reply: said, .. } = answer {
            for (call, other) in
                asks_of(step).filter(|(_, other)| other.id != ask && !other.permission.is_empty())
            {
                let follows = match said {
                    PermissionReply::Once => false,
                    // An approval for always also answers the other open requests that it covers.
                    PermissionReply::Always => {
                        let approvals = approvals_of(&open.permission, &open.always);
                        judge(&other.permission, &other.patterns, &[], &approvals) == Verdict::Allow
                    }
                    PermissionReply::Reject => true,
                };
                if follows {
                    let answer = Answer::Permission { reply: said, message: None };
                    if let Some(fact) = reply(other, &answer) {
                        self.fact(fact);
                    }
                    refused.extend(refusal(step, &answer).map(|outcome| (call.part.clone(), outcome)));
                    self.deliver(step, call, answer);
                }
            }
        }
        // A refused call ends here, with the answer: whatever waits for it or would run it again, now or after a
        // restart, finds it closed.
        for (part, outcome) in refused {
            self.returned(part, outcome);
        }
    }
}

/// Whether a call may still ask, and waits for nothing it asked before.
fn is_planning(step: &OpenStep, call: &OpenCall) -> bool {
    call.phase == CallPhase::Planning && call.asks.is_empty() && step.phase != Phase::Stopping
}

/// How a call ends that a person refused; none if it may go on.
fn refusal(step: &OpenStep, answer: &Answer) -> Option<Outcome> {
    let (error, is_explained) = match answer {
        Answer::Permission { reply: PermissionReply::Once | PermissionReply::Always, .. }
        | Answer::Question { .. } => return None,
        Answer::Permission { reply: PermissionReply::Reject, message } => {
            (rejected_text(message.as_deref()), message.is_some())
        }
        Answer::Dismissed => (DISMISSED_TEXT.to_owned(), false),
    };
    Some(match is_explained || step.ready.continue_on_deny {
        true => Outcome::Failed { error, metadata: None },
        false => Outcome::Blocked { error },
    })
}

/// What the model is told of a call that a rule forbids. Clients look for the words "specified a rule".
#[must_use]
pub fn denied_text(rules: &[Rule]) -> String {
    let listed = serde_json::to_string(rules).unwrap_or_default();
    format!("The user has specified a rule that forbids this call. The rules about it: {listed}")
}

/// What the model is told of a call that a person rejected. Clients look for the words "rejected permission".
#[must_use]
pub fn rejected_text(feedback: Option<&str>) -> String {
    match feedback {
        None => "The user rejected permission for this call.".to_owned(),
        Some(words) => format!("The user rejected permission for this call and said: {words}"),
    }
}

/// The same for a question that was closed. Clients look for the words "user dismissed".
pub const DISMISSED_TEXT: &str = "The user dismissed the question without an answer.";

impl Deciding<'_> {
    /// The turn ends: what nobody answered is taken back, so that a late answer runs nothing.
    pub(super) fn withdraw_all_asks(&mut self, step: &OpenStep) {
        step.calls.iter().for_each(|call| self.withdraw_asks(call));
    }

    /// Takes back what one call asked.
    pub(super) fn withdraw_asks(&mut self, call: &OpenCall) {
        for ask in &call.asks {
            let answer = match ask.permission.as_str() {
                "" => Answer::Dismissed,
                _ => Answer::Permission { reply: PermissionReply::Reject, message: None },
            };
            if let Some(fact) = reply(ask, &answer) {
                self.fact(fact);
            }
        }
    }
}

/// Whether nothing of the step runs: it only waits for a person.
pub(super) fn only_waits(step: &OpenStep) -> bool {
    let mut open = step.calls.iter().filter(|call| call.body.is_some()).peekable();
    matches!(step.phase, Phase::Settling { last_word: Some(_) })
        && open.peek().is_some()
        && open.all(|call| !call.asks.is_empty())
}

fn asks_of(step: &OpenStep) -> impl Iterator<Item = (&OpenCall, &OpenAsk)> {
    step.calls.iter().flat_map(|call| call.asks.iter().map(move |ask| (call, ask)))
}

fn find<'a>(step: &'a OpenStep, ask: &str) -> Option<(&'a OpenCall, &'a OpenAsk)> {
    asks_of(step).find(|(_, open)| open.id == ask)
}

/// The fact an answer makes; none when the answer is not of the ask's kind.
fn reply(ask: &OpenAsk, answer: &Answer) -> Option<Fact> {
    match answer {
        Answer::Permission { reply, message } => {
            let request = PermissionId::parse(&ask.id).ok()?;
            Some(Fact::PermissionReplied { request, reply: *reply, message: message.clone() })
        }
        Answer::Question { answers } => {
            let request = QuestionId::parse(&ask.id).ok()?;
            Some(Fact::QuestionReplied { request, answers: answers.clone() })
        }
        Answer::Dismissed => {
            QuestionId::parse(&ask.id).ok().map(|request| Fact::QuestionRejected { request })
        }
    }
}

impl Deciding<'_> {
    /// Hands an answer to the call that waits for it. A refused one is only let go: it ends with the answer.
    fn deliver(&mut self, step: &OpenStep, call: &OpenCall, answer: Answer) {
        let answer = match answer {
            Answer::Permission { reply: PermissionReply::Once | PermissionReply::Always, .. } => {
                NeedAnswer::Allowed
            }
            Answer::Permission { reply: PermissionReply::Reject, message } => NeedAnswer::Rejected(message),
            Answer::Question { answers } => NeedAnswer::Answers(answers),
            Answer::Dismissed => NeedAnswer::Dismissed,
        };
        if matches!(answer, NeedAnswer::Rejected(_) | NeedAnswer::Dismissed) {
            return self.effect(Effect::AnswerTool { part: call.part.clone(), answer });
        }
        let Some(PartBody::Tool(tool)) = call.body.as_deref().map(|part| &part.body) else { return };
        let call = RunTool {
            step: step.message.clone(),
            part: call.part.clone(),
            call: call.call.clone(),
            tool: tool.tool.clone(),
            input: tool.state.input().clone(),
            repeated: false,
            by_user: !step.ready.kind.is_spoken(),
        };
        self.effect(Effect::ResumeTool { call, answer });
    }
}
