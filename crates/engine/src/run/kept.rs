//! The history that an awake session sent last, kept for its next request.
//!
//! Reading a long conversation from the store, parsing it and sending it costs more with every step, while a step adds
//! one message to it. So an awake session keeps what it read: one contiguous run of messages that ends before the
//! newest step. Every commit of the session says which messages it has changed ([`ChangedMessages`]); those are read anew for
//! the next request, and whatever takes messages or parts away drops the whole run.
//!
//! A message is told to be changed after the commit is durable, and a request that began to read before that keeps
//! nothing of it: what is kept is never older than what was said of it.
//!
//! Bounds: the newest messages of a session up to [`SESSION_BYTES_MAX`], and [`ALL_BYTES_MAX`] for all sessions. What a
//! model is never told (a call's metadata) is not kept.
//!
//! Not here: which messages a model sees (`session/prompt/history.rs`), how pages are read (`request.rs`).

use crate::error::EngineError;
use crate::run::Sessions;
use crate::run::request;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::mem;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::prompt::history::Gather;
use sturdy_session::row::{RowChange, RowWrite};
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::{Part, PartBody};
use sturdy_session::types::tool::{Attachment, ToolState};
use sturdy_store::{Before, RawMessage};

/// What one session keeps at most.
const SESSION_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What all sessions keep together. One that finds no room keeps nothing.
const ALL_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Changed messages that are remembered between two requests. After more the history is read anew.
const CHANGED_MAX: usize = 1_024;
/// Messages since the last request that are looked for before the history is read anew.
const NEWER_MAX: u32 = 64;
/// What a message or part takes besides its texts.
const FRAME_BYTES: usize = 512;

/// What one session keeps.
#[derive(Debug, Default)]
pub(crate) struct KeptHistory {
    kept: Mutex<Kept>,
    /// What all sessions keep.
    all_bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Kept {
    run: KeptRun,
    /// Changed since the run was kept.
    changed: HashSet<MessageId>,
    /// Counts readings, and what drops the run.
    generation: u64,
}

/// Messages that follow each other, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptRun {
    pub(crate) messages: Vec<KeptMessage>,
    /// Nothing is older than the first of them.
    pub(crate) is_from_start: bool,
    /// The step in whose request they stood: nothing is between the last of them and it.
    pub(crate) step: Option<MessageId>,
}

#[derive(Clone, Debug)]
pub(crate) struct KeptMessage {
    pub(crate) place: Before,
    /// None when it has to be read.
    pub(crate) message: Option<Arc<MessageWithParts>>,
    bytes: usize,
}

/// A run on its way to a request.
#[derive(Debug)]
pub(crate) struct HistoryReading {
    pub(crate) run: KeptRun,
    /// Messages of the run and behind it that have to be read.
    changed: HashSet<MessageId>,
    generation: u64,
}

/// What a commit changed of the messages.
#[derive(Debug)]
pub(crate) enum ChangedMessages {
    Messages(Vec<MessageId>),
    /// Something was taken away or stands elsewhere.
    All,
}

impl ChangedMessages {
    pub(crate) fn of(rows: &[RowWrite]) -> Self {
        let mut messages: Vec<MessageId> = Vec::new();
        for row in rows {
            let message = match &row.change {
                RowChange::Message(message) => &message.id,
                RowChange::Part(part) => &part.message_id,
                RowChange::RemoveSession(_)
                | RowChange::PlaceMessage { .. }
                | RowChange::RemoveMessage(_)
                | RowChange::RemovePart(_) => {
                    return Self::All;
                }
                RowChange::Session(_)
                | RowChange::Machine { .. }
                | RowChange::Ask(_)
                | RowChange::RemoveAsk { .. }
                | RowChange::Approval(_)
                | RowChange::Keyframe { .. }
                | RowChange::Todos { .. } => continue,
            };
            if messages.last() != Some(message) {
                messages.push(message.clone());
            }
        }
        Self::Messages(messages)
    }
}

