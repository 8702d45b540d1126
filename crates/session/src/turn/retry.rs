//! The model failed: again later, or not at all.

use super::step::{Which, close_texts, write_part};
use super::{Decision, Effect, State, StepKind, compact, next, tools};
use crate::fact::Fact;
use crate::id::MessageId;
use crate::retry::plan;
use crate::stamp::Stamp;
use crate::types::failure::Failure;
use crate::types::part::{Created, PartBody, RetryError, RetryPart};
use crate::types::status::Status;

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
    if let Failure::Api(error) = failure {
        let time = Created { created: stamp.now() };
        let part = RetryPart { attempt, error: RetryError::Api(error), time };
        write_part(step, PartBody::Retry(part), stamp, out);
    }
    let status = Status::Retry { attempt, message: plan.message, action: None, next: at };
    out.fact(Fact::StatusChanged { status });
    out.effect(Effect::StartTimer { step: step.message.clone(), attempt, at });
}

/// The wait is over.
pub(super) fn again(state: &State, message: &MessageId, attempt: u32, out: &mut Decision) {
    let Some(step) = state.step_at(message, attempt) else { return };
    let Status::Retry { .. } = state.machine.status else { return };
    out.fact(Fact::StatusChanged { status: Status::Busy });
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
