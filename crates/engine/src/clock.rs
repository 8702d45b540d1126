//! The wall clock and fresh randomness, for those who make stamps.

use rand::Rng as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use sturdy_session::stamp::{Millis, Stamp};

/// Never earlier than anything the store holds, also when the machine's clock was set back.
#[derive(Clone, Debug)]
pub struct Clock {
    floor: Arc<AtomicU64>,
}

impl Clock {
    #[must_use]
    pub fn new(floor: Millis) -> Self {
        Self { floor: Arc::new(AtomicU64::new(floor)) }
    }

    #[must_use]
    pub fn now(&self) -> Millis {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
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
