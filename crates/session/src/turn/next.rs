//! The step is over: what now.
//!
//! Invariant I8: idle means done. No call is unanswered, and behind a normal end nobody waits.

use super::deciding::Deciding;
use super::state::OpenStep;
use super::structured::{self, Verdict};
use super::{Effect, OpenTurn, State, StepKind, Tools, compact, files};
use crate::fact::{Fact, TurnEnd};
use crate::id::MessageId;
use crate::talk::FinishReason;
use crate::types::failure::Failure;
use crate::types::usage::Tokens;

/// A provider that never says why it stopped is asked again this often, then the turn ends.
const SILENT_STEPS_MAX: u32 = 3;

/// What a finished step comes to.
struct Finished {
    error: Option<Failure>,
    /// The error is the session's, and clients are told of it at once.
    is_told: bool,
    /// The window is full: a summary is wanted.
    is_full: bool,
    then: StepExit,
}

impl Finished {
    /// `state` is the one behind the account of the step.
    fn judge(state: &State, step: &OpenStep, reason: FinishReason, tokens: &Tokens) -> Option<Self> {
        let turn = state.machine.turn.as_ref()?;
        let verdict = structured::judge(turn, step, reason);
        let is_given = matches!(verdict, Verdict::Given);
        let is_given_up = matches!(verdict, Verdict::GivenUp(_));
        let mut told = if is_given { None } else { failure_of(turn, step, reason) };
        let has_room = step.blocked || is_given || is_given_up || !step.ready.is_full(tokens);
        let is_full = told.is_none() && !has_room;
        if is_full && compact::wanted(state).is_none() {
            told = compact::futile(state);
        }
        let wants_more = match verdict {
            Verdict::Open => wants_another_step(step, reason),
            Verdict::Again => true,
            Verdict::Given | Verdict::GivenUp(_) => false,
        };
        let may_go_on = !step.blocked && tools_of(turn.steps, step.ready.steps_max) == Tools::Offered;
        let ends = !(wants_more && may_go_on || is_full || step.blocked);
        // Not shown as a failure of the session: whoever asked for an object reads it off the message.
        let unmet = match verdict {
            Verdict::GivenUp(failure) => Some(failure),
            Verdict::Open | Verdict::Again if ends => structured::unmet(turn, step, reason),
            Verdict::Open | Verdict::Again | Verdict::Given => None,
        };
        let is_told = told.is_some();
        let error = told.or(unmet);
        let end = match &error {
            _ if step.blocked => TurnEnd::Refused,
            Some(_) => TurnEnd::Failed,
            None if is_given => TurnEnd::Given,
            None => TurnEnd::Done,
        };
        let goes_on = wants_more && may_go_on && error.is_none();
        Some(Self { error, is_told, is_full, then: StepExit { goes_on, blocked: step.blocked, end } })
    }
}

impl Deciding<'_> {
    /// The model finished and every call has ended.
    pub(super) fn after_finish(&mut self, step: &OpenStep, reason: FinishReason, tokens: &Tokens) {
        if let StepKind::Compact(compaction) = &step.ready.kind {
            return self.finish_summary(step, compaction, reason);
        }
        let state = self.now();
        let Some(finished) = Finished::judge(&state, step, reason, tokens) else { return };
        if let Some(error) = finished.error.clone().filter(|_| finished.is_told) {
            self.fact(Fact::SessionFailed { error });
        }
        let asks = finished.is_full && !finished.is_told && compact::wanted(&state).is_none();
        self.end_step(step, finished.error);
        if asks {
            self.want_automatic_summary(step, false);
        }
        self.go_on_or_idle(step, finished.then);
    }

    /// The step failed for good. `says_error`: the message says so in its `finish` too.
    pub(super) fn after_failure(&mut self, step: &OpenStep, error: Failure, says_error: bool) {
        self.write_down_files(step, files::Ended::CutShort);
        self.fact(Fact::SessionFailed { error: error.clone() });
        let finish = says_error.then_some(FinishReason::Error);
        let message = step.message.clone();
        let completed = self.stamp.now();
        let structured = step.structured.clone();
        self.fact(Fact::StepEnded { message, completed, error: Some(error), finish, structured });
        self.go_on_or_idle(step, StepExit::of(TurnEnd::Failed));
    }

    pub(super) fn end_step(&mut self, step: &OpenStep, error: Option<Failure>) {
        self.fact(Fact::StepEnded {
            message: step.message.clone(),
            completed: self.stamp.now(),
            error,
            finish: None,
            structured: step.structured.clone(),
        });
    }

    /// What a step needs could not be had: no step was opened, so nothing has to be closed.
    pub(super) fn not_prepared(&mut self, user: MessageId, failure: Failure) {
        let state = self.now();
        if state.open_step().is_some() || !self.is_awaited(&user) {
            return;
        }
        if compact::wanted(&state) == Some(&user) {
            // Waiting prompts are not affected.
            self.fact(Fact::SessionFailed { error: failure });
            self.fact(Fact::SessionIdled { end: TurnEnd::Failed });
            return self.resume_waiting();
        }
        // These prompts were looked at and cannot be answered as they are; leaving them in the
        // inbox would fail every later prompt too.
        let messages = state.next_prompts();
        if !messages.is_empty() {
            self.fact(Fact::PromptFailed { messages });
        }
        self.fact(Fact::SessionFailed { error: failure });
        self.fact(Fact::SessionIdled { end: TurnEnd::Failed });
        self.resume_waiting();
    }

    /// Whether a step for this prompt is what the turn waits for. If a newer prompt came while it was
    /// being prepared, that one is prepared instead: they are answered together.
    pub(super) fn is_awaited(&mut self, user: &MessageId) -> bool {
        let state = self.now();
        let Some(turn) = state.machine.turn.as_ref() else { return false };
        if let Some(request) = compact::wanted(&state) {
            if request != user {
                let goes_on = state.next_prompts().is_empty() && turn.user.as_ref() == Some(user);
                self.prepare_summary(request.clone(), goes_on);
            }
            return request == user;
        }
        match state.next_prompts().pop() {
            Some(newest) if newest == *user => true,
            Some(newest) => {
                self.effect(Effect::Prepare { user: newest });
                false
            }
            None => turn.user.as_ref() == Some(user),
        }
    }
}

