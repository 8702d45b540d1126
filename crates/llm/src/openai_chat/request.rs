//! A request as the body of `POST /chat/completions`.

use super::details::{self, DETAILS};
use super::{Dialect, Thoughts, thinking};
use crate::link::Body;
use crate::media::{self, Modality};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
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

/// A message as it is written.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Message<'a> {
    Said { role: &'static str, content: Cow<'a, str> },
    Result { role: &'static str, tool_call_id: &'a str, content: &'a str },
    Other(Value),
}

pub(super) fn body<'a>(request: &'a Request, dialect: &Dialect) -> Body<Message<'a>> {
    let mut body = Body::new("messages", messages(request, dialect));
    body.set("model", Some(json!(request.model)));
    body.set("max_tokens", request.output_tokens_max.map(Value::from));
    body.set("temperature", request.temperature.map(Value::from));
    body.set("top_p", request.top_p.map(Value::from));
    body.set("top_k", request.top_k.filter(|_| dialect.takes_top_k).map(Value::from));
    for (name, value) in &request.options {
        let name = RENAMED.iter().find(|(ours, _)| ours == name).map_or(name.as_str(), |(_, wire)| wire);
        body.set(name, Some(value.clone()));
    }
    body.place_messages();
    if !request.tools.is_empty() {
        body.set("tools", Some(request.tools.iter().map(tool).collect()));
        body.set("tool_choice", Some(json!(choice(request.tool_choice))));
    }
    body.set("stream", Some(json!(true)));
    body.set("stream_options", dialect.include_usage.then(|| json!({ "include_usage": true })));
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

fn messages<'a>(request: &'a Request, dialect: &Dialect) -> Vec<Message<'a>> {
    let mut messages = Vec::with_capacity(request.system.len() + request.messages.len());
    messages.extend(request.system.iter().map(|text| said("system", text)));
    for turn in &request.messages {
        match turn {
            Turn::User(items) => messages.push(user(items)),
            Turn::Assistant(items) => assistant(items, dialect, &mut messages),
            Turn::Tool(results) => tool_results(results, &mut messages),
        }
    }
    if dialect.marks_cache {
        mark_cache(request.system.len(), &mut messages);
    }
    messages
}

fn said<'a>(role: &'static str, text: &'a str) -> Message<'a> {
    Message::Said { role, content: Cow::Borrowed(text) }
}

/// The first two system messages and the last two others.
fn mark_cache(system: usize, messages: &mut [Message<'_>]) {
    let last = messages.len().saturating_sub(2).max(system);
    for (at, message) in messages.iter_mut().enumerate() {
        if at < system.min(2) || at >= last {
            let mut marked = json!(message);
            mark(&mut marked);
            *message = Message::Other(marked);
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

fn user(items: &[UserItem]) -> Message<'_> {
    match items {
        [UserItem::Text(text)] => said("user", text),
        items => {
            let content: Value = items.iter().map(user_item).collect();
            Message::Other(json!({ "role": "user", "content": content }))
        }
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

fn assistant<'a>(items: &'a [AssistantItem], dialect: &Dialect, messages: &mut Vec<Message<'a>>) {
    let mut text = Cow::Borrowed("");
    let mut reasoning = Cow::Borrowed("");
    let mut details = Vec::new();
    let mut calls = Vec::new();
    let mut executed = Vec::new();
    let wants_blocks = dialect.thoughts == Thoughts::Blocks;
    let mut blocks = Vec::new();
    for item in items {
        match item {
            AssistantItem::Text { text: more, .. } => {
                text += more.as_str();
                blocks.extend(wants_blocks.then(|| json!({ "type": "text", "text": more })));
            }
            AssistantItem::Reasoning { text: more, metadata } => {
                reasoning += more.as_str();
                details::gather(metadata, &mut details);
                blocks.extend(thinking::of_part(metadata).cloned());
            }
            AssistantItem::Call { id, name, input, executed: result, metadata } => {
                details::gather(metadata, &mut details);
                let mut call = json!({
                    "id": id,
                    "type": "function",
                    "function": { "name": name, "arguments": input.to_string() },
                });
                if let Some(seal) = details::seal_of_call(metadata) {
                    call["extra_content"] = json!({ "google": { "thought_signature": seal } });
                }
                calls.push(call);
                // This protocol has no place for a result within the assistant's message.
                executed.extend(result.as_ref().map(|result| tool_result(id, result)));
            }
        }
    }

    let field = match &dialect.thoughts {
        Thoughts::Always(field) => Some(field.as_str()),
        Thoughts::IfAny(field) => Some(*field).filter(|_| !reasoning.is_empty()),
        // Without its seals a thought is refused.
        Thoughts::Details => (!details.is_empty()).then_some("reasoning"),
        Thoughts::Blocks | Thoughts::Never => None,
    };
    let has_blocks = wants_blocks && blocks.iter().any(thinking::is_block);
    if field.is_none() && calls.is_empty() && !has_blocks {
        messages.push(Message::Said { role: "assistant", content: text });
    } else {
        let mut message = Map::new();
        message.insert("role".to_owned(), json!("assistant"));
        message.insert("content".to_owned(), if has_blocks { Value::Array(blocks) } else { json!(text) });
        if let Some(field) = field {
            message.insert(field.to_owned(), json!(reasoning));
        }
        if dialect.thoughts == Thoughts::Details && !details.is_empty() {
            message.insert(DETAILS.to_owned(), Value::Array(details));
        }
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        messages.push(Message::Other(Value::Object(message)));
    }
    messages.append(&mut executed);
}

fn tool_result<'a>(call: &'a str, content: &'a ResultContent) -> Message<'a> {
    Message::Result { role: "tool", tool_call_id: call, content: result_text(content) }
}

fn tool_results<'a>(results: &'a [ToolResult], messages: &mut Vec<Message<'a>>) {
    let mut files = Vec::new();
    for result in results {
        messages.push(tool_result(&result.call, &result.content));
        if let ResultContent::Mixed { media, .. } = &result.content {
            files.extend(media.iter().map(file_item));
        }
    }
    // Media cannot stand in a result here; the turn after it is the nearest place.
    if !files.is_empty() {
        messages.push(Message::Other(json!({ "role": "user", "content": files })));
    }
}

fn result_text(content: &ResultContent) -> &str {
    match content {
        ResultContent::Text(text) | ResultContent::Mixed { text, .. } => text,
    }
}
