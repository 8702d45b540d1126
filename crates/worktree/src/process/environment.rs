//! What a command inherits: everything but our keys.
//!
//! The user's tools need the user's variables; nobody's tools need the keys with which the server
//! speaks to its providers, nor its own settings. A key is known by its exact name: well-known ones
//! stand here, and whoever reads a key from a variable says so with [`hide_variables`].
//!
//! What remains visible is in docs/security.md.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// Names that begin so are settings of the server.
const OWN_BEGINNINGS: [&str; 2] = ["STURDY_", "OPENCODE_"];

/// Keys of model providers, whether or not one of them is configured.
const KEYS: [&str; 34] = [
    "AI_GATEWAY_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "AZURE_COGNITIVE_SERVICES_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "COHERE_API_KEY",
    "COPILOT_TOKEN",
    "DASHSCOPE_API_KEY",
    "DEEPINFRA_API_KEY",
    "DEEPSEEK_API_KEY",
    "EXA_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS_JSON",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "LLAMA_API_KEY",
    "MINIMAX_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NVIDIA_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "TOGETHER_API_KEY",
    "TOGETHER_AI_API_KEY",
    "V0_API_KEY",
    "VENICE_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
    "ZHIPU_API_KEY",
];

/// Programs do not work without these, whoever else reads them.
const NEEDED: [&str; 12] = [
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "PWD",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
];

/// What was read as a secret since the server started.
static HIDDEN: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// From now on no command, formatter, MCP server or language server is given these variables.
pub fn hide_variables(names: impl IntoIterator<Item = String>) {
    let names = names.into_iter().filter(|name| !NEEDED.contains(&name.as_str()));
    HIDDEN.write().unwrap_or_else(PoisonError::into_inner).extend(names);
}

/// Commands run without a person at a terminal: no pager, no prompt, no colour codes.
const SETTINGS: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
];

/// True for a variable that commands are not given.
#[must_use]
pub fn is_ours(name: &str) -> bool {
    OWN_BEGINNINGS.iter().any(|start| name.starts_with(start))
        || KEYS.contains(&name)
        || HIDDEN.read().unwrap_or_else(PoisonError::into_inner).contains(name)
}

/// What a person's own terminal inherits: everything but our keys, and none of the settings above.
pub(crate) fn users() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !is_ours(&name.to_string_lossy()))
}

pub(crate) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    users().chain(SETTINGS.iter().map(|(name, value)| (name.into(), value.into())))
}

/// The program of this name that a shell would run.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|place| place.join(name)).find(is_program)
}
