//! From a fact to what clients of the v2 API see: `session.next.…`, each with a body of its own.
//!
//! The same facts as `show`, in other words: hardly one event of the two has the same fields, so each has
//! its own list, and the compiler finds a fact that is missing in either. What a person wrote is not repeated here: whoever sends an event puts the prompt
//! in, read from its message.
//!
//! Not here: ids, sequence numbers and envelopes (the server).

use crate::fact::{Edit, Fact, Outcome, Running, Words};
use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::stamp::Millis;
use crate::turn::{OpenCall, OpenStep, Ready, State, StepKind};
use crate::types::delivery::Delivery;
use crate::types::failure::Failure;
use serde_json::{Value, json};

/// One event of the v2 API.
#[derive(Clone, Debug, PartialEq)]
pub struct NextEvent {
    /// What follows `session.next.` in its type.
    pub kind: &'static str,
    /// Whether it is told again to who was away: growth is not, its end is.
    pub is_durable: bool,
    /// Of its shape.
    pub version: u32,
    /// With `timestamp` and `sessionID`.
    pub data: Value,
    /// The message whose prompt belongs into the data.
    pub prompt_of: Option<MessageId>,
}

/// The events of one fact; `before` is the state it came upon, `at` its time.
#[must_use]
pub fn show_next(before: &State, fact: &Fact, at: Millis) -> Vec<NextEvent> {
    let Some(info) = super::record(before, fact) else { return Vec::new() };
    let mut shown = NextShown { session: info.id.as_str(), at, events: Vec::new() };
    shown.fact(before, fact);
    shown.events
}

/// How many of its events are durable: what a fact is counted as when it is stored, and must be as long as it is read.
pub(crate) fn count_durable(before: &State, fact: &Fact) -> u64 {
    // Growth comes by the thousand and is never durable.
    if let Fact::TextGrew { .. } = fact {
        return 0;
    }
    show_next(before, fact, 0).iter().filter(|event| event.is_durable).count() as u64
}

struct NextShown<'a> {
    session: &'a str,
    at: Millis,
    events: Vec<NextEvent>,
}

