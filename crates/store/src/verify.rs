//! Reads everything and reports each violated promise. Changes nothing.
//!
//! Here is what the store itself promises: the database file is sound, positions and seqs have no
//! holes but those that `fold` and removal make, every fact can be read, every row is JSON and
//! belongs to something, every blob is what its hash says, and shares and links keep their counts.
//!
//! Not here: rows and the numbers of what was told against the fold of the log (invariant I10). Facts are
//! `sturdy-session`'s; the caller compares the two parts of `whole_session`.

mod check;
mod shares;

use crate::Store;
use crate::error::{DriverError, ReadError};
use crate::open::DATABASE;
use std::thread;
use tokio::sync::oneshot;

/// More findings than this are only counted: one damaged page can make a million.
const FINDINGS: usize = 1_000;

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    File,
    Entries,
    Rows,
    Blobs,
}

/// How far it is; `total` is a guess made at the start of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    pub done: u64,
    pub total: u64,
}

/// Something that is not as promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub place: String,
    pub what: String,
}

/// What was read and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub entries: u64,
    pub rows: u64,
    pub blobs: u64,
    pub findings: Vec<Finding>,
    /// Findings beyond those that are listed.
    pub more_findings: u64,
}

impl Report {
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn found(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.findings.len() < FINDINGS {
            self.findings.push(Finding { place: place.into(), what: what.into() });
        } else {
            self.more_findings += 1;
        }
    }
}

impl Store {
    /// Reads every entry, row and blob. Runs on a thread of its own, so that readers and the
    /// committer go on; `progress` is called there.
    pub async fn verify(&self, progress: impl FnMut(Progress) + Send + 'static) -> Result<Report, ReadError> {
        let path = self.inner.path.join(DATABASE);
        let closed = || ReadError::Unavailable(DriverError::closed());
        let (answer, answered) = oneshot::channel();
        let started = thread::Builder::new().name("store-verify".to_owned()).spawn(move || {
            let mut progress = progress;
            // Nobody waits any more: then nobody needs the answer.
            let _ = answer.send(check::everything(&path, &mut progress));
        });
        started.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}
