//! A call of a step: called, started, perhaps reporting, ended exactly once (invariant I5).

use super::state::{CallPhase, OpenCall, OpenStep};
use super::{
    Decision, Effect, RunTool, State, StepKind, asks, shell, step as steps, stop, structured, subtask,
};
use crate::fact::{Fact, Outcome, Running};
use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::stamp::Stamp;
use crate::talk::CallInput;
use crate::types::part::PartBody;
use serde_json::Value;

/// More calls than this in one step are refused one by one; the model is told.
pub(super) const CALLS_MAX: usize = 128;

/// The tool that answers calls which name no tool or carry no JSON.
pub(super) const INVALID: &str = "invalid";

pub(super) struct Called {
    pub(super) call: String,
    pub(super) name: String,
    pub(super) input: CallInput,
    pub(super) metadata: Option<Map>,
    pub(super) by_provider: bool,
}

/// First sign of a call; its arguments are still coming.
pub(super) fn announced(step: &OpenStep, call: String, name: String, stamp: &mut Stamp, out: &mut Decision) {
    if find(step, &call).is_none() {
        announce(step, call, name, stamp, out);
    }
}

/// The call is complete.
///
/// Invariant I5: the start is a fact before it is an effect. A call without this fact has
/// certainly not acted; a call with it may have, and is not repeated.
pub(super) fn called(state: &State, step: &OpenStep, called: Called, stamp: &mut Stamp, out: &mut Decision) {
    let Called { call, name, input, mut metadata, by_provider } = called;
    if by_provider {
        metadata.get_or_insert_default().insert("providerExecuted".to_owned(), Value::Bool(true));
    }
    let place = step.calls.iter().position(|open| open.call == call).unwrap_or(step.calls.len());
    let part = match step.calls.get(place) {
        // A repeated call of one that already runs or ended changes nothing.
        Some(open) if open.phase != CallPhase::Pending => return,
        Some(open) => open.part.clone(),
        None => announce(step, call.clone(), name.clone(), stamp, out),
    };
    let (tool, input) = match (known(step, &name), input) {
        (Some(tool), CallInput::Json(Value::Object(map))) => (tool, map),
        (Some(tool), CallInput::Json(other)) => (tool, Map::from_iter([("value".to_owned(), other)])),
        (Some(_), CallInput::Malformed { error, .. }) => (INVALID.to_owned(), invalid_input(&name, &error)),
        (None, _) => {
            let error =
                format!("there is no tool named {name:?}; the tools are {}", step.ready.tools.join(", "));
            (INVALID.to_owned(), invalid_input(&name, &error))
        }
    };
    let start = stamp.now();
    out.fact(Fact::ToolStarted {
        part: part.clone(),
        tool: tool.clone(),
        input: input.clone(),
        start,
        metadata,
    });
    if place >= CALLS_MAX {
        let error = format!("Not run: more than {CALLS_MAX} calls in one answer. Ask for fewer at a time.");
        return out.fact(Fact::ToolEnded {
            part,
            outcome: Outcome::Failed { error, metadata: None },
            end: start,
        });
    }
    if !by_provider {
        let repeated = state.machine.turn.as_ref().is_some_and(|turn| turn.repeats(&tool, &input));
        let step = step.message.clone();
        let by_user = false;
        out.effect(Effect::RunTool(RunTool { step, part, call, tool, input, repeated, by_user }));
    }
}

/// A call that the server makes itself: it runs from the first moment.
pub(super) fn start_by_server(
    message: MessageId,
    tool: &str,
    input: Map,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    let part = stamp.part_id();
    let call = stamp.ulid();
    let running = Box::new(Running { input: input.clone(), start: stamp.now() });
    // Invariant I5: the fact that shows the call says that it runs.
    out.fact(Fact::ToolCalled {
        message: message.clone(),
        part: part.clone(),
        call: call.clone(),
        tool: tool.to_owned(),
        running: Some(running),
    });
    out.effect(Effect::RunTool(RunTool {
        step: message,
        part,
        call,
        tool: tool.to_owned(),
        input,
        repeated: false,
        by_user: true,
    }));
}

