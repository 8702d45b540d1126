//! Abort and restart: what is open is ended, what was said and reported is kept.
//!
//! An abort gives running calls a moment to end by themselves: a command that dies at once still shows
//! its output. A restart settles and starts nothing. Waiting prompts keep their place and go on with
//! the next prompt or an explicit `Resume`: spending money unasked is worse than waiting.

use super::state::OpenStep;
use super::step::{Which, close_texts};
use super::{Decision, Effect, State, StepKind, admit, asks, files, next, shell, subtask, tools};
use crate::fact::{Fact, TurnEnd};
use crate::id::MessageId;
use crate::stamp::Stamp;
use crate::types::failure::Failure;

const INTERRUPTED: &str = "Tool execution aborted";

/// The person pressed stop. Also answered when nothing runs, so that a screen that thinks
/// otherwise is put right.
pub(super) fn abort(state: &State, stamp: &mut Stamp, out: &mut Decision) {
    let Some(step) = state.open_step() else { return rest(out) };
    if step.stopping {
        if has_news(state) {
            // Stop means stop: also what came behind the first one.
            out.fact(Fact::TurnStopping);
        }
        return;
    }
    let acts = step.calls.iter().any(|call| call.body.is_some() && call.asks.is_empty() && !call.by_provider);
    if !acts {
        settle(state, Failure::aborted(), stamp, out);
        return rest(out);
    }
    close_texts(step, Which::All, None, stamp, out);
    asks::withdraw_all(step, out);
    out.fact(Fact::TurnStopping);
    out.effect(Effect::StopTools { step: step.message.clone() });
}

/// The moment is over: whatever still runs is interrupted.
pub(super) fn settle_now(state: &State, message: &MessageId, stamp: &mut Stamp, out: &mut Decision) {
    let Some(step) = state.open_step().filter(|step| step.message == *message && step.stopping) else {
        return;
    };
    end_aborted(state, step, stamp, out);
}

/// Ends a step that was stopped. Prompts that waited before the stop go on waiting; one that came behind it was
/// not meant by it, and is taken up.
pub(super) fn end_aborted(state: &State, step: &OpenStep, stamp: &mut Stamp, out: &mut Decision) {
    match step.ready.kind {
        StepKind::Answer | StepKind::Compact(_) => end(state, step, Failure::aborted(), stamp, out),
        StepKind::Shell => shell::stopped(step, stamp, out),
        StepKind::Subtask { .. } => subtask::stopped(state, step, stamp, out),
    }
    rest(out);
    if has_news(state) {
        admit::resume_waiting(state, out);
    }
}

/// Whether a prompt came behind the stop.
fn has_news(state: &State) -> bool {
    state.machine.waiting.iter().any(|waiting| !waiting.left)
}

/// Nothing is open any more. What was told to stop is let go of, so that whatever the session does next does not
/// find itself stopped.
fn rest(out: &mut Decision) {
    out.effect(Effect::StopAll);
    out.fact(Fact::SessionIdled { end: TurnEnd::Stopped });
}

/// The process died and is back. A step that only waits for a person goes on waiting.
pub(super) fn restarted(state: &State, stamp: &mut Stamp, out: &mut Decision) {
    if state.is_idle() {
        return;
    }
    if state.open_step().is_some_and(asks::only_waits) {
        return;
    }
    let message = "The server stopped while this was being written".to_owned();
    settle(state, Failure::Aborted { message }, stamp, out);
    out.fact(Fact::SessionIdled { end: TurnEnd::Interrupted });
}

/// Ends everything that is open.
pub(super) fn settle(state: &State, error: Failure, stamp: &mut Stamp, out: &mut Decision) {
    if let Some(step) = state.open_step() {
        end(state, step, error, stamp, out);
    }
}

fn end(state: &State, step: &OpenStep, error: Failure, stamp: &mut Stamp, out: &mut Decision) {
    close_texts(step, Which::All, None, stamp, out);
    tools::interrupt_all(step, INTERRUPTED, stamp, out);
    files::write_down(state, step, files::Ended::CutShort, stamp, out);
    out.fact(Fact::SessionFailed { error: error.clone() });
    out.fact(next::ended(step, Some(error), stamp));
}
