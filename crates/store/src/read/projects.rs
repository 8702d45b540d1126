//! Projects: found by looking at a directory, kept so that lists can name them.
//!
//! They are not facts: what a directory is can be looked up again at any time.

use crate::Store;
use crate::error::{CommitError, ReadError};
use crate::log::{clamp, text_or_empty};
use rusqlite::{Connection, OptionalExtension as _};
use sturdy_session::placeholder;

const PUT: &str = "INSERT INTO project (id, data, updated) VALUES (?1, ?2, ?3)
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, updated = excluded.updated";
const ONE: &str = "SELECT data FROM project WHERE id = ?1";
const ALL: &str = "SELECT id, data FROM project ORDER BY id";

impl Store {
    /// Stores a project's wire record, or replaces it.
    pub async fn put_project(&self, id: &str, data: String, updated: u64) -> Result<(), CommitError> {
        let id = id.to_owned();
        self.write(move |connection| {
            connection.prepare_cached(PUT)?.execute((&id, &data, clamp(updated)))?;
            Ok(())
        })
        .await
    }

    pub async fn project(&self, id: &str) -> Result<Option<String>, ReadError> {
        let id = id.to_owned();
        self.read(move |connection| {
            Ok(connection.prepare_cached(ONE)?.query_row([&id], |row| text_or_empty(row, 0)).optional()?)
        })
        .await
    }

    /// All of them, by id, without those that cannot be read.
    pub async fn projects(&self) -> Result<Vec<String>, ReadError> {
        self.read(readable_projects).await
    }
}

/// One that is left out is written again when its directory is next looked at.
pub(crate) fn readable_projects(connection: &Connection) -> Result<Vec<String>, ReadError> {
    let mut statement = connection.prepare_cached(ALL)?;
    let mut rows = statement.query(())?;
    let mut projects = Vec::new();
    while let Some(row) = rows.next()? {
        let id = text_or_empty(row, 0)?;
        let data = text_or_empty(row, 1)?;
        if placeholder::is_record(&data, &id) {
            projects.push(data);
        } else {
            tracing::error!(project = id, "a stored project cannot be read");
        }
    }
    Ok(projects)
}
