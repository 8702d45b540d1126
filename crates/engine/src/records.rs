//! Stored texts as types: the one place that parses what the store gives out.
//!
//! Each function names the record that it reads. A text that is not such a record is damage, said with that name and
//! with what is wrong, and never taken for a record that is not there. Whoever can do without one of many asks for the
//! [`readable`] ones; what is left out then is said in the log.
//!
//! Child: `large` (links in the place of large values).
//!
//! Not here: facts of the log (`sturdy_session::fact`), rows that are not even JSON (`sturdy_store`), files beside the
//! store.

pub mod large;

use crate::error::EngineError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use sturdy_session::depth::read_stored;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::placeholder;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::Part;
use sturdy_session::types::project::Project;
use sturdy_session::types::session::Session;
use sturdy_store::{RawAsk, RawMessage, ReadError, Store};
use tracing::warn;

/// A stored text that is not what it should be.
#[derive(Debug, thiserror::Error)]
#[error("{record} is damaged: {source}")]
pub struct DamagedRecord {
    /// Which one: `session ses_…`, `part 2 of message msg_…`.
    pub record: String,
    source: serde_json::Error,
}

impl DamagedRecord {
    /// What is wrong with it.
    #[must_use]
    pub fn what(&self) -> String {
        self.source.to_string()
    }
}

impl From<DamagedRecord> for ReadError {
    fn from(damaged: DamagedRecord) -> Self {
        Self::Broken { what: damaged.what(), place: damaged.record }
    }
}

impl From<DamagedRecord> for EngineError {
    fn from(damaged: DamagedRecord) -> Self {
        Self::Read(damaged.into())
    }
}

fn read<T: DeserializeOwned>(record: impl FnOnce() -> String, text: &str) -> Result<T, DamagedRecord> {
    read_stored(text).map_err(|source| DamagedRecord { record: record(), source })
}

/// One of many: nothing if it is damaged, which is said in the log.
pub fn readable<T>(read: Result<T, DamagedRecord>) -> Option<T> {
    read.inspect_err(|cause| warn!(%cause, "a stored record is left out")).ok()
}

/// A session's record.
pub fn session(id: &SessionId, text: &str) -> Result<Session, DamagedRecord> {
    read(|| format!("session {id}"), text)
}

/// The readable ones of a list.
pub fn sessions(texts: &[String]) -> impl Iterator<Item = Session> {
    texts.iter().filter_map(|text| readable(read(|| "a session".to_owned(), text)))
}

/// A message without its parts.
pub fn message(id: &MessageId, text: &str) -> Result<Message, DamagedRecord> {
    read(|| format!("message {id}"), text)
}

/// A message with its parts.
pub fn message_with_parts(raw: &RawMessage) -> Result<MessageWithParts, DamagedRecord> {
    let info = message(&raw.id, &raw.info)?;
    let parts = raw.parts.iter().enumerate().map(|(at, text)| read(|| part_of(&raw.id, at), text));
    Ok(MessageWithParts { info, parts: parts.collect::<Result<_, _>>()? })
}

/// A part.
pub fn part(id: &PartId, text: &str) -> Result<Part, DamagedRecord> {
    read(|| format!("part {id}"), text)
}

/// The readable parts of a message.
pub fn parts(message: &MessageId, texts: &[String]) -> impl Iterator<Item = Part> {
    texts.iter().enumerate().filter_map(|(at, text)| readable(read(|| part_of(message, at), text)))
}

fn part_of(message: &MessageId, at: usize) -> String {
    format!("part {} of message {message}", at + 1)
}

/// A project's record.
pub fn project(id: &str, text: &str) -> Result<Project, DamagedRecord> {
    read(|| format!("project {id}"), text)
}

/// The readable ones of a list.
pub fn projects(texts: &[String]) -> impl Iterator<Item = Project> {
    texts.iter().filter_map(|text| readable(read(|| "a project".to_owned(), text)))
}

/// A request that waits for a person, as the kind of request that it is.
pub fn ask<T: DeserializeOwned>(raw: &RawAsk) -> Result<T, DamagedRecord> {
    read(|| format!("ask {}", raw.id), &raw.data)
}

/// A message without its parts as JSON, for whoever shows it in another shape.
pub fn info_json(raw: &RawMessage) -> Result<Value, DamagedRecord> {
    read(|| format!("message {}", raw.id), &raw.info)
}

/// Its parts as JSON.
pub fn parts_json(raw: &RawMessage) -> impl Iterator<Item = Result<Value, DamagedRecord>> {
    raw.parts.iter().enumerate().map(|(at, text)| read(|| part_of(&raw.id, at), text))
}

/// Some fields of a record, by a type that names only those.
pub fn fields<T: DeserializeOwned>(record: impl fmt::Display, text: &str) -> Result<T, DamagedRecord> {
    read(|| record.to_string(), text)
}

/// A session's record as it is stored; if that cannot be read, as much as the columns beside it know. None if there
/// is no such session.
pub(crate) async fn readable_record(store: &Store, id: &SessionId) -> Result<Option<String>, ReadError> {
    let Some(record) = store.session(id).await? else { return Ok(None) };
    if session(id, &record).is_ok() {
        return Ok(Some(record));
    }
    let Some(columns) = store.session_columns(id).await? else { return Ok(None) };
    store.note_damage(id, &format!("session {id}"));
    let known = placeholder::session(id, columns);
    Ok(Some(serde_json::to_string(&known).expect("BUG: a session is always JSON")))
}

/// A session's record. One that is damaged is not absent: its session is listed with what is damaged.
pub(crate) async fn session_info(store: &Store, id: &SessionId) -> Result<Session, EngineError> {
    session_info_of(store, id, store.session(id).await?)
}

/// The session whose record was read.
pub(crate) fn session_info_of(
    store: &Store,
    id: &SessionId,
    record: Option<String>,
) -> Result<Session, EngineError> {
    let record = record.ok_or_else(|| EngineError::NoSession(id.clone()))?;
    let info = session(id, &record).inspect_err(|damaged| store.note_damage(id, &damaged.record));
    Ok(info?)
}

#[cfg(test)]
mod tests;
