//! What is open in a session: `State` and the types it is made of.
//!
//! History stays in the store and is read when a request is built, so a state is small however
//! long the session is. Its `machine` half is stored beside the session row; open texts and calls
//! are found again in their own rows.
//!
//! `apply.rs` is the only thing that changes a state; `query.rs` reads one.

mod apply;
mod fingerprint;
mod query;

pub(super) use fingerprint::of_ask;
pub(super) use query::said_in;

use crate::fact::Posted;
use crate::id::{MessageId, PartId};
use crate::turn::phase::Phase;
use crate::types::delivery::Delivery;
use crate::types::message::{AssistantMessage, UserMessage};
use crate::types::part::Part;
use crate::types::session::Session;
use crate::types::step::{Ready, StepFiles};
use serde::{Deserialize, Serialize};

/// So many times in a row is a loop.
const REPEATED_CALLS: usize = 3;

/// What is known of a session. Facts change it and nothing else: from outside it can be looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The session record; none before it is created and after it is removed.
    pub(crate) info: Option<Box<Session>>,
    pub(crate) machine: Machine,
}

/// What the machine has open, stored for the next start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Prompts that are durable and wait for their turn, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<Waiting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<OpenTurn>,
    /// It is a copy that is not all there yet: nothing happens in it, and a restart removes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_copying: bool,
    /// Counts what people change in finished messages, so that what was read of them before is known to be stale.
    #[serde(skip)]
    pub(super) edits: u32,
}

/// An admitted prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    pub message: MessageId,
    /// Parts that are run in sessions of their own before the model is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<PartId>,
    /// The session went idle or was stopped and left it: it goes on when somebody asks for something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// It came while a turn ran, or began none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    #[serde(default, skip_serializing_if = "Delivery::is_steer")]
    pub delivery: Delivery,
    /// Its message; read back when the state is restored.
    #[serde(skip)]
    pub info: Option<Box<UserMessage>>,
}

impl Waiting {
    fn new(posted: &Posted, begins: bool) -> Self {
        let info = Some(Box::new(posted.info.clone()));
        let message = posted.info.id.clone();
        let delivery = Delivery::Steer;
        Self { message, subtasks: posted.subtasks(), left: false, queued: !begins, delivery, info }
    }
}

/// Everything from a promoted prompt until the session is idle again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// The newest prompt the conversation has come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<MessageId>,
    /// Its message; read back when the state is restored.
    #[serde(skip)]
    pub asked: Option<Box<UserMessage>>,
    /// Steps taken for it.
    #[serde(default)]
    pub steps: u32,
    /// Steps in a row that ended without a reason and without a call.
    #[serde(default)]
    pub silent_steps: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<OpenStep>,
    /// Fingerprints of the last calls, oldest first, to notice one that is repeated without end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_calls: Vec<u64>,
    /// Subtasks of the prompts that nobody has begun, in order. Each runs once: the fact that opens
    /// its step takes it off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<PartId>,
    /// A compaction that is wanted and comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<Waiting>,
    /// Automatic compactions in a row, without a step between them that left room.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compactions: u32,
    /// The next prompt only goes on behind a compaction: what is counted is counted on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// Answers that did not fit the schema.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// Requests that were sent again because one failed, in all its steps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// A step of it has changed files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_changed: bool,
}

/// The answer the model is giving.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenStep {
    pub message: MessageId,
    pub user: MessageId,
    #[serde(default)]
    pub ready: Ready,
    /// Which try at the model this is, from 0.
    #[serde(default)]
    pub attempt: u32,
    #[serde(default)]
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<OpenText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenCall>,
    /// A person said no: the turn ends with this step.
    #[serde(default)]
    pub blocked: bool,
    /// A text that is not empty was closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoke: bool,
    /// The object that fits the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<serde_json::Value>,
    /// An object was given that does not fit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub misfit: bool,
    /// What its calls have changed on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<StepFiles>,
    /// The message row; read back when the state is restored.
    #[serde(skip)]
    pub info: Option<Box<AssistantMessage>>,
    /// The message that asks for a compaction, if this is one; read back when the state is restored.
    #[serde(skip)]
    pub request: Option<Box<UserMessage>>,
}

/// A text or reasoning block that still grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenText {
    /// The provider's name for it.
    pub block: String,
    pub part: PartId,
    /// With everything that was said so far; read back when the state is restored.
    #[serde(skip)]
    pub body: Option<Box<Part>>,
}

/// A call of the open step, also after it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    pub call: String,
    pub part: PartId,
    pub phase: CallPhase,
    #[serde(default)]
    pub by_provider: bool,
    /// What a person has allowed it while it plans (fingerprints of the requests), so that nobody is asked twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<u64>,
    /// What a person has answered to its questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<Vec<String>>>,
    /// Requests of this call that wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<OpenAsk>,
    /// The part while the call is open; read back when the state is restored.
    #[serde(skip)]
    pub body: Option<Box<Part>>,
}

/// Something a person is asked. A question has no patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAsk {
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub permission: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<String>,
    /// What was shown with it: a call that would do something else by now is asked about again.
    #[serde(default)]
    pub fingerprint: u64,
    /// Where "always" counts; empty: where the session works.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checkout: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallPhase {
    /// Its arguments are still coming.
    Pending,
    /// It looks at what it would do, and asks for what it needs. It has certainly changed nothing.
    Planning,
    /// Everything is allowed: it may have acted.
    Running,
    Ended,
}

impl CallPhase {
    /// Its tool is at work, planning or acting.
    pub(super) fn is_under_way(self) -> bool {
        matches!(self, Self::Planning | Self::Running)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
