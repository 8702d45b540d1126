//! Why a configuration is refused, and how a client is told. The errors themselves stand with those of the engine.

pub use crate::error::{ConfigError, Issue};

use super::merge::{Merged, Source};
use std::path::PathBuf;
use std::sync::Arc;

/// Why a change was not written.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The change, or the file it would go into, is wrong; nothing was written.
    #[error(transparent)]
    Config(#[from] ConfigError),

    #[error("{} cannot be written", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
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
