//! What a fact showed when it happened, from the fact and the row as it stands now.
//!
//! A reader that was away gets exactly the events it missed. A fact carries what changed, its row
//! carries what cannot change any more; together they give the record as it was.

use crate::fact::{Fact, Outcome};
use crate::id::{MessageId, PartId};
use crate::json::Num;
use crate::rows::{moved_message, moved_part};
use crate::types::message::{AssistantMessage, TurnSummary, UserMessage};
use crate::types::part::{Part, PartBody};
use crate::types::tool::{Started, ToolState};
use crate::types::usage::Tokens;
use serde::Serialize;

/// Which row must be at hand to show a fact again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs<'a> {
    Nothing,
    Message(&'a MessageId),
    Part(&'a PartId),
}

#[must_use]
pub fn needs(fact: &Fact) -> Needs<'_> {
    match fact {
        Fact::StepFinished { message, .. }
        | Fact::StepEnded { message, .. }
        | Fact::TurnSummarised { message, .. } => Needs::Message(message),
        Fact::ToolStarted { part, .. }
        | Fact::ToolProgressed { part, .. }
        | Fact::ToolEnded { part, .. }
        | Fact::ToolCompacted { part, .. } => Needs::Part(part),
        _ => Needs::Nothing,
    }
}

/// The record as it stood right after the fact. None when the fact shows no record, or when its row
/// is gone: then a later fact says so.
#[must_use]
pub fn show_again(fact: &Fact, row: Option<&str>) -> Option<String> {
    match fact {
        Fact::SessionCreated { info } | Fact::SessionEdited { info, .. } | Fact::SessionRemoved { info } => {
            json(info)
        }
        Fact::MessageAdded { info } | Fact::TurnDiffed { info } => json(info),
        Fact::MessageCopied { info, .. } => json(info),
        Fact::StepStarted { info, .. } => json(info),
        Fact::PartWritten { part }
        | Fact::TextStarted { part, .. }
        | Fact::TextEnded { part }
        | Fact::ToolCalled { part } => json(part),
        Fact::StepFinished { .. } => {
            let mut info: AssistantMessage = parse(row)?;
            (info.time.completed, info.error, info.structured) = (None, None, None);
            (info.cost, info.tokens) = (Num::ZERO, Tokens::default());
            json(&moved_message(info, fact))
        }
        Fact::StepEnded { .. } => json(&moved_message(parse(row)?, fact)),
        Fact::TurnSummarised { diffs, .. } => {
            let mut info: UserMessage = parse(row)?;
            info.summary = Some(TurnSummary { title: None, body: None, diffs: diffs.clone() });
            json(&info)
        }
        Fact::ToolStarted { .. } => json(&moved_part(parse(row)?, fact)),
        Fact::ToolProgressed { .. } | Fact::ToolEnded { .. } => {
            json(&moved_part(as_running(parse(row)?, fact), fact))
        }
        Fact::ToolCompacted { .. } => json(&moved_part(parse(row)?, fact)),
        Fact::PermissionAsked { request } => json(request),
        Fact::QuestionAsked { request } => json(request),
        Fact::TodoSet { todos } => json(todos),
        _ => None,
    }
}

/// The part as it stood while its call ran: what the call reported last is all that may be kept of it.
fn as_running(mut part: Part, fact: &Fact) -> Part {
    let PartBody::Tool(tool) = &mut part.body else { return part };
    let input = tool.state.input().clone();
    let (start, reported, raw) = match &tool.state {
        ToolState::Pending { .. } => return part,
        ToolState::Running { time, metadata, .. } => (time.start, metadata.clone(), None),
        ToolState::Completed { time, .. } => (time.start, None, None),
        ToolState::Error { time, metadata, raw, .. } => (time.start, metadata.clone(), raw.clone()),
    };
    let never_ran =
        matches!(fact, Fact::ToolEnded { outcome: Outcome::Interrupted { .. }, .. }) && raw.is_some();
    tool.state = match (never_ran, raw) {
        (true, Some(raw)) => ToolState::Pending { input, raw },
        _ => ToolState::Running { input, title: None, metadata: reported, time: Started { start } },
    };
    part
}

fn parse<T: serde::de::DeserializeOwned>(row: Option<&str>) -> Option<T> {
    serde_json::from_str(row?).ok()
}

fn json<T: Serialize>(value: &T) -> Option<String> {
    serde_json::to_string(value).ok()
}