impl KeptHistory {
    pub(crate) fn new(all_bytes: Arc<AtomicUsize>) -> Self {
        Self { kept: Mutex::default(), all_bytes }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic elsewhere leaves a run that is whole, or none.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model sees: everything before the step, back to the last compaction. A prompt that came in since is not
    /// part of it; it has its own step.
    pub(crate) async fn history(
        &self,
        sessions: &Arc<Sessions>,
        session: &SessionId,
        step: &MessageId,
    ) -> Result<Vec<Arc<MessageWithParts>>, EngineError> {
        let mut reading = self.begin();
        let mut gather = Gather::default();
        let mut changed = mem::take(&mut reading.changed);
        // It has nothing to tell yet.
        changed.remove(step);
        if !reading.run.catch_up(sessions, session, step, changed).await? {
            reading.run = KeptRun::default();
        }
        let mut is_enough = false;
        let mut wanted = 0;
        for kept in reading.run.messages.iter().rev() {
            let message = kept.message.clone().expect("BUG: a run is read before it is used");
            wanted += 1;
            if gather.push(message).is_break() {
                is_enough = true;
                break;
            }
        }
        // What was summarised since is not wanted any more.
        reading.run.drop_oldest(reading.run.messages.len() - wanted);
        if !is_enough && !reading.run.is_from_start {
            let mut older = Vec::new();
            let first = reading.run.messages.first();
            let mut is_before_step = first.is_some();
            let mut is_from_start = true;
            request::walk_back(sessions, session, first.map(|first| first.place.clone()), |message| {
                if !is_before_step {
                    is_before_step = message.info.id() == step;
                    return ControlFlow::Continue(());
                }
                let kept = KeptMessage::new(message);
                let shared = kept.message.clone().expect("BUG: made of a message");
                older.push(kept);
                let flow = gather.push(shared);
                is_from_start &= flow.is_continue();
                flow
            })
            .await?;
            older.reverse();
            older.append(&mut reading.run.messages);
            reading.run = KeptRun { messages: older, is_from_start, step: None };
        }
        reading.run.step = Some(step.clone());
        self.end(reading);
        Ok(gather.finish())
    }

    /// The whole conversation before a step, if all of it is kept and nothing of it has changed.
    pub(crate) fn whole(&self, step: &MessageId) -> Option<Vec<Arc<MessageWithParts>>> {
        let kept = self.kept();
        let Kept { run, changed, .. } = &*kept;
        if !run.is_from_start || run.step.as_ref() != Some(step) {
            return None;
        }
        let unchanged = run.messages.iter().filter(|message| !changed.contains(&message.place.id));
        let messages: Vec<_> = unchanged.filter_map(|one| one.message.clone()).collect();
        (messages.len() == run.messages.len()).then_some(messages)
    }

    /// A commit is durable: what it changed is read anew.
    pub(crate) fn tell(&self, changed: ChangedMessages) {
        let mut kept = self.kept();
        match changed {
            ChangedMessages::Messages(ids) => kept.changed.extend(ids),
            ChangedMessages::All => return self.drop_run(&mut kept),
        }
        if kept.changed.len() > CHANGED_MAX {
            self.drop_run(&mut kept);
        }
    }

    /// What is kept, without what has changed. Who began to read before gives nothing back any more.
    pub(crate) fn begin(&self) -> HistoryReading {
        let mut kept = self.kept();
        kept.generation += 1;
        let Kept { run, changed, generation } = &mut *kept;
        let mut freed = 0;
        for message in run.messages.iter_mut().filter(|one| changed.contains(&one.place.id)) {
            message.message = None;
            freed += mem::take(&mut message.bytes);
        }
        self.all_bytes.fetch_sub(freed, Ordering::Relaxed);
        HistoryReading { run: run.clone(), changed: mem::take(changed), generation: *generation }
    }

    /// Keeps a run for the next request, unless somebody dropped it or began to read meanwhile.
    pub(crate) fn end(&self, reading: HistoryReading) {
        let HistoryReading { mut run, generation, .. } = reading;
        let mut kept = self.kept();
        if kept.generation != generation {
            return;
        }
        run.shorten(SESSION_BYTES_MAX);
        let before = kept.run.bytes();
        let after = run.bytes();
        let all = self.all_bytes.fetch_add(after, Ordering::Relaxed) + after;
        self.all_bytes.fetch_sub(before, Ordering::Relaxed);
        kept.run = run;
        if all - before > ALL_BYTES_MAX {
            self.drop_run(&mut kept);
        }
    }

    fn drop_run(&self, kept: &mut Kept) {
        self.all_bytes.fetch_sub(kept.run.bytes(), Ordering::Relaxed);
        *kept = Kept { generation: kept.generation + 1, ..Kept::default() };
    }
}

impl Drop for KeptHistory {
    fn drop(&mut self) {
        let bytes = self.kept().run.bytes();
        self.all_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl KeptRun {
    /// Goes on to the message before the step, and reads what has changed. False when the run does not lead there.
    async fn catch_up(
        &mut self,
        sessions: &Arc<Sessions>,
        session: &SessionId,
        step: &MessageId,
        changed: HashSet<MessageId>,
    ) -> Result<bool, EngineError> {
        let Some(last) = self.messages.last() else { return Ok(false) };
        // What has changed is most of what is new, so one read is enough as a rule.
        let changed = changed.into_iter().take(NEWER_MAX as usize).collect();
        let (newest, changed) = sessions.store.newest_heads_and(session, NEWER_MAX, changed).await?;
        let Some(from) = newest.iter().position(|head| head.id == last.place.id) else { return Ok(false) };
        let Some(to) = newest.iter().position(|head| head.id == *step) else { return Ok(false) };
        if to <= from {
            // The step is among what is kept, so this is not the newest one.
            return Ok(false);
        }
        let newer = newest.into_iter().take(to).skip(from + 1);
        let unread = newer.map(|head| KeptMessage::unread(Before { id: head.id, time: head.created }));
        self.messages.extend(unread);
        self.fill(changed).await?;
        let missing: Vec<MessageId> = self.missing().map(|one| one.place.id.clone()).collect();
        if !missing.is_empty() {
            self.fill(sessions.store.messages_of(session, missing).await?).await?;
        }
        Ok(self.missing().next().is_none())
    }

    fn missing(&mut self) -> impl Iterator<Item = &mut KeptMessage> {
        self.messages.iter_mut().filter(|one| one.message.is_none())
    }

    /// Takes in what was read.
    async fn fill(&mut self, raw: Vec<RawMessage>) -> Result<(), EngineError> {
        let mut missing: HashMap<MessageId, &mut KeptMessage> =
            self.missing().map(|one| (one.place.id.clone(), one)).collect();
        for message in request::parsed_all(raw).await? {
            let message = message?;
            if let Some(kept) = missing.remove(message.info.id()) {
                kept.fill(message);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.bytes).sum()
    }

    /// Leaves out the oldest until the rest has at most so many bytes.
    fn shorten(&mut self, bytes_max: usize) {
        let mut bytes = self.bytes();
        let is_too_much = |message: &&KeptMessage| {
            let is_too_much = bytes > bytes_max;
            bytes = bytes.saturating_sub(message.bytes);
            is_too_much
        };
        let count = self.messages.iter().take_while(is_too_much).count();
        self.drop_oldest(count);
    }

    fn drop_oldest(&mut self, count: usize) {
        if count > 0 {
            self.messages.drain(..count);
            self.is_from_start = false;
        }
    }
}

impl KeptMessage {
    /// One that is known to be there, and has to be read.
    pub(crate) fn unread(place: Before) -> Self {
        Self { place, message: None, bytes: 0 }
    }

    pub(crate) fn new(message: MessageWithParts) -> Self {
        let place = Before { id: message.info.id().clone(), time: message.info.created() };
        let mut kept = Self::unread(place);
        kept.fill(message);
        kept
    }

    pub(crate) fn fill(&mut self, mut message: MessageWithParts) {
        message.parts.iter_mut().for_each(drop_untold);
        self.bytes = FRAME_BYTES + message.parts.iter().map(bytes_of).sum::<usize>();
        self.message = Some(Arc::new(message));
    }
}

/// The metadata of a call that ended is for clients, and often as large as its output.
fn drop_untold(part: &mut Part) {
    if let PartBody::Tool(tool) = &mut part.body
        && let ToolState::Completed { metadata, .. } = &mut tool.state
    {
        *metadata = Map::new();
    }
}

fn bytes_of(part: &Part) -> usize {
    let texts = match &part.body {
        PartBody::Text(text) => text.text.len() + map_bytes(text.metadata.as_ref()),
        PartBody::Reasoning(reasoning) => reasoning.text.len() + map_bytes(reasoning.metadata.as_ref()),
        PartBody::File(file) => file.url.len(),
        PartBody::Tool(tool) => map_bytes(tool.metadata.as_ref()) + state_bytes(&tool.state),
        PartBody::Subtask(subtask) => subtask.prompt.len(),
        PartBody::Patch(patch) => patch.files.iter().map(String::len).sum(),
        PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_) => 0,
    };
    FRAME_BYTES + texts
}

fn state_bytes(state: &ToolState) -> usize {
    let attached = |files: &Vec<Attachment>| files.iter().map(|one| one.file.url.len()).sum::<usize>();
    let said = match state {
        ToolState::Pending { raw, .. } => raw.len(),
        ToolState::Running { metadata, .. } => map_bytes(metadata.as_ref()),
        ToolState::Completed { output, attachments, .. } => {
            output.len() + attachments.as_ref().map_or(0, attached)
        }
        ToolState::Error { error, metadata, raw, .. } => {
            error.len() + map_bytes(metadata.as_ref()) + raw.as_ref().map_or(0, String::len)
        }
    };
    said + map_bytes(Some(state.input()))
}

fn map_bytes(map: Option<&Map>) -> usize {
    map.into_iter().flatten().map(|(key, value)| key.len() + value_bytes(value)).sum()
}

fn value_bytes(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_bytes).sum(),
        Value::Object(map) => map_bytes(Some(map)),
    };
    inside + 32
}
