//! How a fact is stored: a kind, which is a name and a version, and its fields as text.
//!
//! `parse` reads every version ever written.

use super::Fact;
use crate::types::part::PartBody;

/// Why a stored entry could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FactError {
    #[error("unknown kind of fact {0:?}; it was written by a newer version")]
    Unknown(String),
    #[error("damaged fact of kind {kind:?}")]
    Damaged {
        kind: String,
        #[source]
        source: serde_json::Error,
    },
}

/// Text of an open part: added to the part by whoever reads it.
pub const GROWTH: &str = "text.grew.1";
/// What a running tool reports: superseded by whatever is said of the call later.
pub const PROGRESS: &str = "tool.progressed.1";
/// What a turn has changed so far: superseded by what is said of the same turn later.
pub const DIFFED: &str = "turn.diffed.1";

impl Fact {
    /// The stored kind: a name and a version.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionCreated { .. } => "session.created.1",
            Self::SessionEdited { .. } => "session.edited.1",
            Self::SessionReverted { .. } => "session.reverted.1",
            Self::SessionRemoved { .. } => "session.removed.1",
            Self::MessageAdded { .. } => "message.added.1",
            Self::PromptAdmitted { .. } => "prompt.admitted.1",
            Self::PromptWithdrawn { .. } => "prompt.withdrawn.1",
            Self::PromptFailed { .. } => "prompt.failed.1",
            Self::CompactionWanted { .. } => "compaction.wanted.1",
            Self::CopyStarted => "copy.started.1",
            Self::CopyFinished => "copy.finished.1",
            Self::MessageCopied { .. } => "message.copied.1",
            Self::MessageRemoved { .. } => "message.removed.1",
            Self::PartWritten { .. } => "part.written.1",
            Self::PartRemoved { .. } => "part.removed.1",
            Self::TurnContinued { .. } => "turn.continued.1",
            Self::TurnStopping => "turn.stopping.1",
            Self::SessionIdled { .. } => "session.idled.1",
            Self::FilesChanged { .. } => "files.changed.1",
            Self::TurnDiffed { .. } => DIFFED,
            Self::StepStarted { .. } => "step.started.1",
            Self::ShellStarted { .. } => "shell.started.1",
            Self::StepBegan { .. } => "step.began.1",
            Self::StepDelayed { .. } => "step.delayed.1",
            Self::StepRetried { .. } => "step.retried.1",
            Self::ModelFinished { .. } => "model.finished.1",
            Self::StepFinished { .. } => "step.finished.1",
            Self::StepEnded { .. } => "step.ended.1",
            Self::TextStarted { .. } => "text.started.1",
            Self::TextGrew { .. } => GROWTH,
            Self::TextEnded { .. } => "text.ended.1",
            Self::ToolCalled { .. } => "tool.called.1",
            Self::ToolStarted { .. } => "tool.started.1",
            Self::ToolAllowed { .. } => "tool.allowed.1",
            Self::ToolProgressed { .. } => PROGRESS,
            Self::ToolEnded { .. } => "tool.ended.1",
            Self::ToolCompacted { .. } => "tool.compacted.1",
            Self::PermissionAsked { .. } => "permission.asked.1",
            Self::PermissionReplied { .. } => "permission.replied.1",
            Self::QuestionAsked { .. } => "question.asked.1",
            Self::QuestionReplied { .. } => "question.replied.1",
            Self::QuestionRejected { .. } => "question.rejected.1",
            Self::TodoSet { .. } => "todo.set.1",
            Self::SessionCompacted => "session.compacted.1",
            Self::SessionFailed { .. } => "session.failed.1",
            Self::SnippetsStarted { .. } => "snippets.started.1",
            Self::CommandExecuted { .. } => "command.executed.1",
        }
    }

    /// The call this fact is about, for finding all that was said of it: an old output is compacted long
    /// after its step, when nothing of it is in memory. Or the prompt whose turn has changed files.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::ToolCalled { part, .. }
            | Self::ToolStarted { part, .. }
            | Self::ToolAllowed { part }
            | Self::ToolProgressed { part, .. }
            | Self::ToolEnded { part, .. }
            | Self::ToolCompacted { part, .. } => Some(part.as_str()),
            Self::PartWritten { part } => matches!(part.body, PartBody::Tool(_)).then_some(part.id.as_str()),
            Self::TurnDiffed { diffed, .. } => Some(diffed.prompt.id.as_str()),
            Self::SessionCreated { .. }
            | Self::SessionEdited { .. }
            | Self::SessionReverted { .. }
            | Self::SessionRemoved { .. }
            | Self::FilesChanged { .. }
            | Self::MessageAdded { .. }
            | Self::PromptAdmitted { .. }
            | Self::PromptWithdrawn { .. }
            | Self::PromptFailed { .. }
            | Self::CompactionWanted { .. }
            | Self::CopyStarted
            | Self::CopyFinished
            | Self::MessageCopied { .. }
            | Self::MessageRemoved { .. }
            | Self::PartRemoved { .. }
            | Self::TurnContinued { .. }
            | Self::TurnStopping
            | Self::SessionIdled { .. }
            | Self::StepStarted { .. }
            | Self::ShellStarted { .. }
            | Self::StepBegan { .. }
            | Self::StepDelayed { .. }
            | Self::StepRetried { .. }
            | Self::ModelFinished { .. }
            | Self::StepFinished { .. }
            | Self::StepEnded { .. }
            | Self::TextStarted { .. }
            | Self::TextGrew { .. }
            | Self::TextEnded { .. }
            | Self::PermissionAsked { .. }
            | Self::PermissionReplied { .. }
            | Self::QuestionAsked { .. }
            | Self::QuestionReplied { .. }
            | Self::QuestionRejected { .. }
            | Self::TodoSet { .. }
            | Self::SessionCompacted
            | Self::SessionFailed { .. }
            | Self::SnippetsStarted { .. }
            | Self::CommandExecuted { .. } => None,
        }
    }

    /// The stored text: the fields, without the kind.
    #[must_use]
    pub fn data(&self) -> String {
        // The tagged form is `{"kind":K,"data":D}`; the column wants D alone.
        let tagged = serde_json::to_string(self).expect("BUG: a fact is always JSON");
        let start = tagged.find("\"data\":").map(|at| at + "\"data\":".len());
        match start {
            Some(start) => tagged[start..tagged.len() - 1].to_owned(),
            None => "{}".to_owned(),
        }
    }

    /// Reads what `kind` and `data` wrote.
    pub fn parse(kind: &str, data: &str) -> Result<Self, FactError> {
        let damaged = |source| FactError::Damaged { kind: kind.to_owned(), source };
        let fields: &serde_json::value::RawValue = serde_json::from_str(data).map_err(damaged)?;
        let name = serde_json::Value::from(kind);
        let tagged = match fields.get() {
            "{}" => format!("{{\"kind\":{name}}}"),
            fields => format!("{{\"kind\":{name},\"data\":{fields}}}"),
        };
        // With the name: an unknown word deeper down is damage, not a newer version.
        let unknown_kind = format!("unknown variant `{kind}`");
        crate::depth::read_stored(&tagged).map_err(|source| {
            if source.to_string().starts_with(&unknown_kind) {
                FactError::Unknown(kind.to_owned())
            } else {
                damaged(source)
            }
        })
    }
}
