//! Invariant I10: rows equal the fold of the log. Recomputes them and says which differ.

use std::collections::BTreeMap;
use std::fmt::Display;
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::row::{AskRow, MessageRow, PartRow, RowChange, SessionRow};
use sturdy_session::rows::Folder;
use sturdy_session::turn::State;
use sturdy_store::SessionRows;

/// What differs between the stored rows and those the log leads to.
pub(super) fn compare(facts: Vec<(u64, Fact)>, stored: SessionRows) -> Vec<String> {
    let mut rebuilt = Rows::default();
    let mut state = State::default();
    for (seq, fact) in facts {
        // One at a time, each with its own seq: old growth may have been folded out of the log.
        let mut folder = Folder::new(&state, seq.saturating_sub(1), seq);
        folder.push(&mut state, fact, 0);
        folder.finish(&state).rows.into_iter().for_each(|write| rebuilt.apply(write.change));
    }
    let stored = Rows::from(stored);

    let mut findings = Vec::new();
    if rebuilt.session != stored.session {
        findings.push("the session's row is not what its log leads to".to_owned());
    }
    differing("message", &rebuilt.messages, &stored.messages, &mut findings);
    differing("part", &rebuilt.parts, &stored.parts, &mut findings);
    differing("request", &rebuilt.asks, &stored.asks, &mut findings);
    if rebuilt.todos != stored.todos {
        findings.push("the list of todos is not what its log leads to".to_owned());
    }
    findings
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
struct Rows {
    session: Option<SessionRow>,
    messages: BTreeMap<MessageId, MessageRow>,
    parts: BTreeMap<PartId, PartRow>,
    asks: BTreeMap<String, AskRow>,
    todos: Option<String>,
}

impl Rows {
    fn apply(&mut self, change: RowChange) {
        match change {
            RowChange::Session(row) => self.session = Some(row),
            RowChange::Machine { machine, .. } => {
                if let Some(session) = &mut self.session {
                    session.machine = machine;
                }
            }
            RowChange::RemoveSession(_) => *self = Self::default(),
            RowChange::Message(row) => {
                // A row keeps its place when it is written again.
                let ord = self.messages.get(&row.id).map_or(row.ord, |known| known.ord);
                self.messages.insert(row.id.clone(), MessageRow { ord, ..row });
            }
            RowChange::RemoveMessage(id) => {
                self.messages.remove(&id);
                self.parts.retain(|_, row| row.message_id != id);
            }
            RowChange::Part(row) => {
                let ord = self.parts.get(&row.id).map_or(row.ord, |known| known.ord);
                self.parts.insert(row.id.clone(), PartRow { ord, ..row });
            }
            RowChange::RemovePart(id) => {
                self.parts.remove(&id);
            }
            RowChange::Ask(row) => {
                self.asks.insert(row.id.clone(), row);
            }
            RowChange::RemoveAsk { id } => {
                self.asks.remove(&id);
            }
            RowChange::Todos { data, .. } => self.todos = Some(data),
            // Of the project, not of the session; and a person may have taken it back.
            RowChange::Approval(_) => {}
            // Not a row that anybody sees: what is shown is made of the log.
            RowChange::Keyframe { .. } => {}
        }
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
        }
    }
}
