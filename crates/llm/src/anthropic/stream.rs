//! Reads the events of an Anthropic message.
//!
//! Blocks come one after the other, each with an index, a start and a stop. Signatures arrive
//! in pieces and are said with the end of their block.

use crate::arguments::Arguments;
use crate::call_ids::CallIds;
use crate::failure;
use crate::limits::PART_BYTES_MAX;
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
    index: u64,
    content_block: Option<Value>,
    delta: Option<Delta>,
    message: Option<Message>,
    usage: Option<WireUsage>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Message {
    usage: Option<WireUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    open: BTreeMap<u64, Block>,
    ids: CallIds,
    usage: WireUsage,
    finish: Option<FinishReason>,
    spoke: bool,
}

#[derive(Debug)]
enum Block {
    Text,
    Thinking { signature: String },
    Redacted { data: Value },
    Call { id: String, name: String, given: Value, arguments: Option<Arguments>, by_provider: bool },
    Ignored,
}

impl Decode for Decoder {
    fn event(&mut self, event: &Sse, out: &mut SaidQueue) -> Result<Flow, Failure> {
        let Some(data) = event.data.as_deref() else { return Ok(Flow::More) };
        let Some(event) = listen::parse::<Event>(data)? else { return Ok(Flow::More) };
        match event.kind.as_str() {
            "message_start" => self.note_usage(event.message.and_then(|message| message.usage)),
            "content_block_start" => self.start(event.index, event.content_block.unwrap_or_default(), out),
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.grow(event.index, delta, out);
                }
            }
            "content_block_stop" => self.stop(event.index, out),
            "message_delta" => {
                self.note_usage(event.usage);
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.finish = reason.as_deref().map(finish_reason).or(self.finish);
            }
            "message_stop" => {
                self.closed(out)?;
                return Ok(Flow::Done);
            }
            "error" => {
                let value: Value = serde_json::from_str(data).unwrap_or_default();
                return Err(failure::in_stream(&value));
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
            if self.open.values().any(|block| matches!(block, Block::Call { arguments: Some(_), .. })) {
                return Err(failure::bad_stream("Provider closed the stream in the middle of a tool call"));
            }
        }
        while let Some(index) = self.open.keys().next().copied() {
            self.stop(index, out);
        }
        let reason = self.finish.unwrap_or(FinishReason::Unknown);
        out.push_back(Said::Finished { reason, usage: self.usage(), metadata: None });
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}

impl Decoder {
    fn start(&mut self, index: u64, block: Value, out: &mut SaidQueue) {
        let name = index.to_string();
        let text = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
        let kind = block["type"].as_str().unwrap_or_default();
        self.spoke = true;
        self.stop(index, out);
        let opened = match kind {
            "text" => {
                self.end_text(out);
                out.push_back(Said::TextStarted { block: name.clone(), metadata: None });
                if !text("text").is_empty() {
                    out.push_back(Said::TextGrew { block: name, text: text("text") });
                }
                Block::Text
            }
            "thinking" => {
                out.push_back(Said::ReasoningStarted { block: name.clone(), metadata: None });
                if !text("thinking").is_empty() {
                    out.push_back(Said::ReasoningGrew {
                        block: name,
                        text: text("thinking"),
                        metadata: None,
                    });
                }
                Block::Thinking { signature: text("signature") }
            }
            "redacted_thinking" => {
                let data = block["data"].clone();
                let metadata = own("redactedData", data.clone());
                out.push_back(Said::ReasoningStarted { block: name, metadata: Some(metadata) });
                Block::Redacted { data }
            }
            "tool_use" | "server_tool_use" => {
                let id = self.ids.take(&text("id"));
                out.push_back(Said::ToolInputStarted { call: id.clone(), name: text("name") });
                Block::Call {
                    id,
                    name: text("name"),
                    given: block["input"].clone(),
                    arguments: Some(Arguments::default()),
                    by_provider: kind == "server_tool_use",
                }
            }
            _ if kind.ends_with("_tool_result") => {
                let output = block["content"].clone();
                let is_error = output["type"].as_str().is_some_and(|kind| kind.ends_with("_error"));
                out.push_back(Said::ToolReturned { call: text("tool_use_id"), output, is_error });
                Block::Ignored
            }
            _ => Block::Ignored,
        };
        self.open.insert(index, opened);
    }

