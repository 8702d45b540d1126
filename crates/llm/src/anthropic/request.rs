//! A request as the body of `POST /messages`.
//!
//! Results of calls stand in a user message, so neighbours of one role are joined. The first two
//! system texts and the last two turns carry a cache mark: what is before a mark is not paid
//! for in full the next time.

use crate::catalog::ModelInfo;
use crate::link::Body;
use crate::media::{self, Modality};
use serde::Serialize;
use serde_json::{Map, Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, Turn, UserItem,
};

const MARKED_SYSTEM: usize = 2;
const MARKED_TURNS: usize = 2;
/// The field of a mark.
const MARK: &str = "cache_control";
/// The protocol demands a limit; this is one every model keeps.
const OUTPUT_TOKENS_DEFAULT: u64 = 4_096;

/// A message as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Text {
        r#type: &'static str,
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Value>,
    },
    Result {
        r#type: &'static str,
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Value>,
    },
    Other(Value),
}

pub(super) fn body<'a>(request: &'a Request, model: &ModelInfo) -> Body<Message<'a>> {
    let thinking = thinking(&request.options);
    let budget = thinking.as_ref().and_then(|thinking| thinking["budget_tokens"].as_u64()).unwrap_or(0);
    let mut body = Body::new("messages", messages(&request.messages));
    body.set("model", Some(json!(request.model)));
    body.set("max_tokens", Some(json!(max_tokens(request, model, budget))));
    // A model that thinks samples as it likes and refuses to be told otherwise.
    if thinking.is_none() {
        body.set("temperature", request.temperature.map(Value::from));
        body.set("top_p", request.top_p.map(Value::from));
        body.set("top_k", request.top_k.map(Value::from));
    }
    body.set("thinking", thinking);
    body.set("output_config", request.options.get("effort").map(|effort| json!({ "effort": effort })));
    body.set("system", (!request.system.is_empty()).then(|| system(&request.system)));
    body.place_messages();
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
        });
        body.set("tools", Some(tools.collect()));
        body.set("tool_choice", Some(choice(request)));
    }
    body.set("stream", Some(json!(true)));
    body
}

/// What is thought comes on top of what is said, within what the model can do at all.
fn max_tokens(request: &Request, model: &ModelInfo, budget: u64) -> u64 {
    let wanted = request.output_tokens_max.unwrap_or(OUTPUT_TOKENS_DEFAULT) + budget;
    match model.limit.output.count() {
        0 => wanted,
        most => wanted.min(most),
    }
}

fn thinking(options: &Map<String, Value>) -> Option<Value> {
    let wanted = options.get("thinking")?;
    match wanted["type"].as_str()? {
        "enabled" => {
            let budget = wanted.get("budgetTokens").or_else(|| wanted.get("budget_tokens"))?;
            Some(json!({ "type": "enabled", "budget_tokens": budget }))
        }
        "adaptive" => {
            let mut thinking = json!({ "type": "adaptive" });
            if let Some(display) = wanted.get("display") {
                thinking["display"] = display.clone();
            }
            Some(thinking)
        }
        _ => None,
    }
}

fn choice(request: &Request) -> Value {
    let kind = match request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "any",
        ToolChoice::None => "none",
    };
    match request.options.get("disableParallelToolUse") {
        Some(flag) if kind != "none" => json!({ "type": kind, "disable_parallel_tool_use": flag }),
        _ => json!({ "type": kind }),
    }
}

fn system(texts: &[String]) -> Value {
    let blocks = texts.iter().enumerate().map(|(at, text)| {
        let mut block = json!({ "type": "text", "text": text });
        if at < MARKED_SYSTEM {
            block[MARK] = mark();
        }
        block
    });
    blocks.collect()
}

fn mark() -> Value {
    json!({ "type": "ephemeral" })
}

