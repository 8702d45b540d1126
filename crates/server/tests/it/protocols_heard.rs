//! What a provider was sent, in the same words for every protocol: one line for each thing.
//!
//! A line is `who what`; what a provider wants to have back with a thought stands behind it in brackets.

use serde_json::Value;
use sturdy_testkit::Dialect;

/// The conversation of a request, without system texts.
pub(crate) fn heard(dialect: Dialect, request: &Value) -> Vec<String> {
    match dialect {
        Dialect::Chat => chat(request),
        Dialect::Anthropic => anthropic(request),
        Dialect::Responses => responses(request),
        Dialect::Gemini => gemini(request),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn chat(request: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for message in list(&request["messages"]) {
        let content = &message["content"];
        match text(&message["role"]) {
            "user" => match content {
                Value::String(words) => lines.push(format!("user {words}")),
                _ => lines.extend(list(content).iter().map(|item| match text(&item["type"]) {
                    "image_url" => "user image".to_owned(),
                    _ => format!("user {}", text(&item["text"])),
                })),
            },
            "assistant" => {
                let thought = text(&message["reasoning_content"]);
                if !thought.is_empty() {
                    lines.push(format!("thought {thought}"));
                }
                if !text(content).is_empty() {
                    lines.push(format!("said {}", text(content)));
                }
                let call = |call: &Value| {
                    let function = &call["function"];
                    format!("call {} {}", text(&function["name"]), text(&function["arguments"]))
                };
                lines.extend(list(&message["tool_calls"]).iter().map(call));
            }
            "tool" => lines.push(result(text(content), false)),
            _ => {}
        }
    }
    lines
}

fn anthropic(request: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for message in list(&request["messages"]) {
        let who = if message["role"] == "user" { "user" } else { "said" };
        for block in list(&message["content"]) {
            lines.push(match text(&block["type"]) {
                "text" => format!("{who} {}", text(&block["text"])),
                "thinking" => format!("thought {} [{}]", text(&block["thinking"]), text(&block["signature"])),
                "tool_use" => format!("call {} {}", text(&block["name"]), block["input"]),
                "tool_result" => match &block["content"] {
                    Value::String(words) => result(words, false),
                    parts => result(text(&parts[0]["text"]), parts[1]["type"] == "image"),
                },
                other => format!("{who} {other}"),
            });
        }
    }
    lines
}

fn responses(request: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for item in list(&request["input"]) {
        match text(&item["type"]) {
            "reasoning" => {
                let summary = text(&item["summary"][0]["text"]);
                lines.push(format!("thought {summary} [{}]", text(&item["encrypted_content"])));
            }
            "function_call" => {
                lines.push(format!("call {} {}", text(&item["name"]), text(&item["arguments"])));
            }
            "function_call_output" => lines.push(match &item["output"] {
                Value::String(words) => result(words, false),
                parts => result(text(&parts[0]["text"]), parts[1]["type"] == "input_image"),
            }),
            _ => match text(&item["role"]) {
                "user" => lines.extend(list(&item["content"]).iter().map(|part| match text(&part["type"]) {
                    "input_image" => "user image".to_owned(),
                    _ => format!("user {}", text(&part["text"])),
                })),
                "assistant" => lines.push(format!("said {}", text(&item["content"][0]["text"]))),
                _ => {}
            },
        }
    }
    lines
}

fn gemini(request: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for content in list(&request["contents"]) {
        let who = if content["role"] == "user" { "user" } else { "said" };
        for part in list(&content["parts"]) {
            let call = &part["functionCall"];
            let response = &part["functionResponse"];
            lines.push(if call.is_object() {
                format!("call {} {}", text(&call["name"]), call["args"])
            } else if response.is_object() {
                let image = response["parts"][0]["inlineData"]["mimeType"] == "image/png";
                result(text(&response["response"]["content"]), image)
            } else if part["thought"] == true {
                format!("thought {} [{}]", text(&part["text"]), text(&part["thoughtSignature"]))
            } else if part["inlineData"].is_object() {
                format!("{who} image")
            } else {
                format!("{who} {}", text(&part["text"]))
            });
        }
    }
    lines
}

/// Outputs are long; their first line tells them apart.
fn result(output: &str, has_image: bool) -> String {
    let first = output.lines().next().unwrap_or_default();
    let image = if has_image { " and an image" } else { "" };
    format!("result {first}{image}")
}
