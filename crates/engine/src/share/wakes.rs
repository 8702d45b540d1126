//! Tells viewers that a share has moved. Only a hint: what moved is read from the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// One channel for each share that somebody watches.
#[derive(Debug, Default)]
pub struct Wakes {
    channels: Mutex<HashMap<String, watch::Sender<u64>>>,
    /// Every wake-up has a number of its own, whichever share it is for.
    last: AtomicU64,
}

impl Wakes {
    /// Hears of a share from now on.
    pub fn watch(&self, share: &str) -> watch::Receiver<u64> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody listens to these any more.
        channels.retain(|_, channel| !channel.is_closed());
        channels.entry(share.to_owned()).or_insert_with(|| watch::Sender::new(self.next())).subscribe()
    }

    /// The share has moved.
    pub fn wake(&self, share: &str) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(share) {
            channel.send_replace(self.next());
        }
    }

    fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed)
    }

    /// How many watch, all shares together.
    pub fn count(&self) -> usize {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.values().map(watch::Sender::receiver_count).sum()
    }

    /// Whether somebody watches this one.
    pub fn is_watched(&self, share: &str) -> bool {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.get(share).is_some_and(|channel| channel.receiver_count() > 0)
    }
}
