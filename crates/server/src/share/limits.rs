//! Bounds of the share service.

use std::time::Duration;

/// The largest body: one operation of the largest payload, escaped in JSON.
pub(super) const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Viewers of all shares together; one more is told to come back.
pub(super) const VIEWERS_MAX: usize = 4096;
/// A silent stream says that it is alive.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);
/// Operations in one page of a viewer's catching up.
pub(super) const PAGE: u64 = 200;
