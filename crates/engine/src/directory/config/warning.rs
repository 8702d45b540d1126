//! Warnings about settings: things a person should know that do not make the settings invalid.

use super::merge::{Merged, Source};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// One remark, and where it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub message: String,
    pub file: Option<PathBuf>,
    pub line: Option<usize>,
}

impl Warning {
    /// About a file as a whole.
    pub(super) fn about(file: &Path, message: impl Into<String>) -> Self {
        Self { message: message.into(), file: Some(file.to_owned()), line: None }
    }

    /// About the place of a value.
    pub(super) fn at(merged: &Merged, path: &[String], message: impl Into<String>) -> Self {
        let origin = merged.origin(path);
        let file = origin.and_then(|origin| match &*origin.source {
            Source::File(path) => Some(path.clone()),
            Source::Variable(_) => None,
        });
        Self { message: message.into(), file, line: origin.and_then(|origin| origin.line) }
    }

    /// A key nobody knows is kept: other programs share the file.
    pub(super) fn unknown_key(merged: &Merged, path: &[String], meant: Option<&'static str>) -> Self {
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean \"{meant}\"?"));
        Self::at(merged, path, format!("unknown key \"{}\"{meant}", path.join(".")))
    }

    /// As `GET /config` shows it.
    pub(super) fn wire(&self) -> Value {
        let mut wire = json!({ "message": self.message });
        if let Some(file) = &self.file {
            wire["file"] = json!(file.display().to_string());
        }
        if let Some(line) = self.line {
            wire["line"] = json!(line);
        }
        wire
    }
}
