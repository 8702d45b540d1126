//! Messages and parts for tests: short to write, complete when compared.

use serde_json::{Value, json};
use sturdy_session::types::message::MessageWithParts;

pub(crate) fn message(info: Value, parts: Vec<Value>) -> MessageWithParts {
    let id = info["id"].as_str().expect("an id").to_owned();
    let parts: Vec<Value> = parts
        .into_iter()
        .enumerate()
        .map(|(at, mut part)| {
            let map = part.as_object_mut().expect("an object");
            map.insert("id".into(), json!(format!("prt_{}_{at}", &id[4..])));
            map.insert("sessionID".into(), json!("ses_a"));
            map.insert("messageID".into(), json!(id));
            part
        })
        .collect();
    serde_json::from_value(json!({ "info": info, "parts": parts })).expect("a valid message")
}

/// A user message; `at` is its time, and `msg_<name>` its id.
pub(crate) fn user(name: &str, at: u64, parts: Vec<Value>) -> MessageWithParts {
    let info = json!({
        "id": format!("msg_{name}"), "sessionID": "ses_a", "role": "user", "time": { "created": at },
        "agent": "build", "model": { "providerID": "acme", "modelID": "m1" },
    });
    message(info, parts)
}

/// A finished assistant message by `acme/m1`; `extra` overrides its fields.
pub(crate) fn assistant(
    name: &str,
    parent: &str,
    at: u64,
    extra: Value,
    parts: Vec<Value>,
) -> MessageWithParts {
    let mut info = json!({
        "id": format!("msg_{name}"), "sessionID": "ses_a", "role": "assistant",
        "time": { "created": at, "completed": at + 1 }, "parentID": format!("msg_{parent}"),
        "modelID": "m1", "providerID": "acme", "mode": "build", "agent": "build",
        "path": { "cwd": "/w", "root": "/w" }, "cost": 0,
        "tokens": { "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } },
        "finish": "stop",
    });
    for (key, value) in extra.as_object().expect("an object") {
        info[key] = value.clone();
    }
    message(info, parts)
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn step() -> Value {
    json!({ "type": "step-start" })
}

pub(crate) fn file(mime: &str, name: &str, url: &str) -> Value {
    json!({ "type": "file", "mime": mime, "filename": name, "url": url })
}

pub(crate) fn reasoning(text: &str, metadata: Value) -> Value {
    json!({ "type": "reasoning", "text": text, "time": { "start": 1, "end": 2 }, "metadata": metadata })
}

pub(crate) fn tool(call: &str, name: &str, state: Value) -> Value {
    json!({ "type": "tool", "callID": call, "tool": name, "state": state })
}

pub(crate) fn completed(call: &str, name: &str, output: &str) -> Value {
    tool(
        call,
        name,
        json!({
            "status": "completed", "input": { "x": 1 }, "output": output, "title": "t", "metadata": {},
            "time": { "start": 1, "end": 2 },
        }),
    )
}

/// A compaction request; `tail` is the name of the first kept message.
pub(crate) fn request(name: &str, at: u64, tail: Option<&str>) -> MessageWithParts {
    let mut part = json!({ "type": "compaction", "auto": true });
    if let Some(tail) = tail {
        part["tail_start_id"] = json!(format!("msg_{tail}"));
    }
    user(name, at, vec![part])
}

pub(crate) fn summary(name: &str, parent: &str, at: u64) -> MessageWithParts {
    assistant(name, parent, at, json!({ "summary": true }), vec![text(&format!("summary {name}"))])
}

/// The names of messages, in order.
pub(crate) fn names<'a>(messages: impl IntoIterator<Item = &'a MessageWithParts>) -> String {
    let names: Vec<&str> = messages.into_iter().map(|message| &message.info.id().as_str()[4..]).collect();
    names.join(" ")
}
