//! Dying on purpose, for tests: the store stops before or right after a given commit.
//!
//! The process lives on, the store does not: nothing more is answered, nothing more is written,
//! the files stay as a killed process would have left them, and the lock is free, so that the
//! same test can open the directory again and look.
//!
//! Three plans are less than a death: a disk that refuses for a while, a writing thread that panics, and a file system
//! that cannot have a write-ahead log.

use crate::commit::Commit;

/// When to die. Commits are counted from 1 as they arrive, those that are refused included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrashPlan {
    #[default]
    Never,
    /// Commit `n` is not written.
    BeforeCommit(u64),
    /// Commit `n` is on disk and its caller never hears of it.
    AfterCommit(u64),
    /// The first commit with an entry of this kind is not written.
    BeforeKind(&'static str),
    /// The first commit with an entry of this kind is on disk and its caller never hears of it.
    AfterKind(&'static str),
    /// Write `n` that is not a commit is not made. They are counted from 1 as they arrive.
    BeforeWrite(u64),
    /// Write `n` that is not a commit is on disk and its caller never hears of it.
    AfterWrite(u64),
    /// From commit `first` on, the disk is full for so many tries to write.
    DiskFull { first: u64, tries: u64 },
    /// The writing thread panics when commit `n` arrives.
    Panic(u64),
    /// The database keeps another journal, as on a file system without shared memory.
    NoWriteAheadLog,
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

    /// Which of these commits is fatal. It must not be grouped with its neighbours. `before` have arrived
    /// already.
    pub(crate) fn fatal_of<'a>(
        self,
        before: u64,
        mut group: impl ExactSizeIterator<Item = &'a Commit>,
    ) -> Option<usize> {
        match self {
            Self::Never
            | Self::BeforeWrite(_)
            | Self::AfterWrite(_)
            | Self::DiskFull { .. }
            | Self::Panic(_)
            | Self::NoWriteAheadLog => None,
            Self::BeforeCommit(n) | Self::AfterCommit(n) => {
                let place = usize::try_from(n.checked_sub(before + 1)?).ok()?;
                (place < group.len()).then_some(place)
            }
            Self::BeforeKind(kind) | Self::AfterKind(kind) => {
                group.position(|commit| commit.entries.iter().any(|entry| entry.kind == kind))
            }
        }
    }

    /// Whether the store dies at this write that is not a commit, and whether it is made.
    pub(crate) fn at_write(self, writes: u64) -> Option<bool> {
        match self {
            Self::BeforeWrite(n) if n == writes => Some(false),
            Self::AfterWrite(n) if n == writes => Some(true),
            _ => None,
        }
    }

    /// Whether a try to write is refused, with so many commits arrived and so many tries refused before.
    pub(crate) fn refuses(self, commits: u64, refused: u64) -> bool {
        match self {
            Self::DiskFull { first, tries } => commits >= first && refused < tries,
            _ => false,
        }
    }

    /// No need to wait for a disk that only a test calls full.
    pub(crate) fn fills_the_disk(self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }

    pub(crate) fn has_no_write_ahead_log(self) -> bool {
        self == Self::NoWriteAheadLog
    }

    pub(crate) fn panics_at(self, commits: u64) -> bool {
        matches!(self, Self::Panic(n) if commits >= n)
    }

    /// Whether the fatal commit is written.
    pub(crate) fn keeps_it(self) -> bool {
        match self {
            Self::Never
            | Self::DiskFull { .. }
            | Self::Panic(_)
            | Self::NoWriteAheadLog
            | Self::BeforeCommit(_)
            | Self::BeforeWrite(_)
            | Self::AfterWrite(_)
            | Self::BeforeKind(_) => false,
            Self::AfterCommit(_) | Self::AfterKind(_) => true,
        }
    }
}
