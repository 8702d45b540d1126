//! Keeps the log small: folds away the growth of texts that are closed and that no reader is likely
//! to ask for again.
//!
//! A closed text stands whole in its last entry, so nothing is lost. Only a reader that was away for
//! longer than the kept stretch sees a text appear at once instead of growing.

use crate::engine::Inner;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, warn};

/// Rarely: a slice is short, and nobody waits for it.
const EVERY: Duration = Duration::from_secs(600);
/// Entries that are kept as they are: hours of a busy server, months of a quiet one.
const KEPT: u64 = 200_000;

pub(crate) async fn run(inner: Arc<Inner>) {
    let stopping = inner.tasks.stopping().clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stopping.cancelled() => return,
        }
        let Some(before) = inner.store.head().checked_sub(KEPT) else { continue };
        match inner.store.fold(before).await {
            Ok(folded) => debug!(?folded, "old growth is folded away"),
            Err(cause) => warn!(%cause, "old growth was not folded away"),
        }
    }
}
