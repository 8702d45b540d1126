//! Grants as the server holds them while it runs: who was let in, how often, and that something changed.
//!
//! Children: `need` (what a request needs of a grant). Not here: letting somebody in (`grants.rs`).

mod need;

pub(crate) use need::{Need, need};

use crate::access::tokens::limiter;
use governor::DefaultDirectRateLimiter;
use governor::clock::{Clock as _, DefaultClock};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sturdy_session::id::SessionId;
use sturdy_store::grants::{GrantRow, Rights};
use tokio::sync::watch;

/// Requests per minute with one grant: as those of a token.
const RATE: u32 = 1200;
/// Grants whose rate is remembered.
const KNOWN_MAX: usize = 4096;
/// Reading is noted in the audit this often.
const NOTED_EVERY_MS: u64 = 60_000;

/// A grant that let a request in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) id: String,
    pub(crate) session: SessionId,
    pub(crate) rights: Rights,
}

impl Granted {
    pub(crate) fn of(row: &GrantRow) -> Option<Self> {
        let session = SessionId::parse(&row.session).ok()?;
        Some(Self { id: row.id.clone(), session, rights: row.rights })
    }
}

/// What is known of grants while the server runs.
#[derive(Debug)]
pub(crate) struct Grants {
    /// Counts changes: whoever was let in by a grant looks whether it still stands.
    changes: watch::Sender<u64>,
    known: Mutex<HashMap<String, Known>>,
}

#[derive(Debug)]
struct Known {
    limit: Arc<DefaultDirectRateLimiter>,
    noted: u64,
}

impl Default for Grants {
    fn default() -> Self {
        Self { changes: watch::Sender::new(0), known: Mutex::default() }
    }
}

impl Grants {
    /// A grant was revoked, or its session removed.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Wakes whenever a grant changed.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Counts a request. How long to wait, if there were too many; whether it is time to note the reading.
    pub(crate) fn count(&self, id: &str, now: u64) -> Result<bool, Duration> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX && !known.contains_key(id) {
            known.clear();
        }
        let of_grant = known.entry(id.to_owned()).or_insert_with(|| Known { limit: limiter(RATE), noted: 0 });
        if let Err(early) = of_grant.limit.check() {
            return Err(early.wait_time_from(DefaultClock::default().now()));
        }
        let is_due = now.saturating_sub(of_grant.noted) >= NOTED_EVERY_MS;
        if is_due {
            of_grant.noted = now;
        }
        Ok(is_due)
    }
}
