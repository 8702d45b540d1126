//! A request as the body of `POST /chat/completions`.

use super::Dialect;
use crate::media::{self, Modality};
use serde_json::{Map, Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, ToolSpec, Turn, UserItem,
};

/// Options we spell otherwise than the wire; all others go through as they are.
const RENAMED: [(&str, &str); 4] = [
    ("reasoningEffort", "reasoning_effort"),
    ("textVerbosity", "verbosity"),
    ("promptCacheKey", "prompt_cache_key"),
    ("parallelToolCalls", "parallel_tool_calls"),
];

pub(super) fn body(request: &Request, dialect: &Dialect) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("max_tokens", request.output_tokens_max.map(Value::from));
    set("temperature", request.temperature.map(Value::from));
    set("top_p", request.top_p.map(Value::from));
    for (name, value) in &request.options {
        let name = RENAMED.iter().find(|(ours, _)| ours == name).map_or(name.as_str(), |(_, wire)| wire);
        set(name, Some(value.clone()));
    }
    set("messages", Some(Value::Array(messages(request, dialect))));
    if !request.tools.is_empty() {
        set("tools", Some(request.tools.iter().map(tool).collect()));
        set("tool_choice", Some(json!(choice(request.tool_choice))));
    }
    set("stream", Some(json!(true)));
    set("stream_options", dialect.include_usage.then(|| json!({ "include_usage": true })));
    body
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
    })
}

fn choice(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "required",
        ToolChoice::None => "none",
    }
}

fn messages(request: &Request, dialect: &Dialect) -> Vec<Value> {
    let system = request.system.iter().map(|text| json!({ "role": "system", "content": text }));
    let mut messages: Vec<Value> = system.collect();
    for turn in &request.messages {
        match turn {
            Turn::User(items) => messages.push(json!({ "role": "user", "content": user(items) })),
            Turn::Assistant(items) => assistant(items, dialect, &mut messages),
            Turn::Tool(results) => tool_results(results, &mut messages),
        }
    }
    if dialect.marks_cache {
        mark_cache(request.system.len(), &mut messages);
    }
    messages
}

/// The first two system messages and the last two others.
fn mark_cache(system: usize, messages: &mut [Value]) {
    let last = messages.len().saturating_sub(2).max(system);
    for (at, message) in messages.iter_mut().enumerate() {
        if at < system.min(2) || at >= last {
            mark(message);
        }
    }
}

/// A mark stands on a content item, so text has to become one.
fn mark(message: &mut Value) {
    if let Value::String(text) = &message["content"] {
        // An empty text may not be marked.
        if text.is_empty() {
            return;
        }
        message["content"] = json!([{ "type": "text", "text": text }]);
    }
    if let Some(item) = message["content"].as_array_mut().and_then(|items| items.last_mut()) {
        item["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn user(items: &[UserItem]) -> Value {
    match items {
        [UserItem::Text(text)] => json!(text),
        items => items.iter().map(user_item).collect(),
    }
}

fn user_item(item: &UserItem) -> Value {
    match item {
        UserItem::Text(text) => json!({ "type": "text", "text": text }),
        UserItem::File(file) => file_item(file),
    }
}

fn file_item(file: &Media) -> Value {
    match Modality::of(&file.mime) {
        Modality::Image => json!({ "type": "image_url", "image_url": { "url": media::data_url(file) } }),
        Modality::Audio => {
            let format = if file.mime.contains("wav") { "wav" } else { "mp3" };
            let data = media::base64_of(file).unwrap_or(&file.url);
            json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
        }
        Modality::Pdf | Modality::Video | Modality::Other => json!({
            "type": "file",
            "file": { "filename": media::filename(file), "file_data": media::data_url(file) },
        }),
    }
}

fn assistant(items: &[AssistantItem], dialect: &Dialect, messages: &mut Vec<Value>) {
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut calls = Vec::new();
    let mut executed = Vec::new();
    for item in items {
        match item {
            AssistantItem::Text { text: more, .. } => text.push_str(more),
            AssistantItem::Reasoning { text: more, .. } => reasoning.push_str(more),
            AssistantItem::Call { id, name, input, executed: result, .. } => {
                calls.push(json!({
                    "id": id,
                    "type": "function",
                    "function": { "name": name, "arguments": input.to_string() },
                }));
                // This protocol has no place for a result within the assistant's message.
                executed.extend(result.as_ref().map(
                    |result| json!({ "role": "tool", "tool_call_id": id, "content": result_text(result) }),
                ));
            }
        }
    }

    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(text));
    match &dialect.reasoning_field {
        Some(field) => drop(message.insert(field.clone(), json!(reasoning))),
        None if !reasoning.is_empty() => {
            drop(message.insert("reasoning_content".to_owned(), json!(reasoning)));
        }
        None => {}
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    messages.push(Value::Object(message));
    messages.append(&mut executed);
}

fn tool_results(results: &[ToolResult], messages: &mut Vec<Value>) {
    let mut files = Vec::new();
    for result in results {
        let content = result_text(&result.content);
        messages.push(json!({ "role": "tool", "tool_call_id": result.call, "content": content }));
        if let ResultContent::Mixed { media, .. } = &result.content {
            files.extend(media.iter().map(file_item));
        }
    }
    // Media cannot stand in a result here; the turn after it is the nearest place.
    if !files.is_empty() {
        messages.push(json!({ "role": "user", "content": files }));
    }
}

fn result_text(content: &ResultContent) -> &str {
    match content {
        ResultContent::Text(text) | ResultContent::Mixed { text, .. } => text,
    }
}
