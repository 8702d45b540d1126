//! Pages of shares that were read once for everybody who follows.
//!
//! Not here: following (`share/follow`).

use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use sturdy_engine::share::Wakes;
use sturdy_store::share::ShownOp;
use tokio::sync::OnceCell;

/// Operations that were read once for all who follow.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) ops: Vec<ShownOp>,
    pub(crate) cursor: u64,
    pub(crate) is_behind: bool,
    /// As server-sent events, made by the first who needs them.
    pub(crate) frames: OnceLock<Bytes>,
}

/// The last page of every share that somebody watches.
#[derive(Debug)]
pub(crate) struct Pages {
    last: Mutex<HashMap<String, Kept>>,
    begun: Instant,
}

impl Default for Pages {
    fn default() -> Self {
        Self { last: Mutex::default(), begun: Instant::now() }
    }
}

/// Which read of a share answers whom: the same for all who were woken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    wake: u64,
    /// Counts heartbeats, so that what came without a wake-up is read as well.
    beat: u128,
}

#[derive(Debug)]
struct Kept {
    moment: Moment,
    after: u64,
    page: Arc<OnceCell<Arc<Page>>>,
}

impl Pages {
    pub(crate) fn moment(&self, wake: u64, heartbeat: Duration) -> Moment {
        Moment { wake, beat: self.begun.elapsed().as_millis() / heartbeat.as_millis().max(1) }
    }

    /// Where the page after a cursor is, or will be when it is read. Read again after every wake-up and every silence.
    pub(crate) fn cell(
        &self,
        share: &str,
        moment: Moment,
        after: u64,
        wakes: &Wakes,
    ) -> Arc<OnceCell<Arc<Page>>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = last.get(share)
            && kept.moment == moment
            && kept.after == after
        {
            return kept.page.clone();
        }
        // Nobody needs those any more.
        last.retain(|share, _| wakes.is_watched(share));
        let page = Arc::<OnceCell<_>>::default();
        last.insert(share.to_owned(), Kept { moment, after, page: page.clone() });
        page
    }
}
