//! Where a revert cuts a conversation, and what lies behind the cut.
//!
//! A revert names a message or a part. It cuts before the prompt that the message belongs to, or inside the
//! message where something readable stays in front. What lies behind the cut stays listed until the next
//! prompt, and the changes of its steps are undone on the disk.
//!
//! Not here: the files (`sturdy-worktree`, `snapshot`).

use crate::id::{MessageId, PartId};
use crate::types::message::{Message, MessageWithParts};
use crate::types::part::{Part, PartBody};
use crate::types::session::{Revert, RevertUncaptured};
use crate::types::tool::ToolState;
use std::collections::BTreeSet;

/// In the metadata of a call: why an undo does not know what the call changed.
pub const UNCAPTURED: &str = "uncaptured";

/// The place before which a conversation is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    pub message: MessageId,
    /// Inside the message: this part and what follows it.
    pub part: Option<PartId>,
}

impl Boundary {
    #[must_use]
    pub fn of(revert: &Revert) -> Self {
        Self { message: revert.message_id.clone(), part: revert.part_id.clone() }
    }

    /// From where on files are undone. None when only the conversation was cut.
    #[must_use]
    pub fn of_files(revert: &Revert) -> Option<Self> {
        revert.snapshot.as_ref()?;
        Some(match &revert.files_from {
            Some(from) => Self { message: from.message_id.clone(), part: from.part_id.clone() },
            None => Self::of(revert),
        })
    }
}

/// What one step changed on the disk, as two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTrees {
    pub before: String,
    /// None: it was captured by another program, which did not say.
    pub after: Option<String>,
    /// Files that a command of another session may have changed.
    pub shared: Vec<String>,
}

/// The messages and parts after a cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AfterCut<'a> {
    pub messages: Vec<&'a MessageWithParts>,
    /// Of the message in which the cut is.
    pub parts: Vec<&'a Part>,
}

/// Where a revert to this message or part cuts. `None` if there is no such message or part.
#[must_use]
pub fn boundary(
    messages: &[MessageWithParts],
    message: &MessageId,
    part: Option<&PartId>,
) -> Option<Boundary> {
    let mut prompt = None;
    for one in messages {
        if let Message::User(info) = &one.info {
            prompt = Some(info.id.clone());
        }
        if one.info.id() != message {
            continue;
        }
        let inside = match part {
            None => None,
            Some(part) => {
                let at = one.parts.iter().position(|known| known.id == *part)?;
                one.parts[..at].iter().any(is_readable).then(|| part.clone())
            }
        };
        return Some(match inside {
            Some(part) => Boundary { message: message.clone(), part: Some(part) },
            None => Boundary { message: prompt.unwrap_or_else(|| message.clone()), part: None },
        });
    }
    None
}

/// Something a person would miss if the cut were before it.
fn is_readable(part: &Part) -> bool {
    matches!(part.body, PartBody::Text(_) | PartBody::Tool(_))
}

/// What the steps of two prompts and of everything between them changed on the disk, oldest first.
#[must_use]
pub fn trees_between(messages: &[MessageWithParts], first: &MessageId, last: &MessageId) -> Vec<StepTrees> {
    let place = |prompt: &MessageId| {
        messages.iter().position(|one| one.info.id() == prompt && matches!(one.info, Message::User(_)))
    };
    let (Some(from), Some(to)) = (place(first), place(last)) else { return Vec::new() };
    if from > to {
        return Vec::new();
    }
    let is_prompt = |one: &&MessageWithParts| matches!(one.info, Message::User(_));
    let boundary = |one: &MessageWithParts| Boundary { message: one.info.id().clone(), part: None };
    let mut trees = trees_behind(messages, &boundary(&messages[from]));
    if let Some(next) = messages[to + 1..].iter().find(is_prompt) {
        let later = trees_behind(messages, &boundary(next)).len();
        trees.truncate(trees.len().saturating_sub(later));
    }
    trees
}

/// What lies behind the cut, oldest first.
#[must_use]
pub fn behind<'a>(messages: &'a [MessageWithParts], boundary: &Boundary) -> AfterCut<'a> {
    let Some(at) = messages.iter().position(|one| *one.info.id() == boundary.message) else {
        return AfterCut::default();
    };
    let Some(part) = &boundary.part else {
        return AfterCut { messages: messages[at..].iter().collect(), parts: Vec::new() };
    };
    let parts = &messages[at].parts;
    let from = parts.iter().position(|known| known.id == *part).unwrap_or(parts.len());
    AfterCut { messages: messages[at + 1..].iter().collect(), parts: parts[from..].iter().collect() }
}

