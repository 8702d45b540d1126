//! When a link whose service was not reached is tried again.
//!
//! Each wait is drawn between nothing and twice the last limit (full jitter), so that many links of one service do not
//! come back at once. It is stored with the link as a moment of the wall clock, because a start has no other. That clock
//! may jump: a moment that is further away than the longest wait was not written by this clock and is not waited for.

use super::SharePace;
use std::time::Duration;
use sturdy_session::stamp::Millis;
use sturdy_store::outbox::Retry;

/// Doubling ends here; the longest wait is reached long before.
const DOUBLINGS_MAX: u64 = 16;

/// How long to wait after so many failures in a row. `asked` is what the service wants; `drawn` is from 0 to 1.
pub(super) fn wait_after(failures: u64, asked: Option<Duration>, drawn: f64, pace: &SharePace) -> Duration {
    let doublings = u32::try_from(failures.min(DOUBLINGS_MAX)).expect("BUG: it is at most 16");
    let longest = pace.retry_first.saturating_mul(1 << doublings).min(pace.retry_last);
    let wait = longest.mul_f64(drawn);
    asked.map_or(wait, |asked| asked.min(pace.retry_last).max(wait))
}

/// What is left of a wait that an earlier process began.
pub(super) fn left_to_wait(retry: Retry, now: Millis, pace: &SharePace) -> Option<Duration> {
    let left = Duration::from_millis(retry.at.checked_sub(now)?);
    (left <= pace.retry_last && !left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests;
