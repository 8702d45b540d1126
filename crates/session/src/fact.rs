//! The log's vocabulary: one small thing that happened, in the past tense, stored for ever.
//!
//! A fact speaks of the session and not of the wire: which events clients see is worked out by `show`,
//! from the fact and the state before it. So a fact carries what changed and nothing that follows from it:
//! the end of a tool does not carry its input again, a step that finished does not carry the session record.
//!
//! How a fact is stored (its kind, its text, and the way back) is in `stored.rs`.

mod stored;

pub use stored::{DIFFED, FactError, GROWTH, PROGRESS};

use crate::id::{MessageId, PartId};
use crate::json::{Map, Num};
use crate::stamp::Millis;
use crate::talk::FinishReason;
use crate::types::ask::{PermissionReply, PermissionRequest, QuestionRequest};
use crate::types::delivery::Delivery;
use crate::types::failure::{ApiFailure, Failure};
use crate::types::message::{Message, UserMessage};
use crate::types::part::{Part, PartBody};
use crate::types::session::{Revert, Rule, Session, SessionModel, Share};
use crate::types::step::{Diffed, Ready, RevertTotals, StepFiles};
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
    SessionEdited { edit: Edit },
    /// The conversation was cut, the cut was moved or taken back.
    #[serde(rename = "session.reverted.1")]
    SessionReverted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revert: Option<Box<Revert>>,
        /// What lies behind the cut; none when the totals stay as they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        totals: Option<Box<RevertTotals>>,
        updated: Millis,
        /// The cut was made final and not taken back: it was before this message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        committed: Option<MessageId>,
    },
    /// With the record: everything before this entry leaves the log.
    #[serde(rename = "session.removed.1")]
    SessionRemoved { info: Box<Session> },

    /// A message that wants no answer.
    #[serde(rename = "message.added.1")]
    MessageAdded { posted: Box<Posted> },
    /// A prompt is durable and waits for its turn.
    #[serde(rename = "prompt.admitted.1")]
    PromptAdmitted {
        posted: Box<Posted>,
        /// The session was idle: its turn begins with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        begins: bool,
        #[serde(default, skip_serializing_if = "Delivery::is_steer")]
        delivery: Delivery,
        /// The session was idle and stays so: it waits until somebody asks for something.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        held: bool,
        /// A digest of what the client sent, so that the same prompt is recognised when it is sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A waiting prompt was taken back before its turn came; its message goes with it.
    #[serde(rename = "prompt.withdrawn.1")]
    PromptWithdrawn { message: MessageId },
    /// The message asks for a compaction, which comes before any waiting prompt.
    #[serde(rename = "compaction.wanted.1")]
    CompactionWanted {
        posted: Box<Posted>,
        auto: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        begins: bool,
    },

    /// The session is a copy that takes several commits. It counts when all of it is there.
    #[serde(rename = "copy.started.1")]
    CopyStarted,
    /// All of it is there.
    #[serde(rename = "copy.finished.1")]
    CopyFinished,
    /// A finished message of another conversation: the copy and what its steps had used.
    #[serde(rename = "message.copied.1")]
    MessageCopied { info: Box<Message>, cost: Num, tokens: Tokens },
    #[serde(rename = "message.removed.1")]
    MessageRemoved { message: MessageId, cost: Num, tokens: Tokens },
    /// A part that is written whole, or takes the place of one.
    #[serde(rename = "part.written.1")]
    PartWritten { part: Box<Part> },
    #[serde(rename = "part.removed.1")]
    PartRemoved { message: MessageId, part: PartId, cost: Num, tokens: Tokens },

    /// The turn goes on with this message: the prompt that is being answered, one that waited, or a
    /// compaction.
    #[serde(rename = "turn.continued.1")]
    TurnContinued { message: MessageId },
    /// Somebody pressed stop; running calls get a moment to end by themselves.
    #[serde(rename = "turn.stopping.1")]
    TurnStopping,
    /// The turn is over; whoever still waits goes on waiting.
    #[serde(rename = "session.idled.1")]
    SessionIdled { end: TurnEnd },

    /// What the calls of the open step have changed on disk so far; takes the place of what was said before.
    #[serde(rename = "files.changed.1")]
    FilesChanged { message: MessageId, files: StepFiles },
    /// What a turn changed on disk, and the session as a whole, was worked out.
    #[serde(rename = "turn.diffed.1")]
    TurnDiffed { diffed: Box<Diffed>, updated: Millis },

    /// An answer begins. The prompts it takes up are in the conversation now, in this order.
    #[serde(rename = "step.started.1")]
    StepStarted {
        message: MessageId,
        user: MessageId,
        created: Millis,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        takes: Vec<MessageId>,
        ready: Box<Ready>,
    },
    /// A person runs a command of their own: a message of theirs and a step without a model.
    #[serde(rename = "shell.started.1")]
    ShellStarted { posted: Box<Posted>, message: MessageId, created: Millis, ready: Box<Ready> },
    /// These prompts were looked at and cannot be answered as they are.
    #[serde(rename = "prompt.failed.1")]
    PromptFailed { messages: Vec<MessageId> },
    /// The model was heard for the first time in this attempt.
    #[serde(rename = "step.began.1")]
    StepBegan { message: MessageId, part: PartId },
    /// The attempt failed; there is another one later.
    #[serde(rename = "step.delayed.1")]
    StepDelayed {
        message: MessageId,
        /// The number of the next attempt.
        attempt: u32,
        reason: String,
        next: Millis,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Box<RetryNote>>,
    },
    /// The wait is over.
    #[serde(rename = "step.retried.1")]
    StepRetried { message: MessageId, attempt: u32 },
    /// The model has said its last word while calls are still running.
    #[serde(rename = "model.finished.1")]
    ModelFinished { message: MessageId, reason: FinishReason, usage: Usage },
    /// The model's last word: why it stopped and what the step used.
    #[serde(rename = "step.finished.1")]
    StepFinished {
        message: MessageId,
        part: PartId,
        reason: FinishReason,
        cost: Num,
        tokens: Tokens,
        time: Millis,
    },
    /// Nothing of the step is open any more.
    #[serde(rename = "step.ended.1")]
    StepEnded {
        message: MessageId,
        completed: Millis,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Failure>,
        /// Why it stopped, when the model itself did not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<FinishReason>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<serde_json::Value>,
    },

    /// Text or reasoning opened, empty.
    #[serde(rename = "text.started.1")]
    TextStarted {
        message: MessageId,
        part: PartId,
        block: String,
        words: Words,
        start: Millis,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Map>,
    },
    /// More of an open text, or of the arguments of a call that has not begun.
    #[serde(rename = "text.grew.1")]
    TextGrew { part: PartId, delta: String },
    /// Carries the final text, so that the growth can be folded away.
    #[serde(rename = "text.ended.1")]
    TextEnded {
        part: PartId,
        text: String,
        end: Millis,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Map>,
    },

    /// First sign of a call.
    #[serde(rename = "tool.called.1")]
    ToolCalled {
        message: MessageId,
        part: PartId,
        call: String,
        tool: String,
        /// Set on a call the server makes itself: it runs from the first moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        running: Option<Box<Running>>,
    },
    /// The call is complete: its tool begins to plan. Until it is allowed it only looks.
    #[serde(rename = "tool.started.1")]
    ToolStarted {
        part: PartId,
        tool: String,
        input: Map,
        start: Millis,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Map>,
    },
    /// Invariant I5: everything the call needs is allowed. This is a fact before the call changes anything; a call that
    /// only reads does without.
    #[serde(rename = "tool.allowed.1")]
    ToolAllowed { part: PartId },
    /// What a running tool reports of itself; it takes the place of what it reported before.
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
        /// The part before it, for whoever writes or shows its row. Not stored: the log has it already.
        #[serde(skip)]
        before: Option<Box<Part>>,
    },

    #[serde(rename = "permission.asked.1")]
    PermissionAsked {
        request: Box<PermissionRequest>,
        /// The checkout, after all links, in which the answer "always" counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkout: Option<String>,
    },
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

    #[serde(rename = "todo.set.1")]
    TodoSet { todos: Vec<Todo> },
    #[serde(rename = "session.compacted.1")]
    SessionCompacted,
    /// Something went wrong that clients are told of at once.
    #[serde(rename = "session.failed.1")]
    SessionFailed { error: Failure },
    /// The template of a command runs these snippets from here on.
    #[serde(rename = "snippets.started.1")]
    SnippetsStarted { command: String, snippets: Vec<String> },
    #[serde(rename = "command.executed.1")]
    CommandExecuted { name: String, arguments: String, message: MessageId },
}

