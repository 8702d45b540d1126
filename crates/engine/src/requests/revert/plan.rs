//! What an undo would do, in the words of clients.

use serde::Serialize;
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::types::session::RevertUncaptured;
use sturdy_worktree::snapshot::{Entry, LeftOut, State, Verdict};

/// What would happen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RevertPlan {
    #[serde(rename = "messageID", skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    #[serde(rename = "partID", skip_serializing_if = "Option::is_none")]
    pub part_id: Option<PartId>,
    pub files: Vec<PlannedFile>,
    /// Calls whose changes were not captured: nothing of them would go back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncaptured: Vec<RevertUncaptured>,
    /// What is in the worktree and not captured, up to a number: no undo changes or removes it.
    #[serde(rename = "leftOut", skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutFile>,
}

/// A file, or a directory, that is not captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutFile {
    /// From the worktree.
    pub file: String,
    pub why: &'static str,
}

impl LeftOutFile {
    pub(super) fn of(left_out: &LeftOut) -> Self {
        Self { file: left_out.path.to_string(), why: left_out.why.text() }
    }
}

/// What would happen to one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedFile {
    /// From the worktree.
    pub file: String,
    /// `create`, `change`, `delete`, `nothing` or `conflict`.
    pub action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// Hashes of the content that is there and of the content it goes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl PlannedFile {
    pub(super) fn of(entry: &Entry) -> Self {
        let (action, why) = match entry.verdict {
            Verdict::Nothing => ("nothing", None),
            Verdict::Create => ("create", None),
            Verdict::Change => ("change", None),
            Verdict::Delete => ("delete", None),
            Verdict::Conflict(why) => ("conflict", Some(why.text())),
        };
        let id = |state: &State| state.content().map(|id| id.to_string());
        Self { file: entry.path.to_string(), action, why, from: id(&entry.from), to: id(&entry.to) }
    }
}
