//! Tickets for downloads: each good once, for a minute.
//!
//! What a browser downloads by itself goes to its disk and not through the page's memory, but such a request carries no
//! header, and the cookie counts only beside one (`devices.rs`). So the page, which may ask, fetches a ticket, and the
//! download shows that in place of everything else. It opens one thing, on behalf of whoever fetched it: if that one may
//! not ask any more by then, the ticket does not either.
//!
//! Not here: what is sent for one (`routes/sessions/ticket.rs`).

use crate::access::caller::Caller;
use crate::wire::redaction::Redaction;
use sha2::{Digest as _, Sha256};
use std::sync::{Mutex, MutexGuard, PoisonError};
use sturdy_session::id::{PartId, SessionId};

const LIFE_MS: u64 = 60_000;
/// Tickets that wait to be used; the oldest goes first.
const TICKETS_MAX: usize = 256;

/// What a ticket is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Download {
    Export { session: SessionId, format: ExportFormat, redaction: Redaction },
    Value { session: SessionId, part: PartId, hash: String },
}

/// What an export looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    #[default]
    Html,
    Json,
}

#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<Vec<Ticket>>);

/// Its secret is not kept, only the hash of it.
#[derive(Debug)]
struct Ticket {
    hash: [u8; 32],
    download: Download,
    holder: Caller,
    until: u64,
}

impl Tickets {
    /// A ticket, and until when it is good.
    pub(crate) fn make(&self, download: Download, holder: Caller, now: u64) -> (String, u64) {
        let bytes: [u8; 32] = rand::random();
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let until = now + LIFE_MS;
        let mut tickets = self.lock();
        tickets.retain(|ticket| ticket.until > now);
        let surplus = (tickets.len() + 1).saturating_sub(TICKETS_MAX);
        tickets.drain(..surplus);
        tickets.push(Ticket { hash: hash(&secret), download, holder, until });
        (secret, until)
    }

    /// What a ticket is for, and on whose behalf. It is used up.
    pub(crate) fn redeem(&self, secret: &str, now: u64) -> Option<(Download, Caller)> {
        let wanted = hash(secret);
        let mut tickets = self.lock();
        tickets.retain(|ticket| ticket.until > now);
        let found = tickets.iter().position(|ticket| ticket.hash == wanted)?;
        let ticket = tickets.remove(found);
        Some((ticket.download, ticket.holder))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Ticket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests;
