//! Why a configuration is refused, and how a client is told.

use serde_json::{Value, json};
use std::fmt;

/// One value that does not fit. Never carries the value itself unless it is one of our own words:
/// what stands in the wrong place may be a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The keys that lead to the value.
    pub path: Vec<String>,
    /// What was expected and what was found.
    pub message: String,
    pub line: Option<usize>,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.join("."), self.message)?;
        match self.line {
            Some(line) => write!(f, " (line {line})"),
            None => Ok(()),
        }
    }
}

/// Why there are no settings. Every route of the instance answers with it until the file is mended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not JSON, comments and trailing commas aside.
    #[error("{path} is not valid JSON: {message}")]
    Json { path: String, message: String },

    /// The JSON says something that makes no sense here.
    #[error("{path} is not a valid configuration: {}", joined(.issues))]
    Invalid { path: String, issues: Vec<Issue> },

    /// The head of a markdown file is not valid YAML.
    #[error("the front matter of {path} is not valid: {message}")]
    FrontMatter { path: String, message: String },

    /// The file is there and cannot be read.
    #[error("{path} cannot be read: {message}")]
    Unreadable { path: String, message: String },
}

fn joined(issues: &[Issue]) -> String {
    issues.iter().map(Issue::to_string).collect::<Vec<_>>().join("; ")
}

impl ConfigError {
    /// The file, or the variable, that has to be mended.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Json { path, .. }
            | Self::Invalid { path, .. }
            | Self::FrontMatter { path, .. }
            | Self::Unreadable { path, .. } => path,
        }
    }

    /// The body a client gets, with status 400.
    #[must_use]
    pub fn body(&self) -> Value {
        match self {
            Self::Json { path, message } => {
                json!({ "name": "ConfigJsonError", "data": { "path": path, "message": message } })
            }
            Self::Invalid { path, issues } => {
                let issue = |issue: &Issue| {
                    let at_line = issue.line.map_or_else(String::new, |line| format!(" (line {line})"));
                    json!({ "message": format!("{}{at_line}", issue.message), "path": issue.path })
                };
                let issues: Vec<Value> = issues.iter().map(issue).collect();
                json!({ "name": "ConfigInvalidError", "data": { "path": path, "issues": issues } })
            }
            Self::FrontMatter { path, message } => {
                json!({ "name": "ConfigFrontmatterError", "data": { "path": path, "message": message } })
            }
            Self::Unreadable { path, message } => {
                let issues = json!([{ "message": message, "path": [] }]);
                json!({ "name": "ConfigInvalidError", "data": { "path": path, "issues": issues } })
            }
        }
    }
}
