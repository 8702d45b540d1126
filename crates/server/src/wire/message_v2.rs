//! Messages in the spelling of the v2 API, made from those that are stored.
//!
//! There is one store of messages; the two versions of the API show it in two ways. A stored message becomes at most
//! one message here: what only asks for a summary becomes none, because the summary behind it says all.

use serde_json::{Map, Value, json};
use sturdy_engine::reads::{RawMessage, Switch};
use sturdy_engine::records::{self, DamagedRecord, readable};
use sturdy_session::id::MessageId;

/// Why a conversation was summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SummaryReason {
    Auto,
    Manual,
}

impl SummaryReason {
    /// By the message that asked for the summary.
    pub(crate) fn of(request: &RawMessage) -> Self {
        let parts = records::parts_json(request).filter_map(readable);
        Self::by_parts(&parts.collect::<Vec<_>>())
    }

    pub(crate) fn by_parts(parts: &[Value]) -> Self {
        let is_auto = |part: &Value| part["type"] == "compaction" && part["auto"] == true;
        if parts.iter().any(is_auto) { Self::Auto } else { Self::Manual }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        }
    }
}

/// The message that asked for this one, if this one is a summary.
pub(crate) fn request_of(raw: &RawMessage) -> Option<MessageId> {
    let info = readable(records::info_json(raw))?;
    let request = info["parentID"].as_str().filter(|_| info["summary"] == true)?;
    MessageId::parse(request).ok()
}

/// None: v2 has no word for it. `reason` is that of a summary.
pub(crate) fn message(raw: &RawMessage, reason: SummaryReason) -> Result<Option<Value>, DamagedRecord> {
    let info = records::info_json(raw)?;
    let parts: Vec<Value> = records::parts_json(raw).collect::<Result<_, _>>()?;
    Ok(shown(&info, &parts, reason))
}

/// The same of a message that was read already.
pub(crate) fn shown(info: &Value, parts: &[Value], reason: SummaryReason) -> Option<Value> {
    match info["role"].as_str() {
        Some("user") => user(info, parts),
        _ if info["summary"] == true => Some(summary(info, parts, reason)),
        _ => Some(shell(info, parts).unwrap_or_else(|| assistant(info, parts))),
    }
}

/// Another agent or model was chosen.
pub(crate) fn switched(switch: &Switch) -> Value {
    let id = &switch.place.id;
    let time = json!({ "created": switch.at });
    match (&switch.agent, &switch.model) {
        (Some(agent), _) => json!({ "id": id, "type": "agent-switched", "agent": agent, "time": time }),
        (None, model) => json!({ "id": id, "type": "model-switched", "model": model, "time": time }),
    }
}

/// What a person wrote and attached, as `prompt` took it.
pub(crate) fn prompt(parts: &[Value]) -> Map<String, Value> {
    let of = |kind: &'static str| parts.iter().filter(move |part| part["type"] == kind);
    let typed = of("text").filter(|part| part["synthetic"] != true);
    let text: Vec<&str> = typed.filter_map(|part| part["text"].as_str()).collect();
    let files: Vec<Value> = of("file").map(attachment).collect();
    let agents: Vec<Value> = of("agent").map(mentioned).collect();
    let mut prompt = Map::new();
    prompt.insert("text".to_owned(), Value::from(text.join("\n")));
    if !files.is_empty() {
        prompt.insert("files".to_owned(), Value::from(files));
    }
    if !agents.is_empty() {
        prompt.insert("agents".to_owned(), Value::from(agents));
    }
    prompt
}

fn user(info: &Value, parts: &[Value]) -> Option<Value> {
    if parts.iter().any(|part| part["type"] == "compaction") {
        return None;
    }
    let is_typed = |part: &Value| part["type"] != "text" || part["synthetic"] != true;
    let time = json!({ "created": info["time"]["created"] });
    if !parts.is_empty() && !parts.iter().any(is_typed) {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        return Some(json!({ "id": info["id"], "type": "synthetic", "sessionID": info["sessionID"],
            "text": texts.join("\n"), "time": time }));
    }
    let mut out = prompt(parts);
    out.insert("id".to_owned(), info["id"].clone());
    out.insert("type".to_owned(), Value::from("user"));
    out.insert("time".to_owned(), time);
    Some(Value::Object(out))
}

fn attachment(part: &Value) -> Value {
    let mut out = json!({ "uri": part["url"], "mime": part["mime"] });
    if let Some(name) = part["filename"].as_str() {
        out["name"] = Value::from(name);
    }
    if let Some(place) = part["source"]["text"].as_object() {
        out["source"] = source(place);
    }
    out
}

fn mentioned(part: &Value) -> Value {
    let mut out = json!({ "name": part["name"] });
    if let Some(place) = part["source"].as_object() {
        out["source"] = source(place);
    }
    out
}

/// Where in the text it was named.
fn source(place: &Map<String, Value>) -> Value {
    let field = |name: &str| place.get(name).cloned().unwrap_or_default();
    json!({ "start": field("start"), "end": field("end"), "text": field("value") })
}

