//! Everything that can happen to a session.

use crate::fact::Outcome;
use crate::fork::Copied;
use crate::id::{MessageId, PartId, PermissionId, QuestionId};
use crate::json::{Map, Num};
use crate::rules::{CallRules, Wanted};
use crate::talk::Said;
use crate::turn::edit::SessionPatch;
use crate::types::ask::{PermissionReply, Question};
use crate::types::delivery::Delivery;
use crate::types::failure::Failure;
use crate::types::format::OutputFormat;
use crate::types::message::{ModelRef, Switches};
use crate::types::part::{Part, PartBody, SubtaskPart};
use crate::types::session::{Revert, Session};
use crate::types::step::{Diffed, PathPair, Ready, RevertTotals, StepFiles};
use crate::types::todo::Todo;
use crate::types::usage::Tokens;
use std::sync::Arc;

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
    /// The next attempt is heard: this is what stands in the message from those that failed. Said before its words.
    SetAside {
        step: MessageId,
        attempt: u32,
        parts: Vec<Part>,
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

    /// A call that plans needs a permission, or an answer to a question.
    Needs {
        part: PartId,
        ask: Ask,
    },
    /// A call has planned, and wants to act: everything it needs has been allowed.
    Planned {
        part: PartId,
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
    /// What follows until `FinishCopy` is a copy of another conversation, in several commits.
    StartCopy,
    /// A message of another conversation, with ids of this one.
    CopyMessage(Box<Copied>),
    /// One part of a message that is copied part by part, because it is large.
    CopyPart(Box<Part>),
    FinishCopy,
    /// The template of a command is about to run these.
    RunSnippets {
        command: String,
        snippets: Vec<String>,
    },
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
    /// Whether it is taken while a copy is made: what belongs to it, and what ends it.
    pub(crate) fn is_of_a_copy(&self) -> bool {
        matches!(
            self,
            Self::CopyMessage(_) | Self::CopyPart(_) | Self::FinishCopy | Self::Remove | Self::Restarted
        )
    }

    /// Whether somebody waits for the answer and should be told that it came to nothing.
    pub(crate) fn is_asked_by_a_person(&self) -> bool {
        match self {
            Self::Create { .. }
            | Self::Prompt(_)
            | Self::Shell(_)
            | Self::RunSnippets { .. }
            | Self::StartCopy
            | Self::CopyMessage(_)
            | Self::CopyPart(_)
            | Self::FinishCopy
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
            | Self::SetAside { .. }
            | Self::Timer { .. }
            | Self::Progressed { .. }
            | Self::Returned { .. }
            | Self::FilesChanged { .. }
            | Self::Diffed(_)
            | Self::Settle { .. }
            | Self::Needs { .. }
            | Self::Planned { .. }
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
    pub delivery: Delivery,
    pub start: PromptStart,
    /// Of what the client sent, if it may send it again.
    pub digest: Option<String>,
    /// What could not be read of it; clients are told, the prompt goes on without.
    pub failures: Vec<Failure>,
}

/// When a prompt that finds its session idle is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptStart {
    #[default]
    AtOnce,
    /// When somebody asks to go on, or for something else.
    WhenResumed,
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

/// A person asks for a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSummary {
    pub agent: String,
    pub model: ModelRef,
    /// Go on behind it, as if the window had been full.
    pub auto: bool,
}

/// A cut, or none any more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewRevert {
    pub revert: Option<Revert>,
    /// What the session has changed, without what is undone; none when that stays as it is.
    pub totals: Option<RevertTotals>,
    /// The cut that stood is final; none when it was taken back or another one is made.
    pub committed: Option<CommittedCut>,
}

/// A cut that is final.
#[derive(Clone, Debug, PartialEq)]
pub struct CommittedCut {
    /// Before which the conversation was cut.
    pub message: MessageId,
    /// The choices of an agent or a model that went with what was behind it.
    pub switches: Vec<MessageId>,
}

/// What a call needs before it acts.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Permission {
        /// The id of the request, should a person be asked.
        id: PermissionId,
        wanted: Wanted,
        /// What it is judged by.
        rules: Arc<CallRules>,
        /// What the answer "always" would allow.
        always: Vec<String>,
        /// What is shown with it.
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
