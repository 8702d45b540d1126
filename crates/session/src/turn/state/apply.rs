//! `apply`, the only thing that changes a state (invariant I3): what each fact does to it.

use super::{
    CallPhase, OpenAsk, OpenCall, OpenStep, OpenText, OpenTurn, REPEATED_CALLS, State, Waiting, fingerprint,
};
use crate::fact::{Fact, Outcome, Posted};
use crate::id::{MessageId, PartId, SessionId};
use crate::json::Num;
use crate::records::{self, Owner};
use crate::stamp::Millis;
use crate::talk::FinishReason;
use crate::turn::phase::{LastWord, Pause, Phase};
use crate::types::ask::PermissionReply;
use crate::types::message::UserMessage;
use crate::types::part::{Part, PartBody, ToolPart};
use crate::types::session::Session;
use crate::types::step::{Ready, StepKind};
use crate::types::tool::ToolState;
use crate::types::usage::Tokens;

impl State {
    /// Invariant I3: the only function that changes a state. Replaying stored facts gives the live state.
    pub fn apply(&mut self, fact: &Fact) {
        if is_edit(fact) {
            self.machine.edits = self.machine.edits.wrapping_add(1);
        }
        match fact {
            Fact::SessionCreated { info } => self.info = Some(info.clone()),
            Fact::SessionEdited { edit } => self.change_record(|info| Some(records::edited(info, edit))),
            Fact::SessionReverted { revert, totals, updated, .. } => {
                let revert = revert.as_deref();
                let totals = totals.as_deref();
                self.change_record(|info| Some(records::reverted(info, revert, totals, *updated)));
            }
            Fact::SessionRemoved { .. } => *self = Self::default(),
            Fact::MessageAdded { posted } => self.note(posted),
            Fact::PromptAdmitted { posted, begins, delivery, held, .. } => {
                self.note(posted);
                let waiting = Waiting::new(posted, *begins);
                self.machine.waiting.push(Waiting { delivery: *delivery, left: *held, ..waiting });
                self.begin_turn_if(*begins);
            }
            Fact::CompactionWanted { posted, auto, begins } => {
                self.note(posted);
                self.begin_turn_if(*begins);
                let turn = self.machine.turn.get_or_insert_default();
                turn.compact = Some(Waiting::new(posted, true));
                turn.compactions += u32::from(*auto);
            }
            Fact::PromptWithdrawn { message } => {
                self.machine.waiting.retain(|waiting| waiting.message != *message);
            }
            Fact::PromptFailed { messages } => self.promote(messages),
            Fact::CopyStarted => self.machine.is_copying = true,
            Fact::CopyFinished => self.machine.is_copying = false,
            Fact::MessageCopied { cost, tokens, .. } => self.count_usage(*cost, tokens),
            Fact::MessageRemoved { cost, tokens, .. } => self.forget_usage(*cost, tokens),
            Fact::PartRemoved { part, cost, tokens, .. } => {
                self.forget_usage(*cost, tokens);
                self.forget_subtask(part);
            }
            Fact::TurnDiffed { diffed, updated } => {
                self.change_record(|info| Some(records::diffed(info, diffed, *updated)));
                self.change_prompt(&diffed.prompt.id, |_| diffed.prompt.clone());
            }
            Fact::TurnContinued { .. } => self.begin_turn_if(true),
            Fact::SessionIdled { .. } => {
                self.machine.turn = None;
                self.leave_waiting();
            }
            Fact::StepStarted { message, user, created, takes, ready } => {
                if let (true, Some(newest)) = (ready.kind.is_answer(), takes.last()) {
                    self.summarise(newest, *created);
                }
                if !takes.is_empty() {
                    self.promote(takes);
                }
                self.start_step(message, user, *created, ready);
            }
            Fact::ShellStarted { posted, message, created, ready } => {
                self.note(posted);
                self.start_step(message, &posted.info.id, *created, ready);
            }
            Fact::StepFinished { reason, cost, tokens, time, .. } => {
                self.finish_step(*reason, *cost, tokens, *time);
            }
            Fact::StepEnded { error, .. } => self.end_step(error.is_some()),
            Fact::TurnStopping => {
                // Who comes from now on asks for something new.
                self.leave_waiting();
                self.apply_to_step(fact);
            }
            Fact::StepBegan { .. }
            | Fact::StepDelayed { .. }
            | Fact::StepRetried { .. }
            | Fact::ModelFinished { .. }
            | Fact::TextStarted { .. }
            | Fact::TextGrew { .. }
            | Fact::TextEnded { .. }
            | Fact::ToolCalled { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolAllowed { .. }
            | Fact::ToolProgressed { .. }
            | Fact::ToolEnded { .. }
            | Fact::PermissionAsked { .. }
            | Fact::PermissionReplied { .. }
            | Fact::QuestionAsked { .. }
            | Fact::QuestionReplied { .. }
            | Fact::FilesChanged { .. }
            | Fact::QuestionRejected { .. } => self.apply_to_step(fact),
            Fact::PartWritten { .. }
            | Fact::ToolCompacted { .. }
            | Fact::TodoSet { .. }
            | Fact::SessionCompacted
            | Fact::SessionFailed { .. }
            | Fact::SnippetsStarted { .. }
            | Fact::CommandExecuted { .. } => {}
        }
    }

    fn change_record(&mut self, change: impl FnOnce(&Session) -> Option<Session>) {
        if let Some(info) = self.info.as_mut()
            && let Some(changed) = change(info)
        {
            **info = changed;
        }
    }

    /// What a prompt of a person changes in the session record.
    fn note(&mut self, posted: &Posted) {
        self.change_record(|info| Some(records::prompted(info, posted)?.last()));
    }

    fn begin_turn_if(&mut self, holds: bool) {
        if holds {
            self.machine.turn.get_or_insert_default();
        }
    }

    fn leave_waiting(&mut self) {
        self.machine.waiting.iter_mut().for_each(|waiting| waiting.left = true);
    }

    fn promote(&mut self, messages: &[MessageId]) {
        let newest =
            self.machine.waiting.iter_mut().find(|waiting| Some(&waiting.message) == messages.last());
        let asked = newest.and_then(|waiting| waiting.info.take());
        let promoted = self.machine.waiting.iter().filter(|waiting| messages.contains(&waiting.message));
        let subtasks: Vec<PartId> = promoted.flat_map(|waiting| waiting.subtasks.iter().cloned()).collect();
        self.machine.waiting.retain(|waiting| !messages.contains(&waiting.message));
        let turn = self.machine.turn.get_or_insert_default();
        turn.user = messages.last().cloned();
        turn.asked = asked;
        turn.subtasks.extend(subtasks);
        turn.silent_steps = 0;
        if !turn.goes_on_with(messages.len()) {
            turn.steps = 0;
            turn.tries = 0;
            turn.retries = 0;
        }
        turn.continues = false;
    }

    fn forget_subtask(&mut self, part: &PartId) {
        for waiting in &mut self.machine.waiting {
            waiting.subtasks.retain(|known| known != part);
        }
        if let Some(turn) = self.machine.turn.as_mut() {
            turn.subtasks.retain(|known| known != part);
        }
    }

    /// It was looked at what the turn of this prompt changed on disk.
    fn summarise(&mut self, user: &MessageId, time: Millis) {
        if self.asked(user).is_none() {
            return;
        }
        self.change_record(|info| Some(records::summarised(info.clone(), time)));
        self.change_prompt(user, records::with_summary);
    }

    /// Every copy of a prompt that is waiting or being answered.
    fn change_prompt(&mut self, user: &MessageId, change: impl Fn(&UserMessage) -> UserMessage) {
        let waiting = self.machine.waiting.iter_mut().filter_map(|waiting| waiting.info.as_mut());
        let turn = self.machine.turn.iter_mut().flat_map(|turn| {
            let request = turn.step.as_mut().and_then(|step| step.request.as_mut());
            turn.asked.iter_mut().chain(request)
        });
        for asked in waiting.chain(turn).filter(|asked| asked.id == *user) {
            **asked = change(asked);
        }
    }

    fn start_step(&mut self, message: &MessageId, user: &MessageId, created: Millis, ready: &Ready) {
        let info = self.info.as_deref().map(|info| records::opening(&info.id, message, user, created, ready));
        let turn = self.machine.turn.get_or_insert_default();
        if let StepKind::Subtask { part, .. } = &ready.kind {
            turn.subtasks.retain(|known| known != part);
        }
        let request = if ready.kind.is_compaction() {
            turn.compact.take().and_then(|compact| compact.info)
        } else {
            turn.steps += 1;
            None
        };
        turn.step = Some(OpenStep {
            message: message.clone(),
            user: user.clone(),
            ready: ready.clone(),
            attempt: 0,
            phase: Phase::of(&ready.kind),
            texts: Vec::new(),
            calls: Vec::new(),
            blocked: false,
            spoke: false,
            structured: None,
            misfit: false,
            files: None,
            info: info.map(Box::new),
            request,
        });
    }

    fn count_usage(&mut self, cost: Num, tokens: &Tokens) {
        self.change_record(|info| Some(records::with_usage(info, cost, tokens)));
    }

    fn forget_usage(&mut self, cost: Num, tokens: &Tokens) {
        self.change_record(|info| Some(records::without_usage(info, cost, tokens)));
    }

    fn finish_step(&mut self, reason: FinishReason, cost: Num, tokens: &Tokens, time: Millis) {
        self.count_usage(cost, tokens);
        let user = self.open_step().map(|step| step.user.clone());
        if let Some(user) = user.filter(|_| !self.turn_has_changed_files()) {
            self.summarise(&user, time);
        }
        let Some(turn) = self.machine.turn.as_mut() else { return };
        let Some(step) = turn.step.as_mut() else { return };
        if step.ready.kind.is_answer() && !step.ready.is_full(tokens) {
            turn.compactions = 0;
        }
        turn.tries += u32::from(crate::turn::structured::is_failed_try(step, reason));
        let silent = step.is_silent(reason);
        turn.silent_steps = if silent { turn.silent_steps + 1 } else { 0 };
        if let Some(info) = step.info.take() {
            step.info = Some(Box::new(records::finished(*info, reason, cost, tokens)));
        }
    }

    fn end_step(&mut self, failed: bool) {
        let Some(turn) = self.machine.turn.as_mut() else { return };
        let step = turn.step.take();
        turn.has_changed |= step.as_ref().is_some_and(|step| step.files.is_some());
        if let Some(StepKind::Compact(compaction)) = step.map(|step| step.ready.kind) {
            turn.continues = !failed && (compaction.auto || compaction.goes_on);
        }
    }

    fn apply_to_step(&mut self, fact: &Fact) {
        let Some(session) = self.info.as_deref().map(|info| info.id.clone()) else { return };
        let Some(turn) = self.machine.turn.as_mut() else { return };
        if let Fact::ToolStarted { tool, input, .. } = fact {
            turn.remember_call(fingerprint::of_call(tool, input));
        }
        if let Fact::StepDelayed { .. } = fact {
            turn.retries += 1;
        }
        if let Some(step) = turn.step.as_mut() {
            step.apply(&session, fact);
        }
    }
}

impl OpenStep {
    fn apply(&mut self, session: &SessionId, fact: &Fact) {
        let owner = Owner { session, message: &self.message.clone() };
        match fact {
            Fact::TurnStopping => self.phase = Phase::Stopping,
            Fact::FilesChanged { files, .. } => self.files = Some(files.clone()),
            Fact::StepBegan { .. } => {
                self.phase = Phase::Talking;
                // What an attempt said that failed is no part of the answer.
                self.spoke = false;
            }
            Fact::StepDelayed { attempt, reason, next, .. } => {
                self.attempt = *attempt;
                self.phase = Phase::Retrying(Pause { reason: reason.clone(), next: *next });
            }
            Fact::StepRetried { .. } => self.phase = Phase::Asking,
            Fact::ModelFinished { reason, usage, .. } => {
                let last_word = Some(LastWord { reason: *reason, usage: *usage });
                self.phase = Phase::Settling { last_word };
            }
            Fact::TextStarted { part, block, words, start, metadata, .. } => self.texts.push(OpenText {
                block: block.clone(),
                part: part.clone(),
                body: Some(Box::new(owner.text(part, *words, *start, metadata.clone()))),
            }),
            Fact::TextGrew { part, delta } => {
                let texts = self.texts.iter_mut().filter(|text| text.part == *part);
                let calls = self.calls.iter_mut().filter(|call| call.part == *part);
                let bodies = texts.map(|text| &mut text.body).chain(calls.map(|call| &mut call.body));
                if let Some(text) = bodies.flatten().find_map(|body| text_of(body)) {
                    text.push_str(delta);
                }
            }
            Fact::TextEnded { part, text, .. } => {
                let place = self.texts.iter().position(|open| open.part == *part);
                let closed = place.and_then(|place| self.texts.remove(place).body);
                let is_text = closed.is_some_and(|body| matches!(body.body, PartBody::Text(_)));
                self.spoke |= is_text && !text.trim().is_empty();
            }
            Fact::ToolCalled { part, call, tool, running, .. } => self.calls.push(OpenCall {
                call: call.clone(),
                part: part.clone(),
                // A call the server makes itself is complete when it is first seen.
                phase: if running.is_some() { CallPhase::Running } else { CallPhase::Pending },
                by_provider: false,
                granted: Vec::new(),
                answers: None,
                asks: Vec::new(),
                body: Some(Box::new(owner.call(part, call, tool, running.as_deref()))),
            }),
            Fact::ToolStarted { part, .. }
            | Fact::ToolAllowed { part }
            | Fact::ToolProgressed { part, .. }
            | Fact::ToolEnded { part, .. } => self.moved_call(part, fact),
            Fact::PermissionAsked { request, checkout } => {
                let ask = OpenAsk {
                    id: request.id.to_string(),
                    permission: request.permission.clone(),
                    patterns: request.patterns.clone(),
                    always: request.always.clone(),
                    fingerprint: fingerprint::of_ask(
                        &request.permission,
                        &request.patterns,
                        &request.metadata,
                    ),
                    checkout: checkout.clone().unwrap_or_default(),
                };
                self.opened_ask(request.tool.as_ref().map(|tool| &*tool.call_id), ask);
            }
            Fact::QuestionAsked { request } => {
                let ask = OpenAsk { id: request.id.to_string(), ..OpenAsk::default() };
                self.opened_ask(request.tool.as_ref().map(|tool| &*tool.call_id), ask);
            }
            Fact::PermissionReplied { request, reply, .. } => {
                let Some((call, ask)) = self.closed_ask(request.as_str()) else { return };
                match reply {
                    PermissionReply::Once | PermissionReply::Always => call.granted.push(ask.fingerprint),
                    PermissionReply::Reject => {}
                }
            }
            Fact::QuestionReplied { request, answers } => {
                if let Some((call, _)) = self.closed_ask(request.as_str()) {
                    call.answers = Some(answers.clone());
                }
            }
            Fact::QuestionRejected { request } => {
                self.closed_ask(request.as_str());
            }
            // Not about a step.
            Fact::SessionCreated { .. }
            | Fact::SessionEdited { .. }
            | Fact::SessionReverted { .. }
            | Fact::SessionRemoved { .. }
            | Fact::TurnDiffed { .. }
            | Fact::MessageAdded { .. }
            | Fact::PromptAdmitted { .. }
            | Fact::PromptWithdrawn { .. }
            | Fact::PromptFailed { .. }
            | Fact::CompactionWanted { .. }
            | Fact::CopyStarted
            | Fact::CopyFinished
            | Fact::MessageCopied { .. }
            | Fact::MessageRemoved { .. }
            | Fact::PartWritten { .. }
            | Fact::PartRemoved { .. }
            | Fact::TurnContinued { .. }
            | Fact::SessionIdled { .. }
            | Fact::StepStarted { .. }
            | Fact::ShellStarted { .. }
            | Fact::StepFinished { .. }
            | Fact::StepEnded { .. }
            | Fact::ToolCompacted { .. }
            | Fact::TodoSet { .. }
            | Fact::SessionCompacted
            | Fact::SessionFailed { .. }
            | Fact::SnippetsStarted { .. }
            | Fact::CommandExecuted { .. } => {}
        }
    }

