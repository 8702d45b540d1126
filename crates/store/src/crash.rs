//! Dying on purpose, for tests: the store stops before or right after a given commit.
//!
//! The process lives on, the store does not: nothing more is answered, nothing more is written,
//! the files stay as a killed process would have left them, and the lock is free, so that the
//! same test can open the directory again and look.

/// When to die. Commits are counted from 1 as they arrive, those that are refused included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrashPlan {
    #[default]
    Never,
    /// Commit `n` is not written.
    BeforeCommit(u64),
    /// Commit `n` is on disk and its caller never hears of it.
    AfterCommit(u64),
}

impl CrashPlan {
    #[must_use]
    pub fn never() -> Self {
        Self::Never
    }

    #[must_use]
    pub fn before_commit(n: u64) -> Self {
        Self::BeforeCommit(n)
    }

    #[must_use]
    pub fn after_commit(n: u64) -> Self {
        Self::AfterCommit(n)
    }

    /// The commit that must not be grouped with its neighbours.
    pub(crate) fn commit(self) -> Option<u64> {
        match self {
            Self::Never => None,
            Self::BeforeCommit(n) | Self::AfterCommit(n) => Some(n),
        }
    }
}
