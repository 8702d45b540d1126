//! Errors of the engine.

mod config;

pub use config::{ConfigError, Issue};

use sturdy_session::id::SessionId;
use sturdy_session::turn::Refusal;
use sturdy_store::{CommitError, OpenError, ReadError};

/// Why a session did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("Session not found: {0}")]
    NoSession(SessionId),

    /// The machine refused the input; nothing changed.
    #[error(transparent)]
    Refused(#[from] Refusal),

    /// What was asked for names something that does not exist.
    #[error("{0}")]
    Unknown(String),

    /// What was asked for makes no sense.
    #[error("{0}")]
    Bad(String),

    /// The session has more to do than it can take; try again soon.
    #[error("session {0} is overloaded")]
    Overloaded(SessionId),

    /// Captured trees could not be read or brought back; nothing changed.
    #[error(transparent)]
    Trees(#[from] sturdy_worktree::snapshot::SnapshotError),

    /// Too many prompts wait behind the one that is answered.
    #[error("the queue of session {0} is full")]
    QueueFull(SessionId),

    /// What should be removed is not there.
    #[error("not found")]
    Absent,

    /// There is no share link to read or to change.
    #[error("session {0} is not shared")]
    NotShared(SessionId),

    /// A configuration file of this directory cannot be used.
    #[error(transparent)]
    Config(ConfigError),

    /// The service that a session should be shared to did not take it; nothing changed here.
    #[error("{0}")]
    ShareUnavailable(String),

    /// A mount that is gone, most likely. Nothing was changed.
    #[error("the file system of {0} does not respond")]
    Hangs(String),

    /// The grant it was asked with does not allow it; nothing changed.
    #[error(transparent)]
    Denied(sturdy_store::share::Refusal),

    #[error("the session could not be written")]
    Commit(#[from] CommitError),

    #[error("the store could not be read")]
    Read(#[from] ReadError),

    /// What is stored for this session does not fit together. It is quarantined; the others go on.
    #[error("session {session} is damaged at {place}: {what}")]
    Damaged { session: SessionId, what: String, place: String },

    /// The actor of the session ended during the request. The supervisor settles the session.
    #[error("session {0} stopped before it could answer; look whether it was stored")]
    Lost(SessionId),

    #[error("the server is shutting down")]
    Closing,
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the store could not be read")]
    Read(#[from] ReadError),
}
