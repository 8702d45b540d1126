//! What must hold of any log, whoever wrote it.
//!
//! The oracle reads a session's facts in order and knows nothing of the machine that made them: it
//! keeps its own small book. Property tests, crash tests and `sturdy verify` use the same code.
//!
//! It checks: one step open at a time and nothing joins a closed one (I6), a call ends exactly once
//! and only after it was called (I5), an acknowledged prompt is promoted once, in order, or withdrawn,
//! or still waits (I7), at most one compaction is wanted and it comes before any other step, idle means
//! done (I8), a closed text is the sum of its chunks (I9).

use crate::fact::Fact;
use crate::id::{MessageId, PartId};
use crate::types::ask::AskedBy;
use crate::types::delivery::Delivery;
use crate::types::part::{Part, PartBody};
use std::collections::{HashMap, HashSet};

/// A broken promise, with the place where it broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq} ({kind}): {what}")]
pub struct Broken {
    pub seq: u64,
    pub kind: &'static str,
    pub what: String,
}

/// What a log amounts to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub entries: u64,
    /// Prompts that were admitted, in order.
    pub prompts: Vec<MessageId>,
    /// Those nobody has begun to answer.
    pub waiting: Vec<MessageId>,
    pub is_busy: bool,
    pub steps: u64,
}

/// Reads a log one fact at a time.
#[derive(Debug, Default)]
pub struct Oracle {
    exists: bool,
    removed: bool,
    /// A copy that is not all there.
    copying: bool,
    entries: u64,
    prompts: Vec<MessageId>,
    waiting: Vec<(MessageId, Delivery)>,
    step: Option<MessageId>,
    steps: u64,
    closed_steps: HashSet<MessageId>,
    finished: bool,
    /// The model of the open step has said its last word.
    silent: bool,
    texts: HashMap<PartId, String>,
    calls: HashMap<PartId, Call>,
    ended_calls: HashSet<PartId>,
    /// What waits for a person, with the call that asked, as its provider names it.
    asks: HashMap<String, Option<String>>,
    /// The provider's names of the open step's calls.
    call_names: HashMap<PartId, String>,
    busy: bool,
    /// Messages with a part that names the tree after what they changed.
    with_tree_after: HashSet<MessageId>,
    /// A compaction that is wanted and not begun.
    compact: Option<MessageId>,
    /// Growth before this seq may have been folded away, so a text may be longer than its chunks.
    folded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Called,
    Started,
    Allowed,
}

/// Checks a whole log.
pub fn check<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Result<Summary, Broken> {
    let mut oracle = Oracle::default();
    for fact in facts {
        oracle.read(fact)?;
    }
    oracle.end()
}

impl Oracle {
    /// For a log whose old growth was folded away: a closed text then ends with its chunks.
    #[must_use]
    pub fn of_folded_log() -> Self {
        Self { folded: true, ..Self::default() }
    }

    pub fn read(&mut self, fact: &Fact) -> Result<(), Broken> {
        self.entries += 1;
        self.judge(fact).map_err(|what| Broken { seq: self.entries, kind: fact.kind(), what })
    }

    pub fn end(self) -> Result<Summary, Broken> {
        let broken = |what: String| Broken { seq: self.entries, kind: "end", what };
        if !self.busy && self.step.is_some() {
            return Err(broken("the session is idle and a step is open".to_owned()));
        }
        Ok(Summary {
            entries: self.entries,
            prompts: self.prompts,
            waiting: self.waiting.into_iter().map(|(message, _)| message).collect(),
            is_busy: self.busy,
            steps: self.steps,
        })
    }

