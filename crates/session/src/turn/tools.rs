//! A call of a step: called, started (its tool plans), allowed (it acts), perhaps reporting, ended exactly once
//! (invariant I5). What it needs while it plans is in `asks.rs`.

use super::deciding::Deciding;
use super::phase::{LastWord, Phase};
use super::state::{CallPhase, OpenCall, OpenStep};
use super::{Effect, RunTool, StepKind, Tools, next, subtask};
use crate::fact::{Fact, Outcome, Running};
use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::talk::CallInput;
use crate::types::part::PartBody;
use crate::types::tool::ToolState;
use serde_json::Value;

/// More calls than this in one step are refused one by one; the model is told.
pub(super) const CALLS_MAX: usize = 128;

/// Arguments that are kept while they stream; a call with more of them is not run.
const RAW_BYTES_MAX: usize = 1024 * 1024;

/// The tool that answers calls which name no tool or carry no JSON.
pub(super) const INVALID: &str = "invalid";

pub(super) struct Called {
    pub(super) call: String,
    pub(super) name: String,
    pub(super) input: CallInput,
    pub(super) metadata: Option<Map>,
    pub(super) by_provider: bool,
}

impl Deciding<'_> {
    /// First sign of a call; its arguments are still coming.
    pub(super) fn announced(&mut self, step: &OpenStep, call: String, name: String) {
        if find(step, &call).is_none() {
            self.announce(step, call, name);
        }
    }

    /// More of the arguments of a call. What is beyond the limit is not kept: the call will be refused.
    pub(super) fn arguments_grew(&mut self, step: &OpenStep, call: &str, delta: String) {
        let Some(open) = find(step, call) else { return };
        let has_room = raw_of(open).is_some_and(|raw| raw.len() + delta.len() <= RAW_BYTES_MAX);
        if has_room && !delta.is_empty() {
            self.fact(Fact::TextGrew { part: open.part.clone(), delta });
        }
    }

    /// The call is complete, and its tool begins to plan.
    pub(super) fn called(&mut self, step: &OpenStep, called: Called) {
        let state = self.now();
        let Called { call, name, input, mut metadata, by_provider } = called;
        if by_provider {
            metadata.get_or_insert_default().insert("providerExecuted".to_owned(), Value::Bool(true));
        }
        let place = step.calls.iter().position(|open| open.call == call).unwrap_or(step.calls.len());
        let part = match step.calls.get(place) {
            // A repeated call of one that already runs or ended changes nothing.
            Some(open) if open.phase != CallPhase::Pending => return,
            Some(open) => open.part.clone(),
            None => self.announce(step, call.clone(), name.clone()),
        };
        let (tool, input) = match (known(step, &name), input) {
            (Some(tool), CallInput::Json(Value::Object(map))) => (tool, map),
            (Some(tool), CallInput::Json(other)) => (tool, Map::from_iter([("value".to_owned(), other)])),
            (Some(_), CallInput::Malformed { error, .. }) => {
                (INVALID.to_owned(), invalid_input(&name, &error))
            }
            (None, _) => {
                let error =
                    format!("there is no tool named {name:?}; the tools are {}", step.ready.tools.join(", "));
                (INVALID.to_owned(), invalid_input(&name, &error))
            }
        };
        let start = self.stamp.now();
        self.fact(Fact::ToolStarted {
            part: part.clone(),
            tool: tool.clone(),
            input: input.clone(),
            start,
            metadata,
        });
        if place >= CALLS_MAX {
            let error =
                format!("Not run: more than {CALLS_MAX} calls in one answer. Ask for fewer at a time.");
            let outcome = Outcome::Failed { error, metadata: None };
            return self.fact(Fact::ToolEnded { part, outcome, end: start });
        }
        let turn = state.machine.turn.as_ref();
        let tools = turn.map(|turn| next::tools_of(turn.steps, step.ready.steps_max));
        if tools == Some(Tools::Withheld) && !by_provider && tool != super::STRUCTURED_TOOL {
            // No step follows that could see its result.
            let error = "Not run: this is the last step, and tools are no longer available.".to_owned();
            let outcome = Outcome::Failed { error, metadata: None };
            return self.fact(Fact::ToolEnded { part, outcome, end: start });
        }
        if !by_provider {
            let repeated = state.machine.turn.as_ref().is_some_and(|turn| turn.repeats(&tool, &input));
            let step = step.message.clone();
            let by_user = false;
            self.effect(Effect::RunTool(RunTool { step, part, call, tool, input, repeated, by_user }));
        }
    }

    /// A call that the server makes itself: it runs from the first moment.
    pub(super) fn start_call_of_server(&mut self, message: MessageId, tool: &str, input: Map) {
        let part = self.stamp.part_id();
        let call = self.stamp.ulid();
        let running = Box::new(Running { input: input.clone(), start: self.stamp.now() });
        // Invariant I5: the fact that shows the call says that it runs.
        self.fact(Fact::ToolCalled {
            message: message.clone(),
            part: part.clone(),
            call: call.clone(),
            tool: tool.to_owned(),
            running: Some(running),
        });
        self.effect(Effect::RunTool(RunTool {
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
    pub(super) fn progressed(&mut self, part: PartId, title: Option<String>, metadata: Option<Map>) {
        let state = self.now();
        if state.open_call(&part).is_some_and(|call| call.phase.is_under_way()) {
            self.fact(Fact::ToolProgressed { part, title, metadata });
        }
    }

    /// A tool came back. Its second end, and the end of one nobody waits for, are dropped.
    pub(super) fn returned(&mut self, part: PartId, outcome: Outcome) {
        let state = self.now();
        let Some(step) = state.open_step() else { return };
        let Some(call) = state.open_call(&part) else { return };
        // A call that ends by itself does not wait for an answer any more.
        self.withdraw_asks(call);
        let outcome = subtask::worded(step, outcome);
        self.fact(Fact::ToolEnded { part, outcome, end: self.stamp.now() });
        self.after_call();
    }

    /// A call has ended. With the last one ends what only waited for it.
    fn after_call(&mut self) {
        let state = self.now();
        let Some(step) = state.open_step().filter(|step| !step.has_running_calls()) else { return };
        match &step.phase {
            Phase::Stopping => self.end_aborted(step),
            Phase::Settling { last_word: Some(LastWord { reason, usage }) } => {
                self.finish_step(step, *reason, *usage);
            }
            Phase::Settling { last_word: None } => match &step.ready.kind {
                StepKind::Subtask { follow, .. } => self.subtask_ended(step, follow.as_deref()),
                StepKind::Shell | StepKind::Answer | StepKind::Compact(_) => self.shell_ended(step),
            },
            // The model is still speaking.
            Phase::Asking | Phase::Talking | Phase::Retrying(_) => {}
        }
    }

    /// The provider ran the tool itself.
    pub(super) fn provider_returned(&mut self, step: &OpenStep, call: &str, output: Value, is_error: bool) {
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
        self.fact(Fact::ToolEnded { part: open.part.clone(), outcome, end: self.stamp.now() });
    }

    /// Ends every call that is still open; what it reported is kept.
    pub(super) fn interrupt_calls(&mut self, step: &OpenStep, error: &str) {
        for call in step.calls.iter().filter(|call| call.phase != CallPhase::Ended) {
            self.withdraw_asks(call);
            let raw = raw_of(call).filter(|raw| !raw.is_empty()).map(str::to_owned);
            let outcome = Outcome::Interrupted { error: error.to_owned(), raw };
            self.fact(Fact::ToolEnded { part: call.part.clone(), outcome, end: self.stamp.now() });
        }
    }
}

/// The arguments of a call that has not begun, as far as they came.
fn raw_of(call: &OpenCall) -> Option<&str> {
    let PartBody::Tool(tool) = &call.body.as_deref()?.body else { return None };
    match &tool.state {
        ToolState::Pending { raw, .. } => Some(raw),
        ToolState::Running { .. } | ToolState::Completed { .. } | ToolState::Error { .. } => None,
    }
}

fn find<'a>(step: &'a OpenStep, call: &str) -> Option<&'a OpenCall> {
    step.calls.iter().find(|open| open.call == call)
}

impl Deciding<'_> {
    fn announce(&mut self, step: &OpenStep, call: String, tool: String) -> PartId {
        let part = self.stamp.part_id();
        let message = step.message.clone();
        self.fact(Fact::ToolCalled { message, part: part.clone(), call, tool, running: None });
        part
    }
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
