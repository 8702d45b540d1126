//! What a command inherits: everything but our keys.
//!
//! The user's tools need the user's variables; nobody's tools need the keys with which the server
//! speaks to its providers, nor its own settings.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Names that end so are keys of providers.
const KEY_ENDINGS: [&str; 2] = ["_API_KEY", "_AUTH_TOKEN"];

/// Names that begin so are settings of the server.
const OWN_BEGINNINGS: [&str; 2] = ["STURDY_", "OPENCODE_"];

/// Keys of providers with names of their own.
const OTHER_KEYS: [&str; 3] =
    ["AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_APPLICATION_CREDENTIALS_JSON", "COPILOT_TOKEN"];

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
    let name = name.to_ascii_uppercase();
    OWN_BEGINNINGS.iter().any(|start| name.starts_with(start))
        || KEY_ENDINGS.iter().any(|end| name.ends_with(end))
        || OTHER_KEYS.contains(&name.as_str())
}

pub(crate) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    let kept = std::env::vars_os().filter(|(name, _)| !is_ours(&name.to_string_lossy()));
    kept.chain(SETTINGS.iter().map(|(name, value)| (name.into(), value.into())))
}

/// The program of this name that a shell would run.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|place| place.join(name)).find(is_program)
}