/// `recent` is empty: what was kept beside the summary stands behind it, as messages.
fn summary(info: &Value, parts: &[Value], reason: SummaryReason) -> Value {
    let texts: Vec<&str> =
        parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect();
    json!({ "id": info["id"], "type": "compaction", "reason": reason.name(), "summary": texts.join("\n"), "recent": "",
        "time": { "created": info["time"]["created"] } })
}

/// A command a person ran: one call and no step of a model around it.
fn shell(info: &Value, parts: &[Value]) -> Option<Value> {
    let [part] = parts else { return None };
    if part["type"] != "tool" || part["tool"] != "bash" {
        return None;
    }
    let state = &part["state"];
    let output = [&state["output"], &state["error"], &state["metadata"]["output"]];
    let output = output.into_iter().find_map(Value::as_str).unwrap_or_default();
    Some(
        json!({ "id": info["id"], "type": "shell", "callID": part["callID"], "command": state["input"]["command"],
        "output": output, "time": times(info) }),
    )
}

fn assistant(info: &Value, parts: &[Value]) -> Value {
    let variant = info["variant"].as_str().unwrap_or("default");
    let model = json!({ "id": info["modelID"], "providerID": info["providerID"], "variant": variant });
    let content: Vec<Value> = parts.iter().filter_map(content).collect();
    let mut out = json!({ "id": info["id"], "type": "assistant", "agent": info["agent"], "model": model,
        "content": content, "cost": info["cost"], "tokens": tokens(&info["tokens"]), "time": times(info) });
    if let Some(finish) = info["finish"].as_str() {
        out["finish"] = Value::from(finish);
    }
    if info["error"].is_object() {
        let message = info["error"]["data"]["message"].as_str().or(info["error"]["name"].as_str());
        out["error"] = json!({ "type": "unknown", "message": message.unwrap_or_default() });
    }
    if let Some(snapshot) = snapshot(parts) {
        out["snapshot"] = snapshot;
    }
    out
}

/// Without the total, which this half does not know.
fn tokens(tokens: &Value) -> Value {
    json!({ "input": tokens["input"], "output": tokens["output"], "reasoning": tokens["reasoning"],
        "cache": tokens["cache"] })
}

fn times(info: &Value) -> Value {
    let mut time = json!({ "created": info["time"]["created"] });
    if info["time"]["completed"].is_number() {
        time["completed"] = info["time"]["completed"].clone();
    }
    time
}

fn snapshot(parts: &[Value]) -> Option<Value> {
    let taken = |kind: &str| {
        parts.iter().filter(|part| part["type"] == kind).find_map(|part| part["snapshot"].as_str())
    };
    let start = taken("step-start")?;
    let mut out = json!({ "start": start, "files": [] });
    if let Some(end) = taken("step-finish") {
        out["end"] = Value::from(end);
    }
    if let Some(patch) = parts.iter().find(|part| part["type"] == "patch") {
        out["files"] = patch["files"].clone();
    }
    Some(out)
}

fn content(part: &Value) -> Option<Value> {
    match part["type"].as_str()? {
        "text" => Some(json!({ "type": "text", "id": part["id"], "text": part["text"] })),
        "reasoning" => {
            let mut time = json!({ "created": part["time"]["start"] });
            if part["time"]["end"].is_number() {
                time["completed"] = part["time"]["end"].clone();
            }
            Some(json!({ "type": "reasoning", "id": part["id"], "text": part["text"], "time": time }))
        }
        "tool" => Some(tool(part)),
        _ => None,
    }
}

fn tool(part: &Value) -> Value {
    let state = &part["state"];
    let start = &state["time"]["start"];
    let mut time = json!({ "created": if start.is_number() { start.clone() } else { Value::from(0) } });
    for (name, value) in
        [("ran", start), ("completed", &state["time"]["end"]), ("pruned", &state["time"]["compacted"])]
    {
        if value.is_number() {
            time[name] = value.clone();
        }
    }
    let executed = part["metadata"]["providerExecuted"] == true;
    json!({ "type": "tool", "id": part["callID"], "name": part["tool"], "provider": { "executed": executed },
        "state": tool_state(state), "time": time })
}

fn tool_state(state: &Value) -> Value {
    let structured = if state["metadata"].is_object() { state["metadata"].clone() } else { json!({}) };
    let text = |value: &Value| json!([{ "type": "text", "text": value }]);
    match state["status"].as_str() {
        Some("pending") => json!({ "status": "pending", "input": state["raw"].as_str().unwrap_or_default() }),
        Some("running") => {
            json!({ "status": "running", "input": state["input"], "structured": structured, "content": [] })
        }
        Some("completed") => {
            let mut out = json!({ "status": "completed", "input": state["input"], "structured": structured,
                "content": text(&state["output"]), "outputPaths": [] });
            if let Some(files) = state["attachments"].as_array() {
                out["attachments"] = files.iter().map(attachment).collect();
            }
            out
        }
        _ => json!({ "status": "error", "input": state["input"], "structured": structured, "content": [],
            "error": { "type": "unknown", "message": state["error"].as_str().unwrap_or_default() } }),
    }
}

#[cfg(test)]
mod tests;
