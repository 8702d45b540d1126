//! The step is over: what now.
//!
//! Invariant I8: idle means done. No call is unanswered, and behind a normal end nobody waits.

use super::state::OpenStep;
use super::{Decision, Effect, State, Tools};
use crate::fact::Fact;
use crate::id::MessageId;
use crate::stamp::Stamp;
use crate::talk::FinishReason;
use crate::types::failure::Failure;
use crate::types::status::Status;

/// A provider that never says why it stopped is asked again this often, then the turn ends.
const SILENT_STEPS_MAX: u32 = 3;

/// The model finished and every call has ended.
pub(super) fn after_finish(
    state: &State,
    step: &OpenStep,
    reason: &str,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    let error = failure_of(state, step, reason);
    if let Some(error) = &error {
        out.fact(Fact::SessionFailed { error: error.clone() });
    }
    let failed = error.is_some();
    out.fact(ended(step, error, stamp));
    let goes_on = !failed && !step.blocked && wants_another_step(state, step, reason);
    go_on_or_idle(state, step, goes_on, step.blocked, out);
}

/// The step failed for good.
pub(super) fn after_failure(
    state: &State,
    step: &OpenStep,
    error: Failure,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    out.fact(Fact::SessionFailed { error: error.clone() });
    out.fact(ended(step, Some(error), stamp));
    go_on_or_idle(state, step, false, false, out);
}

/// What a step needs could not be had: no step was opened, so nothing has to be closed.
pub(super) fn not_prepared(
    state: &State,
    user: MessageId,
    failure: Failure,
    _stamp: &mut Stamp,
    out: &mut Decision,
) {
    if state.open_step().is_some() || !is_awaited(state, &user, out) {
        return;
    }
    // These prompts were looked at and cannot be answered as they are; leaving them in the
    // inbox would fail every later prompt too.
    let messages: Vec<_> = state.machine.waiting.iter().map(|waiting| waiting.message.clone()).collect();
    if !messages.is_empty() {
        out.fact(Fact::PromptPromoted { messages });
    }
    out.fact(Fact::SessionFailed { error: failure });
    idle(out);
}

/// Whether a step for this prompt is what the turn waits for. If a newer prompt came while it was
/// being prepared, that one is prepared instead: they are answered together.
pub(super) fn is_awaited(state: &State, user: &MessageId, out: &mut Decision) -> bool {
    let Some(turn) = state.machine.turn.as_ref() else { return false };
    match state.machine.waiting.last() {
        Some(newest) if newest.message == *user => true,
        Some(newest) => {
            out.effect(Effect::Prepare { user: newest.message.clone() });
            false
        }
        None => turn.user.as_ref() == Some(user),
    }
}

pub(super) fn idle(out: &mut Decision) {
    out.fact(Fact::StatusChanged { status: Status::Idle });
    out.fact(Fact::SessionIdled);
}

fn go_on_or_idle(state: &State, step: &OpenStep, goes_on: bool, blocked: bool, out: &mut Decision) {
    let newest = state.machine.waiting.last().map(|waiting| waiting.message.clone());
    let user = match newest {
        // After a refusal by a person the turn is over; whoever waits keeps waiting.
        Some(newest) if !blocked => Some(newest),
        _ => goes_on.then(|| step.user.clone()),
    };
    out.fact(Fact::StatusChanged { status: Status::Busy });
    match user {
        Some(user) => out.effect(Effect::Prepare { user }),
        None => idle(out),
    }
}

/// After the agent's last step no tool is offered, and nothing follows.
pub(super) fn tools_of(steps: u32, steps_max: Option<u32>) -> Tools {
    if steps_max.is_some_and(|most| steps >= most) { Tools::Withheld } else { Tools::Offered }
}

fn wants_another_step(state: &State, step: &OpenStep, reason: &str) -> bool {
    let steps = state.machine.turn.as_ref().map_or(0, |turn| turn.steps);
    if tools_of(steps, step.ready.steps_max) == Tools::Withheld {
        return false;
    }
    let answered_calls = step.calls.iter().any(|call| !call.by_provider);
    answered_calls || reason == FinishReason::Unknown.as_str() || reason == FinishReason::ToolCalls.as_str()
}

fn failure_of(state: &State, step: &OpenStep, reason: &str) -> Option<Failure> {
    if reason == FinishReason::ContentFilter.as_str() {
        let message = "The response was blocked by the provider's content filter".to_owned();
        return Some(Failure::ContentFilter { message });
    }
    let silent = reason == FinishReason::Unknown.as_str() && step.calls.is_empty();
    let silent_steps = state.machine.turn.as_ref().map_or(0, |turn| turn.silent_steps);
    if silent && silent_steps + 1 >= SILENT_STEPS_MAX {
        let message = format!("The provider ended {SILENT_STEPS_MAX} answers in a row without saying why");
        return Some(Failure::unknown(message));
    }
    None
}

pub(super) fn ended(step: &OpenStep, error: Option<Failure>, stamp: &Stamp) -> Fact {
    Fact::StepEnded {
        message: step.message.clone(),
        completed: stamp.now(),
        error,
        finish: None,
        structured: None,
    }
}
