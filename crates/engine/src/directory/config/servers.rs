//! The `mcp` section: an entry becomes a typed one, once.
//!
//! Reads what files say and what a client sends. Files were checked before (`shape.rs`); what is wrong beyond that, an
//! empty command for one, leaves the server out and is a warning with the file and the line.

use super::merge::Merged;
use super::warning::Warning;
use serde_json::{Map, Value};
use std::fmt;
use sturdy_worktree::mcp::OAuth;

/// An MCP server as somebody configured it. Holds keys: it goes to its client and nowhere else.
#[derive(Clone)]
pub struct McpEntry {
    pub place: McpPlace,
    pub is_enabled: bool,
    pub timeout_ms: Option<u64>,
}

/// Keys may stand in any of it.
impl fmt::Debug for McpEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpEntry").field("place", &self.place).finish_non_exhaustive()
    }
}

/// How it is reached.
#[derive(Clone)]
pub enum McpPlace {
    /// A program that is started.
    Local { command: Vec<String>, cwd: Option<String>, environment: Vec<(String, String)> },
    /// An address; without `oauth` nobody logs in.
    Remote { url: String, headers: Vec<(String, String)>, oauth: Option<OAuth> },
}

impl fmt::Debug for McpPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local { .. } => "Local(..)",
            Self::Remote { .. } => "Remote(..)",
        })
    }
}

/// The servers of a document, and what is to be said about those that cannot be used.
pub(super) fn servers(merged: &Merged) -> (Vec<(String, McpEntry)>, Vec<Warning>) {
    let mut servers = Vec::new();
    let mut warnings = Vec::new();
    for (name, entry) in merged.value.get("mcp").and_then(Value::as_object).into_iter().flatten() {
        // An entry without a type only switches one of an earlier layer; alone it is nothing.
        let Some(entry) = entry.as_object().filter(|entry| entry.contains_key("type")) else { continue };
        match McpEntry::read(name, entry) {
            Ok(server) => servers.push((name.clone(), server)),
            Err(why) => warnings.push(Warning::at(merged, &["mcp".to_owned(), name.clone()], why)),
        }
    }
    (servers, warnings)
}

impl McpEntry {
    /// # Errors
    /// What is wrong, in words that name the server.
    pub fn read(name: &str, entry: &Map<String, Value>) -> Result<Self, String> {
        read(entry).map_err(|why| format!("The MCP server {name:?} cannot be used: {why}"))
    }
}

fn read(entry: &Map<String, Value>) -> Result<McpEntry, String> {
    let timeout_ms = number(entry, "timeout")?;
    let place = match entry.get("type").and_then(Value::as_str) {
        Some("local") => local(entry)?,
        Some("remote") => remote(entry)?,
        _ => return Err("its type is neither \"local\" nor \"remote\"".to_owned()),
    };
    let is_enabled = flag(entry, "enabled")?.unwrap_or(true);
    Ok(McpEntry { place, is_enabled, timeout_ms })
}

fn local(entry: &Map<String, Value>) -> Result<McpPlace, String> {
    let words = entry.get("command").and_then(Value::as_array);
    let command: Option<Vec<String>> =
        words.and_then(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    let command = command.ok_or("its \"command\" is not a list of texts")?;
    if command.first().is_none_or(String::is_empty) {
        return Err("its \"command\" names no program".to_owned());
    }
    Ok(McpPlace::Local { command, cwd: text(entry, "cwd")?, environment: pairs(entry, "environment")? })
}

fn remote(entry: &Map<String, Value>) -> Result<McpPlace, String> {
    let url = text(entry, "url")?.ok_or("its \"url\" is missing")?;
    let oauth = match entry.get("oauth") {
        None | Some(Value::Null) => Some(OAuth::default()),
        Some(Value::Bool(false)) => None,
        Some(Value::Object(oauth)) => Some(OAuth {
            client_id: text(oauth, "clientId")?,
            client_secret: text(oauth, "clientSecret")?,
            scope: text(oauth, "scope")?,
            callback_port: number(oauth, "callbackPort")?
                .map(|port| u16::try_from(port).map_err(|_| "its \"callbackPort\" is no port"))
                .transpose()?,
            redirect_uri: text(oauth, "redirectUri")?,
        }),
        Some(_) => return Err("its \"oauth\" is neither an object nor false".to_owned()),
    };
    Ok(McpPlace::Remote { url, headers: pairs(entry, "headers")?, oauth })
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("its {key:?} is not a text")),
    }
}

fn flag(map: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(format!("its {key:?} is neither true nor false")),
    }
}

/// A whole number above zero; JSON writes 3 and 3.0 for the same.
fn number(map: &Map<String, Value>, key: &str) -> Result<Option<u64>, String> {
    let Some(value) = map.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
    let number = value.as_f64().filter(|number| *number >= 1.0 && number.fract() == 0.0);
    number
        .map(|number| Some(number as u64))
        .ok_or_else(|| format!("its {key:?} is not a whole number above 0"))
}

fn pairs(map: &Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!("its {key:?} are not texts by name");
    match map.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(pairs)) => {
            let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            pairs.iter().map(pair).collect::<Option<Vec<_>>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}
