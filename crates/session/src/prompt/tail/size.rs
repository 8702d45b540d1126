//! How large turns are: the characters of their JSON, without writing the JSON.
//!
//! An estimate for choosing a tail, so the envelope is counted by constants and the content
//! letter by letter.

use crate::json::{Map, utf16_len};
use crate::talk::{AssistantItem, Media, ResultContent, ToolResult, Turn, UserItem};
use serde_json::Value;

/// `{"role":"assistant","content":[]},`
const TURN: u64 = 35;
/// `{"type":"text","text":""},`
const ITEM: u64 = 26;
/// `{"type":"tool-call","toolCallId":"","toolName":"","input":},`
const CALL: u64 = 60;
/// `{"type":"tool-result","toolCallId":"","toolName":"","output":{"type":"text","value":""}},`
const RESULT: u64 = 90;

/// About how many characters the turns have as JSON.
#[must_use]
pub fn size_chars(turns: &[Turn]) -> u64 {
    turns.iter().map(turn).sum()
}

fn turn(turn: &Turn) -> u64 {
    let content: u64 = match turn {
        Turn::User(items) => items.iter().map(user_item).sum(),
        Turn::Assistant(items) => items.iter().map(assistant_item).sum(),
        Turn::Tool(results) => results.iter().map(tool_result).sum(),
    };
    TURN + content
}

fn user_item(item: &UserItem) -> u64 {
    match item {
        UserItem::Text(text) => ITEM + string(text),
        UserItem::File(file) => media(file),
    }
}

fn assistant_item(item: &AssistantItem) -> u64 {
    match item {
        AssistantItem::Text { text, metadata: extra }
        | AssistantItem::Reasoning { text, metadata: extra } => {
            ITEM + string(text) + metadata(extra.as_ref())
        }
        AssistantItem::Call { id, name, input, metadata: extra, executed } => {
            let result = executed.as_ref().map_or(0, |content| RESULT + result_content(content));
            CALL + string(id) + string(name) + value(input) + metadata(extra.as_ref()) + result
        }
    }
}

fn tool_result(result: &ToolResult) -> u64 {
    RESULT + string(&result.call) + string(&result.name) + result_content(&result.content)
}

fn result_content(content: &ResultContent) -> u64 {
    match content {
        ResultContent::Text(text) => string(text),
        ResultContent::Mixed { text, media: files } => string(text) + files.iter().map(media).sum::<u64>(),
    }
}

fn media(file: &Media) -> u64 {
    ITEM + string(&file.mime) + string(&file.url) + file.filename.as_deref().map_or(0, string)
}

fn metadata(map: Option<&Map>) -> u64 {
    map.map_or(0, object)
}

fn value(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.to_string().len() as u64,
        Value::String(text) => string(text) + 2,
        Value::Array(items) => 2 + items.iter().map(|item| self::value(item) + 1).sum::<u64>(),
        Value::Object(map) => object(map),
    }
}

fn object(map: &Map) -> u64 {
    2 + map.iter().map(|(key, item)| string(key) + 4 + value(item)).sum::<u64>()
}

/// The letters of a JSON string, escapes included, quotes not.
fn string(text: &str) -> u64 {
    let escapes: usize = text.bytes().map(escape).sum();
    (utf16_len(text) + escapes) as u64
}

fn escape(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0x00..=0x1f => 5,
        _ => 0,
    }
}
