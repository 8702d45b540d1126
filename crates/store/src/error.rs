//! Why the store said no: one variant per different reaction.
//!
//! Damage (`Broken`) is kept apart from a disk that may answer again (`Unavailable`), because the
//! first needs a person and the second needs patience. Nobody has to read the text to tell.

mod refusal;

pub use refusal::Refusal;

use crate::owner::Owner;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};
use sturdy_session::id::SessionId;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process serves this store.
    #[error("{} is served by {owner}", path.display())]
    Locked { path: PathBuf, owner: Owner },

    /// A file stands where the directory should be.
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },

    #[error("{} cannot be created", path.display())]
    NotCreatable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    #[error("{} cannot be written", path.display())]
    NotWritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    #[error("no space left for {}", path.display())]
    DiskFull { path: PathBuf },

    /// The file system under it cannot keep what is promised.
    #[error("{} is on a file system that cannot keep a store: {what}", path.display())]
    NotDurable { path: PathBuf, what: String },

    /// The file with the database's name is something else.
    #[error("{} is not a database", path.display())]
    NotADatabase { path: PathBuf },

    /// Written by a newer version of this program.
    #[error("the store has schema {found}; this version knows {known}")]
    Newer { found: u64, known: u64 },

    /// A migration that was applied is not the one this version carries.
    #[error("migration {number} ({name}) was applied in another form")]
    Changed { number: u64, name: String },

    /// Written before the format that is kept for ever.
    #[error("the store was written in a format from before the first release")]
    Outdated,

    /// The store breaks one of its own promises.
    #[error("the store is damaged at {place}: {what}")]
    Broken { what: String, place: String },

    #[error("store unavailable")]
    Unavailable(#[source] DriverError),
}

/// Why a commit was not made. Nothing of it is visible, unless the variant says otherwise.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// Another writer owns the session now; reload, or stop.
    #[error("session {session} is at {found}, not {expected}")]
    Conflict { session: SessionId, expected: u64, found: u64 },

    /// The session that it was to create a child of is removed: the child would be left behind.
    #[error("session {0} is removed, so nothing can be created below it")]
    ParentRemoved(SessionId),

    /// The grant it was to be made with does not allow it now.
    #[error(transparent)]
    Denied(Refusal),

    /// The disk or the database said no; the same commit may be tried again.
    #[error("store unavailable")]
    Unavailable(#[source] DriverError),

    /// The disk failed while the commit was written, and nothing could be written after it: it may be
    /// on disk or not. Whoever builds on it loads what is there first.
    #[error("the disk failed during the commit; it may or may not be stored")]
    Unknown(#[source] DriverError),

    #[error("the store is damaged at {place}: {what}")]
    Broken { what: String, place: String },

    /// The crash that a test planned has happened. The commit may be on disk or not.
    #[error("crashed, as planned")]
    Crashed,
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("store unavailable")]
    Unavailable(#[source] DriverError),

    #[error("the store is damaged at {place}: {what}")]
    Broken { what: String, place: String },
}

/// What the database or the disk under it said.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind}")]
pub struct DriverError {
    pub kind: DriverErrorKind,
    #[source]
    source: Option<Arc<rusqlite::Error>>,
}

/// What a person can do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverErrorKind {
    DiskFull,
    ReadOnly,
    /// Somebody else holds the database, for longer than we wait.
    Busy,
    /// The disk reported an error.
    Disk,
    /// The store was closed, or its thread is gone.
    Closed,
    Other,
}

impl fmt::Display for DriverErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DiskFull => "no space left on the disk",
            Self::ReadOnly => "the database cannot be written",
            Self::Busy => "the database is held by another program",
            Self::Disk => "the disk reported an error",
            Self::Closed => "the store is closed",
            Self::Other => "the database refused",
        })
    }
}

impl DriverError {
    pub(crate) fn closed() -> Self {
        Self { kind: DriverErrorKind::Closed, source: None }
    }

    /// As a test plans it: no driver said so.
    pub(crate) fn planned(kind: DriverErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// Whether a write failed, and not the fsync after it.
    pub(crate) fn is_of_a_write(&self) -> bool {
        match self.source.as_deref() {
            Some(rusqlite::Error::SqliteFailure(failure, _)) => {
                failure.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE
            }
            _ => false,
        }
    }

    /// The same failure, of a file that cannot be written.
    pub(crate) fn read_only(self) -> Self {
        Self { kind: DriverErrorKind::ReadOnly, ..self }
    }

    /// Whether the same write may succeed a moment later.
    pub(crate) fn may_pass(&self) -> bool {
        match self.kind {
            DriverErrorKind::DiskFull | DriverErrorKind::Busy | DriverErrorKind::Disk => true,
            DriverErrorKind::ReadOnly | DriverErrorKind::Closed | DriverErrorKind::Other => false,
        }
    }
}

/// The two ways a driver can fail, before they become somebody's error.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    Broken { what: String, place: String },
    Unavailable(DriverError),
}

impl Failure {
    pub(crate) fn broken(place: impl Into<String>, what: impl fmt::Display) -> Self {
        Self::Broken { what: what.to_string(), place: place.into() }
    }

    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Broken { .. } => false,
            Self::Unavailable(driver) => driver.may_pass(),
        }
    }

    /// Whether it would meet any other write as well.
    pub(crate) fn is_the_disks(&self) -> bool {
        match self {
            // Damage stands somewhere, and the others may not touch it.
            Self::Broken { .. } => false,
            Self::Unavailable(driver) => driver.kind != DriverErrorKind::Other,
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        use rusqlite::ErrorCode as Code;
        let kind = match &error {
            // A column that does not hold what was written into it was not written by us.
            E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..)
            | E::QueryReturnedNoRows => return Self::broken("the database", &error),
            E::SqliteFailure(failure, _) => match failure.code {
                Code::DatabaseCorrupt | Code::NotADatabase => return Self::broken("the database", &error),
                Code::DiskFull => DriverErrorKind::DiskFull,
                Code::ReadOnly | Code::PermissionDenied | Code::CannotOpen => DriverErrorKind::ReadOnly,
                Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed => {
                    DriverErrorKind::Busy
                }
                Code::SystemIoFailure => DriverErrorKind::Disk,
                _ => DriverErrorKind::Other,
            },
            _ => DriverErrorKind::Other,
        };
        Self::Unavailable(DriverError { kind, source: Some(Arc::new(error)) })
    }
}

macro_rules! from_failure {
    ($($error:ident),*) => {$(
        impl From<Failure> for $error {
            fn from(failure: Failure) -> Self {
                match failure {
                    Failure::Broken { what, place } => Self::Broken { what, place },
                    Failure::Unavailable(driver) => Self::Unavailable(driver),
                }
            }
        }

        impl From<rusqlite::Error> for $error {
            fn from(error: rusqlite::Error) -> Self {
                Failure::from(error).into()
            }
        }
    )*};
}

from_failure!(OpenError, CommitError, ReadError);
