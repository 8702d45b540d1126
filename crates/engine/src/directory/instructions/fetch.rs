//! Instructions that are fetched from a URL.
//!
//! Fetched when a step needs them, each for a short time at most, and kept for a while: a model should
//! not wait for a page before every step. One that cannot be fetched is left out, or stays as it was.

use super::{FILE_BYTES_MAX, Instruction};
use futures_util::future::join_all;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use sturdy_worktree::tool::Reach;
use sturdy_worktree::tools::{NamedBy, fetch_text};
use tokio::time::Instant;
use tracing::warn;

const WAIT_MAX: Duration = Duration::from_secs(5);
/// How long they are believed.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// More addresses than this are not asked.
const ADDRESSES_MAX: usize = 20;

/// What was fetched, and when.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    kept: Mutex<(Option<Instant>, Vec<Instruction>)>,
}

impl Fetched {
    /// Fetches what is not known or old.
    pub(crate) async fn refresh(&self, addresses: Vec<(String, NamedBy)>, reach: Reach) {
        if addresses.is_empty() || !self.is_old() {
            return;
        }
        let found =
            addresses.into_iter().take(ADDRESSES_MAX).map(|(address, by)| self.fetch(address, by, reach));
        let all: Vec<Instruction> = join_all(found).await.into_iter().flatten().collect();
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = (Some(Instant::now()), all);
    }

    pub(crate) fn all(&self) -> Vec<Instruction> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    fn is_old(&self) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.is_none_or(|at| at.elapsed() > FRESH)
    }

    async fn fetch(&self, address: String, by: NamedBy, reach: Reach) -> Option<Instruction> {
        match fetch_text(&address, by, reach, WAIT_MAX).await {
            Ok(text) if text.trim().is_empty() => None,
            Ok(text) => Some(Instruction { text: cut(text), source: address }),
            Err(cause) => {
                warn!(%cause, "an instruction cannot be fetched");
                self.all().into_iter().find(|known| known.source == address)
            }
        }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > FILE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(FILE_BYTES_MAX));
        text.push_str("\n[The rest of this page is left out: it is too long.]");
    }
    text
}
