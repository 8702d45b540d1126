//! A request as the body of `POST /responses`.

use crate::catalog::ModelInfo;
use crate::link::Body;
use crate::media::{self, Modality};
use serde::Serialize;
use serde_json::{Map, Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolSpec, Turn, UserItem,
};

/// Options with a place of their own; all others go through as they are.
const PLACED: [&str; 8] = [
    "store",
    "include",
    "promptCacheKey",
    "reasoningEffort",
    "reasoningSummary",
    "textVerbosity",
    "parallelToolCalls",
    "serviceTier",
];

/// What stands in the conversation, as it is written.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Said { role: &'static str, content: Vec<Text<'a>> },
    Result { r#type: &'static str, call_id: &'a str, output: &'a str },
    Other(Value),
}

#[derive(Debug, Serialize)]
pub(super) struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

pub(super) fn body<'a>(request: &'a Request, model: &ModelInfo) -> Body<Item<'a>> {
    let option = |name: &str| request.options.get(name).cloned();
    let thinks = model.capabilities.reasoning || model.traits.always_reasons;
    let stores = request.options.get("store") == Some(&json!(true));
    let mut body = Body::new("input", input(request, thinks, stores));
    body.set("model", Some(json!(request.model)));
    body.place_messages();
    body.set("max_output_tokens", request.output_tokens_max.map(Value::from));
    // Models that think refuse to be told how to sample.
    if !thinks {
        body.set("temperature", request.temperature.map(Value::from));
        body.set("top_p", request.top_p.map(Value::from));
    }
    body.set("store", Some(json!(stores)));
    let encrypted = || json!(["reasoning.encrypted_content"]);
    body.set("include", option("include").or_else(|| (thinks && !stores).then(encrypted)));
    body.set("prompt_cache_key", option("promptCacheKey"));
    body.set("service_tier", option("serviceTier"));
    body.set("parallel_tool_calls", option("parallelToolCalls"));
    body.set("reasoning", reasoning(option("reasoningEffort"), option("reasoningSummary")));
    body.set("text", option("textVerbosity").map(|verbosity| json!({ "verbosity": verbosity })));
    for (name, value) in &request.options {
        if !PLACED.contains(&name.as_str()) {
            body.set(name, Some(value.clone()));
        }
    }
    if !request.tools.is_empty() {
        body.set("tools", Some(request.tools.iter().map(tool).collect()));
        body.set("tool_choice", Some(json!(choice(request.tool_choice))));
    }
    body.set("stream", Some(json!(true)));
    body
}

fn reasoning(effort: Option<Value>, summary: Option<Value>) -> Option<Value> {
    let mut reasoning = Map::new();
    reasoning.extend(effort.map(|effort| ("effort".to_owned(), effort)));
    reasoning.extend(summary.map(|summary| ("summary".to_owned(), summary)));
    (!reasoning.is_empty()).then_some(Value::Object(reasoning))
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}

fn choice(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "required",
        ToolChoice::None => "none",
    }
}

fn input(request: &Request, thinks: bool, stores: bool) -> Vec<Item<'_>> {
    let role = if thinks { "developer" } else { "system" };
    let mut input = Vec::with_capacity(request.system.len() + request.messages.len());
    input.extend(request.system.iter().map(|text| Item::Other(json!({ "role": role, "content": text }))));
    for turn in &request.messages {
        match turn {
            Turn::User(items) => input.push(user(items)),
            Turn::Assistant(items) => assistant(items, stores, &mut input),
            Turn::Tool(results) => {
                input.extend(results.iter().map(|result| tool_result(&result.call, &result.content)));
            }
        }
    }
    input
}

