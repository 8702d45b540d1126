//! Everything that can happen to a session.

use crate::fact::Outcome;
use crate::fork::Copied;
use crate::id::{MessageId, PartId, PermissionId, QuestionId};
use crate::json::{Map, Num};
use crate::overflow::used;
use crate::talk::Said;
use crate::turn::compaction::{Compaction, NewSummary};
use crate::turn::edit::SessionPatch;
use crate::types::ask::{PermissionReply, Question};
use crate::types::diff::FileDiff;
use crate::types::failure::Failure;
use crate::types::format::OutputFormat;
use crate::types::message::{MessagePath, ModelRef, Switches, UserMessage};
use crate::types::part::{Part, PartBody, SubtaskPart};
use crate::types::session::{Revert, Session, SessionSummary};
use crate::types::todo::Todo;
use crate::types::usage::{Prices, Tokens};
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub enum Input {
    Create {
        info: Box<Session>,
    },
    Prompt(Box<NewPrompt>),
    /// A person runs a command of their own, without a model.
    Shell(Box<NewShell>),
    /// A waiting prompt is taken back.
    Withdraw {
        message: MessageId,
    },
    /// Go on with the prompts that wait.
    Resume,
    /// Somebody wants the conversation summarised, now or as soon as the step is over.
    Summarize(Box<NewSummary>),
    /// These outputs need not be sent again. `edits` is that of the effect which looked for them.
    Pruned {
        edits: u32,
        parts: Vec<Part>,
    },

    /// What a step needs is at hand.
    Prepared {
        user: MessageId,
        ready: Box<Ready>,
    },
    NotPrepared {
        user: MessageId,
        failure: Failure,
    },
    /// What a subtask of a prompt needs is at hand.
    SubtaskReady {
        part: PartId,
        subtask: Box<SubtaskPart>,
        ready: Box<Ready>,
    },
    Said {
        step: MessageId,
        attempt: u32,
        said: Said,
    },
    /// The model's stream broke, or never began.
    Failed {
        step: MessageId,
        attempt: u32,
        failure: Failure,
    },
    /// The wait before the next attempt is over.
    Timer {
        step: MessageId,
        attempt: u32,
    },

    Progressed {
        part: PartId,
        title: Option<String>,
        metadata: Option<Map>,
    },
    Returned {
        part: PartId,
        outcome: Outcome,
    },
    /// A call is over, and this is what its step has changed on disk so far. Said before `Returned`.
    FilesChanged {
        step: MessageId,
        files: StepFiles,
    },
    /// The same as clients are shown it, for the turn and the session. Said behind `FilesChanged`.
    Diffed(Box<Diffed>),
    /// The conversation was cut, the cut was moved or taken back; the files have followed already.
    Revert(Box<NewRevert>),
    /// The moment that running calls were given to end by themselves is over.
    Settle {
        step: MessageId,
    },

    /// A running call wants to know something from a person.
    Asked {
        part: PartId,
        ask: Ask,
    },
    Answered {
        ask: String,
        answer: Answer,
    },
    TodoSet {
        todos: Vec<Todo>,
    },

    Abort,
    /// The process died and is back: settle what is open, start nothing.
    Restarted,

    Titled {
        title: String,
    },
    Edit(SessionPatch),
    Remove,
    /// A message of another conversation, with ids of this one.
    CopyMessage(Box<Copied>),
    /// The turn that a command began is over.
    Executed {
        command: String,
        arguments: String,
        message: MessageId,
    },
    RemoveMessage {
        message: MessageId,
        cost: Num,
        tokens: Tokens,
    },
    WritePart {
        part: Box<Part>,
    },
    RemovePart {
        message: MessageId,
        part: PartId,
        cost: Num,
        tokens: Tokens,
    },
}

impl Input {
    /// Whether somebody waits for the answer and should be told that it came to nothing.
    pub(crate) fn is_asked_by_a_person(&self) -> bool {
        match self {
            Self::Create { .. }
            | Self::Prompt(_)
            | Self::Shell(_)
            | Self::CopyMessage(_)
            | Self::Withdraw { .. }
            | Self::Resume
            | Self::Summarize(_)
            | Self::Answered { .. }
            | Self::Edit(_)
            | Self::Revert(_)
            | Self::Remove
            | Self::RemoveMessage { .. }
            | Self::WritePart { .. }
            | Self::RemovePart { .. } => true,
            Self::Prepared { .. }
            | Self::NotPrepared { .. }
            | Self::SubtaskReady { .. }
            | Self::Executed { .. }
            | Self::Said { .. }
            | Self::Failed { .. }
            | Self::Timer { .. }
            | Self::Progressed { .. }
            | Self::Returned { .. }
            | Self::FilesChanged { .. }
            | Self::Diffed(_)
            | Self::Settle { .. }
            | Self::Asked { .. }
            | Self::TodoSet { .. }
            | Self::Abort
            | Self::Restarted
            | Self::Pruned { .. }
            | Self::Titled { .. } => false,
        }
    }
}

