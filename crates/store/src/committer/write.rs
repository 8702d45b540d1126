//! One entry, one row: the statements a commit is made of.
//!
//! Statements are prepared once per transaction and used for all of its commits.

use super::remains::{self, Remaining};
use super::share_notes;
use crate::blob::{keep_blob, pack};
use crate::commit::{Commit, ENTRY_BYTES_MAX, NewEntry};
use crate::error::Failure;
use rusqlite::{CachedStatement, Connection};
use std::borrow::Cow;
use sturdy_session::id::SessionId;
use sturdy_session::row::{ApprovalRow, AskRow, MessageRow, PartRow, RowChange, SessionRow};

const APPEND: &str =
    "INSERT INTO log (position, session_id, seq, kind, at, data, blob, packed, subject, actor, told)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

// `schema` is not named in any of these: every row is in form 1, which is its default.

// `actor` is not among the updated columns: it says who created the session.
const PUT_SESSION: &str = "INSERT INTO session
    (id, project_id, directory, path, parent_id, title, created, updated, archived, data, machine, position,
    actor)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
    ON CONFLICT (id) DO UPDATE SET project_id = excluded.project_id, directory = excluded.directory,
    path = excluded.path, parent_id = excluded.parent_id, title = excluded.title, created = excluded.created,
    updated = excluded.updated, archived = excluded.archived, data = excluded.data,
    machine = excluded.machine, position = excluded.position";
const SET_MACHINE: &str = "UPDATE session SET machine = ?2 WHERE id = ?1";

// `ord` is not among the updated columns: a row keeps its place when it is written again.
const PUT_MESSAGE: &str = "INSERT INTO message (id, session_id, ord, created, data, position)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (session_id, id) DO UPDATE SET created = excluded.created, data = excluded.data, position = excluded.position";
const PLACE_MESSAGE: &str = "UPDATE message SET ord = ?3, position = ?4 WHERE session_id = ?1 AND id = ?2";
const PUT_PART: &str = "INSERT INTO part (id, message_id, session_id, ord, is_open, data, position)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (session_id, id) DO UPDATE SET is_open = excluded.is_open, data = excluded.data,
    position = excluded.position";
const PUT_ASK: &str = "INSERT INTO ask (id, session_id, kind, data, position) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (session_id, id) DO UPDATE SET data = excluded.data, position = excluded.position";
// What is allowed already stays as it is, with the id a client may know.
const PUT_APPROVAL: &str = "INSERT INTO approval (id, project_id, directory, permission, pattern, position)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
const PUT_TODOS: &str = "INSERT INTO todo (session_id, data, position) VALUES (?1, ?2, ?3)
    ON CONFLICT (session_id) DO UPDATE SET data = excluded.data, position = excluded.position";

const PUT_KEYFRAME: &str = "INSERT INTO keyframe (session_id, seq, position, data)
    SELECT ?1, seq, position, ?3 FROM log WHERE position = ?2 ON CONFLICT DO NOTHING";

const REMOVE_MESSAGE: [&str; 2] = [
    "DELETE FROM part WHERE session_id = ?1 AND message_id = ?2",
    "DELETE FROM message WHERE session_id = ?1 AND id = ?2",
];
const REMOVE_PART: &str = "DELETE FROM part WHERE session_id = ?1 AND id = ?2";
const REMOVE_ASK: &str = "DELETE FROM ask WHERE session_id = ?1 AND id = ?2";
const REMOVE_SESSION: [&str; 6] = [
    "DELETE FROM keyframe WHERE session_id = ?1",
    "DELETE FROM message WHERE session_id = ?1",
    "DELETE FROM ask WHERE session_id = ?1",
    "DELETE FROM todo WHERE session_id = ?1",
    "DELETE FROM session_grant WHERE session_id = ?1",
    "DELETE FROM session WHERE id = ?1",
];
/// Where an entry stands.
struct Place {
    position: i64,
    seq: i64,
    told: i64,
}

