//! Google Gemini: each chunk is a small answer; a signature stands on the part it belongs to.

use super::{Encoder, Saying, data};
use serde_json::{Value, json};

#[derive(Default)]
pub(super) struct Gemini {
    /// What was thought last: its seal comes with an empty part behind it.
    thinking: bool,
}

impl Encoder for Gemini {
    fn say(&mut self, saying: &Saying) -> String {
        match saying {
            Saying::Text(text) => {
                self.thinking = false;
                part(json!({ "text": text }))
            }
            Saying::Reasoning(text) => {
                self.thinking = true;
                part(json!({ "text": text, "thought": true }))
            }
            Saying::Seal(seal) => {
                part(json!({ "text": "", "thought": self.thinking, "thoughtSignature": seal }))
            }
            Saying::Call { name, arguments, .. } => {
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                part(json!({ "functionCall": { "name": name, "args": arguments } }))
            }
            Saying::Finish { reason, usage } => {
                let (input, output) = usage.counts();
                data(&json!({
                    "candidates": [{ "content": { "role": "model", "parts": [] }, "finishReason": finish(reason) }],
                    "usageMetadata": {
                        "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
                    },
                }))
            }
        }
    }
}

fn part(part: Value) -> String {
    data(&json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] }))
}

fn finish(reason: &str) -> &str {
    match reason {
        "stop" | "tool_calls" => "STOP",
        "length" => "MAX_TOKENS",
        "content_filter" => "SAFETY",
        other => other,
    }
}
