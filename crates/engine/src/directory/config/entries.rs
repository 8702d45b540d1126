//! The sections that name things: agents, commands, formatters, language servers.
//!
//! Each entry is deserialised once, after the document was checked (`shape.rs`), in the order of the files. An entry
//! that is `null` is as good as none, and so is such a field of one. What an agent says beyond the keys of an agent is
//! for its provider, and what a language server is started with is for that server: both stay as they are.
//!
//! Not here: MCP servers (`servers.rs`), providers (read by the catalog of `sturdy_llm`).

use super::sections::count;
use crate::directory::agents::Mode;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// Entries by name, as they stand.
pub(super) type Named<T> = Vec<(String, T)>;

/// The keys that lead to a value, and what is wrong with it.
pub(super) type Mistake = (Vec<String>, String);

/// What is named in a document.
pub(super) struct Entries {
    /// The older word for primary agents.
    pub(super) modes: Named<AgentEntry>,
    pub(super) agents: Named<AgentEntry>,
    pub(super) commands: Named<CommandEntry>,
    pub(super) formatters: Programs<FormatterEntry>,
    pub(super) languages: Programs<LanguageEntry>,
    /// Of every agent.
    pub(super) tools: Vec<(String, bool)>,
    pub(super) permission: Value,
}

impl Entries {
    /// # Errors
    /// What a check let pass and still cannot be used, with its place.
    pub(super) fn read(document: &Map<String, Value>) -> Result<Self, Mistake> {
        Ok(Self {
            modes: named(document, "mode")?,
            agents: named(document, "agent")?,
            commands: named(document, "command")?,
            formatters: programs(document, "formatter")?,
            languages: programs(document, "lsp")?,
            tools: switches(document.get("tools").unwrap_or(&Value::Null))
                .map_err(|cause| (vec!["tools".to_owned()], cause.to_string()))?,
            permission: document.get("permission").cloned().unwrap_or_default(),
        })
    }
}

/// What the configuration says about an agent; what it does not say is as it was.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct AgentEntry {
    /// `provider/model`.
    pub model: Option<String>,
    pub variant: Option<String>,
    pub prompt: Option<String>,
    pub description: Option<String>,
    pub color: Option<String>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub hidden: Option<bool>,
    pub disable: Option<bool>,
    pub mode: Option<Mode>,
    #[serde(deserialize_with = "count")]
    pub steps: Option<u32>,
    /// The older word for `steps`.
    #[serde(rename = "maxSteps", deserialize_with = "count")]
    pub max_steps: Option<u32>,
    pub options: Option<Map<String, Value>>,
    #[serde(deserialize_with = "switches")]
    pub tools: Vec<(String, bool)>,
    /// Tools and patterns have names that nobody knows here; `sturdy_session::rules` reads them.
    pub permission: Value,
    /// Said by the key already.
    name: Option<IgnoredAny>,
    /// Every other key is an option for the provider.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct CommandEntry {
    pub template: Option<String>,
    pub description: Option<String>,
    pub agent: Option<String>,
    /// `provider/model`.
    pub model: Option<String>,
    pub variant: Option<String>,
    pub subtask: Option<bool>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct FormatterEntry {
    pub disabled: Option<bool>,
    #[serde(deserialize_with = "texts")]
    pub command: Option<Vec<String>>,
    #[serde(deserialize_with = "texts")]
    pub extensions: Option<Vec<String>>,
    #[serde(deserialize_with = "pairs")]
    pub environment: Vec<(String, String)>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct LanguageEntry {
    pub disabled: Option<bool>,
    #[serde(deserialize_with = "texts")]
    pub command: Option<Vec<String>>,
    #[serde(deserialize_with = "texts")]
    pub extensions: Option<Vec<String>>,
    #[serde(deserialize_with = "pairs")]
    pub env: Vec<(String, String)>,
    /// A `null` is a word of its own here: nothing, whatever is known of the server.
    #[serde(deserialize_with = "said")]
    pub initialization: Option<Value>,
}

/// Shows nothing of an entry: prompts are somebody's words, and variables and options may hold keys.
macro_rules! quiet {
    ($($entry:ident)*) => {$(
        impl fmt::Debug for $entry {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($entry), "(..)"))
            }
        }
    )*};
}

quiet!(AgentEntry CommandEntry FormatterEntry LanguageEntry);

/// Programs that are started for files.
#[derive(Clone, Debug)]
pub enum Programs<T> {
    /// None of them.
    Off,
    /// Those that are known and here.
    Known,
    /// The same, with these put over those of the same name.
    Changed(Vec<(String, T)>),
}

fn programs<T: DeserializeOwned>(document: &Map<String, Value>, key: &str) -> Result<Programs<T>, Mistake> {
    match document.get(key) {
        Some(Value::Bool(true)) => Ok(Programs::Known),
        Some(Value::Object(_)) => named(document, key).map(Programs::Changed),
        _ => Ok(Programs::Off),
    }
}

fn named<T: DeserializeOwned>(document: &Map<String, Value>, key: &str) -> Result<Named<T>, Mistake> {
    let entries = document.get(key).and_then(Value::as_object).into_iter().flatten();
    let entry = |(name, entry): (&String, &Value)| match T::deserialize(entry) {
        Ok(read) => Ok((name.clone(), read)),
        Err(cause) => Err((vec![key.to_owned(), name.clone()], cause.to_string())),
    };
    entries.filter(|(_, entry)| !entry.is_null()).map(entry).collect()
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let items = Option::<Vec<Option<String>>>::deserialize(deserializer)?;
    Ok(items.map(|items| items.into_iter().flatten().collect()))
}

fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    by_name(deserializer, |value| value.as_str().map(str::to_owned))
}

fn switches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, bool)>, D::Error> {
    by_name(deserializer, Value::as_bool)
}

/// In the order of the document. What is `null` is left out.
fn by_name<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<(String, T)>, D::Error> {
    let map = Option::<Map<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(map.into_iter().filter_map(|(name, value)| Some((name, read(&value)?))).collect())
}

fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
