//! What a call about a share ends in: a refusal, or a store that did not answer.

pub use crate::error::Refusal;

use crate::error::{CommitError, ReadError};

/// A refusal, or a store that did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] CommitError),
}

impl From<rusqlite::Error> for ShareError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<ReadError> for ShareError {
    fn from(error: ReadError) -> Self {
        Self::Store(match error {
            ReadError::Unavailable(driver) => CommitError::Unavailable(driver),
            ReadError::Broken { what, place } => CommitError::Broken { what, place },
        })
    }
}
