//! Directories that were read or written lately, so that the next capture of known paths reads none of them again.

use super::ObjectId;
use std::collections::HashMap;
use std::sync::Arc;

/// All of them together.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Directories that were read or written lately. All are forgotten when there are too many: the few that a capture
/// needs are soon known again.
#[derive(Debug, Default)]
pub(super) struct RecentTrees {
    known: HashMap<ObjectId, Arc<[u8]>>,
    bytes: usize,
}

impl RecentTrees {
    pub(super) fn get(&self, id: &ObjectId) -> Option<Arc<[u8]>> {
        self.known.get(id).cloned()
    }

    pub(super) fn remember(&mut self, id: ObjectId, content: Arc<[u8]>) {
        if self.bytes + content.len() > BYTES_MAX {
            *self = Self::default();
        }
        let bytes = content.len();
        if bytes <= BYTES_MAX && self.known.insert(id, content).is_none() {
            self.bytes += bytes;
        }
    }

    pub(super) fn forget_one(&mut self, id: &ObjectId) {
        if let Some(content) = self.known.remove(id) {
            self.bytes -= content.len();
        }
    }
}