fn messages(turns: &[Turn]) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::with_capacity(turns.len());
    let marked_from = turns.len().saturating_sub(MARKED_TURNS);
    for (at, turn) in turns.iter().enumerate() {
        let (role, mut blocks): (_, Vec<Block<'_>>) = match turn {
            Turn::User(items) => ("user", items.iter().map(user_block).collect()),
            Turn::Assistant(items) => ("assistant", items.iter().filter_map(assistant_block).collect()),
            Turn::Tool(results) => ("user", results.iter().map(result_block).collect()),
        };
        if let Some(last) = blocks.last_mut().filter(|_| at >= marked_from) {
            last.mark();
        }
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.append(&mut blocks),
            _ => messages.push(Message { role, content: blocks }),
        }
    }
    // An answer to be continued must not end in white space.
    if let Some(Message { role: "assistant", content }) = messages.last_mut()
        && let Some(Block::Text { text, .. }) = content.last_mut()
    {
        *text = text.trim_end();
    }
    messages
}

impl<'a> Block<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { r#type: "text", text, cache_control: None }
    }

    /// Thinking cannot be marked.
    fn mark(&mut self) {
        match self {
            Self::Text { cache_control, .. } | Self::Result { cache_control, .. } => {
                *cache_control = Some(mark());
            }
            Self::Other(block) => {
                if !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")) {
                    block[MARK] = mark();
                }
            }
        }
    }
}

fn user_block(item: &UserItem) -> Block<'_> {
    match item {
        UserItem::Text(text) => Block::text(text),
        UserItem::File(file) => Block::Other(file_block(file)),
    }
}

fn file_block(file: &Media) -> Value {
    let source = match media::base64_of(file) {
        Some(data) => json!({ "type": "base64", "media_type": file.mime, "data": data }),
        None => json!({ "type": "url", "url": file.url }),
    };
    match Modality::of(&file.mime) {
        Modality::Image => json!({ "type": "image", "source": source }),
        Modality::Pdf | Modality::Audio | Modality::Video | Modality::Other => {
            json!({ "type": "document", "source": source, "title": media::filename(file) })
        }
    }
}

fn assistant_block(item: &AssistantItem) -> Option<Block<'_>> {
    match item {
        AssistantItem::Text { text, .. } => Some(Block::text(text)),
        AssistantItem::Reasoning { text, metadata } => {
            let own = metadata.as_ref().and_then(|metadata| metadata.get("anthropic"))?;
            if let Some(data) = own["redactedData"].as_str() {
                return Some(Block::Other(json!({ "type": "redacted_thinking", "data": data })));
            }
            // Unsigned thinking is refused by the provider.
            let signature = own["signature"].as_str()?;
            Some(Block::Other(json!({ "type": "thinking", "thinking": text, "signature": signature })))
        }
        // What the provider ran itself is told as text: its own form needs fields nobody kept.
        AssistantItem::Call { executed: Some(result), .. } => {
            let (ResultContent::Text(text) | ResultContent::Mixed { text, .. }) = result;
            (!text.is_empty()).then(|| Block::text(text))
        }
        AssistantItem::Call { id, name, input, executed: None, .. } => {
            let input = if input.is_object() { input.clone() } else { json!({ "value": input }) };
            Some(Block::Other(json!({ "type": "tool_use", "id": id, "name": name, "input": input })))
        }
    }
}

fn result_block(result: &ToolResult) -> Block<'_> {
    let (text, media) = match &result.content {
        ResultContent::Text(content) => {
            let is_error = result.is_error.then_some(true);
            let tool_use_id = &result.call;
            return Block::Result {
                r#type: "tool_result",
                tool_use_id,
                content,
                is_error,
                cache_control: None,
            };
        }
        ResultContent::Mixed { text, media } => (text, media),
    };
    let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
    let content: Value = text.into_iter().chain(media.iter().map(file_block)).collect();
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.call, "content": content });
    if result.is_error {
        block["is_error"] = json!(true);
    }
    Block::Other(block)
}
