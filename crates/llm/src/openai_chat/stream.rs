//! Reads the chunks of a chat completion.
//!
//! Reasoning closes when the first text or call arrives; the text stays open until the end, so
//! that calls stand inside the one text block. A call is said whole as soon as its arguments
//! are; the rest of the calls may still be coming.

use super::details::{self, Details};
use super::thinking;
use super::wire::{CallDelta, Chunk, Delta};
use crate::arguments::Arguments;
use crate::call_ids::CallIds;
use crate::failure;
use crate::listen::{self, Decode, Flow, SaidQueue};
use serde_json::{Value, json};
use sse_stream::Sse;
use sturdy_session::json::Map;
use sturdy_session::talk::{CallInput, FinishReason, Said};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::usage::Usage;

const TEXT: &str = "text-0";

#[derive(Debug, Default)]
pub(super) struct Decoder {
    text_open: bool,
    reasoning: Reasoning,
    /// Pieces of thoughts, where they have to come back.
    details: Option<Details>,
    /// The thought that is being told as a block.
    block: thinking::Block,
    calls: Vec<Call>,
    ids: CallIds,
    finish: Option<FinishReason>,
    usage: Usage,
    /// The provider said anything that counts as an answer.
    spoke: bool,
}

#[derive(Debug, Default)]
struct Reasoning {
    /// Blocks so far; the last one is the open one, if one is open.
    count: usize,
    open: bool,
}

#[derive(Debug)]
struct Call {
    index: Option<u64>,
    /// As the provider wrote it; empty if it wrote none.
    wire_id: String,
    id: String,
    name: String,
    announced: bool,
    /// Whatever must come back with it.
    metadata: Option<Map>,
    /// `None` once the call has been said.
    arguments: Option<Arguments>,
}

impl Decode for Decoder {
    fn event(&mut self, event: &Sse, out: &mut SaidQueue) -> Result<Flow, Failure> {
        let Some(data) = event.data.as_deref() else { return Ok(Flow::More) };
        if data.trim() == "[DONE]" {
            self.closed(out)?;
            return Ok(Flow::Done);
        }
        if event.event.as_deref() == Some("error") {
            return Err(error_event(data));
        }
        let Some(chunk) = listen::parse::<Chunk>(data)? else { return Ok(Flow::More) };
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(listen::error_object(&json!({ "error": error })));
        }

        if let Some(usage) = &chunk.usage {
            self.usage = usage.usage();
        }
        // Only one answer is ever asked for.
        if let Some(choice) = chunk.choices.into_iter().next() {
            self.grow(choice.delta, out);
            self.note_finish(&choice.finish_reason.0)?;
        }
        Ok(Flow::More)
    }

    fn closed(&mut self, out: &mut SaidQueue) -> Result<(), Failure> {
        if self.finish.is_none() {
            if !self.spoke {
                return Err(failure::bad_stream("Provider closed the stream without an answer"));
            }
            let is_cut = |call: &Call| call.arguments.as_ref().is_some_and(|arguments| !arguments.is_empty());
            if self.calls.iter().any(is_cut) {
                return Err(failure::bad_stream("Provider closed the stream in the middle of a tool call"));
            }
        }
        self.end_reasoning(out);
        for at in 0..self.calls.len() {
            self.say_call(at, None, out);
        }
        if std::mem::take(&mut self.text_open) {
            out.push_back(Said::TextEnded { block: TEXT.to_owned(), metadata: None });
        }
        let reason = self.finish.unwrap_or(FinishReason::Unknown);
        out.push_back(Said::Finished { reason, usage: self.usage, metadata: None });
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}

impl Decoder {
    pub(super) fn new(keeps_details: bool) -> Self {
        Self { details: keeps_details.then(Details::default), ..Self::default() }
    }

    fn grow(&mut self, delta: Delta, out: &mut SaidQueue) {
        // Gateways repeat the same thought in several fields; the first that says something counts.
        let blocks: String = delta.content.thoughts.iter().map(thinking::text).collect();
        let thoughts =
            [delta.reasoning_content.0, delta.reasoning.0, details::text(&delta.reasoning_details), blocks];
        if let Some(thought) = thoughts.into_iter().find(|thought| !thought.is_empty()) {
            self.grow_reasoning(thought, out);
        }
        if let Some(details) = &mut self.details {
            details.add(delta.reasoning_details);
        }
        delta.content.thoughts.into_iter().for_each(|told| self.block.add(told));
        if !delta.content.text.is_empty() {
            self.grow_text(delta.content.text, out);
        }
        for call in delta.tool_calls {
            self.grow_call(call, out);
        }
    }

    fn grow_reasoning(&mut self, text: String, out: &mut SaidQueue) {
        self.spoke = true;
        if !self.reasoning.open {
            self.reasoning.open = true;
            self.reasoning.count += 1;
            out.push_back(Said::ReasoningStarted { block: self.reasoning.block(), metadata: None });
        }
        out.push_back(Said::ReasoningGrew { block: self.reasoning.block(), text, metadata: None });
    }

    fn end_reasoning(&mut self, out: &mut SaidQueue) {
        if std::mem::take(&mut self.reasoning.open) {
            let metadata = self.details.as_ref().and_then(Details::metadata);
            let metadata = metadata.or_else(|| self.block.take_metadata());
            out.push_back(Said::ReasoningEnded { block: self.reasoning.block(), metadata });
        }
    }

