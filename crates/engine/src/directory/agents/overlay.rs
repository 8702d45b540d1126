//! Agents of the configuration: changes of built-in ones, new ones, disabled ones.

use super::{Agent, AgentModel, Entry, Mode, native};
use crate::directory::config::{AgentEntry, ConfigError, Settings};
use serde_json::Value;
use sturdy_session::json::Map;
use sturdy_session::types::session::Rule;

/// Lays the configuration over the built-in agents.
pub(super) fn apply(
    list: &mut Vec<Agent>,
    settings: &Settings,
    rules: &[Rule],
    entries: Vec<Entry<'_>>,
    grounds: &native::OutsideAccess,
) -> Result<(), ConfigError> {
    for (section, name, entry) in entries {
        if entry.disable == Some(true) {
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

fn change(
    agent: &mut Agent,
    entry: &AgentEntry,
    path: &[&str],
    settings: &Settings,
) -> Result<(), ConfigError> {
    if let Some(model) = &entry.model {
        let at: Vec<&str> = path.iter().copied().chain(["model"]).collect();
        let parsed = AgentModel::parse(model);
        agent.model = Some(parsed.ok_or_else(|| settings.wrong(&at, "Expected \"provider/model\""))?);
    }
    let said = |word: &Option<String>, before: &mut Option<String>| word.clone().or(before.take());
    agent.variant = said(&entry.variant, &mut agent.variant);
    agent.prompt = said(&entry.prompt, &mut agent.prompt);
    agent.description = said(&entry.description, &mut agent.description);
    agent.color = said(&entry.color, &mut agent.color);
    agent.temperature = entry.temperature.or(agent.temperature);
    agent.top_p = entry.top_p.or(agent.top_p);
    agent.hidden = entry.hidden.or(agent.hidden);
    agent.steps = entry.steps.or(entry.max_steps).or(agent.steps);
    agent.mode = entry.mode.unwrap_or(agent.mode);

    if let Some(options) = &entry.options {
        merge(&mut agent.options, options);
    }
    merge(&mut agent.options, &entry.others);

    agent.permission.extend(settings.rules_of(&entry.tools, &entry.permission, path)?);
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
