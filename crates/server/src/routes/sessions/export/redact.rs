//! A session without what its tools answered, what files hold or what a model thought: any of the three, or all.
//!
//! What stays is listed, and everything else goes: a field that is new stays out until somebody lists it here. The words
//! of people and models stay, and so do the names of tools and files and the commands that were run.
//!
//! What a tool answered may be what a file holds. So without contents of files only those answers stay that are known
//! to be something else; a command may have printed a file all the same.

use crate::wire::redaction::{Omitted, Redaction};
use serde_json::{Map, Value, json};
use sturdy_engine::reads::RawMessage;
use sturdy_engine::records::{self, readable};

pub(super) const LEFT_OUT: &str = "[left out]";

/// A value of a call's input that is longer is content and not a name.
const INPUT_CHARS_MAX: usize = 400;
/// Where calls carry what becomes of a file, however short.
const CONTENT_FIELDS: [&str; 8] =
    ["content", "oldString", "newString", "patchText", "patch", "edits", "text", "body"];
/// Tools whose answers are not what a file holds.
const OTHER_ANSWERS: [&str; 9] =
    ["bash", "glob", "list", "question", "task", "todoread", "todowrite", "webfetch", "websearch"];
/// Where a call tells the difference that it made.
const DIFFERENCES: [&str; 3] = ["diff", "filediff", "files"];
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

pub(super) fn session(info: &str, redaction: Redaction) -> String {
    if redaction.is_none() {
        return info.to_owned();
    }
    let info: Value = readable(records::fields("a session", info)).unwrap_or_default();
    let mut kept = only(&info, &SESSION_FIELDS);
    if redaction.omits(Omitted::Files) {
        if let Some(revert) = kept.get_mut("revert") {
            *revert = Value::Object(only(revert, &["messageID", "partID"]));
        }
        if info["summary"].is_object() {
            let numbers = only(&info["summary"], &["additions", "deletions", "files"]);
            kept.insert("summary".to_owned(), Value::Object(numbers));
        }
    } else {
        kept.append(&mut only(&info, &["summary"]));
    }
    Value::Object(kept).to_string()
}

pub(super) fn message(message: RawMessage, redaction: Redaction) -> RawMessage {
    if redaction.is_none() {
        return message;
    }
    let record = format_args!("message {}", message.id);
    let info: Value = readable(records::fields(record, &message.info)).unwrap_or_default();
    let mut kept = only(&info, &MESSAGE_FIELDS);
    if info["error"].is_object() {
        kept.insert("error".to_owned(), error(&info["error"]));
    }
    // Of an answer it says that it is a summary; of a prompt it holds differences.
    if info["summary"].is_boolean() || !redaction.omits(Omitted::Files) {
        kept.append(&mut only(&info, &["summary"]));
    }
    let parts = message.parts.iter().filter_map(|text| part(text, redaction)).collect();
    RawMessage { id: message.id, created: message.created, info: Value::Object(kept).to_string(), parts }
}

/// None: nothing of it stays.
fn part(text: &str, redaction: Redaction) -> Option<String> {
    let part: Value = readable(records::fields("a part", text))?;
    let fields: &[&str] = match part["type"].as_str()? {
        "reasoning" if redaction.omits(Omitted::Thoughts) => return None,
        "reasoning" => &["text", "time"],
        "text" => &["text", "synthetic", "ignored", "time"],
        "file" => &["mime", "filename", "source", "url"],
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
    let is_without_files = redaction.omits(Omitted::Files);
    match part["type"].as_str()? {
        // What the server adds to a prompt is what the named files hold.
        "text" if part["synthetic"] == true && is_without_files => {
            kept.insert("text".to_owned(), Value::from(LEFT_OUT))
        }
        "file" if is_without_files => kept.insert("url".to_owned(), Value::from("")),
        "tool" => kept.insert("state".to_owned(), state(&part["state"], Call::of(&part["tool"], redaction))),
        "retry" => kept.insert("error".to_owned(), error(&part["error"])),
        _ => None,
    };
    Some(Value::Object(kept).to_string())
}

/// What stays of a call.
#[derive(Clone, Copy)]
struct Call {
    has_output: bool,
    has_error: bool,
    has_contents: bool,
}

impl Call {
    fn of(tool: &Value, redaction: Redaction) -> Self {
        let has_error = !redaction.omits(Omitted::Outputs);
        let has_contents = !redaction.omits(Omitted::Files);
        let is_other = OTHER_ANSWERS.iter().any(|known| tool == known);
        Self { has_output: has_error && (has_contents || is_other), has_error, has_contents }
    }

    fn has_everything(self) -> bool {
        self.has_output && self.has_contents
    }

    fn keeps_metadata(self, name: &str, value: &Value) -> bool {
        // An exit code, a count, whether it was interrupted: how it ended, not what it found.
        let is_plain = value.is_number() || value.is_boolean();
        let is_printed = self.has_output && name == "output";
        let is_difference = self.has_contents && DIFFERENCES.contains(&name);
        is_plain || is_printed || is_difference || self.has_everything()
    }
}

fn state(state: &Value, call: Call) -> Value {
    let mut kept = only(state, &["status", "title", "time"]);
    let input = state["input"].as_object().into_iter().flatten();
    let input = input.map(|(name, value)| {
        let kept = if call.has_contents { value.clone() } else { input_value(name, value) };
        (name.clone(), kept)
    });
    kept.insert("input".to_owned(), Value::Object(input.collect()));
    let metadata = state["metadata"].as_object().into_iter().flatten();
    let metadata = metadata.filter(|(name, value)| call.keeps_metadata(name, value));
    let metadata: Map<String, Value> = metadata.map(|(name, value)| (name.clone(), value.clone())).collect();
    kept.insert("metadata".to_owned(), Value::Object(metadata));
    if state["output"].is_string() {
        let output = if call.has_output { state["output"].clone() } else { Value::from(LEFT_OUT) };
        kept.insert("output".to_owned(), output);
    }
    if call.has_everything() {
        kept.append(&mut only(state, &["attachments"]));
    }
    if let Some(said) = state["error"].as_str() {
        let shown = if call.has_error { said.to_owned() } else { denial(said) };
        kept.insert("error".to_owned(), Value::from(shown));
    }
    Value::Object(kept)
}

fn denial(said: &str) -> String {
    let denial = DENIALS.iter().find(|denial| said.contains(*denial));
    denial.map_or_else(|| LEFT_OUT.to_owned(), |denial| format!("{denial} {LEFT_OUT}"))
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
