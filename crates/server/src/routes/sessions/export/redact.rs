//! A session without what its tools answered, what files hold and what a model thought.
//!
//! What stays is listed, and everything else goes: a field that is new stays out until somebody lists it here. The words
//! of people and models stay, and so do the names of tools and files and the commands that were run.

use serde_json::{Map, Value, json};
use sturdy_engine::reads::RawMessage;
use sturdy_engine::records::{self, readable};

pub(super) const LEFT_OUT: &str = "[left out]";

/// A value of a call's input that is longer is content and not a name.
const INPUT_CHARS_MAX: usize = 400;
/// Where calls carry what becomes of a file, however short.
const CONTENT_FIELDS: [&str; 8] =
    ["content", "oldString", "newString", "patchText", "patch", "edits", "text", "body"];
/// How an error begins that says who refused a call, and not what the call found.
const DENIALS: [&str; 3] = ["rejected permission", "user dismissed", "specified a rule"];

const SESSION_FIELDS: [&str; 13] = [
    "id",
    "slug",
    "projectID",
    "directory",
    "parentID",
    "title",
    "version",
    "time",
    "cost",
    "tokens",
    "agent",
    "model",
    "revert",
];
const MESSAGE_FIELDS: [&str; 17] = [
    "id",
    "sessionID",
    "role",
    "time",
    "agent",
    "model",
    "parentID",
    "modelID",
    "providerID",
    "mode",
    "path",
    "cost",
    "tokens",
    "structured",
    "variant",
    "finish",
    "tools",
];
const ERROR_FIELDS: [&str; 3] = ["message", "statusCode", "isRetryable"];

pub(super) fn session(info: &str) -> String {
    let info: Value = readable(records::fields("a session", info)).unwrap_or_default();
    let mut kept = only(&info, &SESSION_FIELDS);
    if let Some(revert) = kept.get_mut("revert") {
        *revert = Value::Object(only(revert, &["messageID", "partID"]));
    }
    if info["summary"].is_object() {
        let numbers = only(&info["summary"], &["additions", "deletions", "files"]);
        kept.insert("summary".to_owned(), Value::Object(numbers));
    }
    Value::Object(kept).to_string()
}

pub(super) fn message(message: &RawMessage) -> RawMessage {
    let record = format_args!("message {}", message.id);
    let info: Value = readable(records::fields(record, &message.info)).unwrap_or_default();
    let mut kept = only(&info, &MESSAGE_FIELDS);
    if info["error"].is_object() {
        kept.insert("error".to_owned(), error(&info["error"]));
    }
    // Of an answer it says that it is a summary; of a prompt it holds differences.
    if info["summary"].is_boolean() {
        kept.insert("summary".to_owned(), info["summary"].clone());
    }
    let parts = message.parts.iter().filter_map(|text| part(text)).collect();
    RawMessage {
        id: message.id.clone(),
        created: message.created,
        info: Value::Object(kept).to_string(),
        parts,
    }
}

/// None: nothing of it stays.
fn part(text: &str) -> Option<String> {
    let part: Value = readable(records::fields("a part", text))?;
    let fields: &[&str] = match part["type"].as_str()? {
        "reasoning" => return None,
        "text" => &["text", "synthetic", "ignored", "time"],
        "file" => &["mime", "filename", "source"],
        "tool" => &["callID", "tool"],
        "step-start" | "snapshot" => &["snapshot"],
        "step-finish" => &["reason", "snapshot", "cost", "tokens"],
        "patch" => &["hash", "files", "shared"],
        "agent" => &["name", "source"],
        "retry" => &["attempt", "time"],
        "compaction" => &["auto", "overflow", "tail_start_id"],
        "subtask" => &["prompt", "description", "agent", "model", "command"],
        _ => &[],
    };
    let mut kept = only(&part, &["id", "sessionID", "messageID", "type"]);
    kept.append(&mut only(&part, fields));
    match part["type"].as_str()? {
        // What the server adds to a prompt is what the named files hold.
        "text" if part["synthetic"] == true => kept.insert("text".to_owned(), Value::from(LEFT_OUT)),
        "file" => kept.insert("url".to_owned(), Value::from("")),
        "tool" => kept.insert("state".to_owned(), state(&part["state"])),
        "retry" => kept.insert("error".to_owned(), error(&part["error"])),
        _ => None,
    };
    Some(Value::Object(kept).to_string())
}

fn state(state: &Value) -> Value {
    let mut kept = only(state, &["status", "title", "time"]);
    let input = state["input"].as_object().into_iter().flatten();
    let input: Map<String, Value> =
        input.map(|(name, value)| (name.clone(), input_value(name, value))).collect();
    kept.insert("input".to_owned(), Value::Object(input));
    // An exit code, a count, whether it was interrupted: how it ended, not what it found.
    let metadata = state["metadata"].as_object().into_iter().flatten();
    let plain = metadata.filter(|(_, value)| value.is_number() || value.is_boolean());
    let plain: Map<String, Value> = plain.map(|(name, value)| (name.clone(), value.clone())).collect();
    kept.insert("metadata".to_owned(), Value::Object(plain));
    if state["output"].is_string() {
        kept.insert("output".to_owned(), Value::from(LEFT_OUT));
    }
    if let Some(said) = state["error"].as_str() {
        let denial = DENIALS.iter().find(|denial| said.contains(*denial));
        let shown = denial.map_or_else(|| LEFT_OUT.to_owned(), |denial| format!("{denial} {LEFT_OUT}"));
        kept.insert("error".to_owned(), Value::from(shown));
    }
    Value::Object(kept)
}

fn input_value(name: &str, value: &Value) -> Value {
    let is_short = match value {
        Value::String(text) => text.chars().nth(INPUT_CHARS_MAX).is_none(),
        other => other.to_string().len() <= INPUT_CHARS_MAX,
    };
    if is_short && !CONTENT_FIELDS.contains(&name) { value.clone() } else { Value::from(LEFT_OUT) }
}

fn error(error: &Value) -> Value {
    json!({ "name": error["name"], "data": only(&error["data"], &ERROR_FIELDS) })
}

fn only(value: &Value, fields: &[&str]) -> Map<String, Value> {
    let all = value.as_object().into_iter().flatten();
    let kept = all.filter(|(name, _)| fields.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests;
