//! The configuration as `GET /config` shows it: deprecated keys are repeated under their newer names.
//!
//! `mode` becomes agents, `tools` become permissions, `maxSteps` becomes `steps`, and what an agent says
//! beyond the known keys goes to its provider. So a client reads one place, whatever the file says.

use super::shape;
use serde_json::{Map, Value, json};

/// What terminals read for themselves; no server answers with it.
const TERMINAL: &[&str] = &["theme", "keybinds", "tui"];

/// Keys of an agent that are not passed on to its provider.
const AGENT_KEYS: &[&str] = &[
    "name",
    "model",
    "variant",
    "temperature",
    "top_p",
    "prompt",
    "tools",
    "disable",
    "description",
    "mode",
    "hidden",
    "options",
    "color",
    "steps",
    "maxSteps",
    "permission",
];

/// Says a document in the newest words.
pub(super) fn settle(map: &mut Map<String, Value>) {
    map.retain(|key, _| shape::is_known(key) && !TERMINAL.contains(&key.as_str()));
    let mut agents = object(map.get("agent"));
    let mut modes = object(map.get("mode"));
    agents.values_mut().chain(modes.values_mut()).for_each(settle_agent);
    for (name, mode) in &modes {
        let agent = agents.entry(name.clone()).or_insert_with(|| json!({}));
        if let (Value::Object(agent), Value::Object(mode)) = (agent, mode) {
            agent.extend(mode.clone());
            agent.insert("mode".to_owned(), json!("primary"));
        }
    }
    map.insert("agent".to_owned(), Value::Object(agents));
    map.insert("mode".to_owned(), Value::Object(modes));
    if map.contains_key("tools") || map.contains_key("permission") {
        let rules = permission(map.get("tools"), map.get("permission"));
        map.insert("permission".to_owned(), Value::Object(rules));
    }
}

fn settle_agent(agent: &mut Value) {
    let Value::Object(agent) = agent else { return };
    let mut options = object(agent.get("options"));
    for (key, value) in agent.iter().filter(|(key, _)| !AGENT_KEYS.contains(&key.as_str())) {
        options.insert(key.clone(), value.clone());
    }
    let rules = permission(agent.get("tools"), agent.get("permission"));
    if let Some(steps) = agent.get("steps").or_else(|| agent.get("maxSteps")).cloned() {
        agent.insert("steps".to_owned(), steps);
    }
    agent.insert("options".to_owned(), Value::Object(options));
    agent.insert("permission".to_owned(), Value::Object(rules));
}

/// Switches first, then what is said about permissions, which is the newer word.
fn permission(tools: Option<&Value>, said: Option<&Value>) -> Map<String, Value> {
    let mut rules = Map::new();
    for (tool, value) in object(tools) {
        let action = if value == Value::Bool(true) { "allow" } else { "deny" };
        // One permission is about all tools that change files.
        let name =
            if matches!(tool.as_str(), "write" | "edit" | "patch" | "multiedit") { "edit" } else { &tool };
        rules.insert(name.to_owned(), json!(action));
    }
    match said {
        Some(Value::String(action)) => {
            rules.insert("*".to_owned(), json!(action));
        }
        other => rules.extend(object(other)),
    }
    rules
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}