    fn judge(&mut self, fact: &Fact) -> Result<(), String> {
        if let Fact::SessionCreated { .. } = fact {
            ensure(!self.exists, "the session was created twice")?;
            self.exists = true;
            return Ok(());
        }
        ensure(self.exists, "it comes before the session was created")?;
        ensure(!self.removed, "it comes after the session was removed")?;
        ensure(!self.copying || is_of_a_copy(fact), "it comes before the copy is finished")?;
        match fact {
            Fact::SessionRemoved { .. } => self.removed = true,
            Fact::CopyStarted => {
                ensure(!self.busy, "a copy starts in a session that is busy")?;
                self.copying = true;
            }
            Fact::CopyFinished => {
                ensure(self.copying, "a copy is finished that was not started")?;
                self.copying = false;
            }
            Fact::PromptAdmitted { posted, begins, delivery, held, .. } => {
                let message = &posted.info.id;
                ensure(!self.prompts.contains(message), "the prompt was admitted twice")?;
                ensure(!(*held && self.busy), "a prompt is held in a session that is at work")?;
                let is_right = *begins != (self.busy || *held);
                ensure(is_right, "a prompt begins a turn if and only if the session is idle")?;
                self.prompts.push(message.clone());
                self.waiting.push((message.clone(), *delivery));
                self.busy |= *begins;
            }
            Fact::PromptFailed { messages } => self.promoted(messages)?,
            Fact::PromptWithdrawn { message } => {
                let waits = self.waiting.iter().any(|(waiting, _)| waiting == message);
                ensure(waits, "a prompt was withdrawn that does not wait")?;
                self.waiting.retain(|(waiting, _)| waiting != message);
            }
            Fact::CompactionWanted { posted, begins, .. } => {
                ensure(
                    *begins != self.busy,
                    "a compaction begins a turn if and only if the session is idle",
                )?;
                ensure(self.compact.is_none(), "two compactions are wanted at once")?;
                self.busy = true;
                self.compact = Some(posted.info.id.clone());
            }
            Fact::SessionCompacted => ensure(self.step.is_none(), "a compaction is done and a step is open")?,
            Fact::TurnContinued { .. } => {
                ensure(self.step.is_none(), "a turn goes on and a step is open")?;
                self.busy = true;
            }
            Fact::SessionIdled { .. } => self.idled()?,
            Fact::StepStarted { message, user, takes, ready, .. } => {
                let wanted = self.compact.take();
                let summarises = ready.kind.is_compaction();
                ensure(wanted.is_none() || summarises, "a step starts ahead of a compaction")?;
                ensure(!summarises || wanted.as_ref() == Some(user), "nobody wants this summary")?;
                ensure(self.busy, "a step starts in an idle session")?;
                self.promoted(takes)?;
                self.step_started(message)?;
            }
            Fact::ShellStarted { message, .. } => {
                ensure(!self.busy, "a command starts beside a turn")?;
                self.busy = true;
                self.step_started(message)?;
            }
            Fact::StepBegan { message, .. }
            | Fact::StepDelayed { message, .. }
            | Fact::StepRetried { message, .. } => self.in_open_step(message)?,
            Fact::ModelFinished { message, .. } => {
                self.in_open_step(message)?;
                ensure(!self.silent, "the model finished twice")?;
                self.silent = true;
            }
            Fact::StepFinished { message, .. } => {
                self.in_open_step(message)?;
                ensure(!self.finished, "the step finished twice")?;
                ensure(self.calls.is_empty(), "the step finished and a call is open")?;
                self.finished = true;
                self.with_tree_after.insert(message.clone());
            }
            Fact::PartWritten { part } => self.part_written(part)?,
            Fact::StepEnded { message, .. } => self.step_ended(message)?,
            Fact::FilesChanged { message, .. } => self.in_open_step(message)?,
            Fact::TextStarted { message, part, .. } => {
                self.in_open_step(message)?;
                ensure(!self.silent, "a text starts after the model's last word")?;
                let known = self.texts.insert(part.clone(), String::new());
                ensure(known.is_none(), "the text is open already")?;
            }
            Fact::TextGrew { part, delta } => {
                if let Some(call) = self.calls.get(part) {
                    return ensure(*call == Call::Called, "arguments grew of a call that runs");
                }
                let text = self.texts.get_mut(part).ok_or("a text grew that is not open")?;
                text.push_str(delta);
            }
            Fact::TextEnded { part, text, .. } => {
                let sum = self.texts.remove(part).ok_or("a text ended that is not open")?;
                let holds = if self.folded { text.ends_with(&sum) } else { *text == sum };
                ensure(holds, "a closed text is not the sum of its chunks")?;
            }
            Fact::ToolCalled { message, part, call, running, .. } => {
                self.in_open_step(message)?;
                ensure(!self.silent, "a call comes after the model's last word")?;
                ensure(!self.ended_calls.contains(part), "an ended call is called again")?;
                // A call the server makes itself is allowed when it is first seen.
                let phase = if running.is_some() { Call::Allowed } else { Call::Called };
                self.call_names.insert(part.clone(), call.clone());
                let known = self.calls.insert(part.clone(), phase);
                ensure(known.is_none(), "the call is open already")?;
            }
            Fact::ToolStarted { part, .. } => {
                let call = self.calls.get_mut(part).ok_or("a call started that was not called")?;
                ensure(*call == Call::Called, "a call started twice")?;
                *call = Call::Started;
            }
            Fact::ToolAllowed { part } => {
                let call = self.calls.get_mut(part).ok_or("a call was allowed that is not open")?;
                ensure(*call == Call::Started, "a call was allowed that does not plan, or twice")?;
                *call = Call::Allowed;
                let name = self.call_names.get(part);
                let waits = self.asks.values().any(|by| by.is_some() && by.as_ref() == name);
                ensure(!waits, "a call was allowed while a person is asked about it")?;
            }
            Fact::ToolProgressed { part, .. } => {
                let runs = self.calls.get(part).is_some_and(|call| *call != Call::Called);
                ensure(runs, "a call reports that does not run")?;
            }
            Fact::ToolEnded { part, .. } => {
                ensure(self.calls.remove(part).is_some(), "a call ended that is not open")?;
                ensure(self.ended_calls.insert(part.clone()), "a call ended twice")?;
            }
            Fact::PermissionAsked { request, .. } => {
                self.asked(request.id.as_str(), request.tool.as_ref())?;
            }
            Fact::QuestionAsked { request } => self.asked(request.id.as_str(), request.tool.as_ref())?,
            Fact::PermissionReplied { request, .. } => self.answered(request.as_str())?,
            Fact::QuestionReplied { request, .. } | Fact::QuestionRejected { request } => {
                self.answered(request.as_str())?;
            }
            Fact::SessionCreated { .. }
            | Fact::SessionEdited { .. }
            | Fact::MessageAdded { .. }
            | Fact::MessageCopied { .. }
            | Fact::MessageRemoved { .. }
            | Fact::PartRemoved { .. }
            | Fact::TurnDiffed { .. }
            | Fact::SessionReverted { .. }
            | Fact::ToolCompacted { .. }
            | Fact::TodoSet { .. }
            | Fact::SessionFailed { .. }
            | Fact::TurnStopping
            | Fact::SnippetsStarted { .. }
            | Fact::CommandExecuted { .. } => {}
        }
        Ok(())
    }

