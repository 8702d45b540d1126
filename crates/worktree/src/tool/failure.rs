//! Why a call did not do what it should.

use crate::path::PathError;
use sturdy_session::json::Map;
use sturdy_session::turn::{DISMISSED_TEXT, rejected_text};
use sturdy_session::types::session::Rule;

/// A failed call: a sentence the model can use, and what kind of failure it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{text}")]
pub struct ToolFailure {
    /// For the model.
    pub text: String,
    /// For clients.
    pub metadata: Box<Map>,
    pub kind: FailureKind,
}

/// What the turn does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It was tried and did not work; the model sees why and goes on.
    Failed,
    /// A rule forbids it; the model sees the rules and goes on.
    Denied { rules: Vec<Rule> },
    /// A person said no. With words for the model it goes on, without it stops.
    Rejected { feedback: Option<String> },
    /// A person closed a question without an answer.
    Dismissed,
    /// The turn was stopped.
    Aborted,
}

impl ToolFailure {
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), metadata: Box::default(), kind: FailureKind::Failed }
    }

    /// Clients look for the words "specified a rule".
    #[must_use]
    pub fn denied(rules: Vec<Rule>) -> Self {
        let listed = serde_json::to_string(&rules).unwrap_or_default();
        let text =
            format!("The user has specified a rule that forbids this call. The rules about it: {listed}");
        Self { text, metadata: Box::default(), kind: FailureKind::Denied { rules } }
    }

    /// Clients look for the words "rejected permission".
    #[must_use]
    pub fn rejected(feedback: Option<String>) -> Self {
        let text = rejected_text(feedback.as_deref());
        Self { text, metadata: Box::default(), kind: FailureKind::Rejected { feedback } }
    }

    /// Clients look for the words "user dismissed".
    #[must_use]
    pub fn dismissed() -> Self {
        let text = DISMISSED_TEXT.to_owned();
        Self { text, metadata: Box::default(), kind: FailureKind::Dismissed }
    }

    #[must_use]
    pub fn aborted() -> Self {
        Self {
            text: "Tool execution aborted".to_owned(),
            metadata: Box::default(),
            kind: FailureKind::Aborted,
        }
    }
}

impl From<PathError> for ToolFailure {
    fn from(error: PathError) -> Self {
        let words = error.to_string();
        let mut letters = words.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        let way_on = match error {
            PathError::Malformed => " Give the path of a file.",
            PathError::Missing(_) => " Look for it with glob, or list the directory with read.",
            PathError::Link(_) => " Use the path of the file itself.",
            PathError::NotAFile { .. }
            | PathError::NotADirectory(_)
            | PathError::Forbidden(_)
            | PathError::Io { .. } => "",
        };
        Self::failed(format!("{first}{}.{way_on}", letters.as_str()))
    }
}
