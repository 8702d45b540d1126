//! What the configuration says, checked once and not changed afterwards.
//!
//! The merged document stays as it is: keys nobody here knows belong to somebody else. What the engine
//! uses has a method, which answers with types (`sections.rs`, `entries.rs`, `servers.rs`).

use super::entries::{AgentEntry, CommandEntry, Entries, FormatterEntry, LanguageEntry, Programs};
use super::error::{ConfigError, invalid};
use super::hide;
use super::keys;
use super::merge::{Level, Merged, Origin};
use super::places::Places;
use super::sections::{Compaction, ImageLimits, SandboxSection, Sections, ShareMode, ToolOutput};
use super::servers::{McpEntry, servers};
use super::shape;
use super::trust::{Standing, Trust};
use super::unused;
use super::warning::Warning;
use super::wire;
use crate::directory::skills::{self, Skill};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use sturdy_llm::catalog::RedirectedProvider;
use sturdy_session::rules::{self, RuleError};
use sturdy_session::types::session::Rule;
use tracing::warn;

const SCHEMA: &str = "https://opencode.ai/config.json";

/// The settings of one directory.
pub struct Settings {
    pub(super) merged: Merged,
    /// What the user says, without any project.
    user: Merged,
    /// What stands in the user's own directory.
    global: Merged,
    trust: Trust,
    withheld_servers: Vec<String>,
    warnings: Vec<Warning>,
    places: Places,
    sections: Sections,
    entries: Entries,
    servers: Vec<(String, McpEntry)>,
    /// The user's own word, where that of a project does not count.
    user_sections: Sections,
    user_entries: Entries,
    username: String,
    rules: Vec<Rule>,
    user_rules: Vec<Rule>,
    skills: Vec<Skill>,
}

/// What was read, before it is checked.
pub(super) struct Loaded {
    pub(super) merged: Merged,
    pub(super) user: Merged,
    pub(super) global: Merged,
    pub(super) trust: Trust,
    /// MCP servers that are not obeyed.
    pub(super) withheld_servers: Vec<String>,
    pub(super) warnings: Vec<Warning>,
}

impl Settings {
    /// Checks everything at once, so that a person sees all mistakes of a file and not the first.
    pub(super) fn check(loaded: Loaded, places: &Places) -> Result<Self, ConfigError> {
        let Loaded { merged, user, global, trust, withheld_servers, mut warnings } = loaded;
        let findings = shape::check(&merged.value);
        if !findings.wrong.is_empty() {
            return Err(invalid(&merged, findings.wrong));
        }
        warnings.extend(unused::warnings(&merged, places));
        warnings.extend(
            findings.unknown.into_iter().map(|(path, meant)| Warning::unknown_key(&merged, &path, meant)),
        );

        let wrong_in = |merged: &Merged, mistake| invalid(merged, vec![mistake]);
        let sections = Sections::read(&merged.value).map_err(|mistake| wrong_in(&merged, mistake))?;
        let entries = Entries::read(&merged.value).map_err(|mistake| wrong_in(&merged, mistake))?;
        let (servers, unusable) = servers(&merged);
        warnings.extend(unusable);
        let said_by_user = shape::sound(&user.value);
        let user_sections = Sections::read(&said_by_user).map_err(|mistake| wrong_in(&user, mistake))?;
        let user_entries = Entries::read(&said_by_user).map_err(|mistake| wrong_in(&user, mistake))?;
        let variable = |name| places.environment.filled(name).map(str::to_owned);
        let username = sections.username.clone().or_else(|| variable("USER")).or_else(|| variable("LOGNAME"));
        let mut settings = Self {
            sections,
            entries,
            servers,
            user_sections,
            user_entries,
            username: username.unwrap_or_else(|| "unknown".to_owned()),
            rules: Vec::new(),
            user_rules: Vec::new(),
            skills: Vec::new(),
            places: places.clone(),
            merged,
            user,
            global,
            trust,
            withheld_servers,
            warnings,
        };
        settings.rules = settings.rules_of(&settings.entries.tools, &settings.entries.permission, &[])?;
        let own = &settings.user_entries;
        settings.user_rules = settings.rules_in(&settings.user, &own.tools, &own.permission, &[])?;
        settings.skills = skills::find(places, &settings.sections.skills.paths);
        if settings.trust.standing != Standing::Trusted {
            settings.skills.retain(|skill| !places.leads_outside(Path::new(&skill.location)));
        }
        for Warning { message, file, line } in &settings.warnings {
            let file = file.as_ref().map(|file| file.display().to_string());
            warn!(file, line, "{message}");
        }
        Ok(settings)
    }

