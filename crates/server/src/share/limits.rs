//! Bounds of the share service that no setting changes.

/// The largest body: one operation of the largest payload, escaped in JSON.
pub(super) const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Operations in one page of a viewer's catching up.
pub(super) const PAGE: u64 = 200;