/// Writes the commits of one transaction.
pub(super) struct Writer<'c> {
    connection: &'c Connection,
    append: CachedStatement<'c>,
    put_part: CachedStatement<'c>,
    /// Sessions may be shared; without that nothing is asked.
    has_links: bool,
    /// Sessions that were removed, and of which something is left.
    remains: Vec<SessionId>,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection, has_links: bool) -> Result<Self, Failure> {
        let append = connection.prepare_cached(APPEND)?;
        let put_part = connection.prepare_cached(PUT_PART)?;
        Ok(Self { connection, append, put_part, has_links, remains: Vec::new() })
    }

    pub(super) fn into_remains(self) -> Vec<SessionId> {
        self.remains
    }

    /// `told` is the last number that the session has given before this commit.
    pub(super) fn commit(&mut self, commit: &Commit, first_position: u64, told: u64) -> Result<(), Failure> {
        if let Some(at) = self.remains.iter().position(|removed| *removed == commit.session) {
            // Its id is used again at once.
            remains::remove_all(self.connection, commit.session.as_str())?;
            self.remains.swap_remove(at);
        }
        let first_position = first_position.cast_signed();
        let first_seq = commit.expected.cast_signed() + 1;
        let mut told = told.cast_signed();
        for (index, entry) in (0..).zip(&commit.entries) {
            told += entry.tells.cast_signed();
            let place = Place { position: first_position + index, seq: first_seq + index, told };
            self.append(commit.session.as_str(), &place, entry)?;
        }
        let is_shared = self.has_links && share_notes::is_shared(self.connection, commit.session.as_str())?;
        for row in &commit.rows {
            let actor = commit.entries[row.entry].actor.as_deref().unwrap_or_default();
            let position = first_position + row.entry as i64;
            if is_shared {
                share_notes::note_change(self.connection, commit.session.as_str(), &row.change, position)?;
            }
            self.row(commit.session.as_str(), &row.change, position, actor)?;
        }
        Ok(())
    }

    fn append(&mut self, session: &str, place: &Place, entry: &NewEntry) -> Result<(), Failure> {
        let Place { position, seq, told } = *place;
        let at = entry.at.cast_signed();
        let actor = entry.actor.as_deref().unwrap_or_default();
        // Invariant I12: what is large stands in a blob, and the entry holds the hash.
        let is_large = entry.data.len() > ENTRY_BYTES_MAX;
        let blob = is_large.then(|| keep_blob(self.connection, entry.data.as_bytes())).transpose()?;
        let packed = if is_large { None } else { pack(entry.data.as_bytes()) };
        let data = if is_large || packed.is_some() { "" } else { &entry.data };
        let subject = &entry.subject;
        let kind = entry.kind;
        self.append.execute((position, session, seq, kind, at, data, blob, packed, subject, actor, told))?;
        Ok(())
    }

    fn row(&mut self, session: &str, change: &RowChange, position: i64, actor: &str) -> Result<(), Failure> {
        match change {
            RowChange::Session(row) => self.session(row, position, actor),
            RowChange::Machine { session, machine } => self.run(SET_MACHINE, (session.as_str(), machine)),
            RowChange::RemoveSession(id) => {
                for statement in REMOVE_SESSION {
                    self.run(statement, [id.as_str()])?;
                }
                // Blobs are collected by upkeep (`blob.rs`): another entry may hold the same one.
                if remains::begin(self.connection, id.as_str())? == Remaining::Something {
                    self.remains.push(id.clone());
                }
                Ok(())
            }
            RowChange::Message(row) => self.message(row, position),
            RowChange::PlaceMessage { id, ord } => {
                self.run(PLACE_MESSAGE, (session, id.as_str(), ord.cast_signed(), position))
            }
            RowChange::RemoveMessage(id) => {
                for statement in REMOVE_MESSAGE {
                    self.run(statement, (session, id.as_str()))?;
                }
                Ok(())
            }
            RowChange::Part(row) => self.part(row, position),
            RowChange::RemovePart(id) => self.run(REMOVE_PART, (session, id.as_str())),
            RowChange::Ask(row) => self.ask(row, position),
            RowChange::RemoveAsk { id } => self.run(REMOVE_ASK, (session, id)),
            RowChange::Approval(row) => self.approval(row, position),
            RowChange::Keyframe { session, data } => {
                self.run(PUT_KEYFRAME, (session.as_str(), position, data))
            }
            RowChange::Todos { session, data } => self.run(PUT_TODOS, (session.as_str(), data, position)),
        }
    }

    fn session(&mut self, row: &SessionRow, position: i64, actor: &str) -> Result<(), Failure> {
        self.run(
            PUT_SESSION,
            (
                row.id.as_str(),
                &row.project_id,
                &row.directory,
                &row.path,
                row.parent_id.as_ref().map(SessionId::as_str),
                &*title_column(&row.title),
                row.created.cast_signed(),
                row.updated.cast_signed(),
                i64::from(row.is_archived),
                &row.data,
                &row.machine,
                position,
                actor,
            ),
        )
    }

    fn message(&mut self, row: &MessageRow, position: i64) -> Result<(), Failure> {
        let ord = row.ord.cast_signed();
        let created = row.created.cast_signed();
        self.run(PUT_MESSAGE, (row.id.as_str(), row.session_id.as_str(), ord, created, &row.data, position))
    }

    fn part(&mut self, row: &PartRow, position: i64) -> Result<(), Failure> {
        let ord = row.ord.cast_signed();
        let is_open = i64::from(row.is_open);
        let message = row.message_id.as_str();
        let session = row.session_id.as_str();
        self.put_part.execute((row.id.as_str(), message, session, ord, is_open, &row.data, position))?;
        Ok(())
    }

    fn ask(&mut self, row: &AskRow, position: i64) -> Result<(), Failure> {
        self.run(PUT_ASK, (&row.id, row.session_id.as_str(), row.kind.as_str(), &row.data, position))
    }

    fn approval(&mut self, row: &ApprovalRow, position: i64) -> Result<(), Failure> {
        let ApprovalRow { id, project_id, directory, permission, pattern } = row;
        self.run(PUT_APPROVAL, (id, project_id, directory, permission, pattern, position))
    }

    fn run(&self, statement: &str, values: impl rusqlite::Params) -> Result<(), Failure> {
        self.connection.prepare_cached(statement)?.execute(values)?;
        Ok(())
    }
}

/// What the column of titles holds. It is only searched, never shown; PostgreSQL's text cannot hold a NUL.
#[must_use]
pub fn title_column(title: &str) -> Cow<'_, str> {
    if title.contains('\0') { Cow::Owned(title.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(title) }
}
