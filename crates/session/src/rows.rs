//! From facts to rows: what anybody sees after a fact, and which rows a commit writes.
//!
//! Invariant I10: rows equal the fold of the log. `fold` is used by the live commit and by
//! `verify`, so there is one way to compute a row.
//!
//! One file although it is long: what each fact shows and which row it writes are two columns of one table.

use crate::fact::{Fact, Outcome};
use crate::json::Map;
use crate::row::{ApprovalRow, AskKind, AskRow, MessageRow, PartRow, RowChange, RowWrite, SessionRow};
use crate::rules::checkout_of;
use crate::stamp::Millis;
use crate::turn::State;
use crate::types::ask::PermissionReply;
use crate::types::message::{AssistantMessage, TurnSummary, UserMessage};
use crate::types::part::{Part, PartBody};
use crate::types::session::Session;
use crate::types::tool::{Ran, Started, Took, ToolState};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;

/// A commit as a value: the facts, what each shows, and the rows that change.
#[derive(Debug, Default)]
pub struct Folded {
    pub facts: Vec<Fact>,
    /// For each fact the JSON of the record it changed, as it stands right after it.
    pub shown: Vec<Option<String>>,
    pub rows: Vec<RowWrite>,
}

/// Applies facts to a state, one decision after another, and collects one commit.
#[derive(Debug)]
pub struct Folder {
    seq: u64,
    machine_before: String,
    session_entry: Option<usize>,
    /// Where in the commit the row of a message or part is written.
    places: HashMap<String, usize>,
    folded: Folded,
}

/// Growth is joined up to this size: a fact stays small, a busy stream makes few of them.
const GROWTH_BYTES_MAX: usize = 16 * 1024;

impl Folder {
    /// `seq` is what the session is at before the first fact.
    #[must_use]
    pub fn new(state: &State, seq: u64) -> Self {
        let machine_before = state.machine_text();
        let (places, folded) = (HashMap::new(), Folded::default());
        Self { seq, machine_before, session_entry: None, places, folded }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.folded.facts.is_empty()
    }

    pub fn push(&mut self, state: &mut State, fact: Fact) {
        if self.joins(&fact) {
            state.apply(&fact);
            if let (Some(Fact::TextGrew { delta: whole, .. }), Fact::TextGrew { delta, .. }) =
                (self.folded.facts.last_mut(), fact)
            {
                whole.push_str(&delta);
            }
            return;
        }
        let entry = self.folded.facts.len();
        let shown = show(state, &fact).or_else(|| self.show_written(&fact));
        let change = row_change(state, &fact, shown.as_deref(), self.seq + entry as u64 + 1);
        let approvals = approvals(state, &fact);
        state.apply(&fact);
        if changes_session(&fact) {
            self.session_entry = Some(entry);
        }
        match change {
            Some(RowChange::RemoveSession(id)) => {
                // Nothing written before it in this commit may come back after it.
                self.folded.rows.retain(|row| matches!(row.change, RowChange::Approval(_)));
                self.places.clear();
                self.session_entry = None;
                self.folded.rows.push(RowWrite { entry, change: RowChange::RemoveSession(id) });
            }
            Some(change) => self.put(RowWrite { entry, change }),
            None => {}
        }
        let write = |row| RowWrite { entry, change: RowChange::Approval(row) };
        self.folded.rows.extend(approvals.into_iter().map(write));
        self.folded.shown.push(shown);
        self.folded.facts.push(fact);
    }

    #[must_use]
    pub fn finish(mut self, state: &State) -> Folded {
        let Some(info) = &state.info else { return self.folded };
        let machine = state.machine_text();
        match self.session_entry {
            Some(entry) => {
                let change = RowChange::Session(session_row(info, machine));
                self.folded.rows.push(RowWrite { entry, change });
            }
            None if machine != self.machine_before => {
                let change = RowChange::Machine { session: info.id.clone(), machine };
                let entry = self.folded.facts.len().saturating_sub(1);
                self.folded.rows.push(RowWrite { entry, change });
            }
            None => {}
        }
        self.folded
    }

    /// What a fact shows whose row was written earlier in the same fold.
    fn show_written(&self, fact: &Fact) -> Option<String> {
        let Fact::ToolCompacted { part: id, .. } = fact else { return None };
        let part: Part = self.folded.rows.iter().find_map(|write| match &write.change {
            RowChange::Part(row) if row.id == *id => serde_json::from_str(&row.data).ok(),
            _ => None,
        })?;
        Some(json(&moved_part(part, fact)))
    }