/// A prompt, checked and resolved: agent and model exist, files are read.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPrompt {
    /// Chosen by the client, or none.
    pub message: Option<MessageId>,
    pub agent: String,
    pub model: ModelRef,
    /// Bodies in order, each with the id the client chose for it.
    pub parts: Vec<(Option<PartId>, PartBody)>,
    pub system: Option<String>,
    pub tools: Option<Switches>,
    pub format: Option<OutputFormat>,
    /// False: only store the message, call no model.
    pub wants_reply: bool,
    /// What could not be read of it; clients are told, the prompt goes on without.
    pub failures: Vec<Failure>,
}

/// A command of a person, checked and resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct NewShell {
    /// Chosen by the client, or none.
    pub message: Option<MessageId>,
    pub agent: String,
    pub model: ModelRef,
    pub path: PathPair,
    pub command: String,
}

/// What a step changed on disk: the trees before and after, and the files that differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFiles {
    pub before: String,
    pub after: String,
    /// Absolute.
    pub files: Vec<String>,
}

/// What a turn changed, and the session as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diffed {
    /// The prompt, with its summary.
    pub prompt: UserMessage,
    pub summary: SessionSummary,
    pub session: Vec<FileDiff>,
}

/// A cut, or none any more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewRevert {
    pub revert: Option<Revert>,
    /// What lies behind the cut; none when the totals stay as they are.
    pub totals: Option<RevertTotals>,
}

/// What a session as a whole changed on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevertTotals {
    pub summary: SessionSummary,
    pub session: Vec<FileDiff>,
}

/// What a step is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// A model answers the newest prompt.
    #[default]
    Answer,
    /// A model summarises the conversation, so that it fits again.
    Compact(Box<Compaction>),
    /// A person's own command runs.
    Shell,
    /// A subtask of a prompt runs in a session of its own.
    Subtask {
        part: PartId,
        /// Set when a command led to it: whom to ask to go on with the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follow: Option<Box<Follow>>,
    },
}

/// Agent and model of the prompt that a subtask came with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Follow {
    pub agent: String,
    pub model: ModelRef,
}

impl StepKind {
    #[must_use]
    pub fn is_answer(&self) -> bool {
        *self == Self::Answer
    }

    #[must_use]
    pub fn is_compaction(&self) -> bool {
        matches!(self, Self::Compact(_))
    }

    /// Whether a model speaks in the step.
    #[must_use]
    pub fn is_spoken(&self) -> bool {
        match self {
            Self::Answer | Self::Compact(_) => true,
            Self::Shell | Self::Subtask { .. } => false,
        }
    }
}

/// What a step needs to know; sampled when it starts, so that a reload never changes a running step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    pub agent: String,
    pub provider_id: String,
    pub model_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    pub path: PathPair,
    pub prices: Prices,
    pub limits: Limits,
    /// The captured state of the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Most steps of one turn for this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_max: Option<u32>,
    /// Names of the tools that may be called; a call of anything else is answered by `invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// A denial does not end the turn.
    #[serde(default)]
    pub continue_on_deny: bool,
    /// What the step is made of.
    #[serde(default, skip_serializing_if = "StepKind::is_answer")]
    pub kind: StepKind,
    /// How many tokens of history fit; none when the window is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<u64>,
    /// A full window is compacted without being asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_compact: bool,
    /// Old outputs are looked through when the turn is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prune: bool,
    /// The answer must fit a schema; one that does not is handed back this often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<u32>,
}

impl Ready {
    /// Whether a step that used so much leaves no room for the next one.
    #[must_use]
    pub fn is_full(&self, tokens: &Tokens) -> bool {
        self.auto_compact && self.usable.is_some_and(|usable| used(tokens) >= usable)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathPair {
    pub cwd: String,
    pub root: String,
}

impl From<PathPair> for MessagePath {
    fn from(pair: PathPair) -> Self {
        Self { cwd: pair.cwd, root: pair.root }
    }
}

/// Token limits of a model; zero means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub context: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    pub output: u64,
}

/// What a running call asks a person.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Permission {
        id: PermissionId,
        permission: String,
        patterns: Vec<String>,
        always: Vec<String>,
        metadata: Map,
        /// The checkout, after all links, in which the answer "always" counts; where the session works, if not said.
        checkout: Option<String>,
    },
    Question {
        id: QuestionId,
        questions: Vec<Question>,
    },
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Permission { reply: PermissionReply, message: Option<String> },
    Question { answers: Vec<Vec<String>> },
    Dismissed,
}
