//! Reads the events of an OpenAI response.
//!
//! An answer is a list of items: thoughts, messages, calls. A thought has one block per summary
//! part, the first from the start, so that even a silent thought leaves a place for its
//! encrypted content.

use crate::arguments::Arguments;
use crate::call_ids::CallIds;
use crate::failure;
use crate::listen::{self, Decode, Flow, SaidQueue};
use serde::Deserialize;
use serde_json::{Value, json};
use sse_stream::Sse;
use std::collections::BTreeMap;
use sturdy_session::json::Map;
use sturdy_session::talk::{CallInput, FinishReason, Said};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::usage::Usage;

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    summary_index: u64,
    delta: Option<String>,
    item: Option<Value>,
    response: Option<Response>,
}

#[derive(Debug, Deserialize)]
struct Response {
    id: Option<String>,
    usage: Option<WireUsage>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    open: BTreeMap<u64, Item>,
    ids: CallIds,
    called: bool,
    spoke: bool,
    finish: Option<FinishReason>,
    usage: Usage,
    response_id: Option<String>,
}

#[derive(Debug)]
enum Item {
    Message { id: String },
    Thought { id: String, part: u64 },
    Call { id: String, call: String, name: String, arguments: Option<Arguments> },
    Other,
}

impl Decode for Decoder {
    fn event(&mut self, event: &Sse, out: &mut SaidQueue) -> Result<Flow, Failure> {
        let Some(data) = event.data.as_deref() else { return Ok(Flow::More) };
        let Some(event) = listen::parse::<Event>(data)? else { return Ok(Flow::More) };
        let delta = event.delta.unwrap_or_default();
        match event.kind.as_str() {
            "response.output_item.added" => {
                self.start(event.output_index, &event.item.unwrap_or_default(), out);
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                if let Some(Item::Message { id }) = self.open.get(&event.output_index) {
                    out.push_back(Said::TextGrew { block: id.clone(), text: delta });
                }
            }
            "response.reasoning_summary_part.added" => {
                self.next_part(event.output_index, event.summary_index, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                if let Some(Item::Thought { id, part }) = self.open.get(&event.output_index) {
                    let block = format!("{id}:{part}");
                    out.push_back(Said::ReasoningGrew { block, text: delta, metadata: None });
                }
            }
            "response.function_call_arguments.delta" => self.grow_call(event.output_index, delta, out),
            "response.output_item.done" => {
                self.stop(event.output_index, &event.item.unwrap_or_default(), out);
            }
            "response.completed" | "response.incomplete" => {
                self.note_end(event.response);
                self.closed(out)?;
                return Ok(Flow::Done);
            }
            "response.failed" => {
                let error = event.response.and_then(|response| response.error).unwrap_or_default();
                return Err(failure::in_stream(&json!({ "type": "error", "error": error })));
            }
            "error" => {
                let value: Value = serde_json::from_str(data).unwrap_or_default();
                let error = if value["error"].is_null() { &value } else { &value["error"] };
                return Err(failure::in_stream(&json!({ "type": "error", "error": error })));
            }
            _ => {}
        }
        Ok(Flow::More)
    }

    fn closed(&mut self, out: &mut SaidQueue) -> Result<(), Failure> {
        if self.finish.is_none() {
            if !self.spoke {
                return Err(failure::bad_stream("Provider closed the stream without an answer"));
            }
            if self.open.values().any(|item| matches!(item, Item::Call { arguments: Some(_), .. })) {
                return Err(failure::bad_stream("Provider closed the stream in the middle of a tool call"));
            }
        }
        while let Some(index) = self.open.keys().next().copied() {
            self.stop(index, &Value::Null, out);
        }
        let reason = self.finish.unwrap_or(FinishReason::Unknown);
        let metadata = self.response_id.take().map(|id| own(&[("responseId", json!(id))]));
        out.push_back(Said::Finished { reason, usage: self.usage, metadata });
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}

impl Decoder {
    fn start(&mut self, index: u64, item: &Value, out: &mut SaidQueue) {
        self.spoke = true;
        self.stop(index, &Value::Null, out);
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let id = text("id");
        let metadata = Some(own(&[("itemId", json!(id))]));
        let opened = match item["type"].as_str().unwrap_or_default() {
            "message" => {
                self.end_message(out);
                out.push_back(Said::TextStarted { block: id.clone(), metadata });
                Item::Message { id }
            }
            "reasoning" => {
                out.push_back(Said::ReasoningStarted { block: format!("{id}:0"), metadata });
                Item::Thought { id, part: 0 }
            }
            "function_call" => {
                self.called = true;
                let call = self.ids.take(&text("call_id"));
                out.push_back(Said::ToolInputStarted { call: call.clone(), name: text("name") });
                Item::Call { id, call, name: text("name"), arguments: Some(Arguments::default()) }
            }
            _ => Item::Other,
        };
        self.open.insert(index, opened);
    }

    /// At most one text is open at a time.
    fn end_message(&mut self, out: &mut SaidQueue) {
        let open = self.open.iter().find(|(_, item)| matches!(item, Item::Message { .. }));
        if let Some(index) = open.map(|(index, _)| *index) {
            self.stop(index, &Value::Null, out);
        }
    }

    fn next_part(&mut self, index: u64, next: u64, out: &mut SaidQueue) {
        let Some(Item::Thought { id, part }) = self.open.get_mut(&index) else { return };
        if next == *part {
            return;
        }
        let metadata = Some(own(&[("itemId", json!(id))]));
        out.push_back(Said::ReasoningEnded { block: format!("{id}:{part}"), metadata: metadata.clone() });
        *part = next;
        out.push_back(Said::ReasoningStarted { block: format!("{id}:{part}"), metadata });
    }

    fn grow_call(&mut self, index: u64, json: String, out: &mut SaidQueue) {
        let Some(Item::Call { id, call, name, arguments }) = self.open.get_mut(&index) else { return };
        let Some(growing) = arguments.as_mut().filter(|_| !json.is_empty()) else { return };
        let whole = growing.push(&json);
        out.push_back(Said::ToolInputGrew { call: call.clone(), json });
        if let Some(whole) = whole {
            *arguments = None;
            out.push_back(called(id, call, name, CallInput::Json(whole)));
        }
    }

    fn stop(&mut self, index: u64, item: &Value, out: &mut SaidQueue) {
        match self.open.remove(&index) {
            Some(Item::Message { id }) => {
                let metadata = Some(own(&[("itemId", json!(id))]));
                out.push_back(Said::TextEnded { block: id, metadata });
            }
            Some(Item::Thought { id, part }) => {
                let mut known = vec![("itemId", json!(id))];
                if item["encrypted_content"].is_string() {
                    known.push(("reasoningEncryptedContent", item["encrypted_content"].clone()));
                }
                out.push_back(Said::ReasoningEnded {
                    block: format!("{id}:{part}"),
                    metadata: Some(own(&known)),
                });
            }
            Some(Item::Call { id, call, name, arguments: Some(mut arguments) }) => {
                // A server that streams no arguments gives them whole at the end.
                if let Some(given) = item["arguments"].as_str().filter(|_| arguments.is_empty()) {
                    arguments.push(given);
                }
                out.push_back(called(&id, &call, &name, arguments.finish()));
            }
            Some(Item::Other) => returned(item, out),
            Some(Item::Call { arguments: None, .. }) | None => {}
        }
    }

    fn note_end(&mut self, response: Option<Response>) {
        let after_calls = |otherwise| if self.called { FinishReason::ToolCalls } else { otherwise };
        let reason =
            response.as_ref().and_then(|response| response.incomplete_details.as_ref()?.reason.as_deref());
        self.finish = Some(match reason {
            None => after_calls(FinishReason::Stop),
            Some("max_output_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(_) => after_calls(FinishReason::Unknown),
        });
        let Some(response) = response else { return };
        self.response_id = response.id;
        if let Some(usage) = response.usage {
            self.usage = Usage {
                input: usage.input_tokens,
                output: usage.output_tokens,
                reasoning: usage.output_tokens_details.and_then(|details| details.reasoning_tokens),
                cache_read: usage.input_tokens_details.and_then(|details| details.cached_tokens),
                cache_write: None,
                total: usage.total_tokens,
            };
        }
    }
}

fn called(id: &str, call: &str, name: &str, input: CallInput) -> Said {
    Said::ToolCalled {
        call: call.to_owned(),
        name: name.to_owned(),
        input,
        metadata: Some(own(&[("itemId", json!(id))])),
        by_provider: false,
    }
}

/// A tool the provider ran itself: `web_search_call` and its like come whole.
fn returned(item: &Value, out: &mut SaidQueue) {
    let (Some(kind), Some(id)) = (item["type"].as_str(), item["id"].as_str()) else { return };
    let Some(name) = kind.strip_suffix("_call") else { return };
    out.push_back(Said::ToolInputStarted { call: id.to_owned(), name: name.to_owned() });
    out.push_back(Said::ToolCalled {
        call: id.to_owned(),
        name: name.to_owned(),
        input: CallInput::Json(if item["action"].is_object() { item["action"].clone() } else { json!({}) }),
        metadata: None,
        by_provider: true,
    });
    let is_error = item["status"] == "failed";
    out.push_back(Said::ToolReturned { call: id.to_owned(), output: item.clone(), is_error });
}

/// `{"openai": {…}}`, where the reference keeps it too.
fn own(pairs: &[(&str, Value)]) -> Map {
    let inner: Map = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Map::from_iter([("openai".to_owned(), Value::Object(inner))])
}
