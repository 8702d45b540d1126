//! Reads the chunks of a Gemini answer.
//!
//! A chunk is a whole small answer. Text and thoughts follow each other without marks, so a
//! block ends where the other kind begins. The stream has no end mark; it closes.

use crate::call_ids::CallIds;
use crate::failure;
use crate::listen::{self, Decode, Flow, SaidQueue};
use serde::Deserialize;
use serde_json::{Value, json};
use sse_stream::Sse;
use sturdy_session::json::Map;
use sturdy_session::talk::{CallInput, FinishReason, Said};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::usage::Usage;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<WireUsage>,
    prompt_feedback: Option<Feedback>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Debug, Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    open: Option<Open>,
    ids: CallIds,
    blocks: usize,
    called: bool,
    spoke: bool,
    finish: Option<FinishReason>,
    usage: Usage,
}

#[derive(Debug)]
struct Open {
    block: String,
    is_thought: bool,
    signature: Option<String>,
}

impl Decode for Decoder {
    fn event(&mut self, event: &Sse, out: &mut SaidQueue) -> Result<Flow, Failure> {
        let Some(data) = event.data.as_deref() else { return Ok(Flow::More) };
        let Some(chunk) = listen::parse::<Chunk>(data)? else { return Ok(Flow::More) };
        if let Some(error) = chunk.error {
            return Err(listen::error_object(&json!({ "error": error })));
        }
        if let Some(usage) = &chunk.usage_metadata {
            self.usage = usage.usage();
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.finish = Some(FinishReason::ContentFilter);
        }
        if let Some(candidate) = chunk.candidates.into_iter().next() {
            for part in candidate.content.into_iter().flat_map(|content| content.parts) {
                self.part(part, out);
            }
            if let Some(reason) = candidate.finish_reason {
                self.finish = Some(self.finish_reason(&reason));
            }
        }
        Ok(Flow::More)
    }

    fn closed(&mut self, out: &mut SaidQueue) -> Result<(), Failure> {
        if self.finish.is_none() && !self.spoke {
            return Err(failure::bad_stream("Provider closed the stream without an answer"));
        }
        self.end(out);
        let reason = self.finish.unwrap_or(FinishReason::Unknown);
        out.push_back(Said::Finished { reason, usage: self.usage, metadata: None });
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}

impl Decoder {
    fn part(&mut self, part: Part, out: &mut SaidQueue) {
        if let Some(call) = part.function_call {
            self.end(out);
            self.call(call, part.thought_signature, out);
            return;
        }
        let Some(text) = part.text else { return };
        self.spoke = true;
        // An empty part only brings the signature of what stands before it.
        if text.is_empty() {
            if let Some(open) = &mut self.open {
                open.signature = part.thought_signature.or(open.signature.take());
            }
            return;
        }
        if self.open.as_ref().is_some_and(|open| open.is_thought != part.thought) {
            self.end(out);
        }
        let block = match &mut self.open {
            Some(open) => {
                open.signature = part.thought_signature.or(open.signature.take());
                open.block.clone()
            }
            None => self.start(part.thought, part.thought_signature, out),
        };
        out.push_back(if part.thought {
            Said::ReasoningGrew { block, text, metadata: None }
        } else {
            Said::TextGrew { block, text }
        });
    }

    fn start(&mut self, is_thought: bool, signature: Option<String>, out: &mut SaidQueue) -> String {
        let block = self.blocks.to_string();
        self.blocks += 1;
        out.push_back(if is_thought {
            Said::ReasoningStarted { block: block.clone(), metadata: None }
        } else {
            Said::TextStarted { block: block.clone(), metadata: None }
        });
        self.open = Some(Open { block: block.clone(), is_thought, signature });
        block
    }

    fn end(&mut self, out: &mut SaidQueue) {
        let Some(open) = self.open.take() else { return };
        let metadata = open.signature.map(own);
        out.push_back(if open.is_thought {
            Said::ReasoningEnded { block: open.block, metadata }
        } else {
            Said::TextEnded { block: open.block, metadata }
        });
    }

    fn call(&mut self, call: FunctionCall, signature: Option<String>, out: &mut SaidQueue) {
        self.spoke = true;
        self.called = true;
        let id = self.ids.take(call.id.as_deref().unwrap_or_default());
        let args = call.args.filter(Value::is_object).unwrap_or_else(|| json!({}));
        out.push_back(Said::ToolInputStarted { call: id.clone(), name: call.name.clone() });
        out.push_back(Said::ToolInputGrew { call: id.clone(), json: args.to_string() });
        out.push_back(Said::ToolCalled {
            call: id,
            name: call.name,
            input: CallInput::Json(args),
            metadata: signature.map(own),
            by_provider: false,
        });
    }

    fn finish_reason(&self, reason: &str) -> FinishReason {
        match reason {
            "STOP" if self.called => FinishReason::ToolCalls,
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY" | "IMAGE_SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                FinishReason::ContentFilter
            }
            "MALFORMED_FUNCTION_CALL" => FinishReason::Error,
            _ => FinishReason::Unknown,
        }
    }
}

impl WireUsage {
    /// Thoughts are counted beside the answer here; we count them within.
    fn usage(&self) -> Usage {
        let thoughts = self.thoughts_token_count;
        let output = match (self.candidates_token_count, thoughts) {
            (None, None) => None,
            (said, thought) => Some(said.unwrap_or(0) + thought.unwrap_or(0)),
        };
        Usage {
            input: self.prompt_token_count,
            output,
            reasoning: thoughts,
            cache_read: self.cached_content_token_count,
            cache_write: None,
            total: self.total_token_count,
        }
    }
}

/// `{"google": {"thoughtSignature": …}}`, where the reference keeps it too.
fn own(signature: String) -> Map {
    let inner = Map::from_iter([("thoughtSignature".to_owned(), Value::from(signature))]);
    Map::from_iter([("google".to_owned(), Value::Object(inner))])
}
