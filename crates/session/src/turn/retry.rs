//! The model failed: again later, or not at all.

use super::step::{Which, close_texts};
use super::{Decision, Effect, State, StepKind, compact, next, tools};
use crate::fact::{Fact, RetryNote};
use crate::id::MessageId;
use crate::retry::plan;
use crate::stamp::Stamp;
use crate::types::failure::Failure;

/// The stream broke or never began. What was said is kept: it is closed with its text.
pub(super) fn failed(
    state: &State,
    message: &MessageId,
    attempt: u32,
    failure: Failure,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    let Some(step) = state.step_at(message, attempt) else { return };
    if step.finished.is_some() || step.stopping {
        return;
    }
    close_texts(step, Which::All, None, stamp, out);
    if matches!(failure, Failure::ContextOverflow { .. }) && step.ready.kind.is_answer() {
        tools::interrupt_all(step, "Tool execution aborted", stamp, out);
        return compact::overflowed(state, step, failure, stamp, out);
    }

    let plan = plan(&failure, attempt, stamp.now(), stamp.fraction());
    // A call that may have acted is not repeated by asking the model again from the start.
    let (Some(plan), false) = (plan, step.has_running_calls()) else {
        tools::interrupt_all(step, "Tool execution aborted", stamp, out);
        return match step.ready.kind {
            StepKind::Compact(_) => compact::failed(state, step, failure, stamp, out),
            _ => next::after_failure(state, step, failure, false, stamp, out),
        };
    };
    let (attempt, at) = (plan.attempt, plan.next);
    let note = if let Failure::Api(error) = failure {
        Some(Box::new(RetryNote { part: stamp.part_id(), error, time: stamp.now() }))
    } else {
        None
    };
    let message = step.message.clone();
    out.fact(Fact::StepDelayed { message: message.clone(), attempt, reason: plan.message, next: at, note });
    out.effect(Effect::StartTimer { step: message, attempt, at });
}

/// The wait is over.
pub(super) fn again(state: &State, message: &MessageId, attempt: u32, out: &mut Decision) {
    let Some(step) = state.step_at(message, attempt) else { return };
    if step.pause.is_none() {
        return;
    }
    out.fact(Fact::StepRetried { message: step.message.clone(), attempt });
    let steps = state.machine.turn.as_ref().map_or(0, |turn| turn.steps);
    let tools = next::tools_of(steps, step.ready.steps_max);
    let (message, user) = (step.message.clone(), step.user.clone());
    out.effect(match &step.ready.kind {
        StepKind::Compact(compaction) => {
            Effect::Summarise { step: message, attempt, text: compaction.text.clone() }
        }
        _ => Effect::CallModel { step: message, user, attempt, tools },
    });
}
