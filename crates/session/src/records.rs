//! What a record is after a fact: the one place where facts become sessions, messages and parts.
//!
//! State, rows and shown events are all made of these, so they cannot disagree. Nothing here looks at
//! today's rows: a record is worked out forward, from what it was before.

mod aside;

pub(crate) use aside::{is_set_aside, set_aside};

use crate::fact::{Edit, Fact, Outcome, Posted, RetryNote, Running, Words};
use crate::id::{MessageId, PartId, SessionId};
use crate::json::{Map, Num};
use crate::stamp::Millis;
use crate::talk::FinishReason;
use crate::types::message::{AssistantMessage, AssistantRole, AssistantTime, TurnSummary, UserMessage};
use crate::types::part::{
    Created, Part, PartBody, ReasoningPart, RetryError, RetryPart, Span, StepFinishPart, StepStartPart,
    TextPart, ToolPart,
};
use crate::types::session::{Action, Revert, Rule, Session, SessionModel, SessionSummary};
use crate::types::step::{Diffed, Ready, RevertTotals};
use crate::types::tool::{CallStart, CallTime, CompletedCallTime, ToolState};
use crate::types::usage::Tokens;
use serde_json::Value;

/// The literal that stands for "none" in a session's model.
const NO_VARIANT: &str = "default";

/// The session record as a prompt of a person changes it, one step after another.
pub(crate) struct Prompted {
    /// Agent and model of the prompt, if they are new.
    pub(crate) chosen: Option<Session>,
    pub(crate) touched: Session,
    /// Tools that the prompt switched on and off.
    pub(crate) permitted: Option<Session>,
}

impl Prompted {
    pub(crate) fn last(self) -> Session {
        self.permitted.unwrap_or(self.touched)
    }
}

/// None when no person wrote it: then the record stays.
pub(crate) fn prompted(info: &Session, posted: &Posted) -> Option<Prompted> {
    let updated = posted.touched?;
    let mut record = info.clone();
    let chosen = choose(&mut record, &posted.info).then(|| record.clone());
    record.time.updated = updated;
    let touched = record.clone();
    let switches = posted.info.tools.as_ref().filter(|tools| !tools.is_empty());
    let permitted = switches.map(|tools| {
        record.permission = Some(tools.iter().map(|(name, on)| switch(name.to_owned(), on)).collect());
        record
    });
    Some(Prompted { chosen, touched, permitted })
}

/// Notes agent and model of the latest prompt on the session, if they differ.
fn choose(record: &mut Session, prompt: &UserMessage) -> bool {
    let stored_variant =
        record.model.as_ref().and_then(|model| model.variant.as_deref()).filter(|name| *name != NO_VARIANT);
    let same_model = record.model.as_ref().is_some_and(|model| {
        model.id == prompt.model.model_id && model.provider_id == prompt.model.provider_id
    });
    if same_model
        && record.agent.as_deref() == Some(&prompt.agent)
        && stored_variant == prompt.model.variant.as_deref()
    {
        return false;
    }
    record.agent = Some(prompt.agent.clone());
    record.model = Some(SessionModel {
        id: prompt.model.model_id.clone(),
        provider_id: prompt.model.provider_id.clone(),
        variant: Some(prompt.model.variant.clone().unwrap_or_else(|| NO_VARIANT.to_owned())),
    });
    record.time.updated = prompt.time.created;
    true
}

fn switch(permission: String, on: bool) -> Rule {
    let action = if on { Action::Allow } else { Action::Deny };
    Rule { permission, pattern: "*".to_owned(), action }
}

pub(crate) fn edited(info: &Session, edit: &Edit) -> Session {
    let mut record = info.clone();
    match edit {
        Edit::Renamed { title } | Edit::Titled { title } => record.title.clone_from(title),
        Edit::Archived { archived } => record.time.archived = *archived,
        Edit::Shared { share } => record.share.clone_from(share),
        Edit::Moved { project, path, directory } => {
            if let Some(directory) = directory {
                record.directory.clone_from(directory);
            }
            record.project_id.clone_from(project);
            record.path = Some(path.clone());
        }
        Edit::Permitted { rules, updated } => {
            record.permission.get_or_insert_default().extend(rules.iter().cloned());
            record.time.updated = *updated;
        }
        Edit::Switched { agent, model, updated, .. } => {
            record.agent = agent.clone().or(record.agent);
            record.model = model.clone().or(record.model);
            record.time.updated = *updated;
        }
        Edit::Unswitched { .. } => {}
        Edit::Described { metadata, updated } => {
            record.metadata = Some(metadata.clone());
            record.time.updated = *updated;
        }
    }
    record
}