/// A message in the person's place, with what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Posted {
    pub info: UserMessage,
    pub parts: Vec<Part>,
    /// When a person wrote it, which the session record remembers; none when the server goes on by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched: Option<Millis>,
    /// What of it could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

impl Posted {
    /// Parts that are run in sessions of their own.
    #[must_use]
    pub fn subtasks(&self) -> Vec<PartId> {
        let subtasks = self.parts.iter().filter(|part| matches!(part.body, PartBody::Subtask(_)));
        subtasks.map(|part| part.id.clone()).collect()
    }
}

/// A failed attempt that stays visible in the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryNote {
    pub part: PartId,
    pub error: ApiFailure,
    pub time: Millis,
}

/// The arguments of a call and when it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub input: Map,
    pub start: Millis,
}

/// What opens and grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    Text,
    Reasoning,
}

impl Words {
    /// Which of the two a part is, if it is one that grows.
    #[must_use]
    pub fn of(body: &PartBody) -> Option<Self> {
        match body {
            PartBody::Text(_) => Some(Self::Text),
            PartBody::Reasoning(_) => Some(Self::Reasoning),
            PartBody::Subtask(_)
            | PartBody::File(_)
            | PartBody::Tool(_)
            | PartBody::StepStart(_)
            | PartBody::StepFinish(_)
            | PartBody::Snapshot(_)
            | PartBody::Patch(_)
            | PartBody::Agent(_)
            | PartBody::Retry(_)
            | PartBody::Compaction(_) => None,
        }
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnEnd {
    /// After its last step it was looked for more to do, and nothing was found.
    Done,
    /// The answer that was asked for is given.
    Given,
    /// A person refused something.
    Refused,
    Failed,
    /// A person's own command is over.
    Shell,
    /// A person pressed stop.
    Stopped,
    /// The process died.
    Interrupted,
}

impl TurnEnd {
    /// As it is stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Given => "given",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Shell => "shell",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What changed in the session record, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edit {
    /// By a person.
    Renamed {
        title: String,
    },
    /// By a model.
    Titled {
        title: String,
    },
    Archived {
        archived: Option<Num>,
    },
    /// Where it is shared; none: nowhere any more.
    Shared {
        share: Option<Share>,
    },
    /// Rules are added behind the old ones.
    Permitted {
        rules: Vec<Rule>,
        updated: Millis,
    },
    /// Agent or model of the next prompt that names none.
    Switched {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<SessionModel>,
        /// Names the switch where clients want a message.
        message: MessageId,
        updated: Millis,
    },
    /// These switches went with the messages around them, by an undo that was made final: they are listed no more. What
    /// was chosen stays chosen.
    Unswitched {
        messages: Vec<MessageId>,
    },
    /// Its directory belongs to another project now, or is somewhere else; none of its fields says when.
    Moved {
        project: String,
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
    },
    /// Takes the place of the old object.
    Described {
        metadata: Map,
        updated: Millis,
    },
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
    Interrupted {
        error: String,
        /// The arguments as far as they came, of a call that had not begun: their growth may be folded away.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
}