    fn moved_call(&mut self, part: &PartId, fact: &Fact) {
        let Some(place) = self.calls.iter().position(|call| call.part == *part) else { return };
        let call = &mut self.calls[place];
        if let Fact::ToolEnded { outcome, .. } = fact {
            call.phase = CallPhase::Ended;
            call.granted.clear();
            call.answers = None;
            let body = call.body.take();
            crate::turn::structured::note(self, body.as_deref(), outcome);
            if let Outcome::Blocked { .. } = outcome {
                self.blocked = true;
            }
            // One that was refused for being too many; thousands of them would make every commit dear.
            if place >= crate::turn::tools::CALLS_MAX {
                self.calls.remove(place);
            }
            return;
        }
        if let Fact::ToolAllowed { .. } = fact {
            call.phase = CallPhase::Running;
            call.granted.clear();
            return;
        }
        call.body = call.body.take().map(|body| Box::new(records::moved(*body, fact)));
        if let Fact::ToolStarted { .. } = fact {
            call.by_provider |= provider_ran(call.body.as_deref());
            // A tool that the provider runs itself has no plan here.
            call.phase = if call.by_provider { CallPhase::Running } else { CallPhase::Planning };
        }
    }

    fn opened_ask(&mut self, call: Option<&str>, ask: OpenAsk) {
        if let Some(call) = self.calls.iter_mut().find(|open| Some(open.call.as_str()) == call) {
            call.asks.push(ask);
        }
    }