pub(crate) fn with_usage(info: &Session, cost: Num, tokens: &Tokens) -> Session {
    let mut record = info.clone();
    record.cost += cost;
    record.tokens.add(tokens);
    record
}

pub(crate) fn without_usage(info: &Session, cost: Num, tokens: &Tokens) -> Session {
    let mut record = info.clone();
    record.cost -= cost;
    record.tokens.subtract(tokens);
    record
}

/// The session once it was looked at what its turn changed on disk, and that was nothing. What it has changed
/// before this turn stays known.
pub(crate) fn summarised(mut record: Session, time: Millis) -> Session {
    if !has_changed_files(&record) {
        let none = Num::ZERO;
        record.summary = Some(SessionSummary { additions: none, deletions: none, files: none, diffs: None });
    }
    record.time.updated = time.max(record.time.updated);
    record
}

/// Whether a session is known to have changed something on disk.
pub(crate) fn has_changed_files(record: &Session) -> bool {
    record.summary.as_ref().is_some_and(|summary| summary.files != Num::ZERO)
}

pub(crate) fn diffed(info: &Session, diffed: &Diffed, updated: Millis) -> Session {
    let mut record = info.clone();
    record.summary = Some(diffed.summary.clone());
    record.time.updated = updated.max(record.time.updated);
    record
}

pub(crate) fn reverted(
    info: &Session,
    revert: Option<&Revert>,
    totals: Option<&RevertTotals>,
    updated: Millis,
) -> Session {
    let mut record = info.clone();
    record.revert = revert.cloned();
    record.summary = totals.map(|totals| totals.summary.clone()).or(record.summary);
    record.time.updated = updated.max(record.time.updated);
    record
}

/// A prompt once it was looked at what its turn changed on disk.
pub(crate) fn with_summary(asked: &UserMessage) -> UserMessage {
    let summary = Some(TurnSummary { title: None, body: None, diffs: Vec::new() });
    UserMessage { summary, ..asked.clone() }
}

/// The message of a step that begins.
pub(crate) fn opening(
    session: &SessionId,
    message: &MessageId,
    user: &MessageId,
    created: Millis,
    ready: &Ready,
) -> AssistantMessage {
    AssistantMessage {
        id: message.clone(),
        session_id: session.clone(),
        role: AssistantRole::Assistant,
        time: AssistantTime { created, completed: None },
        error: None,
        parent_id: user.clone(),
        model_id: ready.model_id.clone(),
        provider_id: ready.provider_id.clone(),
        mode: ready.agent.clone(),
        agent: ready.agent.clone(),
        path: ready.path.clone().into(),
        summary: ready.kind.is_compaction().then_some(true),
        cost: Num::ZERO,
        tokens: Tokens::default(),
        structured: None,
        variant: ready.variant.clone(),
        finish: None,
    }
}

pub(crate) fn finished(
    mut info: AssistantMessage,
    reason: FinishReason,
    cost: Num,
    tokens: &Tokens,
) -> AssistantMessage {
    info.finish = Some(reason);
    info.cost += cost;
    info.tokens = *tokens;
    info
}

/// The message of a step that ended; `fact` is its end.
pub(crate) fn ended(mut info: AssistantMessage, fact: &Fact) -> AssistantMessage {
    if let Fact::StepEnded { completed, error, finish, structured, .. } = fact {
        info.time.completed = Some(*completed);
        info.error = error.clone().or(info.error);
        info.finish = finish.or(info.finish);
        info.structured = structured.clone().or(info.structured);
    }
    info
}

/// Whose part it is.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) message: &'a MessageId,
}

impl Owner<'_> {
    pub(crate) fn part(&self, id: &PartId, body: PartBody) -> Part {
        Part { id: id.clone(), session_id: self.session.clone(), message_id: self.message.clone(), body }
    }

    pub(crate) fn step_start(&self, id: &PartId, ready: &Ready) -> Part {
        self.part(id, PartBody::StepStart(StepStartPart { snapshot: ready.tree.clone() }))
    }

    pub(crate) fn step_finish(
        &self,
        id: &PartId,
        snapshot: Option<String>,
        reason: FinishReason,
        cost: Num,
        tokens: Tokens,
    ) -> Part {
        let part = StepFinishPart { reason, snapshot, cost, tokens };
        self.part(id, PartBody::StepFinish(part))
    }

    pub(crate) fn retry(&self, note: &RetryNote, attempt: u32) -> Part {
        let time = Created { created: note.time };
        let part = RetryPart { attempt, error: RetryError::Api(note.error.clone()), time };
        self.part(&note.part, PartBody::Retry(part))
    }

    pub(crate) fn text(&self, id: &PartId, words: Words, start: Millis, metadata: Option<Map>) -> Part {
        let time = Span { start, end: None };
        let body = match words {
            Words::Text => PartBody::Text(TextPart { metadata, time: Some(time), ..TextPart::default() }),
            Words::Reasoning => PartBody::Reasoning(ReasoningPart { text: String::new(), metadata, time }),
        };
        self.part(id, body)
    }

    pub(crate) fn call(&self, id: &PartId, call: &str, tool: &str, running: Option<&Running>) -> Part {
        let state = match running {
            None => ToolState::Pending { input: Map::new(), raw: String::new() },
            Some(Running { input, start }) => {
                let time = CallStart { start: *start };
                ToolState::Running { input: input.clone(), title: None, metadata: None, time }
            }
        };
        let tool = ToolPart { call_id: call.to_owned(), tool: tool.to_owned(), state, metadata: None };
        self.part(id, PartBody::Tool(tool))
    }
}

