//! The log's vocabulary: one small thing that happened, in the past tense, stored for ever.
//!
//! Every fact shows itself as at most one wire event, so that a position in the log is a
//! place in the stream. A fact carries what changed. What cannot change any more stands in the
//! row and is not repeated: the end of a tool does not carry its input again. The exceptions
//! are small records that may change in every field: a session, a message's opening, a part
//! that is written whole.
//!
//! The stored kind is a name and a version; `parse` reads every version ever written.

use crate::id::{MessageId, PartId, SessionId};
use crate::json::{Map, Num};
use crate::stamp::Millis;
use crate::talk::FinishReason;
use crate::turn::{Ready, StepFiles};
use crate::types::ask::{PermissionReply, PermissionRequest, QuestionRequest};
use crate::types::diff::FileDiff;
use crate::types::failure::Failure;
use crate::types::message::{AssistantMessage, Message, UserMessage};
use crate::types::part::Part;
use crate::types::session::Session;
use crate::types::status::Status;
use crate::types::todo::Todo;
use crate::types::tool::Attachment;
use crate::types::usage::{Tokens, Usage};
use serde::{Deserialize, Serialize};

/// Something that happened in one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data")]
pub enum Fact {
    #[serde(rename = "session.created.1")]
    SessionCreated { info: Box<Session> },
    #[serde(rename = "session.edited.1")]
    SessionEdited { edit: Edit, info: Box<Session> },
    #[serde(rename = "session.removed.1")]
    SessionRemoved { info: Box<Session> },

    /// A prompt is durable and waits for its turn. Shows itself only by its message.
    #[serde(rename = "prompt.admitted.1")]
    PromptAdmitted { message: MessageId },
    /// The conversation has come to these prompts, in this order.
    #[serde(rename = "prompt.promoted.1")]
    PromptPromoted { messages: Vec<MessageId> },
    /// A waiting prompt was taken back before its turn came.
    #[serde(rename = "prompt.withdrawn.1")]
    PromptWithdrawn { message: MessageId },

    /// The message asks for a compaction, which comes before any waiting prompt. Shows itself only by
    /// its message.
    #[serde(rename = "compaction.wanted.1")]
    CompactionWanted { message: MessageId, auto: bool },

    #[serde(rename = "message.added.1")]
    MessageAdded { info: Box<UserMessage> },
    /// A finished message of another conversation: the copy and what its steps had used.
    #[serde(rename = "message.copied.1")]
    MessageCopied { info: Box<Message>, cost: Num, tokens: Tokens },
    #[serde(rename = "message.removed.1")]
    MessageRemoved { message: MessageId, cost: Num, tokens: Tokens },
    /// A part that is written whole: a user's, a step's bounds, a patch. Also replaces one.
    #[serde(rename = "part.written.1")]
    PartWritten { part: Box<Part> },
    #[serde(rename = "part.removed.1")]
    PartRemoved { message: MessageId, part: PartId, cost: Num, tokens: Tokens },
    /// What the turn of this user message changed on disk.
    #[serde(rename = "turn.summarised.1")]
    TurnSummarised { message: MessageId, diffs: Vec<FileDiff> },

    /// What the turn of a prompt changed on disk, when it was worked out: the prompt with its summary.
    #[serde(rename = "turn.diffed.1")]
    TurnDiffed { info: Box<UserMessage> },

    #[serde(rename = "step.started.1")]
    StepStarted { info: Box<AssistantMessage>, ready: Box<Ready> },
    /// The model has said its last word while calls are still running.
    #[serde(rename = "model.finished.1")]
    ModelFinished { message: MessageId, reason: FinishReason, usage: Usage },
    /// The model's last word: why it stopped and what the step used.
    #[serde(rename = "step.finished.1")]
    StepFinished { message: MessageId, finish: String, cost: Num, tokens: Tokens },
    /// Nothing of the step is open any more.
    #[serde(rename = "step.ended.1")]
    StepEnded {
        message: MessageId,
        completed: Millis,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Failure>,
        /// Why it stopped, when the model itself did not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<serde_json::Value>,
    },

    /// Text or reasoning opened, empty.
    #[serde(rename = "text.started.1")]
    TextStarted { part: Box<Part>, block: String },
    #[serde(rename = "text.grew.1")]
    TextGrew { message: MessageId, part: PartId, delta: String },
    /// Carries the final part whole, so that the growth can be folded away.
    #[serde(rename = "text.ended.1")]
    TextEnded { part: Box<Part> },

    /// First sign of a call.
    #[serde(rename = "tool.called.1")]
    ToolCalled { part: Box<Part> },
    /// Invariant I5: the start is a fact before it is an effect.
    #[serde(rename = "tool.started.1")]
    ToolStarted {
        part: PartId,
        tool: String,
        input: Map,
        start: Millis,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Map>,
    },
    /// What a running tool reports of itself.
    #[serde(rename = "tool.progressed.1")]
    ToolProgressed {
        part: PartId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Map>,
    },
    #[serde(rename = "tool.ended.1")]
    ToolEnded { part: PartId, outcome: Outcome, end: Millis },
    /// The output is no longer shown to the model.
    #[serde(rename = "tool.compacted.1")]
    ToolCompacted {
        part: PartId,
        at: Millis,
        /// The part before it, for whoever writes its row. Not stored: the log has it already.
        #[serde(skip)]
        before: Option<Box<Part>>,
    },

