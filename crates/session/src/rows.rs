//! From facts to rows: which rows a commit writes, and what each of its facts shows.
//!
//! Invariant I10: rows equal the fold of the log. `fold` is used by the live commit and by
//! `verify`, so there is one way to compute a row.

pub mod growth;
pub mod placeholder;
pub mod row;

use crate::fact::{Fact, Posted};
use crate::id::{MessageId, SessionId};
use crate::records::{self, Owner};
use crate::row::{
    AT_THE_END, ApprovalRow, AskKind, AskRow, MessageRow, PARTS_OF_ONE_FACT, PartRow, RowChange, RowWrite,
    SessionRow,
};
use crate::rules::checkout_of;
use crate::show::{count_durable, part_after, show};
use crate::stamp::Millis;
use crate::turn::{OpenStep, State};
use crate::types::ask::PermissionReply;
use crate::types::delivery::Delivery;
use crate::types::event::Event;
use crate::types::message::{AssistantMessage, UserMessage};
use crate::types::part::Part;
use serde::Serialize;
use std::collections::HashMap;

/// A commit as a value: what happened and the rows that change.
#[derive(Debug, Default)]
pub struct Folded {
    pub entries: Vec<Entry>,
    pub rows: Vec<RowWrite>,
}

/// A fact with its time and what it shows.
#[derive(Debug)]
pub struct Entry {
    pub fact: Fact,
    pub at: Millis,
    pub events: Vec<Event>,
    /// How many durable events it is in the v2 API; each has a number.
    pub tells: u64,
}

/// Applies facts to a state, one decision after another, and collects one commit.
#[derive(Debug)]
pub struct Folder {
    seq: u64,
    /// The newest keyframe of the session.
    keyframe: u64,
    machine_before: String,
    session_entry: Option<usize>,
    /// Where in the commit the row of a message or part is written.
    places: HashMap<String, usize>,
    folded: Folded,
}

/// Growth is joined up to this size: a fact stays small, a busy stream makes few of them.
const GROWTH_BYTES_MAX: usize = 16 * 1024;

/// Entries between two keyframes: what a reader that was away reads at most before the first that it missed.
pub const KEYFRAME_EVERY: u64 = 128;
/// A commit that writes this much is followed by a keyframe, so that such a reader does not read it: unless the keyframe
/// would be large as well.
const KEYFRAME_BYTES: usize = 256 * 1024;