    /// Invariant I15: what a step changed lies between two trees, and both are named.
    fn part_written(&mut self, part: &Part) -> Result<(), String> {
        match &part.body {
            PartBody::StepFinish(_) | PartBody::Snapshot(_) => {
                self.with_tree_after.insert(part.message_id.clone());
            }
            PartBody::Patch(patch) => {
                ensure(!patch.hash.is_empty(), "a patch names no tree before it")?;
                let is_known = self.with_tree_after.contains(&part.message_id);
                ensure(is_known, "a patch comes before the part that names the tree after it")?;
            }
            PartBody::Text(_)
            | PartBody::Subtask(_)
            | PartBody::Reasoning(_)
            | PartBody::File(_)
            | PartBody::Tool(_)
            | PartBody::StepStart(_)
            | PartBody::Agent(_)
            | PartBody::Retry(_)
            | PartBody::Compaction(_) => {}
        }
        Ok(())
    }

    fn step_started(&mut self, message: &MessageId) -> Result<(), String> {
        ensure(self.step.is_none(), "a step is open already")?;
        ensure(!self.closed_steps.contains(message), "a closed step starts again")?;
        self.step = Some(message.clone());
        self.steps += 1;
        self.finished = false;
        self.silent = false;
        Ok(())
    }

    /// Those that steer are promoted together, one that queues alone and only when nobody steers.
    fn promoted(&mut self, messages: &[MessageId]) -> Result<(), String> {
        let of = |wanted: Delivery| {
            let waiting = self.waiting.iter().filter(move |(_, delivery)| *delivery == wanted);
            waiting.map(|(message, _)| message)
        };
        let steer = of(Delivery::Steer).take(messages.len()).eq(messages);
        let is_alone = of(Delivery::Steer).next().is_none() && messages.len() == 1;
        let queues = is_alone && of(Delivery::Queue).next() == messages.first();
        ensure(steer || queues, "prompts were promoted out of order, or were not waiting")?;
        self.waiting.retain(|(waiting, _)| !messages.contains(waiting));
        Ok(())
    }

    fn step_ended(&mut self, message: &MessageId) -> Result<(), String> {
        self.in_open_step(message)?;
        ensure(self.texts.is_empty(), "the step ended and a text is open")?;
        ensure(self.calls.is_empty(), "the step ended and a call is open")?;
        ensure(self.asks.is_empty(), "the step ended and a request waits")?;
        self.closed_steps.insert(message.clone());
        self.call_names.clear();
        self.step = None;
        Ok(())
    }

    fn asked(&mut self, ask: &str, by: Option<&AskedBy>) -> Result<(), String> {
        ensure(self.step.is_some(), "something is asked outside a step")?;
        let name = by.map(|by| by.call_id.clone());
        let named = |(part, call): (&PartId, &Call)| {
            let is_it = name.is_some() && self.call_names.get(part) == name.as_ref();
            is_it && *call == Call::Allowed
        };
        ensure(!self.calls.iter().any(named), "a call asks after it was allowed")?;
        ensure(self.asks.insert(ask.to_owned(), name).is_none(), "the same thing is asked twice")
    }

    fn answered(&mut self, ask: &str) -> Result<(), String> {
        ensure(self.asks.remove(ask).is_some(), "an answer to something that was not asked")
    }

    fn idled(&mut self) -> Result<(), String> {
        self.busy = false;
        // What was wanted and not begun is dropped with its turn.
        self.compact = None;
        ensure(self.step.is_none(), "the session idles and a step is open")
    }

    fn in_open_step(&self, message: &MessageId) -> Result<(), String> {
        ensure(self.step.as_ref() == Some(message), "it belongs to a step that is not open")
    }
}

fn is_of_a_copy(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::MessageCopied { .. }
            | Fact::PartWritten { .. }
            | Fact::CopyFinished
            | Fact::SessionRemoved { .. }
    )
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