    fn closed_ask(&mut self, ask: &str) -> Option<(&mut OpenCall, OpenAsk)> {
        self.calls.iter_mut().find_map(|call| {
            let place = call.asks.iter().position(|open| open.id == ask)?;
            let closed = call.asks.remove(place);
            Some((call, closed))
        })
    }
}

impl OpenTurn {
    fn remember_call(&mut self, fingerprint: u64) {
        self.recent_calls.push(fingerprint);
        if self.recent_calls.len() >= REPEATED_CALLS {
            self.recent_calls.remove(0);
        }
    }
}

fn provider_ran(part: Option<&Part>) -> bool {
    let Some(Part { body: PartBody::Tool(tool), .. }) = part else { return false };
    tool.metadata.as_ref().is_some_and(|map| map.contains_key("providerExecuted"))
}

/// What grows in a part: a text, a thought, or the arguments of a call that has not begun.
pub(crate) fn text_of(part: &mut Part) -> Option<&mut String> {
    match &mut part.body {
        PartBody::Text(text) => Some(&mut text.text),
        PartBody::Reasoning(reasoning) => Some(&mut reasoning.text),
        PartBody::Tool(ToolPart { state: ToolState::Pending { raw, .. }, .. }) => Some(raw),
        PartBody::Subtask(_)
        | PartBody::File(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_) => None,
    }
}

/// A person changed something in a finished message.
fn is_edit(fact: &Fact) -> bool {
    if let Fact::PartWritten { part } = fact {
        return matches!(part.body, PartBody::Tool(_));
    }
    matches!(fact, Fact::MessageRemoved { .. } | Fact::PartRemoved { .. })
}