    #[serde(rename = "permission.asked.1")]
    PermissionAsked { request: Box<PermissionRequest> },
    #[serde(rename = "permission.replied.1")]
    PermissionReplied {
        request: crate::id::PermissionId,
        reply: PermissionReply,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    #[serde(rename = "question.asked.1")]
    QuestionAsked { request: Box<QuestionRequest> },
    #[serde(rename = "question.replied.1")]
    QuestionReplied { request: crate::id::QuestionId, answers: Vec<Vec<String>> },
    #[serde(rename = "question.rejected.1")]
    QuestionRejected { request: crate::id::QuestionId },

    /// What the calls of the open step have changed on disk so far; takes the place of what was said before.
    #[serde(rename = "files.changed.1")]
    FilesChanged { message: MessageId, files: StepFiles },

    #[serde(rename = "todo.set.1")]
    TodoSet { todos: Vec<Todo> },
    #[serde(rename = "session.compacted.1")]
    SessionCompacted,
    /// Something went wrong that clients are told of at once.
    #[serde(rename = "session.failed.1")]
    SessionFailed { error: Failure },
    #[serde(rename = "session.diffed.1")]
    SessionDiffed { diff: Vec<FileDiff> },
    #[serde(rename = "status.changed.1")]
    StatusChanged { status: Status },
    #[serde(rename = "session.idled.1")]
    SessionIdled,
    /// Somebody pressed stop; running calls get a moment to end by themselves.
    #[serde(rename = "turn.stopping.1")]
    TurnStopping,
    #[serde(rename = "command.executed.1")]
    CommandExecuted { name: String, arguments: String, message: MessageId },
}

/// Which part of the session record changed, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edit {
    Renamed,
    Titled,
    Archived,
    Touched,
    Chosen,
    Permitted,
    Described,
    Summarised,
    Reverted,
    Shared,
    Moved,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Done {
        output: String,
        title: String,
        metadata: Map,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    Failed {
        error: String,
        /// Replaces what the tool reported while it ran; without it that is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Map>,
    },
    /// A person refused it: the turn ends with its step.
    Blocked { error: String },
    /// Stopped from outside; it may have acted and is not repeated. What it reported is kept.
    Interrupted { error: String },
}

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

/// The kind of growth, which the store adds to open parts when it reads them.
pub const GROWTH: &str = "text.grew.1";

impl Fact {
    /// The stored kind: a name and a version.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionCreated { .. } => "session.created.1",
            Self::SessionEdited { .. } => "session.edited.1",
            Self::SessionRemoved { .. } => "session.removed.1",
            Self::PromptAdmitted { .. } => "prompt.admitted.1",
            Self::PromptPromoted { .. } => "prompt.promoted.1",
            Self::PromptWithdrawn { .. } => "prompt.withdrawn.1",
            Self::CompactionWanted { .. } => "compaction.wanted.1",
            Self::MessageAdded { .. } => "message.added.1",
            Self::MessageCopied { .. } => "message.copied.1",
            Self::MessageRemoved { .. } => "message.removed.1",
            Self::PartWritten { .. } => "part.written.1",
            Self::PartRemoved { .. } => "part.removed.1",
            Self::TurnSummarised { .. } => "turn.summarised.1",
            Self::TurnDiffed { .. } => "turn.diffed.1",
            Self::StepStarted { .. } => "step.started.1",
            Self::ModelFinished { .. } => "model.finished.1",
            Self::StepFinished { .. } => "step.finished.1",
            Self::StepEnded { .. } => "step.ended.1",
            Self::TextStarted { .. } => "text.started.1",
            Self::TextGrew { .. } => GROWTH,
            Self::TextEnded { .. } => "text.ended.1",
            Self::ToolCalled { .. } => "tool.called.1",
            Self::ToolStarted { .. } => "tool.started.1",
            Self::ToolProgressed { .. } => "tool.progressed.1",
            Self::ToolEnded { .. } => "tool.ended.1",
            Self::ToolCompacted { .. } => "tool.compacted.1",
            Self::PermissionAsked { .. } => "permission.asked.1",
            Self::PermissionReplied { .. } => "permission.replied.1",
            Self::QuestionAsked { .. } => "question.asked.1",
            Self::QuestionReplied { .. } => "question.replied.1",
            Self::QuestionRejected { .. } => "question.rejected.1",
            Self::FilesChanged { .. } => "files.changed.1",
            Self::TodoSet { .. } => "todo.set.1",
            Self::SessionCompacted => "session.compacted.1",
            Self::SessionFailed { .. } => "session.failed.1",
            Self::SessionDiffed { .. } => "session.diffed.1",
            Self::StatusChanged { .. } => "status.changed.1",
            Self::SessionIdled => "session.idled.1",
            Self::TurnStopping => "turn.stopping.1",
            Self::CommandExecuted { .. } => "command.executed.1",
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
        serde_json::from_str(&tagged).map_err(|source| {
            if source.to_string().starts_with(&unknown_kind) {
                FactError::Unknown(kind.to_owned())
            } else {
                damaged(source)
            }
        })
    }
}

/// The session a fact about a whole session speaks of.
#[must_use]
pub fn session_of(fact: &Fact) -> Option<&SessionId> {
    match fact {
        Fact::SessionCreated { info } | Fact::SessionEdited { info, .. } | Fact::SessionRemoved { info } => {
            Some(&info.id)
        }
        _ => None,
    }
}