    /// Later writes of the same row replace earlier ones of the same commit; the first place counts.
    fn put(&mut self, mut new: RowWrite) {
        let id = match &new.change {
            RowChange::Message(row) => row.id.as_str(),
            RowChange::Part(row) => row.id.as_str(),
            // What is removed and written again is a new row.
            RowChange::RemoveMessage(_) | RowChange::RemovePart(_) => {
                self.places.clear();
                return self.folded.rows.push(new);
            }
            _ => return self.folded.rows.push(new),
        };
        let Some(&at) = self.places.get(id) else {
            self.places.insert(id.to_owned(), self.folded.rows.len());
            return self.folded.rows.push(new);
        };
        let old = &mut self.folded.rows[at];
        match (&old.change, &mut new.change) {
            (RowChange::Message(old), RowChange::Message(new)) => new.ord = old.ord,
            (RowChange::Part(old), RowChange::Part(new)) => new.ord = old.ord,
            _ => {}
        }
        *old = new;
    }

    /// Chunks of one text that follow each other are one chunk.
    fn joins(&self, fact: &Fact) -> bool {
        match (self.folded.facts.last(), fact) {
            (Some(Fact::TextGrew { part: open, delta: whole, .. }), Fact::TextGrew { part, delta, .. }) => {
                open == part && whole.len() + delta.len() <= GROWTH_BYTES_MAX
            }
            _ => false,
        }
    }
}

/// Folds a list of facts; `seq` is what the session is at before them.
pub fn fold(state: &mut State, facts: impl IntoIterator<Item = Fact>, seq: u64) -> Folded {
    let mut folder = Folder::new(state, seq);
    facts.into_iter().for_each(|fact| folder.push(state, fact));
    folder.finish(state)
}

fn changes_session(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::SessionCreated { .. }
            | Fact::SessionEdited { .. }
            | Fact::StepFinished { .. }
            | Fact::MessageCopied { .. }
            | Fact::MessageRemoved { .. }
            | Fact::PartRemoved { .. }
    )
}

/// The record a fact changed, right after it, as JSON. `state` is the state before it.
fn show(state: &State, fact: &Fact) -> Option<String> {
    match fact {
        Fact::SessionCreated { info } | Fact::SessionEdited { info, .. } | Fact::SessionRemoved { info } => {
            Some(json(info))
        }
        Fact::MessageAdded { info } => Some(json(info)),
        Fact::MessageCopied { info, .. } => Some(json(info)),
        Fact::StepStarted { info, .. } => Some(json(info)),
        Fact::TurnDiffed { info } => Some(json(info)),
        Fact::StepFinished { .. } | Fact::StepEnded { .. } => {
            let info = state.open_step()?.info.as_deref()?;
            Some(json(&moved_message(info.clone(), fact)))
        }
        Fact::PartWritten { part }
        | Fact::TextStarted { part, .. }
        | Fact::TextEnded { part }
        | Fact::ToolCalled { part } => Some(json(part)),
        Fact::ToolStarted { part, .. } | Fact::ToolProgressed { part, .. } | Fact::ToolEnded { part, .. } => {
            let calls = &state.open_step()?.calls;
            let body = calls.iter().find(|call| call.part == *part)?.body.as_deref()?;
            Some(json(&moved_part(body.clone(), fact)))
        }
        Fact::PermissionAsked { request } => Some(json(request)),
        Fact::QuestionAsked { request } => Some(json(request)),
        Fact::TodoSet { todos } => Some(json(todos)),
        Fact::TurnSummarised { message, diffs } => {
            let asked = state.machine.turn.as_ref()?.asked.as_deref().filter(|asked| asked.id == *message)?;
            let summary = Some(TurnSummary { title: None, body: None, diffs: diffs.clone() });
            Some(json(&UserMessage { summary, ..asked.clone() }))
        }
        // Changed far from what is open: whoever found it hands it along.
        Fact::ToolCompacted { before, .. } => Some(json(&moved_part((**before.as_ref()?).clone(), fact))),
        Fact::PromptAdmitted { .. }
        | Fact::PromptPromoted { .. }
        | Fact::PromptWithdrawn { .. }
        | Fact::CompactionWanted { .. }
        | Fact::MessageRemoved { .. }
        | Fact::PartRemoved { .. }
        | Fact::ModelFinished { .. }
        | Fact::FilesChanged { .. }
        | Fact::TextGrew { .. }
        | Fact::PermissionReplied { .. }
        | Fact::QuestionReplied { .. }
        | Fact::QuestionRejected { .. }
        | Fact::SessionCompacted
        | Fact::SessionFailed { .. }
        | Fact::SessionDiffed { .. }
        | Fact::StatusChanged { .. }
        | Fact::SessionIdled
        | Fact::TurnStopping
        | Fact::CommandExecuted { .. } => None,
    }
}

