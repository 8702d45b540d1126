//! A request as the body of `POST /responses`.

use crate::catalog::ModelInfo;
use crate::media::{self, Modality};
use serde_json::{Map, Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, ToolSpec, Turn, UserItem,
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

pub(super) fn body(request: &Request, model: &ModelInfo) -> Map<String, Value> {
    let option = |name: &str| request.options.get(name).cloned();
    let thinks = model.capabilities.reasoning || model.traits.always_reasons;
    let stores = request.options.get("store") == Some(&json!(true));
    let mut body = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("model", Some(json!(request.model)));
    set("input", Some(Value::Array(input(request, thinks, stores))));
    set("max_output_tokens", request.output_tokens_max.map(Value::from));
    // Models that think refuse to be told how to sample.
    if !thinks {
        set("temperature", request.temperature.map(Value::from));
        set("top_p", request.top_p.map(Value::from));
    }
    set("store", Some(json!(stores)));
    let encrypted = || json!(["reasoning.encrypted_content"]);
    set("include", option("include").or_else(|| (thinks && !stores).then(encrypted)));
    set("prompt_cache_key", option("promptCacheKey"));
    set("service_tier", option("serviceTier"));
    set("parallel_tool_calls", option("parallelToolCalls"));
    set("reasoning", reasoning(option("reasoningEffort"), option("reasoningSummary")));
    set("text", option("textVerbosity").map(|verbosity| json!({ "verbosity": verbosity })));
    for (name, value) in &request.options {
        if !PLACED.contains(&name.as_str()) {
            set(name, Some(value.clone()));
        }
    }
    if !request.tools.is_empty() {
        set("tools", Some(request.tools.iter().map(tool).collect()));
        set("tool_choice", Some(json!(choice(request.tool_choice))));
    }
    set("stream", Some(json!(true)));
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

fn input(request: &Request, thinks: bool, stores: bool) -> Vec<Value> {
    let role = if thinks { "developer" } else { "system" };
    let mut input: Vec<Value> =
        request.system.iter().map(|text| json!({ "role": role, "content": text })).collect();
    for turn in &request.messages {
        match turn {
            Turn::User(items) => {
                let content: Vec<Value> = items.iter().map(user_item).collect();
                input.push(json!({ "role": "user", "content": content }));
            }
            Turn::Assistant(items) => assistant(items, stores, &mut input),
            Turn::Tool(results) => input.extend(results.iter().map(tool_result)),
        }
    }
    input
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

fn assistant(items: &[AssistantItem], stores: bool, input: &mut Vec<Value>) {
    // The item a thought belongs to: its summaries are parts of one item.
    let mut thought: Option<(Value, usize)> = None;
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
                let mut message =
                    json!({ "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
                add_id(&mut message, own(metadata, "itemId"), stores);
                input.push(message);
            }
            AssistantItem::Reasoning { text, metadata } => {
                let id = own(metadata, "itemId");
                let encrypted = own(metadata, "reasoningEncryptedContent");
                let at = match &thought {
                    Some((known, at)) if *known == id && !id.is_null() => *at,
                    _ => {
                        let mut reasoning = json!({ "type": "reasoning", "summary": [] });
                        add_id(&mut reasoning, id.clone(), stores);
                        input.push(reasoning);
                        thought = Some((id, input.len() - 1));
                        input.len() - 1
                    }
                };
                if let Value::Array(summary) = &mut input[at]["summary"]
                    && !text.is_empty()
                {
                    summary.push(json!({ "type": "summary_text", "text": text }));
                }
                if !encrypted.is_null() {
                    input[at]["encrypted_content"] = encrypted;
                }
            }
            AssistantItem::Call { id, name, input: arguments, metadata, executed } => {
                let mut call = json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string(),
                });
                add_id(&mut call, own(metadata, "itemId"), stores);
                input.push(call);
                if let Some(result) = executed {
                    input.push(
                        json!({ "type": "function_call_output", "call_id": id, "output": output(result) }),
                    );
                }
            }
        }
    }
    // Thoughts that are neither here nor there cannot be replayed.
    input.retain(|item| {
        item["type"] != "reasoning" || item["encrypted_content"].is_string() || item["id"].is_string()
    });
}

/// Ids mean something only to a provider that keeps what it said.
fn add_id(item: &mut Value, id: Value, stores: bool) {
    if stores && id.is_string() {
        item["id"] = id;
    }
}

fn tool_result(result: &ToolResult) -> Value {
    json!({ "type": "function_call_output", "call_id": result.call, "output": output(&result.content) })
}

fn output(content: &ResultContent) -> Value {
    match content {
        ResultContent::Text(text) => json!(text),
        ResultContent::Mixed { text, media } => {
            let text = (!text.is_empty()).then(|| json!({ "type": "input_text", "text": text }));
            text.into_iter().chain(media.iter().map(file_item)).collect()
        }
    }
}
