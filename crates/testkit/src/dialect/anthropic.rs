//! Anthropic Messages: blocks with an index, each started, grown and stopped.

use super::{Encoder, Saying, event};
use serde_json::{Value, json};

#[derive(Default)]
pub(super) struct Anthropic {
    began: bool,
    open: Option<Block>,
    blocks: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

impl Encoder for Anthropic {
    fn say(&mut self, saying: &Saying) -> String {
        let mut frames = self.begin();
        match saying {
            Saying::Text(text) => {
                frames += &self.enter(Block::Text, json!({ "type": "text", "text": "" }));
                frames += &self.grow(json!({ "type": "text_delta", "text": text }));
            }
            Saying::Reasoning(text) => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                frames += &self.enter(Block::Thinking, block);
                frames += &self.grow(json!({ "type": "thinking_delta", "thinking": text }));
            }
            Saying::Seal(seal) => {
                frames += &self.grow(json!({ "type": "signature_delta", "signature": seal }));
            }
            Saying::Call { id, name, arguments, .. } => {
                frames += &self.leave();
                frames += &self.start(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
                frames += &self.grow(json!({ "type": "input_json_delta", "partial_json": arguments }));
                frames += &self.stop();
            }
            Saying::Finish { reason, usage } => {
                let (_, output) = usage.counts();
                frames += &self.leave();
                frames += &event(&json!({
                    "type": "message_delta",
                    "delta": { "stop_reason": stop_reason(reason), "stop_sequence": null },
                    "usage": { "output_tokens": output },
                }));
                frames += &event(&json!({ "type": "message_stop" }));
            }
        }
        frames
    }
}

impl Anthropic {
    fn begin(&mut self) -> String {
        if self.began {
            return String::new();
        }
        self.began = true;
        event(&json!({ "type": "message_start", "message": {
            "id": "msg_scripted", "type": "message", "role": "assistant", "content": [],
            "usage": { "input_tokens": 100, "output_tokens": 1 },
        } }))
    }

    /// Opens a block of this kind, unless it is the one that is open.
    fn enter(&mut self, kind: Block, block: Value) -> String {
        if self.open == Some(kind) {
            return String::new();
        }
        let mut frames = self.leave();
        frames += &self.start(block);
        self.open = Some(kind);
        frames
    }

    fn leave(&mut self) -> String {
        if self.open.take().is_none() {
            return String::new();
        }
        self.stop()
    }

    fn start(&self, block: Value) -> String {
        event(&json!({ "type": "content_block_start", "index": self.blocks, "content_block": block }))
    }

    fn grow(&self, delta: Value) -> String {
        event(&json!({ "type": "content_block_delta", "index": self.blocks, "delta": delta }))
    }

    fn stop(&mut self) -> String {
        let frame = event(&json!({ "type": "content_block_stop", "index": self.blocks }));
        self.blocks += 1;
        frame
    }
}

fn stop_reason(reason: &str) -> &str {
    match reason {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    }
}
