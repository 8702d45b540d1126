//! Ids of calls, unique within one answer.
//!
//! Some servers give none, some give the same to two calls. Whoever runs the calls needs to tell
//! them apart, and the provider gets back whatever id we used.

use std::collections::HashSet;

#[derive(Debug, Default)]
pub(crate) struct CallIds {
    taken: HashSet<String>,
}

impl CallIds {
    /// The provider's own id if it is usable, else one like it.
    pub(crate) fn take(&mut self, given: &str) -> String {
        let id = match given {
            "" => format!("call_{:016x}", rand::random::<u64>()),
            _ if self.taken.contains(given) => format!("{given}_{}", self.taken.len()),
            _ => given.to_owned(),
        };
        self.taken.insert(id.clone());
        id
    }
}
