//! How long is waited after a failure, and what a start keeps of it.

use super::{left_to_wait, wait_after};
use crate::share::SharePace;
use std::time::Duration;
use sturdy_store::outbox::Retry;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn each_wait_may_be_twice_as_long_as_the_last_until_the_longest() {
    let pace = SharePace::default();

    let waits: Vec<u64> = (0..11).map(|n| wait_after(n, None, 1.0, &pace).as_secs()).collect();

    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert_eq!(wait_after(u64::MAX, None, 1.0, &pace), seconds(300));
    assert_eq!(wait_after(8, None, 0.25, &pace), seconds(64), "it is drawn below the limit");
}

#[test]
fn what_a_service_asks_for_is_respected_up_to_the_longest_wait() {
    let pace = SharePace::default();

    assert_eq!(wait_after(0, Some(seconds(70)), 1.0, &pace), seconds(70));
    assert_eq!(wait_after(8, Some(seconds(70)), 1.0, &pace), seconds(256));
    assert_eq!(wait_after(0, Some(seconds(86_400)), 0.0, &pace), seconds(300));
}

/// T-CLK-01, I12: whatever the clock did between two starts, nobody waits longer than the longest wait.
#[test]
fn a_moment_that_the_clock_cannot_have_meant_is_not_waited_for() {
    let pace = SharePace::default();
    let day = 86_400_000;
    let left = |at: u64, now: u64| left_to_wait(Retry { failures: 3, at }, now, &pace);

    assert_eq!(left(10 * day + 120_000, 10 * day), Some(seconds(120)));
    assert_eq!(left(10 * day + 300_000, 10 * day), Some(seconds(300)));
    assert_eq!(left(10 * day + 120_000, 9 * day), None, "the clock went back a day");
    assert_eq!(left(10 * day + 120_000, 11 * day), None, "it went a day ahead, or a day has passed");
    assert_eq!(left(10 * day, 10 * day), None);
    assert_eq!(left(0, 10 * day), None, "nothing failed");
}