fn user(items: &[UserItem]) -> Item<'_> {
    let text = |item: &'_ UserItem| matches!(item, UserItem::Text(_));
    if !items.iter().all(text) {
        let content: Vec<Value> = items.iter().map(user_item).collect();
        return Item::Other(json!({ "role": "user", "content": content }));
    }
    let content = items.iter().filter_map(|item| match item {
        UserItem::Text(text) => Some(Text { r#type: "input_text", text }),
        UserItem::File(_) => None,
    });
    Item::Said { role: "user", content: content.collect() }
}

fn user_item(item: &UserItem) -> Value {
    match item {
        UserItem::Text(text) => json!({ "type": "input_text", "text": text }),
        UserItem::File(file) => file_item(file),
    }
}

fn file_item(file: &Media) -> Value {
    let is_here = media::base64_of(file).is_some();
    match Modality::of(&file.mime) {
        Modality::Image => json!({ "type": "input_image", "image_url": media::data_url(file) }),
        Modality::Pdf | Modality::Audio | Modality::Video | Modality::Other if is_here => {
            json!({ "type": "input_file", "filename": media::filename(file), "file_data": media::data_url(file) })
        }
        Modality::Pdf | Modality::Audio | Modality::Video | Modality::Other => {
            json!({ "type": "input_file", "file_url": file.url })
        }
    }
}

fn assistant<'a>(items: &'a [AssistantItem], stores: bool, input: &mut Vec<Item<'a>>) {
    // The item a thought belongs to: its summaries are parts of one item.
    let mut thought: Option<(Value, usize)> = None;
    let first = input.len();
    for item in items {
        let own = |metadata: &Option<Map<String, Value>>, name: &str| {
            metadata
                .as_ref()
                .and_then(|metadata| metadata.get("openai")?.get(name))
                .cloned()
                .unwrap_or_default()
        };
        match item {
            AssistantItem::Text { text, metadata } => {
                input.push(spoken(text, own(metadata, "itemId"), stores));
            }
            AssistantItem::Reasoning { text, metadata } => {
                let id = own(metadata, "itemId");
                let encrypted = own(metadata, "reasoningEncryptedContent");
                let at = match &thought {
                    Some((known, at)) if *known == id && !id.is_null() => *at,
                    _ => {
                        let mut reasoning = json!({ "type": "reasoning", "summary": [] });
                        add_id(&mut reasoning, id.clone(), stores);
                        input.push(Item::Other(reasoning));
                        thought = Some((id, input.len() - 1));
                        input.len() - 1
                    }
                };
                let Item::Other(reasoning) = &mut input[at] else { continue };
                if let Value::Array(summary) = &mut reasoning["summary"]
                    && !text.is_empty()
                {
                    summary.push(json!({ "type": "summary_text", "text": text }));
                }
                if !encrypted.is_null() {
                    reasoning["encrypted_content"] = encrypted;
                }
            }
            AssistantItem::Call { id, name, input: arguments, metadata, executed } => {
                let mut call = json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string(),
                });
                add_id(&mut call, own(metadata, "itemId"), stores);
                input.push(Item::Other(call));
                input.extend(executed.as_ref().map(|result| tool_result(id, result)));
            }
        }
    }
    // Of this answer alone: a long conversation has a thousand of them.
    let mut said = input.split_off(first);
    said.retain(can_be_replayed);
    input.append(&mut said);
}

fn spoken<'a>(text: &'a str, id: Value, stores: bool) -> Item<'a> {
    if !stores || !id.is_string() {
        return Item::Said { role: "assistant", content: vec![Text { r#type: "output_text", text }] };
    }
    let mut message = json!({ "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    add_id(&mut message, id, stores);
    Item::Other(message)
}

/// Thoughts that are neither here nor there cannot be replayed.
fn can_be_replayed(item: &Item<'_>) -> bool {
    let Item::Other(item) = item else { return true };
    item["type"] != "reasoning" || item["encrypted_content"].is_string() || item["id"].is_string()
}

/// Ids mean something only to a provider that keeps what it said.
fn add_id(item: &mut Value, id: Value, stores: bool) {
    if stores && id.is_string() {
        item["id"] = id;
    }
}

fn tool_result<'a>(call: &'a str, result: &'a ResultContent) -> Item<'a> {
    let (text, media) = match result {
        ResultContent::Text(output) => {
            return Item::Result { r#type: "function_call_output", call_id: call, output };
        }
        ResultContent::Mixed { text, media } => (text, media),
    };
    let text = (!text.is_empty()).then(|| json!({ "type": "input_text", "text": text }));
    let output: Value = text.into_iter().chain(media.iter().map(file_item)).collect();
    Item::Other(json!({ "type": "function_call_output", "call_id": call, "output": output }))
}
