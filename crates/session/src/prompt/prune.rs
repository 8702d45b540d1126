//! Which old tool outputs need not be sent again.
//!
//! Messages come in newest first, so that the caller can page. The two newest turns are left
//! alone, then the newest 40 000 tokens of output; what lies beyond may go, if it is enough
//! to be worth breaking the provider's cache for.

use crate::id::PartId;
use crate::overflow::estimate;
use crate::types::message::{Message, MessageWithParts};
use crate::types::part::{PartBody, ToolPart};
use crate::types::tool::ToolState;
use std::ops::ControlFlow;

const TURNS_KEPT: usize = 2;
const TOKENS_KEPT: u64 = 40_000;
const TOKENS_WORTH_IT: u64 = 20_000;
/// Instructions the model works by; it would not know that it forgot them.
const NEVER: &str = "skill";

/// Looks for outputs to prune, from the newest message backwards.
#[derive(Debug, Default)]
pub struct Prune {
    turns: usize,
    tokens_seen: u64,
    tokens_found: u64,
    found: Vec<PartId>,
}

impl Prune {
    /// Looks at the next older message. `Break` says that no older one matters.
    pub fn push(&mut self, message: &MessageWithParts) -> ControlFlow<()> {
        match &message.info {
            Message::User(_) => self.turns += 1,
            Message::Assistant(_) => {}
        }
        if self.turns < TURNS_KEPT {
            return ControlFlow::Continue(());
        }
        if let Message::Assistant(assistant) = &message.info
            && assistant.summary == Some(true)
        {
            return ControlFlow::Break(());
        }
        message.parts.iter().rev().try_for_each(|part| {
            let PartBody::Tool(tool) = &part.body else { return ControlFlow::Continue(()) };
            self.weigh(&part.id, tool)
        })
    }

    fn weigh(&mut self, id: &PartId, tool: &ToolPart) -> ControlFlow<()> {
        let ToolState::Completed { output, time, .. } = &tool.state else { return ControlFlow::Continue(()) };
        if time.compacted.is_some() {
            return ControlFlow::Break(());
        }
        if tool.tool == NEVER {
            return ControlFlow::Continue(());
        }
        let tokens = estimate(output);
        self.tokens_seen += tokens;
        if self.tokens_seen > TOKENS_KEPT {
            self.tokens_found += tokens;
            self.found.push(id.clone());
        }
        ControlFlow::Continue(())
    }

    /// The parts to mark, newest first; none when it is too little.
    #[must_use]
    pub fn finish(self) -> Vec<PartId> {
        if self.tokens_found > TOKENS_WORTH_IT { self.found } else { Vec::new() }
    }
}

/// The tool parts whose output is no longer worth sending, from messages newest first.
#[must_use]
pub fn prunable<'a>(newest_first: impl IntoIterator<Item = &'a MessageWithParts>) -> Vec<PartId> {
    let mut prune = Prune::default();
    for message in newest_first {
        if prune.push(message).is_break() {
            break;
        }
    }
    prune.finish()
}
