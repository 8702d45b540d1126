//! Everything the machine may ask for. An effect starts only after the facts of its decision are durable.

use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::stamp::Millis;
use crate::types::session::Rule;
use std::sync::Arc;

/// A call to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTool {
    pub step: MessageId,
    pub part: PartId,
    pub call: String,
    pub tool: String,
    pub input: Map,
    /// The same call for the third time in a row: a person is asked first.
    pub repeated: bool,
    /// A person asked for this call in so many words: nobody is asked again.
    pub by_user: bool,
}

/// What becomes of something that a call needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeedAnswer {
    /// The rules allow it, or a person did.
    Allowed,
    Answers(Vec<Vec<String>>),
    /// A rule forbids it: the call has ended.
    Denied(Vec<Rule>),
    /// A person said no, perhaps with words for the model: the call has ended.
    Rejected(Option<String>),
    /// A person closed the question: the call has ended.
    Dismissed,
}

/// Whether the model may call tools in this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    Offered,
    /// The agent has used up its steps: this is the last one, in words.
    Withheld,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Resolve model and agent, capture the worktree; answer with `Prepared`.
    Prepare {
        user: MessageId,
    },
    /// Resolve agent and model of a subtask; answer with `SubtaskReady`, or `NotPrepared` for the prompt.
    PrepareSubtask {
        user: MessageId,
        part: PartId,
    },
    /// Ask the model; answer with `Said` and at last perhaps `Failed`.
    CallModel {
        step: MessageId,
        user: MessageId,
        attempt: u32,
        tools: Tools,
    },
    /// Divide the conversation for a compaction; answer with `Prepared` for this request.
    PrepareCompaction {
        request: MessageId,
        /// What nobody has begun to answer: it and everything behind it stays as it is.
        first_waiting: Option<MessageId>,
        goes_on: bool,
    },
    /// Ask the model for a summary; answer as for `CallModel`.
    Summarise {
        step: MessageId,
        attempt: u32,
        text: Arc<str>,
    },
    /// Look for outputs that need not be sent again; answer with `Pruned`.
    Prune {
        edits: u32,
    },
    /// Wake the machine at this time.
    StartTimer {
        step: MessageId,
        attempt: u32,
        at: Millis,
    },
    RunTool(RunTool),
    /// Tell running calls to end, and come back with `Settle` after a moment.
    StopTools {
        step: MessageId,
    },
    /// Tell the call that waits for it. If nobody waits, nothing is started.
    AnswerTool {
        part: PartId,
        answer: NeedAnswer,
    },
    /// Tell the waiting call what the person said. After a restart nobody waits: then the call, which has
    /// only planned and not acted, plans again, and finds what it was allowed.
    ResumeTool {
        call: RunTool,
        answer: NeedAnswer,
    },
    /// Find a title for the conversation; answer with `Titled`.
    MakeTitle {
        user: MessageId,
    },
    /// Stop everything this session has running.
    StopAll,
}
