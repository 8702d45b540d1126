//! Keeps the log small: folds away the growth of texts that are closed and that no reader is likely
//! to ask for again.
//!
//! A closed text stands whole in its last entry, so nothing is lost. Only a reader that was away for
//! longer than the kept stretch is told to read everything anew.
//!
//! The write-ahead log of a store in which nothing happened since the last time is given back to the disk.
//!
//! Blobs that nothing names any more, of removed sessions above all, are collected, and their space is given back.
//!
//! Shares that were created and never written to, and rows of their logs that are too old or too many, are removed.
//!
//! Captured trees of removed sessions are released, and packed when they are many (`keeping.rs`).
//!
//! Outputs of tools that were too long for a model are kept in files for a week.

mod keeping;

pub use keeping::{Garbage, GarbageReport, TreesUsage, trees_usage};

use crate::engine::Inner;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use sturdy_store::{CommitError, Store};
use sturdy_worktree::bound;
use tracing::{debug, warn};

/// The first minute is left to the start. Not much later: a machine may be on for an hour a day.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// Rarely: a slice is short, and nobody waits for it.
const INTERVAL: Duration = Duration::from_secs(600);
/// Entries that are kept as they are: hours of a busy server, months of a quiet one.
const ENTRIES_KEPT: u64 = 200_000;
/// And all of the last days, however many they are: whoever was away over night misses nothing.
const KEPT_MS: u64 = 2 * 24 * 60 * 60 * 1000;

pub(crate) async fn run(inner: Arc<Inner>) {
    let mut wait = FIRST_WAIT;
    let mut head_before = None;
    while inner.tasks.pause(wait).await {
        wait = INTERVAL;
        inner.sessions.panics.come_true("upkeep");
        if let Err(cause) = inner.store.replace_mark().await {
            warn!(%cause, "the restore marker of the store could not be replaced");
        }
        match collect(&inner.store).await {
            Ok(removed) => debug!(removed, "blobs that nothing names are collected"),
            Err(cause) => warn!(%cause, "blobs were not collected"),
        }
        match inner.store.tidy_shares(inner.clock.now(), inner.shares.limits()).await {
            Ok((shares, rows)) => debug!(shares, rows, "old shares were cleaned up"),
            Err(cause) => warn!(%cause, "old shares could not be cleaned up"),
        }
        if let Err(cause) = inner.store.tidy_grants(inner.clock.now()).await {
            warn!(%cause, "the audit log of grants could not be cleaned up");
        }
        keeping::tidy(&inner).await;
        let head = inner.store.head();
        if head_before.replace(head) == Some(head)
            && let Err(cause) = inner.store.give_log_back().await
        {
            warn!(%cause, "the write-ahead log could not be truncated");
        }
        let by_time = inner.store.position_at(inner.clock.now().saturating_sub(KEPT_MS)).await;
        let Ok(by_time) =
            by_time.inspect_err(|cause| warn!(%cause, "the age of the log's entries cannot be read"))
        else {
            continue;
        };
        let Some(end) = fold_end(inner.store.head(), by_time) else { continue };
        let quarantined = inner.sessions.quarantine.list().into_iter().map(|damage| damage.session).collect();
        match inner.store.fold_past(end, &quarantined).await {
            Ok(folded) => debug!(?folded, "text increments of closed parts were removed from the log"),
            Err(cause) => warn!(%cause, "text increments of closed parts could not be removed from the log"),
        }
    }
}

/// Up to where growth may be folded away, for a log that ends at `head` and of which everything before
/// `first_recent` is older than the kept days. None while all of it is kept. What is kept by either rule is kept.
fn fold_end(head: u64, first_recent: u64) -> Option<u64> {
    let by_count = head.checked_sub(ENTRIES_KEPT)?;
    Some(by_count.min(first_recent))
}

/// Slice by slice, so that commits pass in between.
pub(crate) async fn collect(store: &Store) -> Result<u64, CommitError> {
    let mut removed = 0;
    let mut after = String::new();
    loop {
        let slice = store.collect_blobs(&after).await?;
        removed += slice.removed;
        match slice.next {
            Some(next) => after = next,
            None => break,
        }
    }
    while store.give_space_back().await? {}
    Ok(removed)
}

const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
/// A model that still needs the output of last week asks again.
const OUTPUT_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Removes saved outputs that are older than a week.
pub(crate) async fn sweep(inner: Arc<Inner>) {
    let directory = inner.directories.output_dir();
    let mut wait = FIRST_WAIT;
    while inner.tasks.pause(wait).await {
        wait = SWEEP_EVERY;
        let Some(before) = SystemTime::now().checked_sub(OUTPUT_KEPT) else { continue };
        let place = directory.clone();
        match tokio::task::spawn_blocking(move || bound::sweep(&place, before)).await {
            Ok(Ok(removed)) => debug!(removed, "old outputs of tools are removed"),
            Ok(Err(cause)) => warn!(%cause, "old outputs of tools were not removed"),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES_KEPT, fold_end};

    #[test]
    fn an_entry_is_kept_if_it_is_among_the_last_or_of_the_last_days() {
        assert_eq!(fold_end(ENTRIES_KEPT - 1, 5), None, "few entries are kept however old they are");
        assert_eq!(fold_end(ENTRIES_KEPT + 1_000, 400), Some(400), "a busy day is kept however long it is");
        assert_eq!(
            fold_end(ENTRIES_KEPT + 1_000, ENTRIES_KEPT),
            Some(1_000),
            "old entries are kept while they are few"
        );
        assert_eq!(fold_end(ENTRIES_KEPT + 1_000, 0), Some(0), "all of it is recent");
    }
}
