//! Where an open step stands.
//!
//! A turn without a step is being prepared. A step is asked for, heard, and settles when the model has said its last
//! word; a failed attempt waits and is asked for again; a person may stop it wherever it stands.

use crate::stamp::Millis;
use crate::talk::FinishReason;
use crate::types::step::StepKind;
use crate::types::usage::Usage;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The model is asked, and was not heard in this attempt.
    #[default]
    Asking,
    /// The model is being heard.
    Talking,
    /// The attempt failed, and there is another one later.
    Retrying(Pause),
    /// No model speaks, or not any more: the step ends with its calls.
    Settling {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_word: Option<LastWord>,
    },
    /// Somebody pressed stop; only the end of calls is still heard.
    Stopping,
}

/// The wait between two attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// What went wrong, in words for people.
    pub reason: String,
    /// When the next attempt begins.
    pub next: Millis,
}

/// What the model said at last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastWord {
    pub reason: FinishReason,
    pub usage: Usage,
}

impl Phase {
    /// How a step of this kind begins.
    pub(super) fn of(kind: &StepKind) -> Self {
        match kind {
            StepKind::Answer | StepKind::Compact(_) => Self::Asking,
            StepKind::Shell | StepKind::Subtask { .. } => Self::Settling { last_word: None },
        }
    }

    /// Whether something the model says now belongs to the step.
    pub(super) fn hears_the_model(&self) -> bool {
        match self {
            Self::Asking | Self::Talking | Self::Retrying(_) => true,
            Self::Settling { .. } | Self::Stopping => false,
        }
    }
}
