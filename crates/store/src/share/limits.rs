//! What a service allows of a share.

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Bounds of one share. The defaults are what every sender may count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLimits {
    /// Operations in one batch.
    pub batch_ops: usize,
    /// Payload of one batch; a single larger operation may fill a batch alone.
    pub batch_bytes: usize,
    /// Payload of one operation.
    pub op_bytes: usize,
    pub writers: u64,
    /// Revoked ones included.
    pub capabilities: u64,
    /// Capabilities made of capabilities.
    pub depth: u64,
    /// What is kept of the log for viewers that come back: so many rows,
    pub log_rows: u64,
    /// and so long.
    pub log_kept_ms: u64,
    /// A share that was created and never written to is removed after this.
    pub empty_kept_ms: u64,
    /// What one share may hold: it is read whole by whoever opens it.
    pub share_bytes: u64,
    /// What is kept of the audit of a share: so many rows,
    pub audit_rows: u64,
    /// and so long.
    pub audit_kept_ms: u64,
}

impl Default for ShareLimits {
    fn default() -> Self {
        Self {
            batch_ops: super::BATCH_OPS_MAX,
            batch_bytes: super::BATCH_BYTES_MAX,
            op_bytes: super::OP_BYTES_MAX,
            writers: 64,
            capabilities: 256,
            depth: DEPTH_MAX,
            log_rows: 50_000,
            log_kept_ms: 30 * DAY_MS,
            empty_kept_ms: DAY_MS,
            share_bytes: 256 * 1024 * 1024,
            audit_rows: 10_000,
            audit_kept_ms: 365 * DAY_MS,
        }
    }
}

/// No setting allows more.
pub(super) const DEPTH_MAX: u64 = 8;