/// A running tool reports of itself. Late reports are dropped.
pub(super) fn progressed(
    state: &State,
    part: PartId,
    title: Option<String>,
    metadata: Option<Map>,
    out: &mut Decision,
) {
    if state.open_call(&part).is_some_and(|call| call.phase == CallPhase::Running) {
        out.fact(Fact::ToolProgressed { part, title, metadata });
    }
}

/// A tool came back. Its second end, and the end of one nobody waits for, are dropped.
pub(super) fn returned(state: &State, part: PartId, outcome: Outcome, stamp: &mut Stamp, out: &mut Decision) {
    let Some(step) = state.open_step() else { return };
    let Some(call) = state.open_call(&part) else { return };
    // A call that ends by itself does not wait for an answer any more.
    asks::withdraw(call, out);
    let blocked = matches!(outcome, Outcome::Blocked { .. });
    let outcome = subtask::worded(step, outcome);
    out.fact(Fact::ToolEnded { part: part.clone(), outcome: outcome.clone(), end: stamp.now() });
    if step.calls.iter().any(|call| call.part != part && call.phase != CallPhase::Ended) {
        return;
    }
    let mut rest = step.clone();
    structured::note(&mut rest, call.body.as_deref(), &outcome);
    for call in &mut rest.calls {
        (call.phase, call.body) = (CallPhase::Ended, None);
        call.asks.clear();
    }
    rest.blocked |= blocked;
    if step.stopping {
        return stop::end_aborted(state, &rest, stamp, out);
    }
    match (&step.ready.kind, step.finished) {
        (StepKind::Answer | StepKind::Compact(_), Some((reason, usage))) => {
            steps::finish(state, &rest, reason, usage, stamp, out);
        }
        // The model is still speaking.
        (StepKind::Answer | StepKind::Compact(_), None) => {}
        (StepKind::Shell, _) => shell::over(state, &rest, stamp, out),
        (StepKind::Subtask { follow, .. }, _) => {
            subtask::over(state, &rest, follow.as_deref(), stamp, out);
        }
    }
}

/// The provider ran the tool itself.
pub(super) fn provider_returned(
    step: &OpenStep,
    call: &str,
    output: Value,
    is_error: bool,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    let Some(open) = find(step, call).filter(|open| open.phase == CallPhase::Running) else { return };
    let Some(PartBody::Tool(tool)) = open.body.as_deref().map(|part| &part.body) else { return };
    let tool = tool.tool.clone();
    let text = match &output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let outcome = if is_error {
        Outcome::Failed { error: text, metadata: None }
    } else {
        let metadata = match output {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Outcome::Done { output: text, title: tool, metadata, attachments: Vec::new() }
    };
    out.fact(Fact::ToolEnded { part: open.part.clone(), outcome, end: stamp.now() });
}

/// Ends every call that is still open; what it reported is kept.
pub(super) fn interrupt_all(step: &OpenStep, error: &str, stamp: &Stamp, out: &mut Decision) {
    for call in step.calls.iter().filter(|call| call.phase != CallPhase::Ended) {
        asks::withdraw(call, out);
        let outcome = Outcome::Interrupted { error: error.to_owned() };
        out.fact(Fact::ToolEnded { part: call.part.clone(), outcome, end: stamp.now() });
    }
}

fn find<'a>(step: &'a OpenStep, call: &str) -> Option<&'a OpenCall> {
    step.calls.iter().find(|open| open.call == call)
}

fn announce(step: &OpenStep, call: String, tool: String, stamp: &mut Stamp, out: &mut Decision) -> PartId {
    let part = stamp.part_id();
    let message = step.message.clone();
    out.fact(Fact::ToolCalled { message, part: part.clone(), call, tool, running: None });
    part
}

/// The tool a model means: by its name, or by its name in other letters.
fn known(step: &OpenStep, name: &str) -> Option<String> {
    let tools = &step.ready.tools;
    let lower = name.to_lowercase();
    if tools.is_empty() || tools.iter().any(|tool| tool == name) {
        return Some(name.to_owned());
    }
    tools.iter().find(|tool| **tool == lower).cloned()
}

fn invalid_input(tool: &str, error: &str) -> Map {
    Map::from_iter([
        ("tool".to_owned(), Value::String(tool.to_owned())),
        ("error".to_owned(), Value::String(error.to_owned())),
    ])
}
