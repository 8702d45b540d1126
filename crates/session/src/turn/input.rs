//! Everything that can happen to a session.

use crate::fact::Outcome;
use crate::id::{MessageId, PartId, PermissionId, QuestionId};
use crate::json::{Map, Num};
use crate::talk::Said;
use crate::turn::edit::SessionPatch;
use crate::types::ask::{PermissionReply, Question};
use crate::types::failure::Failure;
use crate::types::format::OutputFormat;
use crate::types::message::{MessagePath, ModelRef, Switches};
use crate::types::part::{Part, PartBody};
use crate::types::session::Session;
use crate::types::todo::Todo;
use crate::types::usage::{Prices, Tokens};
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub enum Input {
    Create {
        info: Box<Session>,
    },
    Prompt(Box<NewPrompt>),
    /// A waiting prompt is taken back.
    Withdraw {
        message: MessageId,
    },
    /// Go on with the prompts that wait.
    Resume,

    /// What a step needs is at hand.
    Prepared {
        user: MessageId,
        ready: Box<Ready>,
    },
    NotPrepared {
        user: MessageId,
        failure: Failure,
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
            | Self::Withdraw { .. }
            | Self::Resume
            | Self::Answered { .. }
            | Self::Edit(_)
            | Self::Remove
            | Self::RemoveMessage { .. }
            | Self::WritePart { .. }
            | Self::RemovePart { .. } => true,
            Self::Prepared { .. }
            | Self::NotPrepared { .. }
            | Self::Said { .. }
            | Self::Failed { .. }
            | Self::Timer { .. }
            | Self::Progressed { .. }
            | Self::Returned { .. }
            | Self::Settle { .. }
            | Self::Asked { .. }
            | Self::TodoSet { .. }
            | Self::Abort
            | Self::Restarted
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
    /// Names of all tools there are; a call of anything else is answered by `invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// A denial does not end the turn.

    #[serde(default)]
    pub continue_on_deny: bool,
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
