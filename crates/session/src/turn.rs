//! How a session moves: `decide` looks at the state and one input and says what happened and what
//! should be done. It changes nothing.
//!
//! One line per input, each a method in the file named after the verb:
//! `admit` (prompts), `step` (a model's answer), `tools` (its calls), `asks` (what a person is asked),
//! `retry` (failures that pass), `next` (the step is over: what now), `stop` (abort and restart),
//! `compact` (summaries, and what need not be sent again), `structured` (answers that must fit a
//! schema), `files` (what a step changed on disk), `shell` and `subtask` (steps without a model), `edit` (changes that are not turns).
//!
//! Every input that belongs to something names it. If that thing is not open any more, the input is
//! dropped as stale. So an effect that was cancelled may still report something without harm.

mod admit;
mod asks;
mod compact;
mod deciding;
mod edit;
mod effect;
mod files;
mod glance;
mod input;
mod next;
mod phase;
mod restore;
mod retry;
mod shell;
mod state;
mod step;
mod stop;
mod structured;
mod subtask;
mod tools;

pub use crate::types::compaction::{Compaction, FollowUp, Words};
pub use crate::types::step::{Diffed, Follow, Limits, PathPair, Ready, RevertTotals, StepFiles, StepKind};
pub use asks::{DISMISSED_TEXT, denied_text, rejected_text};
pub use edit::{ProjectPlace, RULES_BYTES_MAX, RULES_MAX, SessionPatch};
pub use effect::{Effect, NeedAnswer, RunTool, Tools};
pub use glance::Glance;
pub use input::{Answer, Ask, CommittedCut, Input, NewPrompt, NewRevert, NewShell, NewSummary, PromptStart};
pub use phase::{LastWord, Pause, Phase};
pub use restore::{Keyframe, OpenMessages, RestoreError};
pub use shell::STOPPED as SHELL_STOPPED;
pub use state::{CallPhase, Machine, OpenAsk, OpenCall, OpenStep, OpenText, OpenTurn, State, Waiting};
pub use structured::TOOL as STRUCTURED_TOOL;

use crate::fact::Fact;
use crate::stamp::Stamp;
use deciding::Deciding;

/// What happened because of one input, and what is wanted.
#[derive(Debug, Default, PartialEq)]
pub struct Decision {
    pub facts: Vec<Fact>,
    pub effects: Vec<Effect>,
    /// Set when the input is not allowed now; then there are no facts and no effects.
    pub refusal: Option<Refusal>,
}

/// Why an input is not allowed now. A refusal changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the session does not exist")]
    Gone,
    #[error("the session exists already")]
    Exists,
    #[error("the session is busy")]
    Busy,
    #[error("message {0} exists already")]
    MessageExists(crate::id::MessageId),
    #[error("no open request {0}")]
    UnknownAsk(String),
    #[error("no waiting prompt {0}")]
    UnknownPrompt(crate::id::MessageId),
    #[error("a session has at most {RULES_MAX} rules of {RULES_BYTES_MAX} bytes together")]
    TooManyRules,
}

/// The whole machine: pure, total, one line per input.
pub fn decide(state: &State, input: Input, stamp: &mut Stamp) -> Decision {
    let mut decision = Deciding::new(state, stamp);
    if state.is_copying() && !input.is_of_a_copy() {
        if input.is_asked_by_a_person() {
            decision.refuse(Refusal::Busy);
        }
    } else if state.info.is_some() || matches!(input, Input::Create { .. }) {
        decision.take(input);
    } else if input.is_asked_by_a_person() {
        // Inputs for a removed session are dropped as stale; only a person's request is refused with an error.
        decision.refuse(Refusal::Gone);
    }
    decision.end()
}

impl Deciding<'_> {
    fn take(&mut self, input: Input) {
        match input {
            Input::Create { info } => self.create(info),
            Input::Prompt(prompt) => self.admit_prompt(*prompt),
            Input::Shell(new) => self.run_shell(*new),
            Input::Withdraw { message } => self.withdraw_prompt(message),
            Input::Resume => self.resume(),
            Input::Summarize(wish) => self.want_summary(*wish),
            Input::Pruned { edits, parts } => self.pruned(edits, parts),
            Input::Prepared { user, ready } => self.start_step(user, *ready),
            Input::NotPrepared { user, failure } => self.not_prepared(user, failure),
            Input::SubtaskReady { part, subtask, ready } => self.start_subtask(part, *subtask, *ready),
            Input::Said { step, attempt, said } => self.said(&step, attempt, said),
            Input::Failed { step, attempt, failure } => self.attempt_failed(&step, attempt, failure),
            Input::SetAside { step, attempt, parts } => self.set_aside(&step, attempt, parts),
            Input::Timer { step, attempt } => self.attempt_again(&step, attempt),
            Input::Progressed { part, title, metadata } => self.progressed(part, title, metadata),
            Input::Returned { part, outcome } => self.returned(part, outcome),
            Input::FilesChanged { step, files } => self.files_changed(&step, files),
            Input::Diffed(diffed) => self.diffed(diffed),
            Input::Revert(new) => self.revert(*new),
            Input::Settle { step } => self.settle_now(&step),
            Input::Needs { part, ask } => self.needs(part, ask),
            Input::Planned { part } => self.planned(part),
            Input::Answered { ask, answer } => self.answered(&ask, answer),
            Input::TodoSet { todos } => self.fact(Fact::TodoSet { todos }),
            Input::Abort => self.abort(),
            Input::Restarted => self.restarted(),
            Input::Titled { title } => self.titled(title),
            Input::Edit(patch) => self.patch(patch),
            Input::Remove => self.remove(),
            Input::StartCopy => self.start_copy(),
            Input::CopyMessage(copied) => self.copy_message(*copied),
            Input::CopyPart(part) => self.copy_part(part),
            Input::FinishCopy => self.finish_copy(),
            Input::RunSnippets { command, snippets } => {
                self.fact(Fact::SnippetsStarted { command, snippets });
            }
            Input::Executed { command, arguments, message } => {
                self.fact(Fact::CommandExecuted { name: command, arguments, message });
            }
            Input::RemoveMessage { message, cost, tokens } => self.remove_message(message, cost, tokens),
            Input::WritePart { part } => self.write_part(part),
            Input::RemovePart { message, part, cost, tokens } => {
                self.remove_part(message, part, cost, tokens);
            }
        }
    }
}
