//! Why a call about a share or a grant is refused: nothing has changed, and the code says what to do.

/// A call that is not allowed, or not now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the share is at epoch {epoch}; redeem and send the same batch again")]
    StaleEpoch { epoch: u64 },
    #[error("the share is at cursor {cursor}; somebody else has written to it")]
    CursorMismatch { cursor: u64, applied_seq: u64 },
    #[error("this request id was used with another secret")]
    RequestConflict,
    #[error("the next operation of this writer is {}", applied_seq + 1)]
    Gap { applied_seq: u64 },
    #[error("this writer has sent something else up to {applied_seq}")]
    Diverged { applied_seq: u64 },
    #[error("chain_after does not follow from chain_before and the operations")]
    ChainMismatch,
    #[error("{0}")]
    Malformed(String),
    #[error("the secret is wrong")]
    Unauthorized,
    #[error("the capability was revoked")]
    Revoked,
    #[error("the capability has expired")]
    Expired,
    #[error("the capability does not allow {0}")]
    ForbiddenScope(&'static str),
    #[error("this writer belongs to another capability")]
    WriterForbidden,
    #[error("this secret was kept in clear; rotate it first")]
    MustRotate,
    #[error("there is no such share")]
    NotFound,
    #[error("the share was deleted")]
    Gone,
    #[error("{0}")]
    TooLarge(String),
    #[error("the service is full; ask its operator for a key")]
    Full,
}

impl Refusal {
    /// The word on the wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::StaleEpoch { .. } => "stale_epoch",
            Self::CursorMismatch { .. } => "cursor_mismatch",
            Self::RequestConflict => "request_conflict",
            Self::Gap { .. } => "gap",
            Self::Diverged { .. } => "diverged",
            Self::ChainMismatch => "chain_mismatch",
            Self::Malformed(_) => "malformed",
            Self::Unauthorized => "unauthorized",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::ForbiddenScope(_) => "forbidden_scope",
            Self::WriterForbidden => "writer_forbidden",
            Self::MustRotate => "must_rotate",
            Self::NotFound => "not_found",
            Self::Gone => "gone",
            Self::TooLarge(_) => "too_large",
            Self::Full => "full",
        }
    }

    /// Whether the same call may succeed later, or after a redeem.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::StaleEpoch { .. } | Self::CursorMismatch { .. } | Self::Gap { .. })
    }
}