impl Folder {
    /// `seq` is what the session is at before the first fact, `keyframe` where its newest keyframe is.
    #[must_use]
    pub fn new(state: &State, seq: u64, keyframe: u64) -> Self {
        Self {
            seq,
            keyframe,
            machine_before: state.machine_text(),
            session_entry: None,
            places: HashMap::new(),
            folded: Folded::default(),
        }
    }

    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.folded.entries.len()
    }

    pub fn push(&mut self, state: &mut State, fact: Fact, at: Millis) {
        if self.joins(&fact) {
            state.apply(&fact);
            return self.join(fact);
        }
        let entry = self.folded.entries.len();
        let fact = self.with_row(fact);
        let events = show(state, &fact, at);
        let tells = count_durable(state, &fact);
        let changes = row_changes(state, &fact, self.seq + entry as u64 + 1);
        let approvals = approvals(state, &fact);
        // Not for growth, which never touches the record and comes by the thousand.
        let record_before = if let Fact::TextGrew { .. } = fact { None } else { Some(state.info.clone()) };
        state.apply(&fact);
        if state.info.is_some() && record_before.is_some_and(|before| before != state.info) {
            self.session_entry = Some(entry);
        }
        for change in changes {
            if let RowChange::RemoveSession(_) = change {
                // Nothing written before it in this commit may come back after it.
                self.folded.rows.retain(|row| matches!(row.change, RowChange::Approval(_)));
                self.places.clear();
                self.session_entry = None;
            }
            self.put(RowWrite { entry, change });
        }
        let write = |row| RowWrite { entry, change: RowChange::Approval(row) };
        self.folded.rows.extend(approvals.into_iter().map(write));
        self.folded.entries.push(Entry { fact, at, events, tells });
    }

    #[must_use]
    pub fn finish(mut self, state: &State) -> Folded {
        let Some(info) = &state.info else { return self.folded };
        let last = self.folded.entries.len().saturating_sub(1);
        let machine = state.machine_text();
        match self.session_entry {
            Some(entry) => {
                let change = RowChange::Session(SessionRow::of(info, machine, json(info)));
                self.folded.rows.push(RowWrite { entry, change });
            }
            None if machine != self.machine_before => {
                let change = RowChange::Machine { session: info.id.clone(), machine };
                self.folded.rows.push(RowWrite { entry: last, change });
            }
            None => {}
        }
        let is_due = self.seq + self.folded.entries.len() as u64 >= self.keyframe + KEYFRAME_EVERY;
        let bytes: usize = self.folded.rows.iter().map(written_bytes).sum();
        if is_due || bytes >= KEYFRAME_BYTES {
            let data = json(&state.keyframe());
            if is_due || data.len() < bytes / 4 {
                let change = RowChange::Keyframe { session: info.id.clone(), data };
                self.folded.rows.push(RowWrite { entry: last, change });
            }
        }
        self.folded
    }

    /// A fact about a part that is not open, with the part as it was written earlier in the same fold.
    fn with_row(&self, mut fact: Fact) -> Fact {
        if let Fact::ToolCompacted { part: id, before, .. } = &mut fact
            && before.is_none()
        {
            *before = self.folded.rows.iter().find_map(|write| match &write.change {
                RowChange::Part(row) if row.id == *id => crate::depth::read_stored(&row.data).ok(),
                _ => None,
            });
        }
        fact
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
        let last = self.folded.entries.last().map(|entry| &entry.fact);
        let Some(Fact::TextGrew { part: open, delta: whole }) = last else { return false };
        let Fact::TextGrew { part, delta } = fact else { return false };
        open == part && whole.len() + delta.len() <= GROWTH_BYTES_MAX
    }

    fn join(&mut self, fact: Fact) {
        let Some(last) = self.folded.entries.last_mut() else { return };
        let (Fact::TextGrew { delta: whole, .. }, Fact::TextGrew { delta, .. }) = (&mut last.fact, fact)
        else {
            return;
        };
        whole.push_str(&delta);
        if let Some(Event::PartDelta { delta: shown, .. }) = last.events.first_mut() {
            shown.push_str(&delta);
        }
    }
}

/// What a fact had to carry for this row, about.
fn written_bytes(write: &RowWrite) -> usize {
    match &write.change {
        RowChange::Message(row) => row.data.len(),
        RowChange::Part(row) => row.data.len(),
        _ => 0,
    }
}

/// Folds a list of facts of one moment; `seq` is what the session is at before them.
pub fn fold(state: &mut State, facts: impl IntoIterator<Item = Fact>, seq: u64, at: Millis) -> Folded {
    let mut folder = Folder::new(state, seq, 0);
    facts.into_iter().for_each(|fact| folder.push(state, fact, at));
    folder.finish(state)
}

