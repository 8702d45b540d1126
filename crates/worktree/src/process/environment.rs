//! What a program inherits: the user's environment, without what is hidden in its directory.
//!
//! The user's tools need the user's variables; no tool needs the keys with which the server speaks to its
//! providers, nor its own settings. Which names are keys depends on the directory, so each has an
//! [`Inherited`] of its own; a variable is known by its exact name. The server's own settings are never inherited.
//!
//! A server may have been started without some of the user's variables, so that they do not stand in its own
//! environment for everybody to read ([`keep_variables`]). They are inherited like the others.
//!
//! What remains visible is in docs/security.md.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// Names that begin so are settings of the server.
const OWN_BEGINNINGS: [&str; 2] = ["STURDY_", "OPENCODE_"];

/// What the service manager says to the server alone: a command that had it could speak in the server's name.
const OF_THE_SERVICE_MANAGER: [&str; 6] =
    ["LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"];

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

/// Commands run without a person at a terminal: no pager, no prompt, no colour codes.
const SETTINGS: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
];

/// Variables of the user that this process was started without; a value of `None` is a variable that the user does
/// not have, and this process does.
static KEPT: OnceLock<BTreeMap<OsString, Option<OsString>>> = OnceLock::new();

/// Says, once, how the environment of this process differs from that of the user: these variables have other values
/// there, or none.
pub fn keep_variables(variables: impl IntoIterator<Item = (OsString, Option<OsString>)>) {
    let _ = KEPT.set(variables.into_iter().collect());
}

/// What the programs of one directory inherit. Clones share what is hidden.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    hidden: Arc<RwLock<BTreeSet<String>>>,
    /// Never hidden, because the user says so.
    shown: Arc<BTreeSet<String>>,
}

/// Two are the same if they hide the same together.
impl PartialEq for Inherited {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.hidden, &other.hidden) && Arc::ptr_eq(&self.shown, &other.shown)
    }
}

impl Inherited {
    /// Everything but these and the server's settings. What is `shown` stays so, whatever is hidden later.
    #[must_use]
    pub fn without(
        hidden: impl IntoIterator<Item = String>,
        shown: impl IntoIterator<Item = String>,
    ) -> Self {
        let inherited = Self { hidden: Arc::default(), shown: Arc::new(shown.into_iter().collect()) };
        inherited.hide(hidden);
        inherited
    }

    /// From now on these are not inherited either. Gives those of them that the user has, and that were inherited
    /// until now.
    pub fn hide(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let is_needed = |name: &str| NEEDED.contains(&name) || self.shown.contains(name);
        let mut hidden = self.hidden.write().unwrap_or_else(PoisonError::into_inner);
        let names = names.into_iter().filter(|name| !is_needed(name) && !is_own_setting(name));
        let new: Vec<String> = names.filter(|name| hidden.insert(name.clone())).collect();
        new.into_iter().filter(|name| value_of(OsStr::new(name)).is_some()).collect()
    }

    /// True for a variable that programs are not given.
    #[must_use]
    pub fn is_hidden(&self, name: &str) -> bool {
        is_own_setting(name) || self.hidden.read().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// What a person's own terminal inherits.
    pub(crate) fn of_user(&self) -> impl Iterator<Item = (OsString, OsString)> {
        users().into_iter().filter(|(name, _)| !self.is_hidden(&name.to_string_lossy()))
    }

    /// The same, for programs without a terminal.
    pub(crate) fn of_command(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.of_user().chain(SETTINGS.iter().map(|(name, value)| (name.into(), value.into())))
    }
}

fn is_own_setting(name: &str) -> bool {
    OWN_BEGINNINGS.iter().any(|start| name.starts_with(start)) || OF_THE_SERVICE_MANAGER.contains(&name)
}

fn users() -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in KEPT.get().into_iter().flatten() {
        match value {
            Some(value) => drop(all.insert(name.clone(), value.clone())),
            None => drop(all.remove(name)),
        }
    }
    all
}

fn value_of(name: &OsStr) -> Option<OsString> {
    match KEPT.get().and_then(|kept| kept.get(name)) {
        Some(kept) => kept.clone(),
        None => std::env::var_os(name),
    }
}

/// The program of this name that a shell would run.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|place| place.join(name)).find(is_program)
}