    fn grow_text(&mut self, text: String, out: &mut SaidQueue) {
        self.spoke = true;
        self.end_reasoning(out);
        if !self.text_open {
            self.text_open = true;
            out.push_back(Said::TextStarted { block: TEXT.to_owned(), metadata: None });
        }
        out.push_back(Said::TextGrew { block: TEXT.to_owned(), text });
    }

    fn grow_call(&mut self, delta: CallDelta, out: &mut SaidQueue) {
        self.spoke = true;
        self.end_reasoning(out);
        let at = self.place(&delta);
        let call = &mut self.calls[at];
        if call.name.is_empty() {
            call.name = delta.function.name.0;
        }
        if let Some(sealed) = details::sealed(&delta.extra_content) {
            call.metadata = Some(sealed);
        }
        // Without a name nobody can be told of it yet; the arguments are kept.
        if !call.announced && !call.name.is_empty() {
            call.announced = true;
            out.push_back(Said::ToolInputStarted { call: call.id.clone(), name: call.name.clone() });
        }
        let json = delta.function.arguments.0;
        let Some(arguments) = call.arguments.as_mut().filter(|_| !json.is_empty()) else { return };
        let whole = arguments.push(&json);
        if call.announced {
            out.push_back(Said::ToolInputGrew { call: call.id.clone(), json });
        }
        if let Some(whole) = whole.filter(|_| call.announced) {
            self.say_call(at, Some(CallInput::Json(whole)), out);
        }
    }

    /// Says a call once, with `input` or with what its arguments are by now.
    fn say_call(&mut self, at: usize, input: Option<CallInput>, out: &mut SaidQueue) {
        let call = &mut self.calls[at];
        let Some(arguments) = call.arguments.take() else { return };
        let details = self.details.as_mut().and_then(Details::metadata_of_call);
        out.push_back(Said::ToolCalled {
            call: call.id.clone(),
            name: call.name.clone(),
            input: input.unwrap_or_else(|| arguments.finish()),
            metadata: details.or_else(|| call.metadata.take()),
            by_provider: false,
        });
    }

    /// Which call a delta belongs to. `index` should say it, but some leave it out, and some
    /// give every call the same; some repeat the id in each delta, some change it.
    fn place(&mut self, delta: &CallDelta) -> usize {
        let id = delta.id.0.as_str();
        let is_named = !delta.function.name.0.is_empty();
        let of_index =
            delta.index.and_then(|index| self.calls.iter().rposition(|call| call.index == Some(index)));
        let of_id =
            (!id.is_empty()).then(|| self.calls.iter().rposition(|call| call.wire_id == id)).flatten();
        let found = match (of_index, of_id) {
            (Some(at), _) if id.is_empty() || of_id == Some(at) || self.calls[at].wire_id.is_empty() => {
                Some(at)
            }
            // Another id under a known index: a new call if it brings a name, else a changed id.
            (Some(at), None) => (!is_named).then_some(at),
            (Some(_), Some(at)) => Some(at),
            // A known id under a new index, with a name: two calls that share an id.
            (None, Some(at)) => (delta.index.is_none() || !is_named).then_some(at),
            (None, None) if delta.index.is_none() && id.is_empty() && !is_named => {
                self.calls.len().checked_sub(1)
            }
            (None, None) => None,
        };
        match found.filter(|at| !begins_next(&self.calls[*at], delta)) {
            Some(at) => at,
            None => self.open_call(delta.index, id),
        }
    }

    fn open_call(&mut self, index: Option<u64>, wire_id: &str) -> usize {
        let id = self.ids.take(wire_id);
        self.calls.push(Call {
            index,
            wire_id: wire_id.to_owned(),
            id,
            name: String::new(),
            announced: false,
            metadata: None,
            arguments: Some(Arguments::default()),
        });
        self.calls.len() - 1
    }

    fn note_finish(&mut self, reason: &str) -> Result<(), Failure> {
        self.finish = match reason {
            "" => self.finish,
            "stop" => Some(FinishReason::Stop),
            "length" => Some(FinishReason::Length),
            "content_filter" => Some(FinishReason::ContentFilter),
            "tool_calls" | "function_call" => Some(FinishReason::ToolCalls),
            "network_error" => return Err(failure::bad_stream("Provider finish_reason: network_error")),
            _ => Some(FinishReason::Unknown),
        };
        Ok(())
    }
}

/// A name after the end of a call begins the next one, unless it only repeats who it was.
fn begins_next(call: &Call, delta: &CallDelta) -> bool {
    let id = delta.id.0.as_str();
    let name = delta.function.name.0.as_str();
    let repeats =
        !id.is_empty() && id == call.wire_id && !delta.function.arguments.0.trim_start().starts_with('{');
    call.arguments.is_none() && !name.is_empty() && !repeats
}

/// Some gateways name the event instead of wrapping the error.
fn error_event(data: &str) -> Failure {
    let value = serde_json::from_str::<Value>(data).unwrap_or_else(|_| json!({ "message": data }));
    let error = if value["error"].is_null() { &value } else { &value["error"] };
    listen::error_object(&json!({ "error": error }))
}

impl Reasoning {
    fn block(&self) -> String {
        format!("reasoning-{}", self.count.saturating_sub(1))
    }
}