impl NextShown<'_> {
    fn fact(&mut self, before: &State, fact: &Fact) {
        match fact {
            Fact::SessionEdited { edit: Edit::Switched { agent, model, message, .. } } => {
                if let Some(agent) = agent {
                    self.push("agent.switched", json!({ "messageID": message, "agent": agent }));
                }
                if let Some(model) = model {
                    self.push("model.switched", json!({ "messageID": message, "model": model }));
                }
            }
            Fact::SessionReverted { revert, committed, .. } => match (revert, committed) {
                (Some(revert), _) => self.push("revert.staged", json!({ "revert": revert })),
                (None, Some(message)) => self.push("revert.committed", json!({ "messageID": message })),
                (None, None) => self.push("revert.cleared", json!({})),
            },
            Fact::MessageAdded { posted } => {
                self.prompt("prompt.admitted", &posted.info.id, Delivery::Steer);
            }
            Fact::PromptAdmitted { posted, delivery, .. } => {
                self.prompt("prompt.admitted", &posted.info.id, *delivery);
            }
            Fact::StepStarted { message, user, takes, ready, .. } => {
                for taken in takes {
                    self.prompt("prompted", taken, before.delivery_of(taken).unwrap_or_default());
                }
                self.step_started(message, user, ready);
            }
            Fact::StepDelayed { attempt, reason, .. } => {
                let error = json!({ "message": reason, "isRetryable": true });
                self.push("retried", json!({ "attempt": attempt, "error": error }));
            }
            Fact::StepFinished { message, reason, cost, tokens, .. } => {
                let Some(step) = before.open_step().filter(|step| is_answer(step)) else { return };
                let cache = json!({ "read": tokens.cache.read, "write": tokens.cache.write });
                let tokens = json!({ "input": tokens.input, "output": tokens.output,
                    "reasoning": tokens.reasoning, "cache": cache });
                let files = step.files.as_ref().map(|files| files.files.as_slice()).unwrap_or_default();
                let mut data = json!({ "assistantMessageID": message, "finish": reason, "cost": cost, "tokens": tokens,
                    "files": files });
                if let Some(tree) = step.tree_after() {
                    data["snapshot"] = Value::from(tree);
                }
                self.push("step.ended", data);
            }
            Fact::StepEnded { message, error: Some(error), .. } => {
                let error = json!({ "type": "unknown", "message": words_of(error) });
                self.push("step.failed", json!({ "assistantMessageID": message, "error": error }));
            }
            Fact::TextStarted { part, words, .. } => self.text_started(before, part, *words),
            Fact::TextGrew { part, delta } => self.text_grew(before, part, delta),
            Fact::TextEnded { part, text, .. } => self.text_ended(before, part, text),
            Fact::ToolCalled { call, tool, running, .. } => {
                self.tool_called(before, call, tool, running.as_deref());
            }
            Fact::ToolStarted { part, tool, input, .. } => {
                let Some((step, call)) = open_call(before, part) else { return };
                self.called(of_call(step, &call.call), tool, input, call.by_provider);
            }
            Fact::ToolProgressed { part, metadata, .. } => {
                let Some((step, call)) = open_call(before, part) else { return };
                self.tool_progressed(step, call, metadata.as_ref());
            }
            Fact::ToolEnded { part, outcome, .. } => {
                let Some((step, call)) = open_call(before, part) else { return };
                self.tool_ended(step, call, outcome);
            }
            Fact::SessionCreated { .. }
            | Fact::SessionEdited { .. }
            | Fact::SessionRemoved { .. }
            | Fact::PromptWithdrawn { .. }
            | Fact::ToolAllowed { .. }
            | Fact::CompactionWanted { .. }
            | Fact::CopyStarted
            | Fact::CopyFinished
            | Fact::MessageCopied { .. }
            | Fact::MessageRemoved { .. }
            | Fact::PartWritten { .. }
            | Fact::PartRemoved { .. }
            | Fact::TurnContinued { .. }
            | Fact::TurnStopping
            | Fact::SessionIdled { .. }
            | Fact::FilesChanged { .. }
            | Fact::TurnDiffed { .. }
            | Fact::ShellStarted { .. }
            | Fact::PromptFailed { .. }
            | Fact::StepBegan { .. }
            | Fact::StepRetried { .. }
            | Fact::ModelFinished { .. }
            | Fact::StepEnded { error: None, .. }
            | Fact::ToolCompacted { .. }
            | Fact::PermissionAsked { .. }
            | Fact::PermissionReplied { .. }
            | Fact::QuestionAsked { .. }
            | Fact::QuestionReplied { .. }
            | Fact::QuestionRejected { .. }
            | Fact::TodoSet { .. }
            | Fact::SessionCompacted
            | Fact::SessionFailed { .. }
            | Fact::SnippetsStarted { .. }
            | Fact::CommandExecuted { .. } => {}
        }
    }

    fn step_started(&mut self, message: &MessageId, user: &MessageId, ready: &Ready) {
        match &ready.kind {
            StepKind::Answer => {
                let variant = ready.variant.as_deref().unwrap_or("default");
                let model =
                    json!({ "id": ready.model_id, "providerID": ready.provider_id, "variant": variant });
                let mut data = json!({ "assistantMessageID": message, "agent": ready.agent, "model": model });
                if let Some(tree) = &ready.tree {
                    data["snapshot"] = Value::from(tree.as_str());
                }
                self.push("step.started", data);
            }
            StepKind::Compact(compaction) => {
                self.push(
                    "compaction.started",
                    json!({ "messageID": user, "reason": reason(compaction.auto) }),
                );
            }
            StepKind::Shell | StepKind::Subtask { .. } => {}
        }
    }

    fn text_started(&mut self, before: &State, part: &PartId, words: Words) {
        let Some(step) = before.open_step().filter(|step| !step.ready.kind.is_compaction()) else { return };
        self.push(kind(words, "text.started", "reasoning.started"), named(step, words, part));
    }

    fn text_grew(&mut self, before: &State, part: &PartId, delta: &str) {
        let Some(step) = before.open_step() else { return };
        if let Some(call) = step.calls.iter().find(|call| call.part == *part) {
            let of = json!({ "assistantMessageID": step.message, "callID": call.call, "delta": delta });
            return self.pass("tool.input.delta", of);
        }
        let Some(words) = words_in(step, part) else { return };
        if step.ready.kind.is_compaction() {
            if words == Words::Text {
                self.pass("compaction.delta", json!({ "messageID": step.user, "text": delta }));
            }
            return;
        }
        let mut data = named(step, words, part);
        data["delta"] = Value::from(delta);
        self.pass(kind(words, "text.delta", "reasoning.delta"), data);
    }

    fn text_ended(&mut self, before: &State, part: &PartId, text: &str) {
        let Some(step) = before.open_step() else { return };
        let Some(words) = words_in(step, part) else { return };
        if let StepKind::Compact(compaction) = &step.ready.kind {
            if words == Words::Text {
                let reason = reason(compaction.auto);
                let data = json!({ "messageID": step.user, "text": text, "reason": reason, "recent": "" });
                self.push("compaction.ended", data);
            }
            return;
        }
        let mut data = named(step, words, part);
        data["text"] = Value::from(text);
        self.push(kind(words, "text.ended", "reasoning.ended"), data);
    }

    fn tool_called(&mut self, before: &State, call: &str, tool: &str, running: Option<&Running>) {
        let Some(step) = before.open_step() else { return };
        if let Some(running) = running.filter(|_| is_shell(step)) {
            let command = running.input.get("command").cloned().unwrap_or_default();
            let data = json!({ "messageID": step.message, "callID": call, "command": command });
            return self.push("shell.started", data);
        }
        let mut data = of_call(step, call);
        data["name"] = Value::from(tool);
        self.push("tool.input.started", data);
        if let Some(running) = running {
            self.called(of_call(step, call), tool, &running.input, false);
        }
    }

    fn tool_progressed(&mut self, step: &OpenStep, call: &OpenCall, metadata: Option<&Map>) {
        if is_shell(step) {
            return;
        }
        let mut data = of_call(step, &call.call);
        data["structured"] = json!(metadata.cloned().unwrap_or_default());
        data["content"] = json!([]);
        // Not told again: what a call reports is forgotten once it has said something later.
        self.pass("tool.progress", data);
    }

    fn tool_ended(&mut self, step: &OpenStep, call: &OpenCall, outcome: &Outcome) {
        if is_shell(step) {
            let (Outcome::Done { output: said, .. }
            | Outcome::Failed { error: said, .. }
            | Outcome::Blocked { error: said }
            | Outcome::Interrupted { error: said, .. }) = outcome;
            return self.push("shell.ended", json!({ "callID": call.call, "output": said }));
        }
        self.ended(of_call(step, &call.call), outcome, call.by_provider);
    }

    fn called(&mut self, of: Value, tool: &str, input: &Map, by_provider: bool) {
        let mut written = of.clone();
        written["text"] = Value::from(json!(input).to_string());
        self.push("tool.input.ended", written);
        let mut data = of;
        data["tool"] = Value::from(tool);
        data["input"] = json!(input);
        data["provider"] = json!({ "executed": by_provider });
        self.push("tool.called", data);
    }

    fn ended(&mut self, mut data: Value, outcome: &Outcome, by_provider: bool) {
        data["provider"] = json!({ "executed": by_provider });
        match outcome {
            Outcome::Done { output, metadata, .. } => {
                data["structured"] = json!(metadata);
                data["content"] = json!([{ "type": "text", "text": output }]);
                data["outputPaths"] = json!([]);
                self.push("tool.success", data);
            }
            Outcome::Failed { error, .. }
            | Outcome::Blocked { error }
            | Outcome::Interrupted { error, .. } => {
                data["error"] = json!({ "type": "unknown", "message": error });
                self.push("tool.failed", data);
            }
        }
    }

    fn prompt(&mut self, kind: &'static str, message: &MessageId, delivery: Delivery) {
        self.push(kind, json!({ "messageID": message, "delivery": delivery }));
        if let Some(event) = self.events.last_mut() {
            event.prompt_of = Some(message.clone());
        }
    }

    fn push(&mut self, kind: &'static str, data: Value) {
        self.add(kind, true, data);
    }

    /// What is told once and not again.
    fn pass(&mut self, kind: &'static str, data: Value) {
        self.add(kind, false, data);
    }

    fn add(&mut self, kind: &'static str, is_durable: bool, mut data: Value) {
        data["timestamp"] = Value::from(self.at);
        data["sessionID"] = Value::from(self.session);
        // The shape of these two has changed once.
        let version = if matches!(kind, "step.ended" | "step.failed") { 2 } else { 1 };
        self.events.push(NextEvent { kind, is_durable, version, data, prompt_of: None });
    }
}