/// The rows a fact writes; `before` is the state it came upon.
fn row_changes(before: &State, fact: &Fact, seq: u64) -> Vec<RowChange> {
    let step = before.open_step();
    let session = || before.info.as_deref().map(|info| info.id.clone());
    let owner = |message| Some(Owner { session: &before.info.as_deref()?.id, message });
    let ord = u64::from(1_u32 << PARTS_OF_ONE_FACT) * seq;
    let written = |part: Part| RowChange::Part(part_row(&part, ord, false));
    match fact {
        Fact::SessionRemoved { info } => vec![RowChange::RemoveSession(info.id.clone())],
        Fact::PromptAdmitted { posted, delivery: Delivery::Queue, .. } => {
            // The turn that runs goes on before it.
            let mut rows = posted_rows(posted, ord);
            if let Some(RowChange::Message(row)) = rows.first_mut() {
                row.ord |= AT_THE_END;
            }
            rows
        }
        Fact::MessageAdded { posted }
        | Fact::PromptAdmitted { posted, delivery: Delivery::Steer, .. }
        | Fact::CompactionWanted { posted, .. } => posted_rows(posted, ord),
        Fact::PromptFailed { messages } => placed(before, messages, ord),
        Fact::ShellStarted { posted, message, created, ready } => {
            let mut rows = posted_rows(posted, ord);
            let opening =
                |session: SessionId| records::opening(&session, message, &posted.info.id, *created, ready);
            rows.extend(session().map(opening).map(|info| assistant_row(&info, ord + 1)));
            rows
        }
        Fact::StepStarted { message, user, created, takes, ready } => {
            let opening = |session: SessionId| records::opening(&session, message, user, *created, ready);
            let mut rows = placed(before, takes, ord);
            // Behind the prompts that take their places now.
            let place = ord + rows.len() as u64;
            rows.extend(session().map(opening).map(|info| assistant_row(&info, place)));
            if let Some(newest) = takes.last().filter(|_| ready.kind.is_answer()) {
                rows.extend(summary_row(before, newest, ord));
            }
            rows
        }
        Fact::StepFinished { message, part, reason, cost, tokens, .. } => {
            let Some(step) = step else { return Vec::new() };
            let part = owner(message)
                .map(|owner| owner.step_finish(part, step.tree_after(), *reason, *cost, *tokens));
            let info =
                step.info.as_deref().map(|info| records::finished(info.clone(), *reason, *cost, tokens));
            let mut rows: Vec<_> = part.map(written).into_iter().collect();
            rows.extend(info.map(|info| assistant_row(&info, ord)));
            if !before.turn_has_changed_files() {
                rows.extend(summary_row(before, &step.user, ord));
            }
            rows
        }
        Fact::StepEnded { .. } => {
            let info = step.and_then(|step| step.info.as_deref());
            info.map(|info| assistant_row(&records::ended(info.clone(), fact), ord)).into_iter().collect()
        }
        Fact::MessageCopied { info, .. } => vec![RowChange::Message(MessageRow {
            id: info.id().clone(),
            session_id: info.session_id().clone(),
            ord,
            created: info.created(),
            data: json(info),
        })],
        Fact::TurnDiffed { diffed, .. } => vec![user_row(&diffed.prompt, ord)],
        Fact::PromptWithdrawn { message } | Fact::MessageRemoved { message, .. } => {
            vec![RowChange::RemoveMessage(message.clone())]
        }
        Fact::PartRemoved { part, .. } => vec![RowChange::RemovePart(part.clone())],
        Fact::PartWritten { part } => vec![RowChange::Part(part_row(part, ord, false))],
        Fact::StepBegan { message, part } => {
            let start = |step: &OpenStep| Some(owner(message)?.step_start(part, &step.ready));
            step.and_then(start).map(written).into_iter().collect()
        }
        Fact::StepDelayed { message, attempt, note, .. } => {
            let note = note.as_deref().and_then(|note| Some(owner(message)?.retry(note, *attempt)));
            note.map(written).into_iter().collect()
        }
        Fact::TextStarted { message, part, words, start, metadata, .. } => {
            let text = owner(message).map(|owner| owner.text(part, *words, *start, metadata.clone()));
            text.map(|text| RowChange::Part(part_row(&text, ord, true))).into_iter().collect()
        }
        Fact::ToolCalled { message, part, call, tool, running } => {
            // Its arguments grow until it begins.
            let is_open = running.is_none();
            let part = owner(message).map(|owner| owner.call(part, call, tool, running.as_deref()));
            part.map(|part| RowChange::Part(part_row(&part, ord, is_open))).into_iter().collect()
        }
        Fact::TextEnded { .. }
        | Fact::ToolStarted { .. }
        | Fact::ToolProgressed { .. }
        | Fact::ToolEnded { .. }
        | Fact::ToolCompacted { .. } => part_after(before, fact).map(written).into_iter().collect(),
        Fact::PermissionAsked { request, .. } => vec![RowChange::Ask(AskRow {
            id: request.id.to_string(),
            session_id: request.session_id.clone(),
            kind: AskKind::Permission,
            data: json(request),
        })],
        Fact::QuestionAsked { request } => vec![RowChange::Ask(AskRow {
            id: request.id.to_string(),
            session_id: request.session_id.clone(),
            kind: AskKind::Question,
            data: json(request),
        })],
        Fact::TodoSet { todos } => {
            let todos = |session| RowChange::Todos { session, data: json(todos) };
            session().map(todos).into_iter().collect()
        }
        Fact::PermissionReplied { request, .. } => vec![RowChange::RemoveAsk { id: request.to_string() }],
        Fact::QuestionReplied { request, .. } | Fact::QuestionRejected { request } => {
            vec![RowChange::RemoveAsk { id: request.to_string() }]
        }
        // The session's own row is written once for all facts of a commit.
        Fact::SessionCreated { .. }
        | Fact::SessionEdited { .. }
        | Fact::SessionReverted { .. }
        | Fact::FilesChanged { .. }
        | Fact::TurnContinued { .. }
        | Fact::TurnStopping
        | Fact::SessionIdled { .. }
        | Fact::StepRetried { .. }
        | Fact::ModelFinished { .. }
        | Fact::TextGrew { .. }
        | Fact::ToolAllowed { .. }
        | Fact::CopyStarted
        | Fact::CopyFinished
        | Fact::SessionCompacted
        | Fact::SessionFailed { .. }
        | Fact::SnippetsStarted { .. }
        | Fact::CommandExecuted { .. } => Vec::new(),
    }
}

