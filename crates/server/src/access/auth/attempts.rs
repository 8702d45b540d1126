//! Delays and blocks clients that guess passwords.
//!
//! A few mistakes are free. After them, each further try of the same address waits for its turn, one
//! a second, before it is looked at: to leave early does not help, and neither does asking from many
//! connections at once. A right password ends it. Addresses that are full of tries are told to come back.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A person mistypes this often.
const FREE: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// Tries of one address that may wait at once.
const WAITING_MAX: u32 = 10;
/// Addresses that are remembered. The others share one place.
const ADDRESSES_MAX: usize = 1024;
/// Mistakes are forgotten after this long.
const MEMORY: Duration = Duration::from_secs(600);

/// Wrong passwords, by address. Those of the commands that this server runs are counted apart: they come from the address
/// of the local user, whom they must not be able to keep out.
#[derive(Debug, Default)]
pub(crate) struct FailedLogins {
    pub(crate) of_commands: Attempts,
    pub(crate) of_others: Attempts,
}

impl FailedLogins {
    /// Nobody has made a mistake lately, so it does not matter who asks.
    pub(crate) fn is_quiet(&self, now: Instant) -> bool {
        self.of_commands.is_quiet(now) && self.of_others.is_quiet(now)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// None stands for all addresses that there was no place for.
    known: Mutex<HashMap<Option<IpAddr>, Mistakes>>,
}

#[derive(Clone, Copy, Debug)]
struct Mistakes {
    count: u32,
    last: Instant,
    /// When the next try is looked at.
    next: Instant,
}

/// When a try is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    After(Duration),
    /// Too many wait already.
    Never,
}

impl Attempts {
    /// Somebody at this address is about to say the password.
    pub(crate) fn turn(&self, address: Option<IpAddr>, now: Instant) -> Turn {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = if known.contains_key(&address) { address } else { None };
        let Some(mistakes) = known.get_mut(&key).filter(|mistakes| mistakes.count >= FREE) else {
            return Turn::After(Duration::ZERO);
        };
        let turn = mistakes.next.max(now);
        if turn > now + PAUSE * WAITING_MAX {
            return Turn::Never;
        }
        mistakes.next = turn + PAUSE;
        Turn::After(turn - now)
    }

    /// It was wrong. How often that was so by now.
    pub(crate) fn wrong(&self, address: Option<IpAddr>, now: Instant) -> u32 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, mistakes| now.saturating_duration_since(mistakes.last) < MEMORY);
        let key = if known.contains_key(&address) || known.len() < ADDRESSES_MAX { address } else { None };
        let mistakes = known.entry(key).or_insert(Mistakes { count: 0, last: now, next: now });
        mistakes.count = mistakes.count.saturating_add(1);
        mistakes.last = now;
        mistakes.count
    }

    fn is_quiet(&self, now: Instant) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().all(|mistakes| now.saturating_duration_since(mistakes.last) >= MEMORY)
    }

    /// It was right.
    pub(crate) fn right(&self, address: Option<IpAddr>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&address);
    }
}

#[cfg(test)]
mod tests;
