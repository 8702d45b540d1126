//! Abort and restart: what is open is ended, what was said and reported is kept.
//!
//! An abort gives running calls a moment to end by themselves: a command that dies at once still shows
//! its output. A restart settles and starts nothing. Waiting prompts keep their place and go on with
//! the next prompt or an explicit `Resume`: spending money unasked is worse than waiting.

use super::deciding::Deciding;
use super::phase::Phase;
use super::state::OpenStep;
use super::step::Which;
use super::{Effect, State, StepKind, asks, files};
use crate::fact::{Fact, TurnEnd};
use crate::id::MessageId;
use crate::types::failure::Failure;

const INTERRUPTED: &str = "Tool execution aborted";

impl Deciding<'_> {
    /// The person pressed stop. Also answered when nothing runs, so that a screen that thinks
    /// otherwise is put right.
    pub(super) fn abort(&mut self) {
        let state = self.now();
        let Some(step) = state.open_step() else { return self.rest() };
        if step.phase == Phase::Stopping {
            if has_news(&state) {
                // Stop means stop: also what came behind the first one.
                self.fact(Fact::TurnStopping);
            }
            return;
        }
        let acts =
            step.calls.iter().any(|call| call.body.is_some() && call.asks.is_empty() && !call.by_provider);
        if !acts {
            self.settle(Failure::aborted());
            return self.rest();
        }
        self.close_texts(step, Which::All, None);
        self.withdraw_all_asks(step);
        self.fact(Fact::TurnStopping);
        self.effect(Effect::StopTools { step: step.message.clone() });
    }

    /// The moment is over: whatever still runs is interrupted.
    pub(super) fn settle_now(&mut self, message: &MessageId) {
        let state = self.now();
        let Some(step) =
            state.open_step().filter(|step| step.message == *message && step.phase == Phase::Stopping)
        else {
            return;
        };
        self.end_aborted(step);
    }

    /// Ends a step that was stopped. Prompts that waited before the stop go on waiting; one that came behind it was
    /// not meant by it, and is taken up.
    pub(super) fn end_aborted(&mut self, step: &OpenStep) {
        let state = self.now();
        match step.ready.kind {
            StepKind::Answer | StepKind::Compact(_) => self.cut_step_short(step, Failure::aborted()),
            StepKind::Shell => self.stop_shell(step),
            StepKind::Subtask { .. } => self.stop_subtask(step),
        }
        self.rest();
        if has_news(&state) {
            self.resume_waiting();
        }
    }
}

/// Whether a prompt came behind the stop.
fn has_news(state: &State) -> bool {
    state.machine.waiting.iter().any(|waiting| !waiting.left)
}

impl Deciding<'_> {
    /// Nothing is open any more. Effects that were told to stop are forgotten, so that whatever the session does next does not
    /// find itself stopped.
    fn rest(&mut self) {
        self.effect(Effect::StopAll);
        self.fact(Fact::SessionIdled { end: TurnEnd::Stopped });
    }

    /// The process died and is back. A step that only waits for a person goes on waiting.
    pub(super) fn restarted(&mut self) {
        let state = self.now();
        if state.is_idle() {
            return;
        }
        if state.is_copying() {
            // Half a conversation looks like one. Whoever asked for the copy got no answer.
            return self.remove();
        }
        if state.open_step().is_some_and(asks::only_waits) {
            return;
        }
        let message = "The server stopped while this was being written".to_owned();
        self.settle(Failure::Aborted { message });
        self.fact(Fact::SessionIdled { end: TurnEnd::Interrupted });
    }

    /// Ends everything that is open.
    pub(super) fn settle(&mut self, error: Failure) {
        let state = self.now();
        if let Some(step) = state.open_step() {
            self.cut_step_short(step, error);
        }
    }

    fn cut_step_short(&mut self, step: &OpenStep, error: Failure) {
        self.close_texts(step, Which::All, None);
        self.interrupt_calls(step, INTERRUPTED);
        self.write_down_files(step, files::Ended::CutShort);
        self.fact(Fact::SessionFailed { error: error.clone() });
        self.end_step(step, Some(error));
    }
}
