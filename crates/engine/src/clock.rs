//! The wall clock and fresh randomness, for those who make stamps.

use rand::Rng as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use sturdy_session::stamp::{Millis, Stamp};
use tracing::warn;

/// Never earlier than anything the store holds, also when the machine's clock was set back: unless that is further ahead
/// than can be right, at the start or since.
#[derive(Clone, Debug)]
pub struct Clock {
    floor: Arc<AtomicU64>,
    /// Where ids of prompts, sessions and requests come from.
    ids: Arc<Mutex<Stamp>>,
}

/// A stored time further ahead of the machine's clock than this is not believed: the clock was wrong then, and what is
/// stored from now on is not to be wrong for as long as it was ahead.
const AHEAD_MAX: Millis = 5 * 60 * 1000;

/// While the server runs, a clock that was ahead for a while counts on up to this: ids ascend through every correction by
/// hand or of a time zone, and only a clock that was wildly wrong is forgotten.
const RUNNING_AHEAD_MAX: Millis = 24 * 60 * 60 * 1000;

fn wall() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// What is believed of a stored time.
#[must_use]
pub(crate) fn believed(stored: Millis, wall: Millis) -> Millis {
    if stored > wall.saturating_add(AHEAD_MAX) { wall } else { stored }
}

impl Clock {
    #[must_use]
    pub fn new(stored: Millis) -> Self {
        let wall = wall();
        let floor = believed(stored, wall);
        if floor != stored {
            let ahead_ms = stored - wall;
            warn!(
                ahead_ms,
                "the store has times from the future; the machine's clock was ahead once, or is behind now"
            );
        }
        Self { floor: Arc::new(AtomicU64::new(floor)), ids: Arc::new(Mutex::new(stamp_at(floor))) }
    }

    /// An id of the store's one source: they ascend, also while the machine's clock stands still or is behind.
    pub fn id<T>(&self, make: impl FnOnce(&mut Stamp) -> T) -> T {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        self.tick(&mut ids);
        make(&mut ids)
    }

    /// Tells a stamp what time it is. One that the clock led too far ahead begins anew.
    pub(crate) fn tick(&self, stamp: &mut Stamp) {
        let now = self.now();
        if stamp.now() > now.saturating_add(RUNNING_AHEAD_MAX) {
            *stamp = stamp_at(now);
        }
        stamp.tick(now);
    }

    /// The latest time of a session, as far as it is believed.
    #[must_use]
    pub(crate) fn believed(&self, stored: Millis) -> Millis {
        believed(stored, self.now())
    }

    #[must_use]
    pub fn now(&self) -> Millis {
        self.now_at(wall())
    }

    fn now_at(&self, wall: Millis) -> Millis {
        let floor = self.floor.load(Ordering::Relaxed);
        if floor <= wall.saturating_add(RUNNING_AHEAD_MAX) {
            return self.floor.fetch_max(wall, Ordering::Relaxed).max(wall);
        }
        // Somebody else may have noticed at the same time: then it is told once.
        if self.floor.compare_exchange(floor, wall, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let ahead_ms = floor - wall;
            warn!(ahead_ms, "the machine's clock was ahead for a while, or is behind now");
        }
        wall
    }

    /// A stamp of its own for one session.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        stamp_at(self.now())
    }
}

fn stamp_at(now: Millis) -> Stamp {
    let mut seed = [0; 32];
    rand::rng().fill_bytes(&mut seed);
    Stamp::new(now, seed)
}

#[cfg(test)]
mod tests;
