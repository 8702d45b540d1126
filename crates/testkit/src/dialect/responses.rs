//! OpenAI Responses: items of an output list, each added, grown and done.

use super::{Encoder, Saying, event};
use serde_json::{Value, json};

#[derive(Default)]
pub(super) struct Responses {
    began: bool,
    open: Option<Item>,
    items: u64,
}

enum Item {
    Message { text: String },
    Reasoning { text: String, seal: Option<String> },
}

impl Encoder for Responses {
    fn say(&mut self, saying: &Saying) -> String {
        let mut frames = self.begin();
        match saying {
            Saying::Text(text) => {
                if !matches!(self.open, Some(Item::Message { .. })) {
                    frames += &self.leave();
                    let id = self.id("msg");
                    frames += &self
                        .added(json!({ "type": "message", "id": id, "role": "assistant", "content": [] }));
                    self.open = Some(Item::Message { text: String::new() });
                }
                frames += &self.grown("response.output_text.delta", text);
                self.remember(text);
            }
            Saying::Reasoning(text) => {
                if !matches!(self.open, Some(Item::Reasoning { .. })) {
                    frames += &self.leave();
                    let id = self.id("rs");
                    frames += &self.added(json!({ "type": "reasoning", "id": id, "summary": [] }));
                    frames += &event(&json!({
                        "type": "response.reasoning_summary_part.added", "output_index": self.items,
                        "summary_index": 0, "part": { "type": "summary_text", "text": "" },
                    }));
                    self.open = Some(Item::Reasoning { text: String::new(), seal: None });
                }
                frames += &self.grown("response.reasoning_summary_text.delta", text);
                self.remember(text);
            }
            Saying::Seal(given) => {
                if let Some(Item::Reasoning { seal, .. }) = &mut self.open {
                    *seal = Some(given.clone());
                }
            }
            Saying::Call { id: call, name, arguments, .. } => {
                frames += &self.leave();
                let id = self.id("fc");
                let item = |arguments: &str| json!({ "type": "function_call", "id": id, "call_id": call, "name": name, "arguments": arguments });
                frames += &self.added(item(""));
                frames += &self.grown("response.function_call_arguments.delta", arguments);
                frames += &self.done(item(arguments));
            }
            Saying::Finish { reason, usage } => {
                frames += &self.leave();
                frames += &end(reason, usage.counts());
            }
        }
        frames
    }
}

impl Responses {
    fn begin(&mut self) -> String {
        if self.began {
            return String::new();
        }
        self.began = true;
        event(
            &json!({ "type": "response.created", "response": { "id": "resp_scripted", "status": "in_progress" } }),
        )
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", self.items)
    }

    fn added(&self, item: Value) -> String {
        event(&json!({ "type": "response.output_item.added", "output_index": self.items, "item": item }))
    }

    fn grown(&self, kind: &str, delta: &str) -> String {
        event(&json!({ "type": kind, "output_index": self.items, "summary_index": 0, "delta": delta }))
    }

    fn done(&mut self, item: Value) -> String {
        let frame =
            event(&json!({ "type": "response.output_item.done", "output_index": self.items, "item": item }));
        self.items += 1;
        frame
    }

    fn remember(&mut self, more: &str) {
        if let Some(Item::Message { text } | Item::Reasoning { text, .. }) = &mut self.open {
            text.push_str(more);
        }
    }

    fn leave(&mut self) -> String {
        let item = match self.open.take() {
            None => return String::new(),
            Some(Item::Message { text }) => json!({
                "type": "message", "id": self.id("msg"), "role": "assistant",
                "content": [{ "type": "output_text", "text": text }],
            }),
            Some(Item::Reasoning { text, seal }) => json!({
                "type": "reasoning", "id": self.id("rs"), "encrypted_content": seal,
                "summary": [{ "type": "summary_text", "text": text }],
            }),
        };
        self.done(item)
    }
}

fn end(reason: &str, (input, output): (u64, u64)) -> String {
    let incomplete = match reason {
        "length" => Some("max_output_tokens"),
        "content_filter" => Some("content_filter"),
        _ => None,
    };
    let kind = if incomplete.is_some() { "response.incomplete" } else { "response.completed" };
    event(&json!({ "type": kind, "response": {
        "id": "resp_scripted",
        "incomplete_details": incomplete.map(|reason| json!({ "reason": reason })),
        "usage": { "input_tokens": input, "output_tokens": output, "total_tokens": input + output },
    } }))
}
