//! Chat completions. Nothing is opened or closed: chunks follow each other.

use super::{Encoder, Saying, Usage, data};
use serde_json::{Value, json};

pub(super) struct Chat;

impl Encoder for Chat {
    fn say(&mut self, saying: &Saying) -> String {
        match saying {
            Saying::Text(text) => data(&chunk(json!({ "content": text }))),
            Saying::Reasoning(text) => data(&chunk(json!({ "reasoning_content": text }))),
            // This protocol has no place for it.
            Saying::Seal(_) => String::new(),
            Saying::Call { index, id, name, arguments } => data(&chunk(json!({ "tool_calls": [{
                "index": index, "id": id, "type": "function",
                "function": { "name": name, "arguments": arguments },
            }] }))),
            Saying::Finish { reason, usage } => {
                let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
                let usage = json!({ "choices": [], "usage": usage_of(usage) });
                format!("{}{}data: [DONE]\n\n", data(&end), data(&usage))
            }
        }
    }
}

fn usage_of(usage: &Usage) -> Value {
    match usage {
        Usage::Chat(usage) => usage.clone(),
        Usage::Counted { input, output } => {
            json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
        }
    }
}

fn chunk(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}