fn row_change(state: &State, fact: &Fact, shown: Option<&str>, ord: u64) -> Option<RowChange> {
    let data = || shown.unwrap_or_default().to_owned();
    Some(match fact {
        Fact::SessionRemoved { info } => RowChange::RemoveSession(info.id.clone()),
        Fact::MessageAdded { info } | Fact::TurnDiffed { info } => RowChange::Message(MessageRow {
            id: info.id.clone(),
            session_id: info.session_id.clone(),
            ord,
            created: info.time.created,
            data: data(),
        }),
        Fact::StepStarted { info, .. } => RowChange::Message(assistant_row(info, ord, data())),
        Fact::MessageCopied { info, .. } => RowChange::Message(MessageRow {
            id: info.id().clone(),
            session_id: info.session_id().clone(),
            ord,
            created: info.created(),
            data: data(),
        }),
        Fact::StepFinished { .. } | Fact::StepEnded { .. } => {
            let info: AssistantMessage = serde_json::from_str(shown?).ok()?;
            RowChange::Message(assistant_row(&info, ord, data()))
        }
        Fact::TurnSummarised { .. } => {
            let info: UserMessage = serde_json::from_str(shown?).ok()?;
            RowChange::Message(MessageRow {
                id: info.id,
                session_id: info.session_id,
                ord,
                created: info.time.created,
                data: data(),
            })
        }
        Fact::MessageRemoved { message, .. } => RowChange::RemoveMessage(message.clone()),
        Fact::PartRemoved { part, .. } => RowChange::RemovePart(part.clone()),
        Fact::PartWritten { part } | Fact::TextEnded { part } | Fact::ToolCalled { part } => {
            RowChange::Part(part_row(part, ord, false, data()))
        }
        Fact::TextStarted { part, .. } => RowChange::Part(part_row(part, ord, true, data())),
        Fact::ToolStarted { .. }
        | Fact::ToolProgressed { .. }
        | Fact::ToolEnded { .. }
        | Fact::ToolCompacted { .. } => {
            let part: Part = serde_json::from_str(shown?).ok()?;
            RowChange::Part(part_row(&part, ord, false, data()))
        }
        Fact::PermissionAsked { request } => RowChange::Ask(AskRow {
            id: request.id.to_string(),
            session_id: request.session_id.clone(),
            kind: AskKind::Permission,
            data: data(),
        }),
        Fact::QuestionAsked { request } => RowChange::Ask(AskRow {
            id: request.id.to_string(),
            session_id: request.session_id.clone(),
            kind: AskKind::Question,
            data: data(),
        }),
        Fact::TodoSet { .. } => RowChange::Todos { session: state.info.as_deref()?.id.clone(), data: data() },
        Fact::PermissionReplied { request, .. } => RowChange::RemoveAsk { id: request.to_string() },
        Fact::QuestionReplied { request, .. } | Fact::QuestionRejected { request } => {
            RowChange::RemoveAsk { id: request.to_string() }
        }
        _ => return None,
    })
}

