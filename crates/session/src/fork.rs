//! Copying a conversation: fresh ids, the same words.
//!
//! What points at another message points at its copy; what points outside the copy is kept where it
//! only names (an answer's question) and dropped where it would mislead (a tail that is not there).
//! A copy has nothing open: an answer that was still being given is closed where it stood.

use crate::id::{MessageId, SessionId};
use crate::json::{Map, Num};
use crate::stamp::{Millis, Stamp};
use crate::types::failure::Failure;
use crate::types::message::{AssistantMessage, Message, MessageWithParts};
use crate::types::part::{Part, PartBody, Span};
use crate::types::tool::{CallTime, ToolState};
use crate::types::usage::Tokens;
use serde_json::Value;
use std::collections::HashMap;

/// A message with the ids of its new session, and what its steps had used.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    pub info: Message,
    pub parts: Vec<Part>,
    pub cost: Num,
    pub tokens: Tokens,
}

/// Copies messages into a session, one after the other.
#[derive(Debug)]
pub struct Copier {
    session: SessionId,
    stamp: Stamp,
    /// Old to new.
    ids: HashMap<MessageId, MessageId>,
}

impl Copier {
    /// `messages` are all that will be copied, oldest first: what points at one of them points at its copy.
    pub fn new<'a>(
        messages: impl IntoIterator<Item = &'a MessageId>,
        session: SessionId,
        mut stamp: Stamp,
    ) -> Self {
        let fresh = messages.into_iter().map(|message| (message.clone(), stamp.message_id()));
        let ids = fresh.collect();
        Self { session, stamp, ids }
    }

    /// A message with all of its parts.
    pub fn copy(&mut self, message: MessageWithParts) -> Copied {
        let MessageWithParts { info, parts } = message;
        let info = self.message(info);
        let id = info.id().clone();
        let parts: Vec<Part> = parts.into_iter().map(|part| self.part(part, &id)).collect();
        let (cost, tokens) = usage_of(parts.iter().map(|part| &part.body));
        Copied { info, parts, cost, tokens }
    }

    /// A message without its parts.
    pub fn message(&mut self, mut info: Message) -> Message {
        // One that was not told of is copied all the same, and nothing points at it.
        let id = self.ids.get(info.id()).cloned().unwrap_or_else(|| self.stamp.message_id());
        match &mut info {
            Message::User(user) => {
                user.id = id;
                user.session_id = self.session.clone();
            }
            Message::Assistant(answer) => {
                answer.id = id;
                answer.session_id = self.session.clone();
                if let Some(parent) = self.ids.get(&answer.parent_id) {
                    answer.parent_id = parent.clone();
                }
                close_message(answer, self.stamp.now());
            }
        }
        info
    }

    /// A part of the copy of a message.
    pub fn part(&mut self, mut part: Part, message: &MessageId) -> Part {
        part.id = self.stamp.part_id();
        part.session_id = self.session.clone();
        part.message_id = message.clone();
        copy_body(&mut part, &self.ids, &mut self.stamp);
        part
    }
}

/// What the steps that these parts close have used: the share of the session's totals that goes
/// with them.
#[must_use]
pub fn usage_of<'a>(parts: impl IntoIterator<Item = &'a PartBody>) -> (Num, Tokens) {
    let mut cost = Num::ZERO;
    let mut tokens = Tokens::default();
    for body in parts {
        if let PartBody::StepFinish(finish) = body {
            cost += finish.cost;
            tokens.add(&finish.tokens);
        }
    }
    (cost, tokens)
}

fn close_message(answer: &mut AssistantMessage, now: Millis) {
    if answer.time.completed.is_none() {
        answer.time.completed = Some(now.max(answer.time.created));
        let message = "The conversation was copied while this was being written".to_owned();
        answer.error.get_or_insert(Failure::Aborted { message });
    }
}

fn copy_body(part: &mut Part, ids: &HashMap<MessageId, MessageId>, stamp: &mut Stamp) {
    let session = part.session_id.clone();
    let message = part.message_id.clone();
    match &mut part.body {
        PartBody::Compaction(compaction) => {
            compaction.tail_start_id =
                compaction.tail_start_id.take().and_then(|tail| ids.get(&tail).cloned());
        }
        PartBody::Text(text) => {
            if let Some(Span { start, end: None }) = text.time {
                text.time = Some(Span { start, end: Some(stamp.now().max(start)) });
            }
        }
        PartBody::Reasoning(reasoning) => {
            reasoning.time.end.get_or_insert(stamp.now().max(reasoning.time.start));
        }
        PartBody::Tool(tool) => {
            if !tool.state.is_over() {
                tool.state = interrupted(&tool.state, stamp.now());
            }
            let ToolState::Completed { attachments: Some(files), .. } = &mut tool.state else { return };
            for file in files {
                file.id = stamp.part_id();
                file.session_id = session.clone();
                file.message_id = message.clone();
            }
        }
        PartBody::Subtask(_)
        | PartBody::File(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_) => {}
    }
}

/// The original goes on; the copy of its call has no end of its own.
fn interrupted(state: &ToolState, now: Millis) -> ToolState {
    let (start, reported, raw) = match state {
        ToolState::Pending { raw, .. } => (now, None, Some(raw.clone())),
        ToolState::Running { time, metadata, .. } => (time.start, metadata.clone(), None),
        ToolState::Completed { .. } | ToolState::Error { .. } => return state.clone(),
    };
    let mut metadata = reported.unwrap_or_else(Map::new);
    metadata.insert("interrupted".to_owned(), Value::Bool(true));
    let error = "Tool execution aborted".to_owned();
    let time = CallTime { start, end: now.max(start) };
    ToolState::Error { input: state.input().clone(), error, metadata: Some(metadata), time, raw }
}
