//! Which messages a model sees, and which of them are the latest.
//!
//! Messages come in newest first, one by one, so that the caller can page and stop: nothing
//! older than a finished compaction (or than the tail it kept) is ever read. They come out
//! oldest first, except that a kept tail stands behind the summary it outlived.
//!
//! Because of that exception "latest" is a matter of time, not of position: `latest` looks at
//! `(created, id)`.

use crate::id::MessageId;
use crate::stamp::Millis;
use crate::talk::FinishReason;
use crate::types::message::{AssistantMessage, Message, MessageWithParts, UserMessage};
use crate::types::part::{CompactionPart, Part, PartBody, SubtaskPart};
use std::borrow::Borrow;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Takes messages newest first until the model needs no older one. They may be shared: none is changed.
#[derive(Debug)]
pub struct Gather<M = MessageWithParts> {
    newest_first: Vec<M>,
    /// Compaction requests whose summary is complete.
    done: HashSet<MessageId>,
    /// The oldest message still wanted, once that is known.
    keep: Option<MessageId>,
    /// How many messages there are from the request on that keeps it; none once it is found.
    without_tail: Option<usize>,
}

impl<M> Default for Gather<M> {
    fn default() -> Self {
        Self { newest_first: Vec::new(), done: HashSet::new(), keep: None, without_tail: None }
    }
}

impl<M: Borrow<MessageWithParts>> Gather<M> {
    /// Takes the next older message. `Break` says that no older one is wanted.
    pub fn push(&mut self, message: M) -> ControlFlow<()> {
        let flow = self.weigh(message.borrow());
        self.newest_first.push(message);
        flow
    }

    /// What the model sees, in the order it sees it.
    #[must_use]
    pub fn finish(mut self) -> Vec<M> {
        // Somebody removed the message at which the tail began: then there is none.
        if let Some(count) = self.without_tail {
            self.newest_first.truncate(count);
        }
        self.newest_first.reverse();
        summary_first(self.newest_first)
    }

    fn weigh(&mut self, message: &MessageWithParts) -> ControlFlow<()> {
        let id = message.info.id();
        if let Some(keep) = &self.keep {
            if keep != id {
                return ControlFlow::Continue(());
            }
            self.without_tail = None;
            return ControlFlow::Break(());
        }
        match &message.info {
            Message::User(_) if self.done.contains(id) => self.reach_boundary(message),
            Message::Assistant(assistant) if is_complete_summary(assistant) => {
                self.done.insert(assistant.parent_id.clone());
                ControlFlow::Continue(())
            }
            Message::User(_) | Message::Assistant(_) => ControlFlow::Continue(()),
        }
    }

    fn reach_boundary(&mut self, request: &MessageWithParts) -> ControlFlow<()> {
        let Some(compaction) = compaction_of(request) else { return ControlFlow::Continue(()) };
        match &compaction.tail_start_id {
            None => ControlFlow::Break(()),
            Some(tail) if tail == request.info.id() => ControlFlow::Break(()),
            Some(tail) => {
                self.keep = Some(tail.clone());
                self.without_tail = Some(self.newest_first.len() + 1);
                ControlFlow::Continue(())
            }
        }
    }
}

/// What the model sees of a session, from its messages newest first. Reads no further than needed.
#[must_use]
pub fn visible(newest_first: impl IntoIterator<Item = MessageWithParts>) -> Vec<MessageWithParts> {
    let mut gather = Gather::default();
    for message in newest_first {
        if gather.push(message).is_break() {
            break;
        }
    }
    gather.finish()
}

/// A summary counts once it is finished and free of errors; any other is as good as none.
#[must_use]
pub fn is_complete_summary(assistant: &AssistantMessage) -> bool {
    assistant.summary == Some(true) && assistant.finish.is_some() && assistant.error.is_none()
}

/// The compaction part of a message that asks for a compaction.
#[must_use]
pub fn compaction_of(message: &MessageWithParts) -> Option<&CompactionPart> {
    message.parts.iter().find_map(|part| {
        let PartBody::Compaction(compaction) = &part.body else { return None };
        Some(compaction)
    })
}

/// What a model is not told: compactions that came to nothing.
pub fn drop_failed_compactions<M: Borrow<MessageWithParts>>(history: &mut Vec<M>) {
    let done: HashSet<MessageId> = history
        .iter()
        .filter_map(|message| match &message.borrow().info {
            Message::Assistant(info) if is_complete_summary(info) => Some(info.parent_id.clone()),
            Message::Assistant(_) | Message::User(_) => None,
        })
        .collect();
    history.retain(|message| match &message.borrow().info {
        Message::User(info) => compaction_of(message.borrow()).is_none() || done.contains(&info.id),
        Message::Assistant(info) => info.summary != Some(true) || is_complete_summary(info),
    });
}