fn is_answer(step: &OpenStep) -> bool {
    matches!(step.ready.kind, StepKind::Answer)
}

/// Whether an open block is text or reasoning.
fn words_in(step: &OpenStep, part: &PartId) -> Option<Words> {
    let open = step.texts.iter().find(|open| open.part == *part)?;
    Words::of(&open.body.as_deref()?.body)
}

/// A call of the open step by its part.
fn open_call<'a>(before: &'a State, part: &PartId) -> Option<(&'a OpenStep, &'a OpenCall)> {
    let step = before.open_step()?;
    Some((step, step.calls.iter().find(|call| call.part == *part)?))
}

fn of_call(step: &OpenStep, call: &str) -> Value {
    json!({ "assistantMessageID": step.message, "callID": call })
}

fn is_shell(step: &OpenStep) -> bool {
    matches!(step.ready.kind, StepKind::Shell)
}

fn kind(words: Words, text: &'static str, reasoning: &'static str) -> &'static str {
    match words {
        Words::Text => text,
        Words::Reasoning => reasoning,
    }
}

fn named(step: &OpenStep, words: Words, part: &PartId) -> Value {
    json!({ "assistantMessageID": step.message, kind(words, "textID", "reasoningID"): part })
}

fn reason(is_automatic: bool) -> &'static str {
    if is_automatic { "auto" } else { "manual" }
}

fn words_of(error: &Failure) -> String {
    let body = json!(error);
    let words = body["data"]["message"].as_str().or_else(|| body["name"].as_str());
    words.unwrap_or("The step failed").to_owned()
}
