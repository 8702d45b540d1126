//! `State`: what is open in a session, and `apply`, the only thing that changes it (invariant I3).
//!
//! History stays in the store and is read when a request is built, so a state is small however
//! long the session is. Its `machine` half is stored beside the session row; open texts and calls
//! are found again in their own rows.
//!
//! One file although it is long: what is open, how it is stored and what each fact does to it are one table.

use crate::fact::{Fact, Outcome};
use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::stamp::Millis;
use crate::talk::FinishReason;
use crate::turn::input::{Ready, StepFiles, StepKind};
use crate::types::diff::FileDiff;
use crate::types::message::{AssistantMessage, Message, MessageWithParts, TurnSummary, UserMessage};
use crate::types::part::{Part, PartBody};
use crate::types::session::Session;
use crate::types::status::Status;
use crate::types::tool::ToolState;
use crate::types::usage::Usage;
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// So many times in a row is a loop.
const REPEATED_CALLS: usize = 3;
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The session record; none before it is created and after it is removed.
    pub info: Option<Box<Session>>,
    pub machine: Machine,
}

/// What the machine has open, stored for the next start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    #[serde(default, skip_serializing_if = "is_idle")]
    pub status: Status,
    /// Prompts that are durable and wait for their turn, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Waiting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<OpenTurn>,
    /// Creation time of the newest message: the next one is later, so that clients which sort
    /// by time and then by an id of their own making keep the order.
    #[serde(default)]
    pub newest_message: Millis,
    /// The message that was just added, until its prompt is admitted.
    #[serde(skip)]
    fresh: Option<Box<UserMessage>>,
    /// Its subtasks.
    #[serde(skip)]
    fresh_subtasks: Vec<PartId>,
    /// Counts what people change in finished messages, so that a look at them can be told to be old.
    #[serde(skip)]
    pub(super) edits: u32,
}

/// An admitted prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    pub message: MessageId,
    /// Parts that are run in sessions of their own before the model is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<PartId>,
    /// The session went idle or was stopped and left it: it goes on when somebody asks for something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// Known until the process restarts; only its summary needs it.
    #[serde(skip)]
    pub info: Option<Box<UserMessage>>,
}

impl Waiting {
    fn new(message: MessageId, info: Option<Box<UserMessage>>) -> Self {
        Self { message, subtasks: Vec::new(), left: false, info }
    }
}

/// Everything from a promoted prompt until the session is idle again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// The newest prompt the conversation has come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<MessageId>,
    /// Its message, known until the process restarts.
    #[serde(skip)]
    pub asked: Option<Box<UserMessage>>,
    /// Steps taken for it.
    #[serde(default)]
    pub steps: u32,
    /// Steps in a row that ended without a reason and without a call.
    #[serde(default)]
    pub silent_steps: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<OpenStep>,
    /// Fingerprints of the last calls, oldest first, to notice one that is repeated without end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_calls: Vec<u64>,
    /// Subtasks of the prompts that nobody has begun, in order. Each runs once: the fact that opens
    /// its step takes it off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<PartId>,
    /// A compaction that is wanted and comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<Waiting>,
    /// Automatic compactions in a row, without a step between them that left room.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compactions: u32,
    /// The next prompt only goes on behind a compaction: what is counted is counted on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// Answers that did not fit the schema.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// A step of it has changed files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_changed: bool,
}

/// The answer the model is giving.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenStep {
    pub message: MessageId,
    pub user: MessageId,
    #[serde(default)]
    pub ready: Ready,
    /// Which try at the model this is, from 0.
    #[serde(default)]
    pub attempt: u32,
    /// The model was heard in this attempt.
    #[serde(default)]
    pub began: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<OpenText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenCall>,
    /// The model's last word, while calls are still running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<(FinishReason, Usage)>,
    /// A person said no: the turn ends with this step.
    #[serde(default)]
    pub blocked: bool,
    /// Somebody pressed stop; only the end of calls is still heard.
    #[serde(default)]
    pub stopping: bool,
    /// A text that is not empty was closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoke: bool,
    /// The object that fits the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<serde_json::Value>,
    /// An object was given that does not fit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub misfit: bool,
    /// What its calls have changed on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<StepFiles>,
    /// The message row; read back when the state is restored.
    #[serde(skip)]
    pub info: Option<Box<AssistantMessage>>,
}