/// A text that was closed. Its growth may have been folded away, so the end says what the text is.
pub(crate) fn closed(mut part: Part, text: &str, end: Millis, metadata: Option<&Map>) -> Part {
    match &mut part.body {
        PartBody::Text(body) => {
            body.text = text.to_owned();
            let start = body.time.map_or(end, |time| time.start);
            body.time = Some(Span { start, end: Some(end) });
            body.metadata = metadata.cloned().or_else(|| body.metadata.take());
        }
        PartBody::Reasoning(body) => {
            body.text = text.to_owned();
            body.time.end = Some(end);
            body.metadata = metadata.cloned().or_else(|| body.metadata.take());
        }
        PartBody::Subtask(_)
        | PartBody::File(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_) => {}
    }
    part
}

/// A tool part after its call moved on. Other facts leave it as it is.
#[must_use]
pub fn moved(mut part: Part, fact: &Fact) -> Part {
    let PartBody::Tool(tool) = &mut part.body else { return part };
    if let Fact::ToolStarted { tool: name, input, start, metadata, .. } = fact {
        tool.tool.clone_from(name);
        tool.metadata = metadata.clone().or_else(|| tool.metadata.take());
        let time = CallStart { start: *start };
        tool.state = ToolState::Running { input: input.clone(), title: None, metadata: None, time };
    }
    if let Fact::ToolProgressed { title, metadata, .. } = fact
        && let ToolState::Running { title: old_title, metadata: old_metadata, .. } = &mut tool.state
    {
        old_title.clone_from(title);
        old_metadata.clone_from(metadata);
    }
    if let Fact::ToolEnded { outcome, end, .. } = fact {
        tool.state = returned(&tool.state, outcome, *end);
    }
    if let Fact::ToolCompacted { at, .. } = fact
        && let ToolState::Completed { time, .. } = &mut tool.state
    {
        time.compacted = Some(*at);
    }
    part
}

fn returned(state: &ToolState, outcome: &Outcome, end: Millis) -> ToolState {
    let input = state.input().clone();
    let (start, reported, so_far) = match state {
        ToolState::Pending { raw, .. } => (end, None, Some(raw.clone())),
        ToolState::Running { time, metadata, .. } => (time.start, metadata.clone(), None),
        ToolState::Completed { .. } | ToolState::Error { .. } => return state.clone(),
    };
    let time = CallTime { start, end };
    match outcome {
        Outcome::Done { output, title, metadata, attachments } => ToolState::Completed {
            input,
            output: output.clone(),
            title: title.clone(),
            metadata: metadata.clone(),
            time: CompletedCallTime { start, end, compacted: None },
            attachments: (!attachments.is_empty()).then(|| attachments.clone()),
        },
        Outcome::Failed { error, metadata } => ToolState::Error {
            input,
            error: error.clone(),
            metadata: metadata.clone().or(reported),
            time,
            raw: None,
        },
        Outcome::Blocked { error } => {
            ToolState::Error { input, error: error.clone(), metadata: reported, time, raw: None }
        }
        Outcome::Interrupted { error, raw } => {
            let raw = raw.clone().or(so_far);
            let mut metadata = reported.unwrap_or_else(Map::new);
            metadata.insert("interrupted".to_owned(), Value::Bool(true));
            ToolState::Error { input, error: error.clone(), metadata: Some(metadata), time, raw }
        }
    }
}

/// All that the log says of one call, in order, makes its part. None when its beginning is not there.
#[must_use]
pub fn call_of<'a>(session: &SessionId, facts: impl IntoIterator<Item = &'a Fact>) -> Option<Part> {
    let mut known = None;
    for fact in facts {
        if let Fact::ToolCalled { message, part, call, tool, running } = fact {
            known = Some(Owner { session, message }.call(part, call, tool, running.as_deref()));
        } else if let Fact::PartWritten { part } = fact {
            known = Some((**part).clone());
        } else {
            known = known.map(|part| moved(part, fact));
        }
    }
    known
}
