//! What the store counts of itself, for who watches over it.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use std::time::Duration;

/// Seconds. A fast disk answers in the first, a tired one in the last.
const SYNC_BUCKETS: [f64; 11] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Cheap to clone; all clones count the same.
#[derive(Clone, Debug)]
pub struct StoreMeters {
    /// Commits that are on disk.
    pub commits: Counter,
    /// Entries they added to the log.
    pub entries: Counter,
    /// Transactions they were grouped into.
    pub transactions: Counter,
    /// Tries to write that the disk or another program refused.
    pub refused: Counter,
    /// How long the disk took to take one.
    pub sync_seconds: Histogram,
    /// Transactions that only read.
    pub reads: Counter,
    /// Parts that were read with their messages.
    pub parts: Counter,
}

impl StoreMeters {
    pub(crate) fn new() -> Self {
        Self {
            commits: Counter::default(),
            entries: Counter::default(),
            transactions: Counter::default(),
            refused: Counter::default(),
            sync_seconds: Histogram::new(SYNC_BUCKETS),
            reads: Counter::default(),
            parts: Counter::default(),
        }
    }

    pub(crate) fn committed(&self, commits: usize, entries: u64, took: Duration) {
        self.commits.inc_by(commits as u64);
        self.entries.inc_by(entries);
        self.transactions.inc();
        self.sync_seconds.observe(took.as_secs_f64());
    }
}
