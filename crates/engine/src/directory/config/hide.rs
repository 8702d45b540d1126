//! Taking secrets out of what leaves the server.
//!
//! Three nets, one behind the other: values under a key that sounds like a secret, values that came from
//! the environment or another file, and whole maps of headers and variables. URLs lose their user,
//! password and query, and their path too if any of it came from outside. Of an MCP server's command
//! only the program is shown; of a language server no options.
//!
//! `without_secrets` is for the configuration itself: secrets are left out, not starred, because a
//! client that sends back what it got would store the stars. `scrub` is for everything that was made
//! from it (providers, agents, commands, errors of MCP servers), where a secret becomes stars in place.

use super::merge::{Keys, Merged};
use super::settings::Settings;
use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

const STARS: &str = "***";

/// Sections the engine itself reads. Elsewhere, also in sections nobody knows, values are handed to other
/// programs: what was put into them from outside is a key until shown otherwise.
const OWN: [&str; 19] = [
    "$schema",
    "shell",
    "logLevel",
    "command",
    "skills",
    "watcher",
    "share",
    "disabled_providers",
    "enabled_providers",
    "model",
    "small_model",
    "default_agent",
    "username",
    "mode",
    "agent",
    "instructions",
    "permission",
    "theme",
    "layout",
];

/// Maps of names a person chose; the names say nothing about the values.
const NAMED: [&str; 10] =
    ["agent", "mode", "command", "provider", "models", "mcp", "formatter", "lsp", "references", "reference"];

/// Maps of headers and variables.
const CARRIERS: [&str; 4] = ["headers", "environment", "env", "oauth"];

/// Of the sections the engine reads, these are texts for a model. What was put into them may be anything;
/// what was put elsewhere (the name of a model, a theme) is no secret and clients need it.
const TEXTS: [&str; 3] = ["prompt", "template", "description"];

/// A shorter text is too likely to stand in another one by chance.
const SECRET_BYTES_MIN: usize = 6;

/// What came from the environment or another file.
#[derive(Debug, Default)]
struct Replaced {
    texts: Vec<String>,
    urls: Vec<String>,
}

impl Replaced {
    fn of(merged: &Merged) -> Self {
        let mut found = Self::default();
        found.gather(&merged.value, merged, &mut Vec::new());
        // The longest first: a secret may be part of another.
        found.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        found
    }

    fn gather(&mut self, map: &Map<String, Value>, merged: &Merged, path: &mut Keys) {
        for (key, value) in map {
            path.push(key.clone());
            match value {
                Value::Object(map) => self.gather(map, merged, path),
                value if is_hidden_if_replaced(path) && merged.is_replaced(path) => self.keep(key, value),
                _ => {}
            }
            path.pop();
        }
    }

    fn keep(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) if text.len() < SECRET_BYTES_MIN => {}
            Value::String(text) if is_address(key) => self.urls.push(text.clone()),
            Value::String(text) => self.texts.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.keep(key, item)),
            Value::Object(map) => map.values().for_each(|item| self.keep(key, item)),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }
}

fn is_hidden_if_replaced(path: &[String]) -> bool {
    let is_own = path.first().is_some_and(|section| OWN.contains(&section.as_str()));
    let is_text = path.last().is_some_and(|key| TEXTS.contains(&key.as_str()));
    // The options of an agent go to a provider.
    !is_own || is_text || path.iter().any(|key| key == "options")
}

impl Settings {
    /// What a client may see of something that was made from these settings: secrets are stars.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn shown<T: Serialize + ?Sized>(&self, made: &T) -> Value {
        let mut value = serde_json::to_value(made).expect("BUG: what clients see is always JSON");
        scrub(&mut value, &Replaced::of(&self.merged));
        value
    }
}

/// Puts stars in the place of every secret.
fn scrub(value: &mut Value, replaced: &Replaced) {
    match value {
        Value::String(text) => *text = scrubbed(text, replaced),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(item, replaced)),
        Value::Object(map) => {
            for (key, value) in map {
                if CARRIERS.contains(&key.as_str()) && value.is_object() {
                    star_all(value);
                } else if value.is_string() && sounds_secret(key) {
                    *value = Value::from(STARS);
                } else {
                    scrub(value, replaced);
                }
            }
        }
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn star_all(value: &mut Value) {
    match value {
        Value::String(_) => *value = Value::from(STARS),
        Value::Array(items) => items.iter_mut().for_each(star_all),
        Value::Object(map) => map.values_mut().for_each(star_all),
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn scrubbed(text: &str, replaced: &Replaced) -> String {
    if replaced.urls.iter().any(|url| url == text) {
        return only_site(text);
    }
    let mut text = text.to_owned();
    for secret in &replaced.texts {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), STARS);
        }
    }
    // A text for people or models may have a URL in it, and spaces; a setting that is a URL has none.
    if text.contains("://") && !text.contains(char::is_whitespace) { bare_address(&text) } else { text }
}