/// What the steps behind a cut changed, in the order in which it happened.
#[must_use]
pub fn trees_behind(messages: &[MessageWithParts], boundary: &Boundary) -> Vec<StepTrees> {
    let behind = behind(messages, boundary);
    let holder = messages.iter().find(|one| *one.info.id() == boundary.message);
    let mut found = Vec::new();
    if let (Some(holder), false) = (holder, behind.parts.is_empty()) {
        let skipped = holder.parts.len() - behind.parts.len();
        found.extend(trees_of(&holder.parts, skipped));
    }
    for one in behind.messages {
        found.extend(trees_of(&one.parts, 0));
    }
    found
}

/// The calls behind a cut whose changes were not captured, or not all of them.
#[must_use]
pub fn uncaptured_behind(messages: &[MessageWithParts], boundary: &Boundary) -> Vec<RevertUncaptured> {
    let behind = behind(messages, boundary);
    let parts = behind.parts.into_iter().chain(behind.messages.into_iter().flat_map(|one| &one.parts));
    parts.filter_map(uncaptured).collect()
}

fn uncaptured(part: &Part) -> Option<RevertUncaptured> {
    let PartBody::Tool(call) = &part.body else { return None };
    let metadata = match &call.state {
        ToolState::Completed { metadata, .. } => Some(metadata),
        ToolState::Running { metadata, .. } | ToolState::Error { metadata, .. } => metadata.as_ref(),
        ToolState::Pending { .. } => None,
    };
    let why = metadata?.get(UNCAPTURED)?.as_str()?.to_owned();
    Some(RevertUncaptured { part_id: part.id.clone(), tool: call.tool.clone(), why })
}

/// Every tree that a session names: those of its steps, and the one before a revert that stands.
#[must_use]
pub fn trees_named(messages: &[MessageWithParts], revert: Option<&Revert>) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for part in messages.iter().flat_map(|one| &one.parts) {
        match &part.body {
            PartBody::StepStart(start) => named.extend(start.snapshot.clone()),
            PartBody::StepFinish(finish) => named.extend(finish.snapshot.clone()),
            PartBody::Snapshot(snapshot) => drop(named.insert(snapshot.snapshot.clone())),
            PartBody::Patch(patch) => drop(named.insert(patch.hash.clone())),
            PartBody::Text(_)
            | PartBody::Subtask(_)
            | PartBody::Reasoning(_)
            | PartBody::File(_)
            | PartBody::Tool(_)
            | PartBody::Agent(_)
            | PartBody::Retry(_)
            | PartBody::Compaction(_) => {}
        }
    }
    named.extend(revert.and_then(|revert| revert.snapshot.clone()));
    named
}

/// What the turn of a prompt changed, in order.
#[must_use]
pub fn trees_of_turn(messages: &[MessageWithParts], prompt: &MessageId) -> Vec<StepTrees> {
    let is_of_turn = |one: &&MessageWithParts| match &one.info {
        Message::User(_) => false,
        Message::Assistant(info) => info.parent_id == *prompt,
    };
    messages.iter().filter(is_of_turn).flat_map(|one| trees_of(&one.parts, 0)).collect()
}

/// What one step changed, in order.
#[must_use]
pub fn trees_of_step(parts: &[Part]) -> Vec<StepTrees> {
    trees_of(parts, 0)
}

/// A patch names the tree before; the tree after it stands in the part that ended the step, or in one of its own.
fn trees_of(parts: &[Part], skipped: usize) -> Vec<StepTrees> {
    let mut after = None;
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        match &part.body {
            PartBody::StepFinish(finish) => after = finish.snapshot.clone(),
            PartBody::Snapshot(snapshot) => after = Some(snapshot.snapshot.clone()),
            PartBody::Patch(patch) if at >= skipped => {
                let before = patch.hash.clone();
                found.push(StepTrees { before, after: after.clone(), shared: patch.shared.clone() });
            }
            PartBody::Patch(_)
            | PartBody::Text(_)
            | PartBody::Subtask(_)
            | PartBody::Reasoning(_)
            | PartBody::File(_)
            | PartBody::Tool(_)
            | PartBody::StepStart(_)
            | PartBody::Agent(_)
            | PartBody::Retry(_)
            | PartBody::Compaction(_) => {}
        }
    }
    found
}