    /// Whether the project is trusted, and what it would do.
    #[must_use]
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// MCP servers of the project that are not obeyed.
    #[must_use]
    pub fn withheld_servers(&self) -> &[String] {
        &self.withheld_servers
    }

    /// What a person should know about their files.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
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

    /// Whether the user or the project set a value; the user if neither did.
    #[must_use]
    pub fn level(&self, path: &[&str]) -> Level {
        self.origin(path).map_or(Level::User, |origin| origin.level)
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
        tools: &[(String, bool)],
        permission: &Value,
        path: &[&str],
    ) -> Result<Vec<Rule>, ConfigError> {
        self.rules_in(&self.merged, tools, permission, path)
    }

    /// The same, with the document that a mistake stands in.
    fn rules_in(
        &self,
        merged: &Merged,
        tools: &[(String, bool)],
        permission: &Value,
        path: &[&str],
    ) -> Result<Vec<Rule>, ConfigError> {
        let mut all = rules::from_tools(tools.iter().map(|(name, on)| (name.as_str(), *on)));
        let home = self.places.environment.home.to_string_lossy();
        let own = rules::from_config(permission, &home).map_err(|error: RuleError| {
            let path = path.iter().copied().chain(["permission"]).map(str::to_owned).collect();
            invalid(merged, vec![(path, error.to_string())])
        })?;
        all.extend(own);
        Ok(all)
    }

