//! The threads that read.
//!
//! Two, each with a read-only connection of its own, so that a long page does not hold up a short
//! question and neither holds up the committer. A read is one short transaction: it sees one moment,
//! and it does not keep the write-ahead log from being cut back.
//!
//! Not here: what is read (`load.rs`, `log.rs`, `read/`).

use crate::dialect;
use crate::error::OpenError;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::sync::mpsc;

/// Reads that may wait; beyond that the askers wait.
const QUEUE: usize = 256;
const THREADS: usize = 2;

pub(crate) enum Job {
    Read(Box<dyn FnOnce(&mut Connection) + Send>),
    /// Ends one thread.
    Stop,
}

pub(crate) struct Readers {
    pub(crate) jobs: mpsc::Sender<Job>,
    pub(crate) threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) const COUNT: usize = THREADS;

    pub(crate) fn start(path: &Path) -> Result<Self, OpenError> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::with_capacity(THREADS);
        for _ in 0..THREADS {
            let mut connection = dialect::open_reader(path)?;
            let waiting = Arc::clone(&waiting);
            let thread = thread::Builder::new().name("store-reader".to_owned()).spawn(move || {
                loop {
                    let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
                    match job {
                        // A read that panics is one answer less and not a thread less. Its transaction ends
                        // with it, and a connection that only reads has nothing half done.
                        Some(Job::Read(read)) => {
                            if catch_unwind(AssertUnwindSafe(|| read(&mut connection))).is_err() {
                                tracing::error!("a read of the store panicked");
                            }
                        }
                        Some(Job::Stop) | None => break,
                    }
                }
            });
            threads.push(thread.map_err(|source| OpenError::NotCreatable { path: path.to_owned(), source })?);
        }
        Ok(Self { jobs, threads })
    }
}
