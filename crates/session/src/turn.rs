//! How a session moves: `decide` looks at the state and one input and says what happened and what
//! should be done. It changes nothing.
//!
//! One line per input, each a call into the file named after the verb:
//! `admit` (prompts), `step` (a model's answer), `tools` (its calls), `asks` (what a person is asked),
//! `retry` (failures that pass), `next` (the step is over: what now), `stop` (abort and restart),
//! `compact` (summaries, and what need not be sent again), `structured` (answers that must fit a
//! schema), `files` (what a step changed on disk), `shell` and `subtask` (steps without a model), `edit` (changes that are not turns).
//!
//! Every input that belongs to something names it. If that thing is not open any more, the input is
//! dropped: late news is no news. Nothing has to be cancelled perfectly.

mod admit;
mod asks;
mod compact;
mod compaction;
mod edit;
mod effect;
mod files;
mod glance;
mod input;
mod next;
mod restore;
mod retry;
mod shell;
mod state;
mod step;
mod stop;
mod structured;
mod subtask;
mod tools;

pub use asks::{DISMISSED_TEXT, rejected_text};
pub use compaction::{Compaction, FollowUp, NewSummary, Words};
pub use edit::SessionPatch;
pub use effect::{Effect, RunTool, Tools};
pub use glance::Glance;
pub use input::{
    Answer, Ask, Diffed, Follow, Input, Limits, NewPrompt, NewRevert, NewShell, PathPair, Ready,
    RevertTotals, StepFiles, StepKind,
};
pub use restore::{Keyframe, OpenMessages, RestoreError};
pub use shell::STOPPED as SHELL_STOPPED;
pub use state::{CallPhase, Machine, OpenAsk, OpenCall, OpenStep, OpenText, OpenTurn, Pause, State, Waiting};
pub use structured::TOOL as STRUCTURED_TOOL;

use crate::fact::Fact;
use crate::stamp::Stamp;

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
}

impl Decision {
    fn fact(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn refuse(&mut self, why: Refusal) {
        self.facts.clear();
        self.effects.clear();
        self.refusal = Some(why);
    }
}

/// The whole machine: pure, total, one line per input.
pub fn decide(state: &State, input: Input, stamp: &mut Stamp) -> Decision {
    let mut out = Decision::default();
    if state.info.is_none() && !matches!(input, Input::Create { .. }) {
        // News for a session that is gone is late news; only a person is told so.
        if input.is_asked_by_a_person() {
            out.refuse(Refusal::Gone);
        }
        return out;
    }
    match input {
        Input::Create { info } => edit::create(state, info, &mut out),
        Input::Prompt(prompt) => admit::prompt(state, *prompt, stamp, &mut out),
        Input::Shell(new) => shell::run(state, *new, stamp, &mut out),
        Input::Withdraw { message } => admit::withdraw(state, message, &mut out),
        Input::Resume => admit::resume(state, &mut out),
        Input::Summarize(wish) => compact::summarize(state, *wish, stamp, &mut out),
        Input::Pruned { edits, parts } => compact::pruned(state, edits, parts, stamp, &mut out),
        Input::Prepared { user, ready } => step::start(state, user, *ready, stamp, &mut out),
        Input::NotPrepared { user, failure } => next::not_prepared(state, user, failure, stamp, &mut out),
        Input::SubtaskReady { part, subtask, ready } => {
            subtask::start(state, part, *subtask, *ready, stamp, &mut out);
        }
        Input::Said { step, attempt, said } => step::said(state, &step, attempt, said, stamp, &mut out),
        Input::Failed { step, attempt, failure } => {
            retry::failed(state, &step, attempt, failure, stamp, &mut out);
        }
        Input::Timer { step, attempt } => retry::again(state, &step, attempt, &mut out),
        Input::Progressed { part, title, metadata } => {
            tools::progressed(state, part, title, metadata, &mut out);
        }
        Input::Returned { part, outcome } => tools::returned(state, part, outcome, stamp, &mut out),
        Input::FilesChanged { step, files } => files::changed(state, &step, files, &mut out),
        Input::Diffed(diffed) => files::diffed(state, diffed, stamp, &mut out),
        Input::Revert(new) => edit::revert(state, *new, stamp, &mut out),
        Input::Settle { step } => stop::settle_now(state, &step, stamp, &mut out),
        Input::Asked { part, ask } => asks::asked(state, part, ask, &mut out),
        Input::Answered { ask, answer } => asks::answered(state, &ask, answer, stamp, &mut out),
        Input::TodoSet { todos } => out.fact(Fact::TodoSet { todos }),
        Input::Abort => stop::abort(state, stamp, &mut out),
        Input::Restarted => stop::restarted(state, stamp, &mut out),
        Input::Titled { title } => edit::titled(state, title, &mut out),
        Input::Edit(patch) => edit::patch(state, patch, stamp, &mut out),
        Input::Remove => edit::remove(state, stamp, &mut out),
        Input::CopyMessage(copied) => edit::copy_message(state, *copied, stamp, &mut out),
        Input::Executed { command, arguments, message } => {
            out.fact(Fact::CommandExecuted { name: command, arguments, message });
        }
        Input::RemoveMessage { message, cost, tokens } => {
            edit::remove_message(state, message, cost, tokens, &mut out);
        }
        Input::WritePart { part } => edit::write_part(state, part, &mut out),
        Input::RemovePart { message, part, cost, tokens } => {
            edit::remove_part(state, message, part, cost, tokens, &mut out);
        }
    }
    out
}
