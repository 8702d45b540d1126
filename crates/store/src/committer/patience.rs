//! How long a refused write is tried again, and what is certain when it is given up.
//!
//! A disk that is full, a file that another program holds, an error of the disk: all may pass in a moment,
//! and giving up ends every turn that is in the group. So the group is kept and tried again, with growing
//! pauses. Once given up, the next groups get one try each until one succeeds: callers are refused at once
//! and not after half a minute each.
//!
//! A transaction whose fsync failed is a special case: its frames stand complete in the write-ahead log, and
//! a process that opens the files after a kill would find them and count them. Nobody is told "refused"
//! before something else stands in their place. One whose write failed is not: the frame that ends a transaction is
//! written last.

use crate::dialect;
use crate::error::{CommitError, DriverErrorKind, Failure};
use rusqlite::{Connection, TransactionBehavior};
use std::fs::OpenOptions;
use std::io;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Also a bound: a write that is refused at once, again and again.
const TRIES_MAX: u32 = 60;

/// The pauses between the tries of one group.
pub(super) struct Patience {
    ends: Instant,
    pause: Duration,
    tries: u32,
}

impl Patience {
    pub(super) fn new(patience: Duration) -> Self {
        Self { ends: Instant::now() + patience, pause: FIRST_PAUSE, tries: 0 }
    }

    /// How long to wait before the next try; none when it is time to give up.
    pub(super) fn next(&mut self) -> Option<Duration> {
        self.tries += 1;
        if self.tries >= TRIES_MAX || Instant::now() >= self.ends {
            return None;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}

/// What may be said of a write that was refused: that nothing of it is stored, or that this is not known.
pub(crate) fn certain(connection: &mut Connection, failure: Failure) -> CommitError {
    match failure {
        Failure::Unavailable(driver) if driver.is_of_a_write() => {
            CommitError::Unavailable(if is_read_only(connection) { driver.read_only() } else { driver })
        }
        Failure::Unavailable(driver) if driver.kind == DriverErrorKind::Disk => match touch(connection) {
            Ok(()) => CommitError::Unavailable(driver),
            Err(_) => CommitError::Unknown(driver),
        },
        failure => failure.into(),
    }
}

/// Whether the file system under the database lets nobody write any more. The database itself says only that a write
/// failed.
fn is_read_only(connection: &Connection) -> bool {
    let Some(path) = connection.path() else { return false };
    let opened = OpenOptions::new().write(true).open(path);
    opened.is_err_and(|cause| {
        matches!(cause.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
    })
}

/// Makes a frame that stands where the frames of the failed transaction stood; theirs are checked against the frame
/// before them and so do not count any more.
fn touch(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    dialect::change_nothing_that_is_read(&transaction)?;
    transaction.commit()
}

#[cfg(test)]
mod tests;