/// The document without anything secret.
pub(super) fn without_secrets(merged: &Merged) -> Map<String, Value> {
    clean(&merged.value, merged, &mut Vec::new(), false)
}

fn clean(map: &Map<String, Value>, merged: &Merged, path: &mut Keys, is_named: bool) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in map {
        path.push(key.clone());
        if let Some(value) = shown(key, value, merged, path, is_named) {
            out.insert(key.clone(), value);
        }
        path.pop();
    }
    out
}

fn shown(key: &str, value: &Value, merged: &Merged, path: &mut Keys, is_named: bool) -> Option<Value> {
    let is_own = path.first().is_some_and(|section| OWN.contains(&section.as_str()));
    // The options of an agent go to a provider.
    let is_foreign = !is_own || path.iter().any(|key| key == "options");
    if !is_named {
        // The `env` of a provider is a list of names of variables, and stays.
        if is_foreign && CARRIERS.contains(&key) && !(key == "env" && value.is_array()) {
            return None;
        }
        // Patterns of commands and paths, and switches of tools: no secrets, and odd names.
        if key == "permission" || key == "tools" || key == "keybinds" {
            return Some(value.clone());
        }
        if sounds_secret(key) && !matches!(value, Value::Number(_) | Value::Bool(_) | Value::Null) {
            return None;
        }
    }
    // Of a language server, what it is told at its start.
    if is_foreign && key == "initialization" {
        return None;
    }
    let is_replaced = is_hidden_if_replaced(path) && merged.is_replaced(path);
    if is_replaced && !is_address(key) {
        return None;
    }
    match value {
        Value::String(text) if is_replaced => Some(Value::String(only_site(text))),
        Value::Object(map) => {
            Some(Value::Object(clean(map, merged, path, !is_named && NAMED.contains(&key))))
        }
        Value::String(text) if is_address(key) || text.contains("://") => {
            Some(Value::String(bare_address(text)))
        }
        Value::Array(items) if key == "command" && path[0] == "mcp" => {
            Some(Value::Array(only_program(items)))
        }
        Value::Array(items) if key == "command" => Some(Value::Array(without_arguments(items))),
        Value::Array(items) => Some(Value::Array(items.iter().map(item).collect())),
        other => Some(other.clone()),
    }
}

/// Inside a list there are no places to look up; names of keys still speak.
fn item(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let is_open = |(key, value): &(&String, &Value)| {
                !sounds_secret(key) || matches!(value, Value::Number(_) | Value::Bool(_) | Value::Null)
            };
            let entry = |(key, value): (&String, &Value)| (key.clone(), item(value));
            Value::Object(map.iter().filter(is_open).map(entry).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(item).collect()),
        Value::String(text) if text.contains("://") => Value::String(bare_address(text)),
        other => other.clone(),
    }
}

fn sounds_secret(key: &str) -> bool {
    const PARTS: [&str; 12] = [
        "apikey",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "authorization",
        "bearer",
        "privatekey",
        "accesskey",
        "cookie",
        "auth",
    ];
    const ENDS: [&str; 4] = ["key", "keyid", "token", "tokens"];
    let letters: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    PARTS.iter().any(|part| letters.contains(part)) || ENDS.iter().any(|end| letters.ends_with(end))
}

fn is_address(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("url") || key == "api"
}

/// An address without user, password and query. A text with an address in it stays as it is, unless
/// the address has a user.
pub(super) fn bare_address(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return if text.contains('@') && text.contains("://") { STARS.to_owned() } else { text.to_owned() };
    };
    let has_secret = !url.username().is_empty() || url.password().is_some() || url.query().is_some();
    if !has_secret || url.cannot_be_a_base() {
        return text.to_owned();
    }
    // Refused only by addresses that have no place for them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.into()
}

/// Scheme, host and port of a URL; `***` if the text is not a URL.
fn only_site(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return STARS.to_owned() };
    if url.cannot_be_a_base() {
        return STARS.to_owned();
    }
    // Refused only by URLs that have no place for them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.set_path("");
    url.into()
}

/// The program of a command line, and stars for each argument.
fn only_program(items: &[Value]) -> Vec<Value> {
    let arguments = items.iter().skip(1).map(|_| Value::from(STARS));
    items.first().map(item).into_iter().chain(arguments).collect()
}

/// A command line without what follows `--api-key` and the like.
fn without_arguments(items: &[Value]) -> Vec<Value> {
    let mut out = Vec::with_capacity(items.len());
    let mut hide_next = false;
    for value in items {
        let text = value.as_str().unwrap_or_default();
        let flag = text.split_once('=').map(|(name, _)| name);
        out.push(match flag {
            _ if hide_next => Value::String(STARS.to_owned()),
            Some(name) if sounds_secret(name) => Value::String(format!("{name}={STARS}")),
            _ => item(value),
        });
        hide_next = text.starts_with('-') && flag.is_none() && sounds_secret(text);
    }
    out
}
