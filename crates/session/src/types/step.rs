//! What a step is made of, and what it leaves behind.

use super::compaction::Compaction;
use super::diff::FileDiff;
use super::message::{MessagePath, ModelRef, UserMessage};
use super::session::SessionSummary;
use super::usage::{Prices, Tokens};
use crate::id::PartId;
use serde::{Deserialize, Serialize};

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
        self.auto_compact && self.usable.is_some_and(|usable| tokens.used() >= usable)
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

/// What a step changed on disk: the trees before and after, and the files that differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFiles {
    pub before: String,
    pub after: String,
    /// Absolute.
    pub files: Vec<String>,
    /// Those of them that a command of another session may have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
}

/// What a turn changed, and the session as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diffed {
    /// The prompt, with its summary.
    pub prompt: UserMessage,
    pub summary: SessionSummary,
    pub session: Vec<FileDiff>,
}

/// What a session as a whole changed on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevertTotals {
    pub summary: SessionSummary,
    pub session: Vec<FileDiff>,
}
