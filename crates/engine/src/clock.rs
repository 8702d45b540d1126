//! The wall clock and fresh randomness, for those who make stamps.

use rand::Rng as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use sturdy_session::stamp::{Millis, Stamp};
use tracing::warn;

/// Never earlier than anything the store holds, also when the machine's clock was set back.
#[derive(Clone, Debug)]
pub struct Clock {
    floor: Arc<AtomicU64>,
    /// Where ids of prompts, sessions and requests come from.
    ids: Arc<Mutex<Stamp>>,
}

/// A stored time further ahead of the machine's clock than this is not believed: the clock was wrong then, and what is
/// stored from now on is not to be wrong for as long as it was ahead.
const AHEAD_MAX: Millis = 5 * 60 * 1000;

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
        let mut seed = [0; 32];
        rand::rng().fill_bytes(&mut seed);
        Self { floor: Arc::new(AtomicU64::new(floor)), ids: Arc::new(Mutex::new(Stamp::new(floor, seed))) }
    }

    /// An id of the store's one source: they ascend, also while the machine's clock stands still or is behind.
    pub fn id<T>(&self, make: impl FnOnce(&mut Stamp) -> T) -> T {
        let now = self.now();
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.tick(now);
        make(&mut ids)
    }

    /// The latest time of a session, as far as it is believed.
    #[must_use]
    pub(crate) fn believed(&self, stored: Millis) -> Millis {
        believed(stored, self.now())
    }

    #[must_use]
    pub fn now(&self) -> Millis {
        let wall = wall();
        self.floor.fetch_max(wall, Ordering::Relaxed).max(wall)
    }

    /// A stamp of its own for one session.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let mut seed = [0; 32];
        rand::rng().fill_bytes(&mut seed);
        Stamp::new(self.now(), seed)
    }
}

#[cfg(test)]
mod tests;
