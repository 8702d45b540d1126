//! What the share service allows, and how often.

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::num::NonZeroU32;
use std::time::Duration;
use sturdy_store::share::{ShareBudget, ShareLimits};

/// Shares and addresses whose rate is remembered.
const REMEMBERED_MAX: usize = 16_384;

/// What a service allows, of one share and of all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    pub share: ShareLimits,
    /// What all shares may be and hold together, where there is no key.
    pub budget: ShareBudget,
    /// Viewers of all shares together; one more is told to come back.
    pub viewers: usize,
    /// A silent stream says that it is alive.
    pub heartbeat: Duration,
    /// Batches of one share per second; 0: no limit.
    pub batches_per_second: u32,
    /// Shares that one address may create per hour; 0: no limit.
    pub creates_per_hour: u32,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            share: ShareLimits::default(),
            // Enough for a team; a disk is larger.
            budget: ShareBudget { shares: 10_000, bytes: 4 * 1024 * 1024 * 1024 },
            viewers: 4096,
            heartbeat: Duration::from_secs(15),
            batches_per_second: 10,
            creates_per_hour: 60,
        }
    }
}

/// How often somebody may, each under a name.
#[derive(Debug)]
pub(crate) struct Rate(Option<DefaultKeyedRateLimiter<String>>);

impl Rate {
    pub(crate) fn per_second(most: u32) -> Self {
        Self::of(NonZeroU32::new(most).map(Quota::per_second))
    }

    pub(crate) fn per_hour(most: u32) -> Self {
        Self::of(NonZeroU32::new(most).map(Quota::per_hour))
    }

    fn of(quota: Option<Quota>) -> Self {
        Self(quota.map(RateLimiter::keyed))
    }

    /// Counts one more. How long to wait, if there were too many.
    pub(crate) fn count(&self, name: &str) -> Result<(), Duration> {
        let Some(limiter) = &self.0 else { return Ok(()) };
        if limiter.len() >= REMEMBERED_MAX {
            // Forgets who may go on as if never seen.
            limiter.retain_recent();
        }
        limiter
            .check_key(&name.to_owned())
            .map_err(|early| early.wait_time_from(DefaultClock::default().now()))
    }
}
