//! The configuration's word on agents: change one, add one, take one away.

use super::{Agent, AgentModel, Entry, Mode, native};
use crate::directory::config::{ConfigError, Settings};
use serde_json::Value;
use sturdy_session::json::Map;
use sturdy_session::types::session::Rule;

/// Keys with a meaning of their own; every other key is an option for the provider.
const KNOWN: [&str; 16] = [
    "name",
    "model",
    "variant",
    "prompt",
    "description",
    "temperature",
    "top_p",
    "mode",
    "hidden",
    "color",
    "steps",
    "maxSteps",
    "options",
    "permission",
    "disable",
    "tools",
];

/// Lays the configuration over the built-in agents.
pub(super) fn apply(
    list: &mut Vec<Agent>,
    settings: &Settings,
    rules: &[Rule],
    entries: Vec<Entry<'_>>,
    grounds: &native::Grounds,
) -> Result<(), ConfigError> {
    for (section, name, entry) in entries {
        if entry.get("disable").and_then(Value::as_bool) == Some(true) {
            list.retain(|agent| agent.name != name);
            continue;
        }
        if !list.iter().any(|agent| agent.name == name) {
            list.push(native::unknown(name, rules, grounds));
        }
        let agent = list.iter_mut().find(|agent| agent.name == name).expect("BUG: the agent was just added");
        if section == "mode" {
            agent.mode = Mode::Primary;
        }
        change(agent, entry, &[section, name], settings)?;
    }
    Ok(())
}

fn change(agent: &mut Agent, entry: &Map, path: &[&str], settings: &Settings) -> Result<(), ConfigError> {
    let at = |key| path.iter().copied().chain([key]).collect::<Vec<&str>>();
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| entry.get(key).and_then(Value::as_f64);
    let count = |key: &str| number(key).map(|steps| steps.min(f64::from(u32::MAX)) as u32);

    if let Some(model) = text("model") {
        let parsed = AgentModel::parse(&model);
        agent.model =
            Some(parsed.ok_or_else(|| settings.wrong(&at("model"), "Expected \"provider/model\""))?);
    }
    agent.variant = text("variant").or(agent.variant.take());
    agent.prompt = text("prompt").or(agent.prompt.take());
    agent.description = text("description").or(agent.description.take());
    agent.color = text("color").or(agent.color.take());
    agent.temperature = number("temperature").or(agent.temperature);
    agent.top_p = number("top_p").or(agent.top_p);
    agent.hidden = entry.get("hidden").and_then(Value::as_bool).or(agent.hidden);
    agent.steps = count("steps").or_else(|| count("maxSteps")).or(agent.steps);
    agent.mode = match entry.get("mode").and_then(Value::as_str) {
        Some("primary") => Mode::Primary,
        Some("subagent") => Mode::Subagent,
        Some("all") => Mode::All,
        _ => agent.mode,
    };

    if let Some(options) = entry.get("options").and_then(Value::as_object) {
        merge(&mut agent.options, options);
    }
    let others = entry.iter().filter(|(key, _)| !KNOWN.contains(&key.as_str()));
    merge(&mut agent.options, &others.map(|(key, value)| (key.clone(), value.clone())).collect());

    agent.permission.extend(settings.rules_of(entry, path)?);
    Ok(())
}

fn merge(into: &mut Map, from: &Map) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            (_, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}
