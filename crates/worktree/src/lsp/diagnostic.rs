//! What a language server says.

use std::path::PathBuf;
use sturdy_session::json::Map;

/// What a language server says about a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub path: PathBuf,
    /// From 1.
    pub line: u32,
    pub column: u32,
    pub severity: Severity,
    pub message: String,
    /// The same as the server said it, for clients.
    pub said: Map,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
}