/// Request, summary, kept tail, what came in meanwhile, later messages: the order in which they make
/// sense to read.
fn summary_first<M: Borrow<MessageWithParts>>(mut messages: Vec<M>) -> Vec<M> {
    let Some((tail, request, summary)) = tail_request_summary(&messages) else { return messages };

    // The summary to its request, both to the front of the tail.
    messages[request + 1..=summary].rotate_right(1);
    messages[tail..request + 2].rotate_left(request - tail);
    messages
}

/// Places of the kept tail, of the newest compaction, and of its summary. Without a tail its place is
/// that of the request.
fn tail_request_summary<M: Borrow<MessageWithParts>>(messages: &[M]) -> Option<(usize, usize, usize)> {
    messages.iter().enumerate().rev().find_map(|(request, message)| {
        let message = message.borrow();
        let Message::User(info) = &message.info else { return None };
        let tail = match &compaction_of(message)?.tail_start_id {
            Some(id) => messages[..request]
                .iter()
                .position(|message| message.borrow().info.id() == id)
                .unwrap_or(request),
            None => request,
        };
        let after = messages[request..].iter().position(|message| match &message.borrow().info {
            Message::Assistant(summary) => summary.summary == Some(true) && summary.parent_id == info.id,
            Message::User(_) => false,
        })?;
        Some((tail, request, request + after))
    })
}

/// A message of one kind with its parts.
#[derive(Debug)]
pub struct Entry<'a, M> {
    pub info: &'a M,
    pub parts: &'a [Part],
}

impl<M> Clone for Entry<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Entry<'_, M> {}

/// The messages a turn is decided by.
#[derive(Debug, Default)]
pub struct Latest<'a> {
    pub user: Option<Entry<'a, UserMessage>>,
    pub assistant: Option<Entry<'a, AssistantMessage>>,
    /// The newest assistant message that has a `finish`.
    pub finished: Option<Entry<'a, AssistantMessage>>,
    /// What was asked for since `finished` and is not a matter for the model, oldest first.
    pub tasks: Vec<Task<'a>>,
}

/// Work that waits: its part, and the message it stands on.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    pub message: &'a MessageWithParts,
    pub part: &'a Part,
    pub kind: TaskKind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TaskKind<'a> {
    Compaction(&'a CompactionPart),
    Subtask(&'a SubtaskPart),
}

/// Finds the latest messages by time, whatever order they stand in.
#[must_use]
pub fn latest(messages: &[MessageWithParts]) -> Latest<'_> {
    let mut by_time: Vec<&MessageWithParts> = messages.iter().collect();
    by_time.sort_by_key(|message| age(message));

    let mut latest = Latest::default();
    for message in by_time {
        match &message.info {
            Message::User(info) => latest.user = Some(Entry { info: &**info, parts: &message.parts }),
            Message::Assistant(info) => {
                let entry = Entry { info: &**info, parts: &message.parts[..] };
                latest.assistant = Some(entry);
                if info.finish.is_some() {
                    latest.finished = Some(entry);
                    // Whatever was asked before it is answered by it.
                    latest.tasks.clear();
                    continue;
                }
            }
        }
        latest.tasks.extend(message.parts.iter().filter_map(|part| task(message, part)));
    }
    latest
}

fn age(message: &MessageWithParts) -> (Millis, &MessageId) {
    (message.info.created(), message.info.id())
}

fn task<'a>(message: &'a MessageWithParts, part: &'a Part) -> Option<Task<'a>> {
    let kind = match &part.body {
        PartBody::Compaction(compaction) => TaskKind::Compaction(compaction),
        PartBody::Subtask(subtask) => TaskKind::Subtask(subtask),
        PartBody::Text(_)
        | PartBody::Reasoning(_)
        | PartBody::File(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_) => return None,
    };
    Some(Task { message, part, kind })
}

impl Latest<'_> {
    /// Whether the newest prompt has its answer, so that the turn may end.
    ///
    /// A call that was stopped does not ask for another step, nor does one the provider ran.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let (Some(user), Some(assistant)) = (self.user, self.assistant) else { return false };
        let is_final = assistant.info.finish.is_some_and(FinishReason::is_final);
        is_final
            && assistant.info.parent_id == user.info.id
            && !assistant.parts.iter().any(wants_another_step)
    }
}

fn wants_another_step(part: &Part) -> bool {
    let PartBody::Tool(tool) = &part.body else { return false };
    !is_provider_executed(tool.metadata.as_ref()) && !tool.state.is_interrupted()
}

/// Whether the provider ran the call itself.
#[must_use]
pub fn is_provider_executed(metadata: Option<&crate::json::Map>) -> bool {
    metadata.is_some_and(|map| map.get("providerExecuted") == Some(&serde_json::Value::Bool(true)))
}
