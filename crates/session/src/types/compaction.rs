//! What a compaction is told when it begins, and what is said behind it.

use crate::id::{MessageId, PartId};
use crate::types::format::OutputFormat;
use crate::types::message::{ModelRef, Switches};
use crate::types::part::PartBody;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is summarised, what stays, and what is said behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// The part that asks for it; it learns where the tail begins.
    pub part: PartId,
    /// Nobody asked for it: the window is full.
    #[serde(default)]
    pub auto: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<bool>,
    /// It comes between two steps of a turn that is not done.
    #[serde(default)]
    pub goes_on: bool,
    /// The first message that stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<MessageId>,
    /// What the model is asked. Known until the process restarts; then the step is interrupted anyway.
    #[serde(skip)]
    pub text: Arc<str>,
    /// What is said behind it. Known until the process restarts.
    #[serde(skip)]
    pub follow: Option<Box<FollowUp>>,
}

/// The prompt that goes on behind a compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowUp {
    pub agent: String,
    pub model: ModelRef,
    pub format: Option<OutputFormat>,
    pub system: Option<String>,
    pub tools: Option<Switches>,
    pub words: Words,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Words {
    /// The prompt that did not fit is said again.
    Again(Vec<PartBody>),
    /// The model is told to go on. `request` is what the person wrote, when only the summary tells of it.
    GoOn { overflow: bool, request: Option<String> },
}
