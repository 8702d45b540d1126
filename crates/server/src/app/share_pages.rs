//! What was read of a share once for everybody who follows it.
//!
//! A thousand viewers of one share are woken together; the first to come reads the store, the others are given what it
//! found. Nothing here looks at anybody's right: whoever follows does (`share/follow`).

use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use sturdy_engine::share::Wakes;
use sturdy_store::share::{ShareInfo, ShownOp};
use tokio::sync::OnceCell;

/// Pages that are kept of one share: what came last, and everything for those who just came.
const KEPT_MAX: usize = 2;
/// A page with more payload is not kept for others.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What one read found, for all who follow.
#[derive(Debug)]
pub(crate) struct Page {
    /// Everything; what was known before is dropped. None: what came after the cursor.
    pub(crate) whole: Option<ShareInfo>,
    pub(crate) ops: Vec<ShownOp>,
    /// Where the next page begins.
    pub(crate) cursor: u64,
    pub(crate) more: bool,
    /// Of the share, when it was read.
    pub(crate) epoch: u64,
    /// As server-sent events, made by the first who needs them.
    pub(crate) frames: OnceLock<Bytes>,
}

impl Page {
    fn is_large(&self) -> bool {
        let sizes = self.ops.iter().filter_map(|op| op.data.as_ref()).map(|data| data.get().len());
        sizes.sum::<usize>() > KEPT_BYTES_MAX
    }
}

/// The last pages of every share that somebody watches.
#[derive(Debug)]
pub(crate) struct Pages {
    last: Mutex<HashMap<String, Vec<Kept>>>,
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
    /// The cursor; none: everything.
    after: Option<u64>,
}

type Cell = Arc<OnceCell<Arc<Page>>>;

#[derive(Debug)]
struct Kept {
    moment: Moment,
    page: Cell,
}

impl Pages {
    pub(crate) fn moment(&self, wake: u64, heartbeat: Duration, after: Option<u64>) -> Moment {
        Moment { wake, beat: self.begun.elapsed().as_millis() / heartbeat.as_millis().max(1), after }
    }

    /// The page of a moment: kept, or read now by one for all.
    pub(crate) async fn at<E>(
        &self,
        share: &str,
        moment: Moment,
        wakes: &Wakes,
        read: impl Future<Output = Result<Arc<Page>, E>>,
    ) -> Result<Arc<Page>, E> {
        let cell = self.cell(share, moment, wakes);
        let page = cell.get_or_try_init(|| read).await.cloned()?;
        if page.is_large() {
            self.forget(share, moment);
        }
        Ok(page)
    }

    fn cell(&self, share: &str, moment: Moment, wakes: &Wakes) -> Cell {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = last.get(share).and_then(|all| all.iter().find(|kept| kept.moment == moment)) {
            return kept.page.clone();
        }
        // Nobody needs those any more.
        last.retain(|share, _| wakes.is_watched(share));
        let page = Cell::default();
        let all = last.entry(share.to_owned()).or_default();
        // One for newcomers and one for the others: neither takes the other's place.
        all.retain(|kept| kept.moment.after.is_none() != moment.after.is_none());
        all.push(Kept { moment, page: page.clone() });
        debug_assert!(all.len() <= KEPT_MAX, "BUG: one page for newcomers, one for the others");
        page
    }

    fn forget(&self, share: &str, moment: Moment) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = last.get_mut(share) {
            all.retain(|kept| kept.moment != moment);
        }
    }
}
