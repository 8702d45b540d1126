//! Invariant I10: rows equal the fold of the log. Recomputes them and says which differ.

use crate::records;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::row::{ApprovalRow, AskRow, MessageRow, PartRow, RowChange, SessionRow};
use sturdy_session::rows::Folder;
use sturdy_session::turn::State;
use sturdy_store::{RowPosition, SessionRows, title_column};

/// The rows that a log leads to. Facts come with their seq and their position.
pub(super) fn rows(facts: impl Iterator<Item = (u64, u64, Fact)>) -> Rows {
    let mut rebuilt = Rows::default();
    let mut state = State::default();
    for (seq, position, fact) in facts {
        // One at a time, each with its own seq: old growth may have been folded out of the log.
        let mut folder = Folder::new(&state, seq.saturating_sub(1), seq);
        folder.push(&mut state, rebuilt.with_part(fact), 0);
        let folded = folder.finish(&state);
        rebuilt.tells.push(folded.entries.iter().map(|entry| entry.tells).sum());
        folded.rows.into_iter().for_each(|write| rebuilt.apply(write.change, position));
    }
    rebuilt
}

impl Rows {
    /// What differs between the stored rows and these.
    pub(super) fn compare(&self, stored: SessionRows) -> Vec<String> {
        let stored = Self::from(stored);
        let mut findings = Vec::new();
        if self.session != stored.session {
            findings.push("the session's row is not what its log leads to".to_owned());
        }
        differing("message", &self.messages, &stored.messages, &mut findings);
        differing("part", &self.parts, &stored.parts, &mut findings);
        differing("request", &self.asks, &stored.asks, &mut findings);
        if self.todos != stored.todos {
            findings.push("the list of todos is not what its log leads to".to_owned());
        }
        findings
    }

    /// Rows that name another entry than the one that wrote them. Those that are missing on either side are told
    /// of elsewhere.
    pub(super) fn compare_positions(&self, stored: &[RowPosition]) -> Vec<String> {
        let wrong = |row: &RowPosition| {
            let written = self.positions.get(&(row.kind, row.id.clone()))?;
            let RowPosition { kind, id, position } = row;
            (written != position)
                .then(|| format!("{kind} {id} names entry {position} and was written by entry {written}"))
        };
        stored.iter().filter_map(wrong).collect()
    }
}

fn differing<K: Ord + Display, T: PartialEq>(
    what: &str,
    rebuilt: &BTreeMap<K, T>,
    stored: &BTreeMap<K, T>,
    findings: &mut Vec<String>,
) {
    for (id, row) in rebuilt {
        match stored.get(id) {
            None => findings.push(format!("{what} {id} is missing")),
            Some(other) if other != row => findings.push(format!("{what} {id} is not what its log leads to")),
            Some(_) => {}
        }
    }
    for id in stored.keys().filter(|id| !rebuilt.contains_key(id)) {
        findings.push(format!("{what} {id} comes from nowhere in the log"));
    }
}

/// All rows of a session.
#[derive(Debug, Default)]
pub(super) struct Rows {
    session: Option<SessionRow>,
    messages: BTreeMap<MessageId, MessageRow>,
    parts: BTreeMap<PartId, PartRow>,
    asks: BTreeMap<String, AskRow>,
    todos: Option<String>,
    /// What people allowed for good.
    pub(super) approvals: Vec<ApprovalRow>,
    /// How many events of the v2 API each fact is, in the order of the log.
    pub(super) tells: Vec<u64>,
    /// Which entry wrote a row last, by kind and id.
    positions: HashMap<(&'static str, String), u64>,
}

impl Rows {
    /// A fact about a call that ended long ago, with the call as it was then: that is not in the state.
    fn with_part(&self, mut fact: Fact) -> Fact {
        if let Fact::ToolCompacted { part, before, .. } = &mut fact {
            *before = self.parts.get(part).and_then(|row| records::part(part, &row.data).ok().map(Box::new));
        }
        fact
    }

    fn apply(&mut self, change: RowChange, position: u64) {
        match change {
            RowChange::Session(mut row) => {
                self.wrote("session", &row.id, position);
                row.title = title_column(&row.title).into_owned();
                self.session = Some(row);
            }
            RowChange::Machine { machine, .. } => {
                if let Some(session) = &mut self.session {
                    session.machine = machine;
                }
            }
            RowChange::RemoveSession(_) => {
                let approvals = std::mem::take(&mut self.approvals);
                let tells = std::mem::take(&mut self.tells);
                *self = Self { approvals, tells, ..Self::default() };
            }
            RowChange::Message(row) => {
                self.wrote("message", &row.id, position);
                // A row keeps its place when it is written again.
                let ord = self.messages.get(&row.id).map_or(row.ord, |known| known.ord);
                self.messages.insert(row.id.clone(), MessageRow { ord, ..row });
            }
            RowChange::PlaceMessage { id, ord } => {
                self.wrote("message", &id, position);
                if let Some(row) = self.messages.get_mut(&id) {
                    row.ord = ord;
                }
            }
            RowChange::RemoveMessage(id) => {
                self.messages.remove(&id);
                self.parts.retain(|_, row| row.message_id != id);
            }
            RowChange::Part(row) => {
                self.wrote("part", &row.id, position);
                let ord = self.parts.get(&row.id).map_or(row.ord, |known| known.ord);
                self.parts.insert(row.id.clone(), PartRow { ord, ..row });
            }
            RowChange::RemovePart(id) => {
                self.parts.remove(&id);
            }
            RowChange::Ask(row) => {
                self.wrote("ask", &row.id, position);
                self.asks.insert(row.id.clone(), row);
            }
            RowChange::RemoveAsk { id } => {
                self.asks.remove(&id);
            }
            RowChange::Todos { session, data } => {
                self.wrote("todo", &session, position);
                self.todos = Some(data);
            }
            // Of the project, not of the session; and a person may have taken it back.
            RowChange::Approval(row) => self.approvals.push(row),
            // Not a row that anybody sees: what is shown is made of the log.
            RowChange::Keyframe { .. } => {}
        }
    }

    fn wrote(&mut self, kind: &'static str, id: &impl Display, position: u64) {
        self.positions.insert((kind, id.to_string()), position);
    }
}

impl From<SessionRows> for Rows {
    fn from(rows: SessionRows) -> Self {
        Self {
            session: rows.session,
            messages: rows.messages.into_iter().map(|row| (row.id.clone(), row)).collect(),
            parts: rows.parts.into_iter().map(|row| (row.id.clone(), row)).collect(),
            asks: rows.asks.into_iter().map(|row| (row.id.clone(), row)).collect(),
            todos: rows.todos,
            ..Self::default()
        }
    }
}
