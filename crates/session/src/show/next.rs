//! From a fact to what clients of the v2 API see: `session.next.…`, each with a body of its own.
//!
//! The same facts as `show`, in other words. What a person wrote is not repeated here: whoever sends an event puts the prompt
//! in, read from its message.
//!
//! Not here: ids, sequence numbers and envelopes (the server).

use crate::fact::{Edit, Fact, Outcome, Words};
use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::stamp::Millis;
use crate::turn::{OpenStep, Ready, State, StepKind};
use crate::types::failure::Failure;
use crate::types::part::PartBody;
use serde_json::{Value, json};

/// One event of the v2 API.
#[derive(Clone, Debug, PartialEq)]
pub struct NextEvent {
    /// What follows `session.next.` in its type.
    pub kind: &'static str,
    /// Whether it is told again to who was away: growth is not, its end is.
    pub is_durable: bool,
    /// With `timestamp` and `sessionID`.
    pub data: Value,
    /// The message whose prompt belongs into the data.
    pub prompt_of: Option<MessageId>,
}

/// The events of one fact; `before` is the state it came upon, `at` its time.
#[must_use]
pub fn show_next(before: &State, fact: &Fact, at: Millis) -> Vec<NextEvent> {
    let whole = if let Fact::SessionCreated { info } | Fact::SessionRemoved { info } = fact {
        Some(info.as_ref())
    } else {
        None
    };
    let Some(info) = whole.or(before.info.as_deref()) else { return Vec::new() };
    let mut shown = NextShown { session: info.id.as_str(), at, events: Vec::new() };
    shown.fact(before, fact);
    shown.events
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
            Fact::SessionReverted { revert, .. } => match revert {
                Some(revert) => self.push("revert.staged", json!({ "revert": revert })),
                None => self.push("revert.cleared", json!({})),
            },
            Fact::MessageAdded { posted } | Fact::PromptAdmitted { posted, .. } => {
                self.prompt("prompt.admitted", &posted.info.id);
            }
            Fact::StepStarted { message, user, takes, ready, .. } => {
                takes.iter().for_each(|taken| self.prompt("prompted", taken));
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
                let mut data = json!({ "assistantMessageID": message, "finish": reason, "cost": cost, "tokens": tokens });
                if let Some(tree) = step.tree_after() {
                    data["snapshot"] = Value::from(tree);
                }
                self.push("step.ended", data);
            }
            Fact::StepEnded { message, error: Some(error), .. } => {
                let error = json!({ "type": "unknown", "message": words_of(error) });
                self.push("step.failed", json!({ "assistantMessageID": message, "error": error }));
            }
            Fact::TextStarted { .. } | Fact::TextGrew { .. } | Fact::TextEnded { .. } => {
                self.text(before, fact);
            }
            Fact::ToolCalled { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolProgressed { .. }
            | Fact::ToolEnded { .. } => self.tool(before, fact),
            Fact::SessionCreated { .. }
            | Fact::SessionEdited { .. }
            | Fact::SessionRemoved { .. }
            | Fact::PromptWithdrawn { .. }
            | Fact::CompactionWanted { .. }
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
            | Fact::CommandExecuted { .. } => {}
        }
    }

    fn step_started(&mut self, message: &MessageId, user: &MessageId, ready: &Ready) {
        match &ready.kind {
            StepKind::Answer => {
                let mut model = json!({ "id": ready.model_id, "providerID": ready.provider_id });
                if let Some(variant) = &ready.variant {
                    model["variant"] = Value::from(variant.as_str());
                }
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

    fn text(&mut self, before: &State, fact: &Fact) {
        let Some(step) = before.open_step() else { return };
        let message = &step.message;
        if let StepKind::Compact(compaction) = &step.ready.kind {
            let of = |words: Value| json!({ "messageID": step.user, "text": words });
            match fact {
                Fact::TextGrew { part, delta } if words_in(step, part) == Some(Words::Text) => {
                    self.pass("compaction.delta", of(Value::from(delta.as_str())));
                }
                Fact::TextEnded { part, text, .. } if words_in(step, part) == Some(Words::Text) => {
                    let mut data = of(Value::from(text.as_str()));
                    data["reason"] = Value::from(reason(compaction.auto));
                    data["recent"] = Value::from("");
                    self.push("compaction.ended", data);
                }
                _ => {}
            }
            return;
        }
        let named = |words: Words, part: &PartId| match words {
            Words::Text => json!({ "assistantMessageID": message, "textID": part }),
            Words::Reasoning => json!({ "assistantMessageID": message, "reasoningID": part }),
        };
        let kind = |words: Words, text: &'static str, reasoning: &'static str| match words {
            Words::Text => text,
            Words::Reasoning => reasoning,
        };
        match fact {
            Fact::TextStarted { part, words, .. } => {
                self.push(kind(*words, "text.started", "reasoning.started"), named(*words, part));
            }
            Fact::TextGrew { part, delta } => {
                if let Some(call) = step.calls.iter().find(|call| call.part == *part) {
                    let of = json!({ "assistantMessageID": message, "callID": call.call, "delta": delta });
                    return self.pass("tool.input.delta", of);
                }
                let Some(words) = words_in(step, part) else { return };
                let mut data = named(words, part);
                data["delta"] = Value::from(delta.as_str());
                self.pass(kind(words, "text.delta", "reasoning.delta"), data);
            }
            Fact::TextEnded { part, text, .. } => {
                let Some(words) = words_in(step, part) else { return };
                let mut data = named(words, part);
                data["text"] = Value::from(text.as_str());
                self.push(kind(words, "text.ended", "reasoning.ended"), data);
            }
            _ => {}
        }
    }

    fn tool(&mut self, before: &State, fact: &Fact) {
        let Some(step) = before.open_step() else { return };
        let is_shell = matches!(step.ready.kind, StepKind::Shell);
        let of = |call: &str| json!({ "assistantMessageID": step.message, "callID": call });
        let known = |part: &PartId| step.calls.iter().find(|call| call.part == *part);
        match fact {
            Fact::ToolCalled { call, running: Some(running), .. } if is_shell => {
                let command = running.input.get("command").cloned().unwrap_or_default();
                self.push(
                    "shell.started",
                    json!({ "messageID": step.message, "callID": call, "command": command }),
                );
            }
            Fact::ToolCalled { call, tool, running, .. } => {
                let mut data = of(call);
                data["name"] = Value::from(tool.as_str());
                self.push("tool.input.started", data);
                if let Some(running) = running {
                    self.called(of(call), tool, &running.input, false);
                }
            }
            Fact::ToolStarted { part, tool, input, .. } => {
                let Some(call) = known(part) else { return };
                self.called(of(&call.call), tool, input, call.by_provider);
            }
            Fact::ToolProgressed { part, metadata, .. } if !is_shell => {
                let Some(call) = known(part) else { return };
                let mut data = of(&call.call);
                data["structured"] = json!(metadata.clone().unwrap_or_default());
                data["content"] = json!([]);
                self.push("tool.progress", data);
            }
            Fact::ToolEnded { part, outcome, .. } => {
                let Some(call) = known(part) else { return };
                if is_shell {
                    let (Outcome::Done { output: said, .. }
                    | Outcome::Failed { error: said, .. }
                    | Outcome::Blocked { error: said }
                    | Outcome::Interrupted { error: said, .. }) = outcome;
                    return self.push("shell.ended", json!({ "callID": call.call, "output": said }));
                }
                self.ended(of(&call.call), outcome, call.by_provider);
            }
            _ => {}
        }
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

    fn prompt(&mut self, kind: &'static str, message: &MessageId) {
        self.push(kind, json!({ "messageID": message, "delivery": "steer" }));
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
        self.events.push(NextEvent { kind, is_durable, data, prompt_of: None });
    }
}

fn is_answer(step: &OpenStep) -> bool {
    matches!(step.ready.kind, StepKind::Answer)
}

/// Whether an open block is text or reasoning.
fn words_in(step: &OpenStep, part: &PartId) -> Option<Words> {
    let open = step.texts.iter().find(|open| open.part == *part)?;
    match &open.body.as_deref()?.body {
        PartBody::Text(_) => Some(Words::Text),
        PartBody::Reasoning(_) => Some(Words::Reasoning),
        _ => None,
    }
}

fn reason(is_automatic: bool) -> &'static str {
    if is_automatic { "auto" } else { "manual" }
}

fn words_of(error: &Failure) -> String {
    let body = json!(error);
    let words = body["data"]["message"].as_str().or_else(|| body["name"].as_str());
    words.unwrap_or("The step failed").to_owned()
}