    /// `provider/model`.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.sections.model.as_deref()
    }

    #[must_use]
    pub fn small_model(&self) -> Option<&str> {
        self.sections.small_model.as_deref()
    }

    #[must_use]
    pub fn default_agent(&self) -> Option<&str> {
        self.sections.default_agent.as_deref()
    }

    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The program for commands, if not the usual one.
    #[must_use]
    pub fn shell(&self) -> Option<&str> {
        self.sections.shell.as_deref()
    }

    /// The `provider` section, for the catalog, and the providers whose address the project chose. Those have lost
    /// what the user set for another address. Holds keys: it goes nowhere else.
    #[must_use]
    pub fn providers(&self) -> (Value, Vec<RedirectedProvider>) {
        keys::bound(self)
    }

    pub(super) fn document(&self) -> &Map<String, Value> {
        &self.merged.value
    }

    /// `None` is all of them.
    #[must_use]
    pub fn enabled_providers(&self) -> Option<&[String]> {
        self.sections.enabled_providers.as_deref()
    }

    #[must_use]
    pub fn disabled_providers(&self) -> &[String] {
        &self.sections.disabled_providers
    }

    /// Agents by name: `mode` is the older word for a primary one.
    #[must_use]
    pub fn agents(&self) -> Vec<(&'static str, &str, &AgentEntry)> {
        agents_of(&self.entries)
    }

    /// What the user alone says about agents.
    #[must_use]
    pub fn user_agents(&self) -> Vec<(&'static str, &str, &AgentEntry)> {
        agents_of(&self.user_entries)
    }

    #[must_use]
    pub fn commands(&self) -> &[(String, CommandEntry)] {
        &self.entries.commands
    }

    /// The rules of `permission` and `tools`, for every agent.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The same without the word of any project.
    #[must_use]
    pub fn user_rules(&self) -> &[Rule] {
        &self.user_rules
    }

    /// Paths, patterns and addresses of further instructions.
    #[must_use]
    pub fn instructions(&self) -> &[String] {
        &self.sections.instructions
    }

    /// Those of them that stand in the user's own settings.
    pub(crate) fn user_instructions(&self) -> &[String] {
        &self.user_sections.instructions
    }

    /// The skills found when the settings were read.
    #[must_use]
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    #[must_use]
    pub fn share(&self) -> ShareMode {
        match (self.sections.share, self.sections.autoshare) {
            _ if self.places.is_on("OPENCODE_DISABLE_SHARE") => ShareMode::Disabled,
            (Some(mode), _) => mode,
            (None, true) => ShareMode::Auto,
            (None, false) => ShareMode::Manual,
        }
    }

    /// The service that sessions are shared to, if one is named: its URL without a slash at the end.
    #[must_use]
    pub fn share_service(&self) -> Option<Result<String, String>> {
        let url = self.sections.enterprise.url.as_deref()?.trim().trim_end_matches('/');
        let is_web = |url: &url::Url| ["http", "https"].contains(&url.scheme()) && url.has_host();
        Some(match url::Url::parse(url) {
            Ok(parsed) if is_web(&parsed) => Ok(url.to_owned()),
            _ => Err(format!("\"enterprise.url\" is no web address: {url:?}")),
        })
    }

    /// Whether trees are captured.
    #[must_use]
    pub fn snapshot(&self) -> bool {
        self.sections.snapshot
    }

    #[must_use]
    pub fn compaction(&self) -> Compaction {
        self.sections.compaction
    }

    /// What images may be sent.
    #[must_use]
    pub fn images(&self) -> ImageLimits {
        self.sections.attachment.image
    }

    #[must_use]
    pub fn tool_output(&self) -> ToolOutput {
        self.sections.tool_output
    }

    /// How deep sub-agents may start sub-agents.
    #[must_use]
    pub fn subagent_depth(&self) -> Option<u64> {
        self.sections.subagent_depth
    }

    /// Servers of tools. Holds keys: it goes to their clients and nowhere else.
    #[must_use]
    pub fn mcp(&self) -> &[(String, McpEntry)] {
        &self.servers
    }

    #[must_use]
    pub fn formatters(&self) -> &Programs<FormatterEntry> {
        &self.entries.formatters
    }

    #[must_use]
    pub fn languages(&self) -> &Programs<LanguageEntry> {
        &self.entries.languages
    }

    /// Whether a turn goes on after a person said no.
    #[must_use]
    pub fn continue_loop_on_deny(&self) -> bool {
        self.sections.experimental.continue_loop_on_deny
    }

    /// Whether a file is changed only after it was read, and as it was read.
    #[must_use]
    pub fn read_before_write(&self) -> bool {
        self.sections.experimental.read_before_write.unwrap_or(true)
    }

    /// Tools that only primary agents may use.
    #[must_use]
    pub fn primary_tools(&self) -> &[String] {
        &self.sections.experimental.primary_tools
    }

    #[must_use]
    pub fn mcp_timeout_ms(&self) -> Option<u64> {
        self.sections.experimental.mcp_timeout
    }

    /// Variables that programs do not get. A project may hide more, and not less: its list does not replace that of
    /// the user.
    pub(crate) fn hidden_variables(&self) -> impl Iterator<Item = &String> {
        let users = &self.user_sections.experimental.hidden_variables;
        users.iter().chain(&self.sections.experimental.hidden_variables)
    }

    /// Variables that programs get all the same, by the word of the user alone.
    pub(crate) fn visible_variables(&self) -> &[String] {
        &self.user_sections.experimental.visible_variables
    }

    /// The fence around commands, by the word of the user alone.
    pub(crate) fn sandbox(&self) -> &SandboxSection {
        &self.user_sections.experimental.sandbox
    }

    /// Variables that `{env:…}` takes.
    pub(crate) fn variables_read(&self) -> &BTreeSet<String> {
        &self.merged.variables
    }

    /// Whether a provider is configured, or that of a configured model.
    pub(crate) fn names_provider(&self, id: &str) -> bool {
        let is_of = |model: Option<&str>| model.is_some_and(|model| model.split('/').next() == Some(id));
        let provider = self.merged.value.get("provider");
        provider.is_some_and(|all| all.get(id).is_some())
            || is_of(self.model())
            || is_of(self.small_model())
            || self.agents().iter().any(|(_, _, agent)| is_of(agent.model.as_deref()))
    }

    /// The answer of `GET /config`: everything that is not a secret, with what is always there.
    #[must_use]
    pub fn wire(&self) -> Value {
        self.wire_with(&[])
    }

    /// The same, with further remarks.
    #[must_use]
    pub fn wire_with(&self, more: &[Warning]) -> Value {
        let mut map = with_schema(hide::without_secrets(&self.merged));
        wire::settle(&mut map);
        for (key, default) in [("plugin", json!([])), ("command", json!({}))] {
            map.entry(key).or_insert(default);
        }
        map.insert("username".to_owned(), Value::String(self.username.clone()));
        let warnings: Vec<Value> = self.warnings.iter().chain(more).map(Warning::wire).collect();
        if !warnings.is_empty() {
            map.insert("warnings".to_owned(), Value::Array(warnings));
        }
        Value::Object(map)
    }

    /// The answer of `GET /global/config`.
    #[must_use]
    pub fn global_wire(&self) -> Value {
        Value::Object(with_schema(hide::without_secrets(&self.global)))
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

fn agents_of(entries: &Entries) -> Vec<(&'static str, &str, &AgentEntry)> {
    let modes = entries.modes.iter().map(|(name, entry)| ("mode", name.as_str(), entry));
    let agents = entries.agents.iter().map(|(name, entry)| ("agent", name.as_str(), entry));
    modes.chain(agents).collect()
}

fn with_schema(map: Map<String, Value>) -> Map<String, Value> {
    let mut with = Map::new();
    with.insert("$schema".to_owned(), Value::String(SCHEMA.to_owned()));
    with.extend(map);
    with
}
