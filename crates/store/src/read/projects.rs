//! Projects: found by looking at a directory, kept so that lists can name them.
//!
//! They are not facts: what a directory is can be looked up again at any time.

use crate::Store;
use crate::error::{CommitError, ReadError};
use crate::log::clamp;
use rusqlite::OptionalExtension as _;

const PUT: &str = "INSERT INTO project (id, data, updated) VALUES (?1, ?2, ?3)
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, updated = excluded.updated";
const ONE: &str = "SELECT data FROM project WHERE id = ?1";
const ALL: &str = "SELECT data FROM project ORDER BY id";

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
            Ok(connection.prepare_cached(ONE)?.query_row([&id], |row| row.get(0)).optional()?)
        })
        .await
    }

    /// All of them, by id.
    pub async fn projects(&self) -> Result<Vec<String>, ReadError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(ALL)?;
            let rows = statement.query_map((), |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<Vec<String>>>()?)
        })
        .await
    }
}
