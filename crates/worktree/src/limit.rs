//! How much a search may cost: how many run at once, how large an expression may become, how long a
//! search goes on when nobody waits for it any more.

use std::io::{self, Read};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// Searches at once, of all sessions and all clients. Others wait.
const SEARCHES_MAX: usize = 4;

/// What a compiled expression may take, and what its state may take in each thread.
pub(crate) const REGEX_BYTES_MAX: usize = 2 * 1024 * 1024;

/// How deep groups may be nested: the compiler goes down as deep as they are.
pub(crate) const REGEX_DEPTH_MAX: u32 = 128;

/// What a searcher may hold of one file: its longest line, or all of it where lines are crossed.
pub(crate) const HEAP_BYTES_MAX: usize = 32 * 1024 * 1024;

static PLACES: Semaphore = Semaphore::const_new(SEARCHES_MAX);

/// The right to search. Held by the thread that searches, so that a caller who left does not make room
/// for another before the search has noticed.
#[derive(Debug)]
pub struct SearchPermit {
    _permit: SemaphorePermit<'static>,
}

/// Waits for its turn.
pub async fn place() -> SearchPermit {
    let permit = PLACES.acquire().await.expect("BUG: the places are never closed");
    SearchPermit { _permit: permit }
}

/// A file that ends when it is told to stop.
pub(crate) struct Stoppable<'a, R> {
    pub(crate) inner: R,
    pub(crate) stop: &'a CancellationToken,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the search was stopped"));
        }
        self.inner.read(buffer)
    }
}

#[cfg(test)]
mod tests;