/// Prompts that waited at the end of the conversation and are taken up now.
fn placed(before: &State, taken: &[MessageId], ord: u64) -> Vec<RowChange> {
    let waited = taken.iter().filter(|id| before.delivery_of(id) == Some(Delivery::Queue));
    let place = |(place, id): (usize, &MessageId)| RowChange::PlaceMessage {
        id: id.clone(),
        ord: ord + place as u64,
    };
    waited.enumerate().map(place).collect()
}

fn posted_rows(posted: &Posted, ord: u64) -> Vec<RowChange> {
    let part = |(place, part): (usize, &Part)| RowChange::Part(part_row(part, ord + place as u64, false));
    let parts = posted.parts.iter().enumerate().map(part);
    std::iter::once(user_row(&posted.info, ord)).chain(parts).collect()
}

/// The prompt once it was looked at what its turn changed on disk.
fn summary_row(before: &State, user: &MessageId, ord: u64) -> Option<RowChange> {
    before.asked(user).map(|asked| user_row(&records::with_summary(asked), ord))
}

fn user_row(info: &UserMessage, ord: u64) -> RowChange {
    RowChange::Message(MessageRow {
        id: info.id.clone(),
        session_id: info.session_id.clone(),
        ord,
        created: info.time.created,
        data: json(info),
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
    // By its real path: a link may lead elsewhere tomorrow.
    let directory = if ask.checkout.is_empty() { checkout_of(info) } else { &ask.checkout };
    // Made of the request's id: the same log gives the same rows.
    let tail = request.as_str().trim_start_matches("per_");
    let row = |(index, pattern): (usize, &String)| ApprovalRow {
        id: format!("psv_{tail}{index:02}"),
        project_id: info.project_id.clone(),
        directory: directory.to_owned(),
        permission: ask.permission.clone(),
        pattern: pattern.clone(),
    };
    ask.always.iter().enumerate().map(row).collect()
}

fn assistant_row(info: &AssistantMessage, ord: u64) -> RowChange {
    RowChange::Message(MessageRow {
        id: info.id.clone(),
        session_id: info.session_id.clone(),
        ord,
        created: info.time.created,
        data: json(info),
    })
}

fn part_row(part: &Part, ord: u64, is_open: bool) -> PartRow {
    PartRow {
        id: part.id.clone(),
        message_id: part.message_id.clone(),
        session_id: part.session_id.clone(),
        ord,
        is_open,
        data: json(part),
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("BUG: a record is always JSON")
}
