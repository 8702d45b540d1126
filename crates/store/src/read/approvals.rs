//! What people allowed for good.

use crate::Store;
use crate::error::{CommitError, ReadError};
use rusqlite::{Connection, Row};
use sturdy_session::row::ApprovalRow;

const ALL: &str = "SELECT id, project_id, directory, permission, pattern FROM approval ORDER BY position, id";
const OF_PROJECT: &str = "SELECT id, project_id, directory, permission, pattern FROM approval
    WHERE project_id = ?1 ORDER BY position, id";
const AT: &str = "SELECT id, project_id, directory, permission, pattern FROM approval
    WHERE directory = ?1 ORDER BY position, id";
// What is allowed already stays as it is, with the id a client may know.
const ADD: &str = "INSERT INTO approval (id, project_id, directory, permission, pattern, position)
    SELECT ?1, ?2, ?3, ?4, ?5, COALESCE(MAX(position), 0) FROM log WHERE true ON CONFLICT DO NOTHING";
const REMOVE: &str = "DELETE FROM approval WHERE id = ?1";

impl Store {
    /// What counts for sessions in this checkout, in the order it was said. Whatever project it was then: a directory
    /// that becomes a repository or gets a remote is the same directory.
    pub async fn approvals_at(&self, directory: &str) -> Result<Vec<ApprovalRow>, ReadError> {
        let directory = directory.to_owned();
        self.read(move |connection| collect(connection, AT, [directory])).await
    }

    /// All that are kept, or those of one project.
    pub async fn approvals(&self, project: Option<&str>) -> Result<Vec<ApprovalRow>, ReadError> {
        let project = project.map(str::to_owned);
        self.read(move |connection| match project {
            Some(project) => collect(connection, OF_PROJECT, [project]),
            None => collect(connection, ALL, ()),
        })
        .await
    }

    /// Keeps what a person allowed apart from any call.
    pub async fn add_approvals(&self, rows: Vec<ApprovalRow>) -> Result<(), CommitError> {
        self.write(move |connection| {
            let mut statement = connection.prepare_cached(ADD)?;
            for ApprovalRow { id, project_id, directory, permission, pattern } in &rows {
                statement.execute((id, project_id, directory, permission, pattern))?;
            }
            Ok(())
        })
        .await
    }

    /// Takes one back. False when there is none with this id.
    pub async fn remove_approval(&self, id: &str) -> Result<bool, CommitError> {
        let id = id.to_owned();
        self.write(move |connection| Ok(connection.prepare_cached(REMOVE)?.execute([&id])? > 0)).await
    }
}

fn collect(
    connection: &Connection,
    statement: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<ApprovalRow>, ReadError> {
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map(values, approval)?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
}

fn approval(row: &Row<'_>) -> rusqlite::Result<ApprovalRow> {
    Ok(ApprovalRow {
        id: row.get(0)?,
        project_id: row.get(1)?,
        directory: row.get(2)?,
        permission: row.get(3)?,
        pattern: row.get(4)?,
    })
}
