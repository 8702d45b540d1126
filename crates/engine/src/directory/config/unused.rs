//! Settings of OpenCode that have no effect here. Each is named in a warning.
//!
//! Keys that belong to the terminal program are not among them: it reads the same files.

use super::merge::{Level, Merged};
use super::places::{Places, files_below};
use super::warning::Warning;
use serde_json::{Map, Value};
use std::path::Path;

/// Keys without effect, and what to do instead.
const KEYS: [(&[&str], &str); 14] = [
    (&["references"], "references are not read"),
    (&["reference"], "references are not read"),
    (&["skills", "urls"], "skills are read from directories, not fetched; put them into .opencode/skill"),
    (&["watcher"], "files are not watched"),
    (&["logLevel"], "use sturdy serve --log-level"),
    (&["server"], "use the flags of sturdy serve"),
    (&["autoupdate"], "the program does not update itself"),
    (&["layout"], "there is one layout"),
    (&["experimental", "batch_tool"], "there is no such tool; models call several tools at once"),
    (&["experimental", "openTelemetry"], "traces are sent where the OTEL_ variables of the environment say"),
    (&["experimental", "policies"], "use \"permission\", \"enabled_providers\" and \"disabled_providers\""),
    (&["experimental", "hook"], "hooks are not run"),
    (&["experimental", "chatMaxRetries"], "failures are tried again as the provider asks"),
    (&["experimental", "disable_paste_summary"], "this is a matter of the terminal program"),
];

/// Variables of the reference that have no effect, and what to do instead.
const VARIABLES: [(&str, &str); 16] = [
    ("OPENCODE_DB", "sturdy has a store of its own; use sturdy serve --data-dir"),
    ("OPENCODE_DISABLE_CHANNEL_DB", "there is one store for all versions"),
    ("OPENCODE_AUTO_SHARE", "write \"share\": \"auto\" into the configuration"),
    ("OPENCODE_MODELS_URL", "lists of models are not fetched; the one OpenCode fetched last is read"),
    ("OPENCODE_CLIENT", "clients say themselves who they are"),
    ("OPENCODE_LOG_LEVEL", "use sturdy serve --log-level"),
    ("OPENCODE_ENABLE_EXA", NO_SEARCH),
    ("OPENCODE_EXPERIMENTAL_EXA", NO_SEARCH),
    ("OPENCODE_ENABLE_PARALLEL", NO_SEARCH),
    ("OPENCODE_EXPERIMENTAL_PARALLEL", NO_SEARCH),
    ("OPENCODE_WEBSEARCH_PROVIDER", NO_SEARCH),
    ("OPENCODE_EXPERIMENTAL_PLAN_MODE", "plans are not written to files"),
    ("OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS", "a turn waits for its sub-agents"),
    ("OPENCODE_EXPERIMENTAL_CODE_MODE", "there is no such tool"),
    ("OPENCODE_EXPERIMENTAL_WORKSPACES", "there are no workspaces on other machines"),
    ("OPENCODE_EXPERIMENTAL_FILEWATCHER", "files are not watched"),
];

const NO_SEARCH: &str = "there is no websearch; an MCP server can search";

/// Keys, values, variables and files that have no effect.
pub(super) fn warnings(merged: &Merged, places: &Places) -> Vec<Warning> {
    let mut all: Vec<Warning> = KEYS
        .iter()
        .filter(|(path, _)| value(&merged.value, path).is_some_and(has_meaning))
        .map(|(path, why)| at(merged, path, &format!("\"{}\" has no effect: {why}", path.join("."))))
        .collect();
    for name in merged.value.get("plugin").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().or_else(|| name.get(0).and_then(Value::as_str)).unwrap_or("?");
        all.push(at(
            merged,
            &["plugin"],
            &format!("the plugin {name} is not run: plugins of OpenCode are not supported"),
        ));
    }
    for (name, provider) in merged.value.get("provider").and_then(Value::as_object).into_iter().flatten() {
        if value_below(provider, &["options", "enterpriseUrl"]).is_some_and(has_meaning) {
            let path = ["provider", name, "options", "enterpriseUrl"];
            let why = "use \"baseURL\" for an address of your own";
            all.push(at(merged, &path, &format!("\"{}\" has no effect: {why}", path.join("."))));
        }
    }
    let languages: Vec<&str> = sturdy_worktree::lsp::known_names().collect();
    let formatters: Vec<&str> = sturdy_worktree::format::known_names().collect();
    all.extend(incomplete(merged, "lsp", &languages));
    all.extend(incomplete(merged, "formatter", &formatters));
    for key in ["sandbox", "visible_variables"] {
        let path = ["experimental", key];
        let origin = merged.origin(&path.map(str::to_owned));
        let is_projects = origin.is_some_and(|origin| origin.level == Level::Project);
        if is_projects && value(&merged.value, &path).is_some() {
            let why = format!(
                "\"experimental.{key}\" of a project has no effect: it counts in your own settings alone"
            );
            all.push(at(merged, &path, &why));
        }
    }
    let set = VARIABLES.iter().filter(|(name, _)| places.environment.filled(name).is_some());
    all.extend(set.map(|(name, why)| Warning {
        message: format!("the variable {name} has no effect: {why}"),
        file: None,
        line: None,
    }));
    all.extend(programs(places));
    let file = places.environment.shared_data_dir().join("auth.json");
    let stored = places.environment.credentials().unwrap_or_default();
    all.extend(stored.well_known().map(|address| {
        let why = "copy what you need of them into your own";
        Warning::about(&file, format!("names {address}, whose published settings are not fetched: {why}"))
    }));
    all
}

/// Programs that are switched on and would never be started: nobody knows their command or which files they take.
fn incomplete(merged: &Merged, section: &str, known: &[&str]) -> Vec<Warning> {
    let entries = merged.value.get(section).and_then(Value::as_object).into_iter().flatten();
    let entries = entries.filter(|(name, entry)| {
        !known.contains(&name.as_str()) && entry.is_object() && entry["disabled"] != true
    });
    let warning = |(name, entry): (&String, &Value)| {
        let missing: Vec<String> = ["command", "extensions"]
            .iter()
            .filter(|key| !has_meaning(&entry[**key]))
            .map(|key| format!("\"{key}\""))
            .collect();
        let why = format!("{name} is not known here, so it needs {}", missing.join(" and "));
        let told = || at(merged, &[section, name], &format!("\"{section}.{name}\" has no effect: {why}"));
        (!missing.is_empty()).then(told)
    };
    entries.filter_map(warning).collect()
}

/// Plugins and tools written for OpenCode, in the directories where it looks for them.
fn programs(places: &Places) -> Vec<Warning> {
    let is_script =
        |path: &Path| path.extension().is_some_and(|extension| extension == "ts" || extension == "js");
    let mut all = Vec::new();
    for dir in places.directories() {
        for (name, what) in [
            ("plugin", "plugins"),
            ("plugins", "plugins"),
            ("tool", "custom tools"),
            ("tools", "custom tools"),
        ] {
            let found = files_below(&dir.join(name), false, &is_script);
            all.extend(found.iter().map(|file| {
                Warning::about(file, format!("is not run: {what} of OpenCode are not supported"))
            }));
        }
    }
    all
}

fn value<'a>(document: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, below) = path.split_first()?;
    value_below(document.get(*first)?, below)
}

fn value_below<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

/// `false`, nothing and empty lists ask for what is so anyway.
fn has_meaning(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    }
}

fn at(merged: &Merged, path: &[&str], message: &str) -> Warning {
    let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    Warning::at(merged, &path, message)
}
