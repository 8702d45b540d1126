//! A request as the body of `streamGenerateContent`.

use crate::link::Body;
use crate::media;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, ToolSpec, Turn, UserItem,
};

/// Options that stand beside the conversation; the thinking options stand in `generationConfig`.
const BESIDE: [&str; 3] = ["safetySettings", "cachedContent", "labels"];

/// A message as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Text { text: &'a str },
    Other(Value),
}

pub(super) fn body(request: &Request) -> Body<Content<'_>> {
    let mut body = Body::new("contents", contents(&request.messages));
    body.set("generationConfig", Some(Value::Object(generation(request))));
    body.place_messages();
    if !request.system.is_empty() {
        let parts: Vec<Value> = request.system.iter().map(|text| json!({ "text": text })).collect();
        body.set("systemInstruction", Some(json!({ "parts": parts })));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body.set("tools", Some(json!([{ "functionDeclarations": tools }])));
        let mode = mode(request.tool_choice);
        body.set("toolConfig", Some(json!({ "functionCallingConfig": { "mode": mode } })));
    }
    for name in BESIDE {
        body.set(name, request.options.get(name).cloned());
    }
    body
}

fn generation(request: &Request) -> Map<String, Value> {
    let values = [
        ("maxOutputTokens", request.output_tokens_max.map(Value::from)),
        ("temperature", request.temperature.map(Value::from)),
        ("topP", request.top_p.map(Value::from)),
        ("topK", request.top_k.map(Value::from)),
        ("thinkingConfig", request.options.get("thinkingConfig").cloned()),
        ("responseModalities", request.options.get("responseModalities").cloned()),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn mode(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "AUTO",
        ToolChoice::Required => "ANY",
        ToolChoice::None => "NONE",
    }
}

fn tool(tool: &ToolSpec) -> Value {
    let mut declared = json!({ "name": tool.name, "description": tool.description });
    // An object without properties is refused; a function without parameters is not.
    let has_properties = tool.parameters["properties"].as_object().is_some_and(|known| !known.is_empty());
    if has_properties {
        declared["parameters"] = tool.parameters.clone();
    }
    declared
}

fn contents(turns: &[Turn]) -> Vec<Content<'_>> {
    let mut contents: Vec<Content<'_>> = Vec::with_capacity(turns.len());
    for turn in turns {
        let (role, mut parts): (_, Vec<Part<'_>>) = match turn {
            Turn::User(items) => ("user", items.iter().map(user_part).collect()),
            Turn::Assistant(items) => ("model", items.iter().flat_map(model_parts).collect()),
            Turn::Tool(results) => ("user", results.iter().map(result_part).collect()),
        };
        match contents.last_mut() {
            Some(last) if last.role == role => last.parts.append(&mut parts),
            _ => contents.push(Content { role, parts }),
        }
    }
    contents.retain(|content| !content.parts.is_empty());
    contents
}

fn user_part(item: &UserItem) -> Part<'_> {
    match item {
        UserItem::Text(text) => Part::Text { text },
        UserItem::File(file) => Part::Other(file_part(file)),
    }
}

fn file_part(file: &Media) -> Value {
    match media::base64_of(file) {
        Some(data) => json!({ "inlineData": { "mimeType": file.mime, "data": data } }),
        None => json!({ "fileData": { "mimeType": file.mime, "fileUri": file.url } }),
    }
}

fn model_parts(item: &AssistantItem) -> Vec<Part<'_>> {
    match item {
        AssistantItem::Text { text, metadata } if text.is_empty() && metadata.is_none() => Vec::new(),
        AssistantItem::Text { text, metadata } => match signature(metadata) {
            None => vec![Part::Text { text }],
            Some(_) => vec![signed(json!({ "text": text }), metadata)],
        },
        AssistantItem::Reasoning { text, .. } if text.is_empty() => Vec::new(),
        AssistantItem::Reasoning { text, metadata } => {
            vec![signed(json!({ "text": text, "thought": true }), metadata)]
        }
        AssistantItem::Call { name, input, metadata, executed, .. } => {
            let args = if input.is_object() { input.clone() } else { json!({ "value": input }) };
            let call = signed(json!({ "functionCall": { "name": name, "args": args } }), metadata);
            let told = executed.as_ref().map(|result| Part::Text { text: text_of(result) });
            std::iter::once(call).chain(told).collect()
        }
    }
}

fn signature(metadata: &Option<Map<String, Value>>) -> Option<&Value> {
    let own = metadata.as_ref().and_then(|metadata| metadata.get("google"));
    own.and_then(|own| own.get("thoughtSignature")).filter(|value| value.is_string())
}

fn signed<'a>(mut part: Value, metadata: &Option<Map<String, Value>>) -> Part<'a> {
    if let Some(signature) = signature(metadata) {
        part["thoughtSignature"] = signature.clone();
    }
    Part::Other(part)
}

fn result_part(result: &ToolResult) -> Part<'_> {
    let text = text_of(&result.content);
    let response = if result.is_error {
        json!({ "name": result.name, "error": text })
    } else {
        json!({ "name": result.name, "content": text })
    };
    let mut function = json!({ "name": result.name, "response": response });
    if let ResultContent::Mixed { media, .. } = &result.content {
        function["parts"] = media.iter().map(file_part).collect();
    }
    Part::Other(json!({ "functionResponse": function }))
}

fn text_of(content: &ResultContent) -> &str {
    match content {
        ResultContent::Text(text) | ResultContent::Mixed { text, .. } => text,
    }
}
