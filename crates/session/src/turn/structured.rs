//! Answers that must fit a schema: given by calling a tool, handed back when they do not fit.
//!
//! A step is a *failed try* when its object did not fit, or when it was a last word without one. Steps
//! that only call other tools are no tries. The count is durable and goes on behind a compaction.

use super::OpenTurn;
use super::state::OpenStep;
use crate::fact::Outcome;
use crate::json::Map;
use crate::talk::FinishReason;
use crate::types::failure::Failure;
use crate::types::part::{Part, PartBody};
use serde_json::Value;

/// The tool whose arguments are the answer.
pub const TOOL: &str = "StructuredOutput";

/// What a finished step means for the answer.
pub(super) enum Verdict {
    /// Words are wanted, or other tools were called.
    Open,
    /// The object is here; the turn is over.
    Given,
    /// It did not fit; the model may try again.
    Again,
    GivenUp(Failure),
}

/// `turn` is the one behind the account of the step.
pub(super) fn judge(turn: &OpenTurn, step: &OpenStep, reason: FinishReason) -> Verdict {
    let Some(retries_max) = step.ready.structured else { return Verdict::Open };
    if step.structured.is_some() {
        return Verdict::Given;
    }
    if !is_failed_try(step, reason) {
        return Verdict::Open;
    }
    match retries(turn, step, reason) {
        retries if retries >= retries_max => Verdict::GivenUp(given_up(retries)),
        _ => Verdict::Again,
    }
}

/// The turn ends without the object that was asked for.
pub(super) fn unmet(turn: &OpenTurn, step: &OpenStep, reason: FinishReason) -> Option<Failure> {
    step.ready.structured.map(|_| given_up(retries(turn, step, reason)))
}

/// How often it was tried again before this step, which is counted already.
fn retries(turn: &OpenTurn, step: &OpenStep, reason: FinishReason) -> u32 {
    turn.tries - u32::from(is_failed_try(step, reason))
}

fn given_up(retries: u32) -> Failure {
    let message = "Model did not produce structured output".to_owned();
    Failure::StructuredOutput { message, retries }
}

pub(super) fn is_failed_try(step: &OpenStep, reason: FinishReason) -> bool {
    if step.ready.structured.is_none() || step.structured.is_some() {
        return false;
    }
    step.misfit || (reason.is_final() && step.calls.iter().all(|call| call.by_provider))
}

/// Notes how a call of the tool ended. `body` is the call as it ran.
pub(super) fn note(step: &mut OpenStep, body: Option<&Part>, outcome: &Outcome) {
    let Some(PartBody::Tool(tool)) = body.map(|part| &part.body) else { return };
    let input = tool.state.input();
    if step.ready.structured.is_none() || (tool.tool != TOOL && !is_garbled(&tool.tool, input)) {
        return;
    }
    match outcome {
        Outcome::Done { .. } if tool.tool == TOOL => step.structured = Some(Value::Object(input.clone())),
        _ => step.misfit = true,
    }
}

/// A call of the tool whose arguments were not JSON.
fn is_garbled(tool: &str, input: &Map) -> bool {
    tool == super::tools::INVALID && input.get("tool").and_then(Value::as_str) == Some(TOOL)
}
