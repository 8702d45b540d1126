//! Files, checkouts, worktrees and terminals.

use sturdy_session::types::diff::FileStatus;
use sturdy_session::types::part::Range;
use utoipa::ToSchema;

#[derive(ToSchema)]
pub(crate) struct FileNode {
    name: String,
    /// From the directory; with `/` at its end for a directory.
    path: String,
    absolute: String,
    #[schema(rename = "type")]
    kind: FileNodeKind,
    ignored: bool,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum FileNodeKind {
    File,
    Directory,
}

#[derive(ToSchema)]
pub(crate) struct FileContent {
    #[schema(rename = "type")]
    kind: FileContentKind,
    /// Of a binary file in base64.
    content: String,
    encoding: Option<FileEncoding>,
    #[schema(rename = "mimeType")]
    mime_type: Option<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum FileContentKind {
    Text,
    Binary,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum FileEncoding {
    Base64,
}

/// A file that git knows as changed.
#[derive(ToSchema)]
pub(crate) struct ChangedFile {
    path: String,
    added: u64,
    removed: u64,
    status: FileStatus,
}

#[derive(ToSchema)]
pub(crate) struct FoundLine {
    path: FoundText,
    lines: FoundText,
    line_number: u64,
    absolute_offset: u64,
    submatches: Vec<FoundPlace>,
}

#[derive(ToSchema)]
pub(crate) struct FoundText {
    text: String,
}

#[derive(ToSchema)]
pub(crate) struct FoundPlace {
    #[schema(rename = "match")]
    matched: FoundText,
    start: u64,
    end: u64,
}

#[derive(ToSchema)]
pub(crate) struct Symbol {
    name: String,
    kind: u64,
    location: SymbolLocation,
}

#[derive(ToSchema)]
pub(crate) struct SymbolLocation {
    uri: String,
    range: Range,
}

#[derive(ToSchema)]
pub(crate) struct Paths {
    home: String,
    state: String,
    config: String,
    worktree: String,
    directory: String,
}

/// Null outside a repository.
#[derive(ToSchema)]
pub(crate) struct VcsInfo {
    branch: Option<String>,
    default_branch: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct VcsFileStatus {
    file: String,
    additions: f64,
    deletions: f64,
    status: FileStatus,
}

#[derive(ToSchema)]
pub(crate) struct VcsFileDiff {
    file: String,
    patch: Option<String>,
    additions: f64,
    deletions: f64,
    status: Option<FileStatus>,
}

#[derive(ToSchema)]
pub(crate) struct PatchApplied {
    applied: bool,
}

/// A unified diff.
#[derive(ToSchema)]
pub(crate) struct PatchToApply {
    patch: String,
}

#[derive(ToSchema)]
pub(crate) struct ProjectDirectory {
    directory: String,
    strategy: Option<String>,
}

#[derive(ToSchema)]
pub(crate) struct Worktree {
    name: String,
    branch: Option<String>,
    directory: String,
}

#[derive(ToSchema)]
pub(crate) struct Shell {
    path: String,
    name: String,
    acceptable: bool,
}

#[derive(ToSchema)]
pub(crate) struct TerminalTicket {
    ticket: String,
    /// Seconds.
    expires_in: u64,
}