    /// At most one text is open at a time.
    fn end_text(&mut self, out: &mut SaidQueue) {
        let open = self.open.iter().find(|(_, block)| matches!(block, Block::Text));
        if let Some(index) = open.map(|(index, _)| *index) {
            self.stop(index, out);
        }
    }

    fn grow(&mut self, index: u64, delta: Delta, out: &mut SaidQueue) {
        let name = index.to_string();
        match (delta.kind.as_str(), self.open.get_mut(&index)) {
            ("text_delta", Some(Block::Text)) => {
                out.push_back(Said::TextGrew { block: name, text: delta.text.unwrap_or_default() });
            }
            ("thinking_delta", Some(Block::Thinking { .. })) => {
                let text = delta.thinking.unwrap_or_default();
                out.push_back(Said::ReasoningGrew { block: name, text, metadata: None });
            }
            // One that is too long is refused when the thought ends.
            ("signature_delta", Some(Block::Thinking { signature })) if signature.len() <= PART_BYTES_MAX => {
                signature.push_str(delta.signature.as_deref().unwrap_or_default());
            }
            ("input_json_delta", Some(block)) => {
                grow_call(block, delta.partial_json.unwrap_or_default(), out);
            }
            _ => {}
        }
    }

    fn stop(&mut self, index: u64, out: &mut SaidQueue) {
        let name = index.to_string();
        match self.open.remove(&index) {
            Some(Block::Text) => out.push_back(Said::TextEnded { block: name, metadata: None }),
            Some(Block::Thinking { signature }) => {
                let metadata = (!signature.is_empty()).then(|| own("signature", json!(signature)));
                out.push_back(Said::ReasoningEnded { block: name, metadata });
            }
            Some(Block::Redacted { data }) => {
                out.push_back(Said::ReasoningEnded {
                    block: name,
                    metadata: Some(own("redactedData", data)),
                });
            }
            Some(Block::Call { id, name, given, arguments: Some(arguments), by_provider }) => {
                // A block without deltas had its whole input at the start.
                let is_given = arguments.is_empty() && given.is_object();
                let input = if is_given { CallInput::Json(given) } else { arguments.finish() };
                out.push_back(Said::ToolCalled { call: id, name, input, metadata: None, by_provider });
            }
            Some(Block::Call { arguments: None, .. } | Block::Ignored) | None => {}
        }
    }

    fn note_usage(&mut self, usage: Option<WireUsage>) {
        let Some(usage) = usage else { return };
        self.usage = WireUsage {
            input_tokens: usage.input_tokens.or(self.usage.input_tokens),
            output_tokens: usage.output_tokens.or(self.usage.output_tokens),
            cache_read_input_tokens: usage.cache_read_input_tokens.or(self.usage.cache_read_input_tokens),
            cache_creation_input_tokens: usage
                .cache_creation_input_tokens
                .or(self.usage.cache_creation_input_tokens),
        };
    }

    /// This provider counts cached input beside the rest; we count it within.
    fn usage(&self) -> Usage {
        let read = self.usage.cache_read_input_tokens;
        let write = self.usage.cache_creation_input_tokens;
        let input = self.usage.input_tokens.map(|input| input + read.unwrap_or(0) + write.unwrap_or(0));
        let total = input.zip(self.usage.output_tokens).map(|(input, output)| input + output);
        Usage {
            input,
            output: self.usage.output_tokens,
            reasoning: None,
            cache_read: read,
            cache_write: write,
            total,
        }
    }
}

fn grow_call(block: &mut Block, json: String, out: &mut SaidQueue) {
    let Block::Call { id, name, arguments, by_provider, .. } = block else { return };
    let Some(growing) = arguments.as_mut().filter(|_| !json.is_empty()) else { return };
    let whole = growing.push(&json);
    out.push_back(Said::ToolInputGrew { call: id.clone(), json });
    if let Some(whole) = whole {
        *arguments = None;
        out.push_back(Said::ToolCalled {
            call: id.clone(),
            name: name.clone(),
            input: CallInput::Json(whole),
            metadata: None,
            by_provider: *by_provider,
        });
    }
}

/// `{"anthropic": {name: value}}`, where the reference keeps it too.
fn own(name: &str, value: Value) -> Map {
    let inner = Map::from_iter([(name.to_owned(), value)]);
    Map::from_iter([("anthropic".to_owned(), Value::Object(inner))])
}

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" | "pause_turn" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Unknown,
    }
}
