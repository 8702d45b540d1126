//! Everything the machine may ask for. An effect starts only after the facts of its decision are durable.

use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::stamp::Millis;
use crate::turn::input::Answer;

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Resolve model and agent, capture the worktree; answer with `Prepared`.
    Prepare {
        user: MessageId,
    },
    /// Ask the model; answer with `Said` and at last perhaps `Failed`.
    CallModel {
        step: MessageId,
        user: MessageId,
        attempt: u32,
    },
    StopModel {
        step: MessageId,
    },
    /// Wake the machine at this time.
    StartTimer {
        step: MessageId,
        attempt: u32,
        at: Millis,
    },
    RunTool {
        step: MessageId,
        part: PartId,
        call: String,
        tool: String,
        input: Map,
    },
    StopTool {
        part: PartId,
    },
    /// Tell the waiting call what the person said.
    Deliver {
        part: PartId,
        ask: String,
        answer: Answer,
    },
    /// Find a title for the conversation; answer with `Titled`.
    MakeTitle {
        user: MessageId,
    },
    /// Stop everything this session has running.
    StopAll,
}
