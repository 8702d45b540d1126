//! What the configuration says, checked once and not changed afterwards.
//!
//! The merged document stays as it is: keys nobody here knows belong to somebody else. What the engine
//! uses has a method; a value that is not set is `None` or the default written here.

use super::error::{ConfigError, Issue};
use super::hide;
use super::merge::{Merged, Origin, Source};
use super::places::Places;
use super::shape;
use super::wire;
use crate::directory::skills::{self, Skill};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use sturdy_session::rules::{self, RuleError};
use sturdy_session::types::session::Rule;
use tracing::warn;

const SCHEMA: &str = "https://opencode.ai/config.json";

/// The settings of one directory.
pub struct Settings {
    merged: Merged,
    user_level: Merged,
    places: Places,
    enabled_providers: Option<Vec<String>>,
    disabled_providers: Vec<String>,
    username: String,
    rules: Vec<Rule>,
    skills: Vec<Skill>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareMode {
    Manual,
    Auto,
    Disabled,
}

/// When and how a long conversation is shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    pub auto: bool,
    pub prune: bool,
    pub reserved: Option<u64>,
    pub tail_turns: Option<u64>,
    pub preserve_recent_tokens: Option<u64>,
}

/// The `attachment.image` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimits {
    pub max_width: Option<u32>,
    pub max_height: Option<u32>,
    pub max_base64_bytes: u64,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { max_width: None, max_height: None, max_base64_bytes: 5 * 1024 * 1024 }
    }
}

/// How much of a tool's output the model sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    pub max_lines: Option<u64>,
    pub max_bytes: Option<u64>,
}

impl Settings {
    /// Checks everything at once, so that a person sees all mistakes of a file and not the first.
    pub(super) fn check(merged: Merged, user_level: Merged, places: &Places) -> Result<Self, ConfigError> {
        let findings = shape::check(&merged.value);
        for (path, meant) in &findings.unknown {
            let origin = merged.origin(path);
            let place = origin.map_or_else(String::new, |origin| origin.source.to_string());
            let line = origin.and_then(|origin| origin.line);
            warn!(key = path.join("."), file = place, line, meant, "unknown key in the configuration");
        }
        if !findings.wrong.is_empty() {
            return Err(invalid(&merged, findings.wrong));
        }

        let texts = |key: &str| merged.value.get(key).and_then(Value::as_array).map(|items| texts(items));
        let variable = |name| places.environment.filled(name).map(str::to_owned);
        let username = merged.value.get("username").and_then(Value::as_str).map(str::to_owned);
        let username = username.or_else(|| variable("USER")).or_else(|| variable("LOGNAME"));
        let mut settings = Self {
            enabled_providers: texts("enabled_providers"),
            disabled_providers: texts("disabled_providers").unwrap_or_default(),
            username: username.unwrap_or_else(|| "unknown".to_owned()),
            rules: Vec::new(),
            skills: Vec::new(),
            places: places.clone(),
            merged,
            user_level,
        };
        settings.rules = settings.rules_of(&settings.merged.value, &[])?;
        settings.skills = skills::find(places, &settings.skill_paths());
        Ok(settings)
    }

    /// Where everything was looked for.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Where a value stands, for a message about it.
    #[must_use]
    pub fn origin(&self, path: &[&str]) -> Option<&Origin> {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        self.merged.origin(&path)
    }

    /// An error about a value that is well formed and still wrong.
    #[must_use]
    pub fn wrong(&self, path: &[&str], message: impl Into<String>) -> ConfigError {
        let path = path.iter().map(|key| (*key).to_owned()).collect();
        invalid(&self.merged, vec![(path, message.into())])
    }

    /// Rules of a `permission` and the older `tools` beside it.
    pub(crate) fn rules_of(
        &self,
        holder: &Map<String, Value>,
        path: &[&str],
    ) -> Result<Vec<Rule>, ConfigError> {
        let tools = holder.get("tools").and_then(Value::as_object);
        let switches =
            tools.into_iter().flatten().filter_map(|(name, on)| Some((name.as_str(), on.as_bool()?)));
        let mut all = rules::from_tools(switches);
        let home = self.places.environment.home.to_string_lossy();
        let permission = holder.get("permission").unwrap_or(&Value::Null);
        let own = rules::from_config(permission, &home).map_err(|error: RuleError| {
            let path: Vec<&str> = path.iter().copied().chain(["permission"]).collect();
            self.wrong(&path, error.to_string())
        })?;
        all.extend(own);
        Ok(all)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.merged.value.get(key)?.as_str()
    }

