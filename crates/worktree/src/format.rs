//! Formatters: run on a file after a tool has changed it, when one is configured for its kind.
//!
//! A formatter that is missing, fails or hangs changes nothing about the edit: the call ends as if
//! there were none. Which there are is said by the configuration, or known (`format/known.rs`).

mod known;

pub use known::{known, known_names};

use crate::process::{Command, Ended, Inherited};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longer than any formatter takes for one file.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Stands for the file in a formatter's command.
const FILE: &str = "$FILE";

/// A program that rewrites a file in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatter {
    pub name: String,
    /// With `$FILE` for the path.
    pub command: Vec<String>,
    /// With their dot: `.rs`.
    pub extensions: Vec<String>,
    pub variables: Vec<(String, String)>,
    /// False for one that is known, but not here or not wanted here.
    pub is_enabled: bool,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Changed,
    Removed,
}

impl Formatter {
    #[must_use]
    pub fn takes(&self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        self.is_enabled && self.extensions.iter().any(|end| name.ends_with(end.as_str()))
    }

    /// Runs it; true when it ended well.
    pub async fn run(
        &self,
        path: &Path,
        directory: &Path,
        inherited: &Inherited,
        stop: &CancellationToken,
    ) -> bool {
        let [program, arguments @ ..] = self.command.as_slice() else { return false };
        let argument = |text: &String| with_file(text, path);
        let command = Command {
            program: PathBuf::from(program),
            arguments: arguments.iter().map(argument).collect(),
            directory: directory.to_owned(),
            inherited: inherited.clone(),
            variables: self.variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            timeout: TIMEOUT,
        };
        let Ok(mut running) = command.start_apart(stop.clone()).await else { return false };
        let mut buffer = vec![0; 16 * 1024];
        while running.read(&mut buffer).await.is_some() {}
        running.ended() == Ended::Exited(Some(0))
    }
}

/// Runs every formatter that takes the file; true when one of them ran.
pub async fn format(
    formatters: &[Formatter],
    path: &Path,
    directory: &Path,
    inherited: &Inherited,
    stop: &CancellationToken,
) -> bool {
    let mut ran = false;
    for formatter in formatters.iter().filter(|one| one.takes(path)) {
        let went_well = formatter.run(path, directory, inherited, stop).await;
        if !went_well {
            tracing::warn!(formatter = formatter.name, "formatter failed");
        }
        ran |= went_well;
    }
    ran
}

/// The argument with the path in the places that stand for it; a path need not be text.
fn with_file(argument: &str, path: &Path) -> OsString {
    let mut parts = argument.split(FILE);
    let mut whole = OsString::from(parts.next().unwrap_or_default());
    for part in parts {
        whole.push(path);
        whole.push(part);
    }
    whole
}