/// What the answer "always" allows for good; `state` is the state before it.
fn approvals(state: &State, fact: &Fact) -> Vec<ApprovalRow> {
    let Fact::PermissionReplied { request, reply: PermissionReply::Always, .. } = fact else {
        return Vec::new();
    };
    let (Some(info), Some(step)) = (state.info.as_deref(), state.open_step()) else { return Vec::new() };
    let mut asks = step.calls.iter().flat_map(|call| &call.asks);
    let Some(ask) = asks.find(|ask| ask.id == request.as_str()) else { return Vec::new() };
    let directory = checkout_of(info).to_owned();
    // Made of the request's id: the same log gives the same rows.
    let tail = request.as_str().trim_start_matches("per_");
    let row = |(index, pattern): (usize, &String)| ApprovalRow {
        id: format!("psv_{tail}{index:02}"),
        project_id: info.project_id.clone(),
        directory: directory.clone(),
        permission: ask.permission.clone(),
        pattern: pattern.clone(),
    };
    ask.always.iter().enumerate().map(row).collect()
}

fn session_row(info: &Session, machine: String) -> SessionRow {
    SessionRow {
        id: info.id.clone(),
        project_id: info.project_id.clone(),
        directory: info.directory.clone(),
        path: info.path.clone(),
        parent_id: info.parent_id.clone(),
        title: info.title.clone(),
        created: info.time.created,
        updated: info.time.updated,
        is_archived: info.time.archived.is_some(),
        data: json(info),
        machine,
    }
}

fn assistant_row(info: &AssistantMessage, ord: u64, data: String) -> MessageRow {
    MessageRow {
        id: info.id.clone(),
        session_id: info.session_id.clone(),
        ord,
        created: info.time.created,
        data,
    }
}

fn part_row(part: &Part, ord: u64, is_open: bool, data: String) -> PartRow {
    PartRow {
        id: part.id.clone(),
        message_id: part.message_id.clone(),
        session_id: part.session_id.clone(),
        ord,
        is_open,
        data,
    }
}

/// An assistant message after its step finished or ended.
#[must_use]
pub fn moved_message(mut info: AssistantMessage, fact: &Fact) -> AssistantMessage {
    match fact {
        Fact::StepFinished { finish, cost, tokens, .. } => {
            info.finish = Some(finish.clone());
            info.cost += *cost;
            info.tokens = *tokens;
        }
        Fact::StepEnded { completed, error, finish, structured, .. } => {
            info.time.completed = Some(*completed);
            info.error = error.clone().or(info.error);
            info.finish = finish.clone().or(info.finish);
            info.structured = structured.clone().or(info.structured);
        }
        _ => {}
    }
    info
}

/// A tool part after its call moved on.
#[must_use]
pub fn moved_part(mut part: Part, fact: &Fact) -> Part {
    let PartBody::Tool(tool) = &mut part.body else { return part };
    match fact {
        Fact::ToolStarted { tool: name, input, start, metadata, .. } => {
            tool.tool.clone_from(name);
            tool.metadata = metadata.clone().or_else(|| tool.metadata.take());
            tool.state = ToolState::Running {
                input: input.clone(),
                title: None,
                metadata: None,
                time: Started { start: *start },
            };
        }
        Fact::ToolProgressed { title, metadata, .. } => {
            if let ToolState::Running { title: old_title, metadata: old_metadata, .. } = &mut tool.state {
                old_title.clone_from(title);
                old_metadata.clone_from(metadata);
            }
        }
        Fact::ToolEnded { outcome, end, .. } => tool.state = ended(&tool.state, outcome, *end),
        Fact::ToolCompacted { at, .. } => {
            if let ToolState::Completed { time, .. } = &mut tool.state {
                time.compacted = Some(*at);
            }
        }
        _ => {}
    }
    part
}

fn ended(state: &ToolState, outcome: &Outcome, end: Millis) -> ToolState {
    let input = state.input().clone();
    let (start, reported, raw) = match state {
        ToolState::Pending { raw, .. } => (end, None, Some(raw.clone())),
        ToolState::Running { time, metadata, .. } => (time.start, metadata.clone(), None),
        ToolState::Completed { .. } | ToolState::Error { .. } => return state.clone(),
    };
    let time = Took { start, end };
    match outcome {
        Outcome::Done { output, title, metadata, attachments } => ToolState::Completed {
            input,
            output: output.clone(),
            title: title.clone(),
            metadata: metadata.clone(),
            time: Ran { start, end, compacted: None },
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
        Outcome::Interrupted { error } => {
            let mut metadata = reported.unwrap_or_else(Map::new);
            metadata.insert("interrupted".to_owned(), Value::Bool(true));
            ToolState::Error { input, error: error.clone(), metadata: Some(metadata), time, raw }
        }
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("BUG: a record is always JSON")
}
