//! Who follows a share this moment: how many streams are open, by the capability they were opened with.
//!
//! Not here: following (`share/follow`), which also bounds how many there are.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Streams of one share by capability; those of the link without one are under `None`.
pub(crate) type ReaderCounts = BTreeMap<Option<String>, usize>;

/// Open streams by share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readers {
    by_share: Arc<Mutex<HashMap<String, ReaderCounts>>>,
}

/// One open stream; counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    readers: Readers,
    share: String,
    capability: Option<String>,
}

impl Readers {
    pub(crate) fn enter(&self, share: &str, capability: Option<&str>) -> Reader {
        let capability = capability.map(str::to_owned);
        *self.lock().entry(share.to_owned()).or_default().entry(capability.clone()).or_default() += 1;
        Reader { readers: self.clone(), share: share.to_owned(), capability }
    }

    pub(crate) fn of(&self, share: &str) -> ReaderCounts {
        self.lock().get(share).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ReaderCounts>> {
        self.by_share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut all = self.readers.lock();
        let Some(counts) = all.get_mut(&self.share) else { return };
        if let Some(count) = counts.get_mut(&self.capability) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.capability);
            }
        }
        if counts.is_empty() {
            all.remove(&self.share);
        }
    }
}