    fn section(&self, key: &str) -> Option<&Map<String, Value>> {
        self.merged.value.get(key)?.as_object()
    }

    fn texts(&self, key: &str) -> Vec<String> {
        self.merged.value.get(key).and_then(Value::as_array).map(|items| texts(items)).unwrap_or_default()
    }

    /// `provider/model`.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.text("model")
    }

    #[must_use]
    pub fn small_model(&self) -> Option<&str> {
        self.text("small_model")
    }

    #[must_use]
    pub fn default_agent(&self) -> Option<&str> {
        self.text("default_agent")
    }

    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The program for commands, if not the usual one.
    #[must_use]
    pub fn shell(&self) -> Option<&str> {
        self.text("shell")
    }

    /// The `provider` section, for the catalog. Holds keys: it goes nowhere else.
    #[must_use]
    pub fn provider(&self) -> &Value {
        self.merged.value.get("provider").unwrap_or(&Value::Null)
    }

    /// `None` is all of them.
    #[must_use]
    pub fn enabled_providers(&self) -> Option<&[String]> {
        self.enabled_providers.as_deref()
    }

    #[must_use]
    pub fn disabled_providers(&self) -> &[String] {
        &self.disabled_providers
    }

    /// Agents by name: `mode` is the older word for a primary one.
    #[must_use]
    pub fn agents(&self) -> Vec<(&'static str, &str, &Map<String, Value>)> {
        let entries = |section: &'static str| {
            let map = self.section(section).into_iter().flatten();
            map.filter_map(move |(name, entry)| Some((section, name.as_str(), entry.as_object()?)))
        };
        entries("mode").chain(entries("agent")).collect()
    }

    #[must_use]
    pub fn commands(&self) -> Vec<(&str, &Map<String, Value>)> {
        let map = self.section("command").into_iter().flatten();
        map.filter_map(|(name, entry)| Some((name.as_str(), entry.as_object()?))).collect()
    }

    /// The rules of `permission` and `tools`, for every agent.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Paths, patterns and addresses of further instructions.
    #[must_use]
    pub fn instructions(&self) -> Vec<String> {
        self.texts("instructions")
    }

    /// The skills found when the settings were read.
    #[must_use]
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// Further directories with skills.
    fn skill_paths(&self) -> Vec<String> {
        let paths = self.section("skills").and_then(|skills| skills.get("paths")).and_then(Value::as_array);
        paths.map(|items| texts(items)).unwrap_or_default()
    }

    #[must_use]
    pub fn share(&self) -> ShareMode {
        let is_auto = || self.merged.value.get("autoshare") == Some(&Value::Bool(true));
        match self.text("share") {
            Some("auto") => ShareMode::Auto,
            Some("disabled") => ShareMode::Disabled,
            None if is_auto() => ShareMode::Auto,
            _ => ShareMode::Manual,
        }
    }

    /// Whether trees are captured.
    #[must_use]
    pub fn snapshot(&self) -> bool {
        self.merged.value.get("snapshot").and_then(Value::as_bool).unwrap_or(true)
    }

    #[must_use]
    pub fn compaction(&self) -> Compaction {
        let section = self.section("compaction");
        let flag = |key| section.and_then(|map| map.get(key)).and_then(Value::as_bool);
        let count = |key| section.and_then(|map| map.get(key)).and_then(whole);
        Compaction {
            auto: flag("auto").unwrap_or(true),
            prune: flag("prune").unwrap_or(false),
            reserved: count("reserved"),
            tail_turns: count("tail_turns"),
            preserve_recent_tokens: count("preserve_recent_tokens"),
        }
    }

    /// What images may be sent.
    #[must_use]
    pub fn images(&self) -> ImageLimits {
        let section = self.section("attachment").and_then(|map| map.get("image"));
        let count = |key| section.and_then(|map| map.get(key)).and_then(whole);
        let side = |key| count(key).map(|pixels| u32::try_from(pixels).unwrap_or(u32::MAX));
        let defaults = ImageLimits::default();
        ImageLimits {
            max_width: side("max_width"),
            max_height: side("max_height"),
            max_base64_bytes: count("max_base64_bytes").unwrap_or(defaults.max_base64_bytes),
        }
    }

    #[must_use]
    pub fn tool_output(&self) -> ToolOutput {
        let section = self.section("tool_output");
        let count = |key| section.and_then(|map| map.get(key)).and_then(whole);
        ToolOutput { max_lines: count("max_lines"), max_bytes: count("max_bytes") }
    }

    /// How deep sub-agents may start sub-agents.
    #[must_use]
    pub fn subagent_depth(&self) -> Option<u64> {
        self.merged.value.get("subagent_depth").and_then(whole)
    }

    /// Servers of tools. Holds keys: it goes to their clients and nowhere else.
    #[must_use]
    pub fn mcp(&self) -> Option<&Map<String, Value>> {
        self.section("mcp")
    }

    /// `true`, `false` or a map of formatters.
    #[must_use]
    pub fn formatter(&self) -> &Value {
        self.merged.value.get("formatter").unwrap_or(&Value::Null)
    }

    /// `true`, `false` or a map of language servers.
    #[must_use]
    pub fn lsp(&self) -> &Value {
        self.merged.value.get("lsp").unwrap_or(&Value::Null)
    }

    /// Whether a turn goes on after a person said no.
    #[must_use]
    pub fn continue_loop_on_deny(&self) -> bool {
        self.experimental("continue_loop_on_deny").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Tools that only primary agents may use.
    #[must_use]
    pub fn primary_tools(&self) -> Vec<String> {
        self.experimental("primary_tools")
            .and_then(Value::as_array)
            .map(|items| texts(items))
            .unwrap_or_default()
    }

    #[must_use]
    pub fn mcp_timeout_ms(&self) -> Option<u64> {
        self.experimental("mcp_timeout").and_then(whole)
    }

    fn experimental(&self, key: &str) -> Option<&Value> {
        self.section("experimental")?.get(key)
    }

    /// The answer of `GET /config`: everything that is not a secret, with what is always there.
    #[must_use]
    pub fn wire(&self) -> Value {
        let mut map = with_schema(hide::without_secrets(&self.merged));
        wire::settle(&mut map);
        for (key, default) in [("plugin", json!([])), ("command", json!({}))] {
            map.entry(key).or_insert(default);
        }
        map.insert("username".to_owned(), Value::String(self.username.clone()));
        Value::Object(map)
    }

    /// What a client may see of something that was made from these settings: secrets are stars.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn shown<T: Serialize + ?Sized>(&self, made: &T) -> Value {
        let mut value = serde_json::to_value(made).expect("BUG: what clients see is always JSON");
        hide::scrub(&mut value, &hide::Replaced::of(&self.merged));
        value
    }

    /// The answer of `GET /global/config`.
    #[must_use]
    pub fn global_wire(&self) -> Value {
        Value::Object(with_schema(hide::without_secrets(&self.user_level)))
    }
}

/// Keys are all it shows: values may be secrets.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("keys", &self.merged.value.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn with_schema(map: Map<String, Value>) -> Map<String, Value> {
    let mut with = Map::new();
    with.insert("$schema".to_owned(), Value::String(SCHEMA.to_owned()));
    with.extend(map);
    with
}

fn texts(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// JSON writes 3 and 3.0 for the same number.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
}

/// The error names the file of the first mistake; mistakes of other files say theirs.
pub(super) fn invalid(merged: &Merged, wrong: Vec<(Vec<String>, String)>) -> ConfigError {
    let source = |path: &[String]| merged.origin(path).map(|origin| origin.source.clone());
    let first: Option<Arc<Source>> = wrong.first().and_then(|(path, _)| source(path));
    let issue = |(path, message): (Vec<String>, String)| {
        let place = source(&path);
        let line = merged.origin(&path).and_then(|origin| origin.line);
        let message = match &place {
            Some(place) if Some(place) != first.as_ref() => format!("{message} (in {place})"),
            _ => message,
        };
        Issue { path, message, line }
    };
    let issues = wrong.into_iter().map(issue).collect();
    ConfigError::Invalid { path: first.map_or_else(String::new, |source| source.to_string()), issues }
}