/// A text or reasoning block that still grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenText {
    /// The provider's name for it.
    pub block: String,
    pub part: PartId,
    /// With everything that was said so far; read back when the state is restored.
    #[serde(skip)]
    pub body: Option<Box<Part>>,
}

/// A call of the open step, also after it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    pub call: String,
    pub part: PartId,
    pub phase: CallPhase,
    #[serde(default)]
    pub by_provider: bool,
    /// Requests of this call that wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<OpenAsk>,
    /// The part while the call is open; read back when the state is restored.
    #[serde(skip)]
    pub body: Option<Box<Part>>,
}

/// Something a person is asked. A question has no patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAsk {
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub permission: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallPhase {
    Pending,
    Running,
    Ended,
}

/// A stored state does not fit together. The session is quarantined; the server goes on.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("the stored machine state is not readable")]
    Machine(#[source] serde_json::Error),
    #[error("open {what} {id} has no row")]
    Missing { what: &'static str, id: String },
}

impl State {
    /// Puts a state together from its rows: the session, its machine column, and the open
    /// step's message with the growth of its parts.
    pub fn restore(
        info: Session,
        machine: &str,
        open: Option<MessageWithParts>,
    ) -> Result<Self, RestoreError> {
        let machine: Machine = match machine {
            "" => Machine::default(),
            text => serde_json::from_str(text).map_err(RestoreError::Machine)?,
        };
        let mut state = Self { info: Some(Box::new(info)), machine };
        let Some(step) = state.machine.turn.as_mut().and_then(|turn| turn.step.as_mut()) else {
            return Ok(state);
        };
        let missing = |what, id: &dyn ToString| RestoreError::Missing { what, id: id.to_string() };
        let Some(MessageWithParts { info: Message::Assistant(info), parts }) = open else {
            return Err(missing("message", &step.message));
        };
        step.info = Some(info);
        let body_of = |id: &PartId| parts.iter().find(|part| part.id == *id).cloned().map(Box::new);
        for text in &mut step.texts {
            text.body = Some(body_of(&text.part).ok_or_else(|| missing("part", &text.part))?);
        }
        for call in step.calls.iter_mut().filter(|call| call.phase != CallPhase::Ended) {
            call.body = Some(body_of(&call.part).ok_or_else(|| missing("call", &call.part))?);
        }
        Ok(state)
    }

    /// Which message the store must hand over so that `restore` can find what is open.
    pub fn open_message(machine: &str) -> Result<Option<MessageId>, RestoreError> {
        if machine.is_empty() {
            return Ok(None);
        }
        let machine: Machine = serde_json::from_str(machine).map_err(RestoreError::Machine)?;
        Ok(machine.turn.and_then(|turn| turn.step).map(|step| step.message))
    }

    /// The machine column: empty when nothing is open and nobody waits.
    #[must_use]
    pub fn machine_text(&self) -> String {
        if self.is_at_rest() {
            return String::new();
        }
        serde_json::to_string(&self.machine).expect("BUG: machine state is always JSON")
    }

    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.machine.turn.is_none()
    }

    /// Idle, and nobody waits.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.is_idle() && self.machine.waiting.is_empty() && self.machine.status == Status::Idle
    }

    #[must_use]
    pub fn open_step(&self) -> Option<&OpenStep> {
        self.machine.turn.as_ref()?.step.as_ref()
    }

    /// The open step of a model, if it is this one and this attempt.
    pub(super) fn step_at(&self, message: &MessageId, attempt: u32) -> Option<&OpenStep> {
        let is_it = |step: &&OpenStep| step.message == *message && step.attempt == attempt;
        self.open_step().filter(is_it).filter(|step| step.ready.kind.is_spoken())
    }

    /// The call of the open step that this part shows, unless it ended.
    pub(super) fn open_call(&self, part: &PartId) -> Option<&OpenCall> {
        let step = self.open_step()?;
        step.calls.iter().find(|call| call.part == *part && call.phase != CallPhase::Ended)
    }

    /// Invariant I3: the only function that changes a state. Replaying stored facts gives the live state.
    pub fn apply(&mut self, fact: &Fact) {
        if is_edit(fact) {
            self.machine.edits = self.machine.edits.wrapping_add(1);
        }
        match fact {
            Fact::SessionCreated { info } | Fact::SessionEdited { info, .. } => {
                self.info = Some(info.clone());
            }
            Fact::SessionRemoved { .. } => *self = Self::default(),
            Fact::PromptAdmitted { message } => {
                let info = self.machine.fresh.take().filter(|fresh| fresh.id == *message);
                let subtasks = std::mem::take(&mut self.machine.fresh_subtasks);
                self.machine.waiting.push(Waiting { subtasks, ..Waiting::new(message.clone(), info) });
            }
            Fact::PromptPromoted { messages } => self.promote(messages),
            Fact::PromptWithdrawn { message } => {
                self.machine.waiting.retain(|waiting| waiting.message != *message);
            }
            Fact::MessageAdded { info } => {
                self.saw_message(info.time.created);
                self.machine.fresh = Some(info.clone());
                self.machine.fresh_subtasks.clear();
            }
            Fact::MessageCopied { info, cost, tokens } => {
                self.saw_message(info.created());
                self.count_usage(*cost, tokens);
            }
            Fact::TurnSummarised { message, diffs } => self.summarise(message, diffs),
            Fact::StepStarted { info, ready } => self.start_step(info, ready),
            Fact::StepFinished { finish, cost, tokens, .. } => self.finish_step(finish, *cost, tokens),
            Fact::CompactionWanted { message, auto } => self.want_compaction(message, *auto),
            Fact::StepEnded { error, .. } => self.end_step(error.is_some()),
            Fact::StatusChanged { status } => self.set_status(status),
            Fact::MessageRemoved { message, cost, tokens } => {
                self.forget_usage(*cost, tokens);
                self.machine.waiting.retain(|waiting| waiting.message != *message);
            }
            Fact::PartRemoved { part, cost, tokens, .. } => {
                self.forget_usage(*cost, tokens);
                self.forget_subtask(part);
            }
            Fact::PartWritten { part } => {
                self.note_subtask(part);
                self.apply_to_step(fact);
            }
            Fact::ModelFinished { .. }
            | Fact::TextStarted { .. }
            | Fact::TextGrew { .. }
            | Fact::TextEnded { .. }
            | Fact::ToolCalled { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolProgressed { .. }
            | Fact::ToolEnded { .. }
            | Fact::PermissionAsked { .. }
            | Fact::PermissionReplied { .. }
            | Fact::QuestionAsked { .. }
            | Fact::QuestionReplied { .. }
            | Fact::TurnStopping
            | Fact::FilesChanged { .. }
            | Fact::QuestionRejected { .. } => self.apply_to_step(fact),
            Fact::ToolCompacted { .. }
            | Fact::TodoSet { .. }
            | Fact::SessionCompacted
            | Fact::SessionFailed { .. }
            | Fact::SessionDiffed { .. }
            | Fact::TurnDiffed { .. }
            | Fact::SessionIdled
            | Fact::CommandExecuted { .. } => {}
        }
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
            (turn.steps, turn.tries) = (0, 0);
        }
        turn.continues = false;
    }

    /// A subtask of the prompt that is just coming in.
    fn note_subtask(&mut self, part: &Part) {
        let is_fresh = self.machine.fresh.as_ref().is_some_and(|fresh| fresh.id == part.message_id);
        if is_fresh && matches!(part.body, PartBody::Subtask(_)) {
            self.machine.fresh_subtasks.push(part.id.clone());
        }
    }

    fn forget_subtask(&mut self, part: &PartId) {
        for waiting in &mut self.machine.waiting {
            waiting.subtasks.retain(|known| known != part);
        }
        if let Some(turn) = self.machine.turn.as_mut() {
            turn.subtasks.retain(|known| known != part);
        }
    }

    fn summarise(&mut self, message: &MessageId, diffs: &[FileDiff]) {
        let asked = self.machine.turn.as_mut().and_then(|turn| turn.asked.as_mut());
        if let Some(asked) = asked.filter(|asked| asked.id == *message) {
            asked.summary = Some(TurnSummary { title: None, body: None, diffs: diffs.to_vec() });
        }
    }

    fn saw_message(&mut self, created: Millis) {
        self.machine.newest_message = self.machine.newest_message.max(created);
    }

    fn want_compaction(&mut self, message: &MessageId, auto: bool) {
        let info = self.machine.fresh.take().filter(|fresh| fresh.id == *message);
        let turn = self.machine.turn.get_or_insert_default();
        turn.compact = Some(Waiting::new(message.clone(), info));
        turn.compactions += u32::from(auto);
    }

    fn start_step(&mut self, info: &AssistantMessage, ready: &Ready) {
        self.saw_message(info.time.created);
        let turn = self.machine.turn.get_or_insert_default();
        if let StepKind::Subtask { part, .. } = &ready.kind {
            turn.subtasks.retain(|known| known != part);
        }
        if ready.kind.is_compaction() {
            turn.asked = turn.compact.take().and_then(|compact| compact.info);
        } else {
            turn.steps += 1;
        }
        turn.step = Some(OpenStep {
            message: info.id.clone(),
            user: info.parent_id.clone(),
            ready: ready.clone(),
            attempt: 0,
            began: false,
            texts: Vec::new(),
            calls: Vec::new(),
            finished: None,
            blocked: false,
            stopping: false,
            spoke: false,
            structured: None,
            misfit: false,
            files: None,
            info: Some(Box::new(info.clone())),
        });
    }

    fn count_usage(&mut self, cost: crate::json::Num, tokens: &crate::types::usage::Tokens) {
        if let Some(info) = self.info.as_mut() {
            info.cost += cost;
            info.tokens.add(tokens);
        }
    }

    fn finish_step(&mut self, finish: &str, cost: crate::json::Num, tokens: &crate::types::usage::Tokens) {
        self.count_usage(cost, tokens);
        let Some(turn) = self.machine.turn.as_mut() else { return };
        let Some(step) = turn.step.as_mut() else { return };
        if step.ready.kind.is_answer() && !step.ready.is_full(tokens) {
            turn.compactions = 0;
        }
        turn.tries += u32::from(super::structured::is_failed_try(step, finish));
        let silent = step.is_silent(finish);
        turn.silent_steps = if silent { turn.silent_steps + 1 } else { 0 };
        if let Some(info) = step.info.as_mut() {
            info.finish = Some(finish.to_owned());
            info.cost += cost;
            info.tokens = *tokens;
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

    fn set_status(&mut self, status: &Status) {
        self.machine.status = status.clone();
        match status {
            Status::Idle => {
                self.machine.turn = None;
                self.machine.waiting.iter_mut().for_each(|waiting| waiting.left = true);
            }
            Status::Busy => {
                self.machine.turn.get_or_insert_default();
            }
            Status::Retry { attempt, .. } => {
                let turn = self.machine.turn.get_or_insert_default();
                if let Some(step) = turn.step.as_mut() {
                    step.attempt = *attempt;
                    step.began = false;
                }
            }
        }
    }

    fn forget_usage(&mut self, cost: crate::json::Num, tokens: &crate::types::usage::Tokens) {
        if let Some(info) = self.info.as_mut() {
            info.cost -= cost;
            info.tokens.subtract(tokens);
        }
    }

    fn apply_to_step(&mut self, fact: &Fact) {
        if matches!(fact, Fact::TurnStopping) {
            // Who comes from now on asks for something new.
            self.machine.waiting.iter_mut().for_each(|waiting| waiting.left = true);
        }
        let Some(turn) = self.machine.turn.as_mut() else { return };
        if let Fact::ToolStarted { tool, input, .. } = fact {
            turn.remember_call(fingerprint(tool, input));
        }
        let Some(step) = turn.step.as_mut() else { return };
        match fact {
            Fact::TurnStopping => step.stopping = true,
            Fact::FilesChanged { files, .. } => step.files = Some(files.clone()),
            Fact::PartWritten { part } if matches!(part.body, PartBody::StepStart(_)) => step.began = true,
            Fact::ModelFinished { reason, usage, .. } => step.finished = Some((*reason, *usage)),
            Fact::TextStarted { part, block } => step.texts.push(OpenText {
                block: block.clone(),
                part: part.id.clone(),
                body: Some(part.clone()),
            }),
            Fact::TextGrew { part, delta, .. } => {
                let open = step.texts.iter_mut().find(|text| text.part == *part);
                if let Some(text) = open.and_then(|open| open.body.as_mut()).and_then(|body| text_of(body)) {
                    text.push_str(delta);
                }
            }
            Fact::TextEnded { part } => {
                step.texts.retain(|text| text.part != part.id);
                step.spoke |= has_words(part);
            }
            Fact::ToolCalled { part } => step.called(part),
            Fact::ToolStarted { .. } | Fact::ToolProgressed { .. } | Fact::ToolEnded { .. } => {
                step.moved_call(fact);
            }
            Fact::PermissionAsked { request } => {
                let ask = OpenAsk {
                    id: request.id.to_string(),
                    permission: request.permission.clone(),
                    patterns: request.patterns.clone(),
                    always: request.always.clone(),
                };
                step.opened_ask(request.tool.as_ref().map(|tool| &*tool.call_id), ask);
            }
            Fact::QuestionAsked { request } => {
                let ask = OpenAsk { id: request.id.to_string(), ..OpenAsk::default() };
                step.opened_ask(request.tool.as_ref().map(|tool| &*tool.call_id), ask);
            }
            Fact::PermissionReplied { request, .. } => step.closed_ask(request.as_str()),
            Fact::QuestionReplied { request, .. } | Fact::QuestionRejected { request } => {
                step.closed_ask(request.as_str());
            }
            _ => {}
        }
    }
}

impl OpenStep {
    /// It ended without a word about why, or waits for calls it did not make: asking again may go on for ever.
    pub(super) fn is_silent(&self, finish: &str) -> bool {
        let goes_on =
            [FinishReason::Unknown, FinishReason::ToolCalls].iter().any(|reason| reason.as_str() == finish);
        goes_on && self.calls.is_empty()
    }

    fn called(&mut self, part: &Part) {
        let PartBody::Tool(tool) = &part.body else { return };
        let by_provider = tool.metadata.as_ref().is_some_and(|map| map.contains_key("providerExecuted"));
        self.calls.push(OpenCall {
            call: tool.call_id.clone(),
            part: part.id.clone(),
            // A call the server makes itself is complete when it is first seen.
            phase: match tool.state {
                ToolState::Running { .. } => CallPhase::Running,
                _ => CallPhase::Pending,
            },
            by_provider,
            asks: Vec::new(),
            body: Some(Box::new(part.clone())),
        });
    }

    fn moved_call(&mut self, fact: &Fact) {
        let (Fact::ToolStarted { part, .. }
        | Fact::ToolProgressed { part, .. }
        | Fact::ToolEnded { part, .. }) = fact
        else {
            return;
        };
        let Some(place) = self.calls.iter().position(|call| call.part == *part) else { return };
        let call = &mut self.calls[place];
        match fact {
            Fact::ToolStarted { .. } => {
                call.phase = CallPhase::Running;
                call.body = call.body.take().map(|body| Box::new(crate::rows::moved_part(*body, fact)));
                call.by_provider |= provider_ran(call.body.as_deref());
            }
            Fact::ToolProgressed { .. } => {
                call.body = call.body.take().map(|body| Box::new(crate::rows::moved_part(*body, fact)));
            }
            Fact::ToolEnded { outcome, .. } => {
                call.phase = CallPhase::Ended;
                let body = call.body.take();
                super::structured::note(self, body.as_deref(), outcome);
                if let Outcome::Blocked { .. } = outcome {
                    self.blocked = true;
                }
                // One that was refused for being too many; thousands of them would make every commit dear.
                if place >= super::tools::CALLS_MAX {
                    self.calls.remove(place);
                }
            }
            _ => {}
        }
    }

    fn opened_ask(&mut self, call: Option<&str>, ask: OpenAsk) {
        if let Some(call) = self.calls.iter_mut().find(|open| Some(open.call.as_str()) == call) {
            call.asks.push(ask);
        }
    }

    fn closed_ask(&mut self, ask: &str) {
        for call in &mut self.calls {
            call.asks.retain(|open| open.id != ask);
        }
    }

    pub(super) fn open_text(&self, block: &str) -> Option<&OpenText> {
        self.texts.iter().find(|text| text.block == block)
    }

    /// Whether it has any words, closed or still open.
    pub(super) fn has_spoken(&self) -> bool {
        self.spoke || self.texts.iter().any(|text| text.body.as_deref().is_some_and(has_words))
    }

    pub(super) fn has_running_calls(&self) -> bool {
        self.calls.iter().any(|call| call.phase != CallPhase::Ended)
    }
}

impl OpenTurn {
    fn remember_call(&mut self, fingerprint: u64) {
        self.recent_calls.push(fingerprint);
        if self.recent_calls.len() >= REPEATED_CALLS {
            self.recent_calls.remove(0);
        }
    }

    /// Whether these many prompts are only the one that goes on behind a compaction.
    pub(super) fn goes_on_with(&self, prompts: usize) -> bool {
        self.continues && prompts == 1
    }

    /// Whether this call would be the third of its kind in a row.
    pub(super) fn repeats(&self, tool: &str, input: &Map) -> bool {
        let this = fingerprint(tool, input);
        self.recent_calls.len() + 1 >= REPEATED_CALLS && self.recent_calls.iter().all(|call| *call == this)
    }
}

/// The same tool with the same arguments has the same fingerprint.
fn fingerprint(tool: &str, input: &Map) -> u64 {
    let mut hasher = DefaultHasher::new();
    tool.hash(&mut hasher);
    for (key, value) in input {
        (key, value.to_string()).hash(&mut hasher);
    }
    hasher.finish()
}

fn provider_ran(part: Option<&Part>) -> bool {
    let Some(Part { body: PartBody::Tool(tool), .. }) = part else { return false };
    tool.metadata.as_ref().is_some_and(|map| map.contains_key("providerExecuted"))
}

/// The growing text of a text or reasoning part.
pub(crate) fn text_of(part: &mut Part) -> Option<&mut String> {
    match &mut part.body {
        PartBody::Text(text) => Some(&mut text.text),
        PartBody::Reasoning(reasoning) => Some(&mut reasoning.text),
        _ => None,
    }
}

fn has_words(part: &Part) -> bool {
    matches!(&part.body, PartBody::Text(text) if !text.text.trim().is_empty())
}

/// A person changed something in a finished message.
fn is_edit(fact: &Fact) -> bool {
    match fact {
        Fact::MessageRemoved { .. } | Fact::PartRemoved { .. } => true,
        Fact::PartWritten { part } => matches!(part.body, PartBody::Tool(_)),
        _ => false,
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_idle(status: &Status) -> bool {
    *status == Status::Idle
}
