//! What the surroundings of the process say: variables and well-known directories.
//!
//! Read once and passed around, so that a test can say something else.

use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sturdy_llm::auth::{AuthError, Credentials};

/// The name under which the shared configuration of this wire lives.
const SHARED_NAME: &str = "opencode";

#[derive(Clone)]
pub struct Environment {
    variables: Arc<HashMap<String, String>>,
    pub home: PathBuf,
    /// Where the store is, when it was named.
    data: Option<PathBuf>,
    trusts_all: bool,
}

/// The whole list is two megabytes.
const MODELS_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// More choices than anybody remembers.
const RECENT_MAX: usize = 20;

/// Every project is trusted unseen, as in the reference.
const TRUST_ALL: &str = "STURDY_TRUST_ALL";

/// Holds what would stand in `auth.json`.
const AUTH_CONTENT: &str = "OPENCODE_AUTH_CONTENT";

impl Environment {
    /// The environment of this process. Variables that are not Unicode are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::new(variables.collect())
    }

    #[must_use]
    pub fn new(variables: HashMap<String, String>) -> Self {
        let home = variables.get("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let environment = Self { variables: Arc::new(variables), home, data: None, trusts_all: false };
        Self { trusts_all: environment.is_on(TRUST_ALL), ..environment }
    }

    /// The same, where every project is trusted unseen.
    #[must_use]
    pub fn trusting_all(self) -> Self {
        Self { trusts_all: true, ..self }
    }

    /// Whether every project is trusted unseen.
    #[must_use]
    pub fn trusts_all(&self) -> bool {
        self.trusts_all
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Set and not empty.
    #[must_use]
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// A switch that is set to `1` or `true`.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Where configuration shared with other programs of this wire stands.
    #[must_use]
    pub fn config_dir(&self) -> PathBuf {
        self.xdg("XDG_CONFIG_HOME", ".config").join(SHARED_NAME)
    }

    /// Where credentials shared with other programs of this wire stand.
    #[must_use]
    pub fn shared_data_dir(&self) -> PathBuf {
        self.xdg("XDG_DATA_HOME", ".local/share").join(SHARED_NAME)
    }

    /// Credentials as they are stored, or as a variable says in their place.
    ///
    /// # Errors
    /// They are there and cannot be read.
    pub(crate) fn credentials(&self) -> Result<Credentials, AuthError> {
        match self.filled(AUTH_CONTENT) {
            Some(text) => Credentials::parse(text, Path::new(AUTH_CONTENT)),
            None => Credentials::load(&self.shared_data_dir().join("auth.json")),
        }
    }

    /// The list of providers and models that OpenCode fetched last, or another that a variable names; `Null` without.
    pub(crate) fn cached_models(&self) -> Value {
        let usual = || self.xdg("XDG_CACHE_HOME", ".cache").join(SHARED_NAME).join("models.json");
        let path = self.filled("OPENCODE_MODELS_PATH").map_or_else(usual, PathBuf::from);
        let is_small = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= MODELS_BYTES_MAX);
        let text = if is_small { std::fs::read_to_string(&path).ok() } else { None };
        let list = text.and_then(|text| serde_json::from_str(&text).ok());
        list.unwrap_or(Value::Null)
    }

    /// Provider and model of the newest choices a person made in OpenCode, newest first.
    pub(crate) fn recent_models(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.state_dir().join("model.json"));
        let chosen: Value = text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let entry = |entry: &Value| {
            Some((entry["providerID"].as_str()?.to_owned(), entry["modelID"].as_str()?.to_owned()))
        };
        chosen["recent"].as_array().into_iter().flatten().take(RECENT_MAX).filter_map(entry).collect()
    }

    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.xdg("XDG_STATE_HOME", ".local/state").join(SHARED_NAME)
    }

    /// Our own data, unless another place is named.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        match &self.data {
            Some(named) => named.clone(),
            None => self.xdg("XDG_DATA_HOME", ".local/share").join("sturdy"),
        }
    }

    /// Our own data is in this place.
    #[must_use]
    pub fn with_data_in(self, data: PathBuf) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Where the system keeps temporary files.
    #[must_use]
    pub fn temporary_dir(&self) -> PathBuf {
        self.filled("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    fn xdg(&self, variable: &str, fallback: &str) -> PathBuf {
        match self.filled(variable) {
            Some(path) if path.starts_with('/') => PathBuf::from(path),
            _ => self.home.join(fallback),
        }
    }
}

/// Values may be secrets; only the names are shown.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}
