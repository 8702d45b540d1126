//! A request as the body of `POST /messages`.
//!
//! Results of calls stand in a user message, so neighbours of one role are joined. The first two
//! system texts and the last two turns carry a cache mark: what is before a mark is not paid
//! for in full the next time.

use crate::catalog::ModelInfo;
use crate::media::{self, Modality};
use serde_json::{Map, Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, Turn, UserItem,
};

const MARKED_SYSTEM: usize = 2;
const MARKED_TURNS: usize = 2;
/// The protocol demands a limit; this is one every model keeps.
const OUTPUT_TOKENS_DEFAULT: u64 = 4_096;

pub(super) fn body(request: &Request, model: &ModelInfo) -> Map<String, Value> {
    let thinking = thinking(&request.options);
    let budget = thinking.as_ref().and_then(|thinking| thinking["budget_tokens"].as_u64()).unwrap_or(0);
    let mut body = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("model", Some(json!(request.model)));
    set("max_tokens", Some(json!(max_tokens(request, model, budget))));
    // A model that thinks samples as it likes and refuses to be told otherwise.
    if thinking.is_none() {
        set("temperature", request.temperature.map(Value::from));
        set("top_p", request.top_p.map(Value::from));
        set("top_k", request.top_k.map(Value::from));
    }
    set("thinking", thinking);
    set("output_config", request.options.get("effort").map(|effort| json!({ "effort": effort })));
    set("system", (!request.system.is_empty()).then(|| system(&request.system)));
    set("messages", Some(Value::Array(messages(&request.messages))));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
        });
        set("tools", Some(tools.collect()));
        set("tool_choice", Some(choice(request)));
    }
    set("stream", Some(json!(true)));
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
        "adaptive" => Some(json!({ "type": "adaptive" })),
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
            mark(&mut block);
        }
        block
    });
    blocks.collect()
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

fn messages(turns: &[Turn]) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    let marked_from = turns.len().saturating_sub(MARKED_TURNS);
    for (at, turn) in turns.iter().enumerate() {
        let (role, mut blocks) = match turn {
            Turn::User(items) => ("user", items.iter().map(user_block).collect::<Vec<_>>()),
            Turn::Assistant(items) => ("assistant", items.iter().filter_map(assistant_block).collect()),
            Turn::Tool(results) => ("user", results.iter().map(result_block).collect()),
        };
        if let Some(last) = blocks.last_mut().filter(|block| at >= marked_from && is_markable(block)) {
            mark(last);
        }
        match messages.last_mut() {
            Some((last, known)) if *last == role => known.append(&mut blocks),
            _ => messages.push((role, blocks)),
        }
    }
    if let Some(("assistant", blocks)) = messages.last_mut() {
        trim_end(blocks);
    }
    messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

/// Thinking cannot be marked.
fn is_markable(block: &Value) -> bool {
    !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

/// An answer to be continued must not end in white space.
fn trim_end(blocks: &mut [Value]) {
    if let Some(Value::String(text)) = blocks.last_mut().and_then(|block| block.get_mut("text")) {
        text.truncate(text.trim_end().len());
    }
}

fn user_block(item: &UserItem) -> Value {
    match item {
        UserItem::Text(text) => json!({ "type": "text", "text": text }),
        UserItem::File(file) => file_block(file),
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

fn assistant_block(item: &AssistantItem) -> Option<Value> {
    match item {
        AssistantItem::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        AssistantItem::Reasoning { text, metadata } => {
            let own = metadata.as_ref().and_then(|metadata| metadata.get("anthropic"))?;
            if let Some(data) = own["redactedData"].as_str() {
                return Some(json!({ "type": "redacted_thinking", "data": data }));
            }
            // Unsigned thinking is refused by the provider.
            let signature = own["signature"].as_str()?;
            Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
        }
        // What the provider ran itself is told as text: its own form needs fields nobody kept.
        AssistantItem::Call { executed: Some(result), .. } => {
            let (ResultContent::Text(text) | ResultContent::Mixed { text, .. }) = result;
            (!text.is_empty()).then(|| json!({ "type": "text", "text": text }))
        }
        AssistantItem::Call { id, name, input, executed: None, .. } => {
            let input = if input.is_object() { input.clone() } else { json!({ "value": input }) };
            Some(json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
        }
    }
}

fn result_block(result: &ToolResult) -> Value {
    let content = match &result.content {
        ResultContent::Text(text) => json!(text),
        ResultContent::Mixed { text, media } => {
            let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
            text.into_iter().chain(media.iter().map(file_block)).collect()
        }
    };
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.call, "content": content });
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}
