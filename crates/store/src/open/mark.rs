//! Whether this database is the one that was served here last, or an older copy that was put back.
//!
//! The database carries a mark that is replaced at every start and every few minutes; a small file beside it
//! lists the marks that belong here. A copy that was made before the last replacement carries another one, and
//! a copy in a directory of its own has no such file.
//!
//! The file is written before the database and names the old mark and the new one, so that a process that dies
//! in between is not taken for a copy. Once the database has the new one, the file names no other.
//!
//! Not here: what follows from it (`Store::replace_mark`).

use crate::error::Failure;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

const FILE: &str = "sturdy.marks";
const BESIDE: &str = "sturdy.marks.new";
/// Larger than any such file: whatever is longer was not written by us.
const BYTES_MAX: u64 = 4096;

const MARK: &str = "SELECT mark FROM head WHERE id = 1";
const SET_MARK: &str = "UPDATE head SET mark = ?1 WHERE id = 1";

#[derive(Debug, Serialize, Deserialize)]
struct Marks {
    marks: Vec<String>,
}

/// What was found when the mark was replaced.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// The database is a copy that was put here.
    pub(crate) is_copy: bool,
    fresh: String,
}

/// Replaces the mark, in a transaction; `settle` follows when it is made.
pub(crate) fn replace(connection: &Connection, folder: &Path) -> Result<Replaced, Failure> {
    let carried: String = connection.query_row(MARK, (), |row| row.get(0))?;
    let is_copy = !carried.is_empty() && !is_known(folder, &carried);
    let fresh = format!("{:016x}", rand::random::<u64>());
    let marks = Marks { marks: vec![carried, fresh.clone()] };
    // A mark that could not be written beside the database stays what it was: a later start would take the
    // store for a copy otherwise.
    match write(folder, &marks) {
        Ok(()) => {
            connection.execute(SET_MARK, [&fresh])?;
        }
        Err(cause) => tracing::warn!(%cause, "the restore marker of the store could not be replaced"),
    }
    Ok(Replaced { is_copy, fresh })
}

/// Forgets the mark of before, so that a copy which carries it is told apart. If this fails, such a copy is not
/// until the mark is replaced again.
pub(crate) fn settle(connection: &Connection, folder: &Path, replaced: &Replaced) -> Result<(), Failure> {
    let carried: String = connection.query_row(MARK, (), |row| row.get(0))?;
    if carried == replaced.fresh
        && let Err(cause) = write(folder, &Marks { marks: vec![carried] })
    {
        tracing::warn!(%cause, "the previous restore marker of the store could not be removed");
    }
    Ok(())
}

/// A file that is there and cannot be read says nothing: the store is taken for what it was.
fn is_known(folder: &Path, mark: &str) -> bool {
    match read(folder) {
        Ok(marks) => marks.marks.iter().any(|known| known == mark),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => false,
        Err(cause) => {
            tracing::warn!(%cause, "cannot tell whether the store was restored from a copy");
            true
        }
    }
}

fn read(folder: &Path) -> io::Result<Marks> {
    let path = folder.join(FILE);
    if fs::metadata(&path)?.len() > BYTES_MAX {
        return Err(io::Error::other(format!("{FILE} is not a list of marks")));
    }
    serde_json::from_slice(&fs::read(&path)?).map_err(io::Error::other)
}

/// Whole or not at all, and on the disk before the database changes.
fn write(folder: &Path, marks: &Marks) -> io::Result<()> {
    let beside = folder.join(BESIDE);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&beside)?;
    file.write_all(&serde_json::to_vec(marks)?)?;
    file.sync_all()?;
    fs::rename(&beside, folder.join(FILE))?;
    File::open(folder)?.sync_all()
}