/// What a finished step means for its turn.
pub(super) struct StepExit {
    /// The same prompt needs another step.
    pub(super) goes_on: bool,
    /// A person refused something: the turn is over; whoever waits keeps waiting.
    pub(super) blocked: bool,
    /// How the turn ends, if nothing comes.
    pub(super) end: TurnEnd,
}

impl StepExit {
    pub(super) fn of(end: TurnEnd) -> Self {
        Self { goes_on: false, blocked: false, end }
    }
}

/// What comes behind a step.
enum Next {
    Summary {
        request: MessageId,
        goes_on: bool,
    },
    /// Another step for the same prompt, or the first for one that waited.
    Step {
        user: MessageId,
    },
    /// The turn is over, and a prompt waited for one of its own.
    Turn {
        end: TurnEnd,
        user: MessageId,
    },
    Idle {
        end: TurnEnd,
    },
}

impl Next {
    /// `state` is the one behind the end of the step: what was just asked for is in it.
    fn behind(state: &State, step: &OpenStep, then: &StepExit) -> Self {
        if let Some(request) = compact::wanted(state) {
            return Self::Summary { request: request.clone(), goes_on: then.goes_on };
        }
        let end = then.end;
        if then.blocked {
            return Self::Idle { end };
        }
        if let Some(newest) = state.steering().next_back() {
            return Self::Step { user: newest.clone() };
        }
        if then.goes_on {
            return Self::Step { user: step.user.clone() };
        }
        match state.first_queued() {
            Some(queued) => Self::Turn { end, user: queued.clone() },
            None => Self::Idle { end },
        }
    }
}

impl Deciding<'_> {
    pub(super) fn go_on_or_idle(&mut self, step: &OpenStep, then: StepExit) {
        let state = self.now();
        match Next::behind(&state, step, &then) {
            Next::Summary { request, goes_on } => self.continue_with_summary(request, goes_on),
            Next::Step { user } => self.continue_with(user),
            Next::Turn { end, user } => {
                self.fact(Fact::SessionIdled { end });
                self.continue_with(user);
            }
            Next::Idle { end } => {
                self.fact(Fact::SessionIdled { end });
                if step.ready.prune {
                    self.effect(Effect::Prune { edits: state.machine.edits });
                }
            }
        }
    }

    pub(super) fn continue_with(&mut self, user: MessageId) {
        self.fact(Fact::TurnContinued { message: user.clone() });
        self.effect(Effect::Prepare { user });
    }

    pub(super) fn continue_with_summary(&mut self, request: MessageId, goes_on: bool) {
        self.fact(Fact::TurnContinued { message: request.clone() });
        self.prepare_summary(request, goes_on);
    }
}

/// After the agent's last step no tool is offered, and nothing follows.
pub(super) fn tools_of(steps: u32, steps_max: Option<u32>) -> Tools {
    if steps_max.is_some_and(|most| steps >= most) { Tools::Withheld } else { Tools::Offered }
}

fn wants_another_step(step: &OpenStep, reason: FinishReason) -> bool {
    let answered_calls = step.calls.iter().any(|call| !call.by_provider);
    answered_calls || !reason.is_final()
}

fn failure_of(turn: &OpenTurn, step: &OpenStep, reason: FinishReason) -> Option<Failure> {
    if reason == FinishReason::ContentFilter {
        return Some(filtered());
    }
    if step.is_silent(reason) && turn.silent_steps >= SILENT_STEPS_MAX {
        let message = format!("The provider ended {SILENT_STEPS_MAX} answers in a row without saying why");
        return Some(Failure::unknown(message));
    }
    None
}

pub(super) fn filtered() -> Failure {
    let message = "The response was blocked by the provider's content filter".to_owned();
    Failure::ContentFilter { message }
}
