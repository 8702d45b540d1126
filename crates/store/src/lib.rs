//! Keeps facts, rows and blobs in order and atomically.
//!
//! The contract:
//!
//! * An acknowledged commit is durable, whole, and visible to every later read.
//! * A commit states the `seq` it builds on. On the wrong one it fails and has written nothing.
//! * Positions only grow, in the order of commits; the entries of a commit stand side by side.
//! * A part that is still open is read with the growth that followed its row.
//! * Damage is reported as damage, with its place, and never as an empty answer.
//!
//! One thread writes (`committer.rs`), two read (`readers.rs`), and every method here is a message
//! to one of them. The store understands neither facts nor rows: it writes what a commit says.

mod blob;
mod commit;
mod committer;
mod dialect;
mod error;
mod fold;
pub mod grants;
mod growth;
mod load;
mod lock;
mod log;
mod migrate;
mod open;
pub mod outbox;
mod owner;
mod read;
mod readers;
pub mod share;
mod verify;

pub use blob::Collected;
pub use commit::{Commit, Committed, ENTRY_BYTES_MAX, NewEntry};
pub use committer::{CrashPlan, OnDurable, StoreMeters, title_column};
pub use dialect::Durability;
pub use error::{CommitError, DriverError, DriverErrorKind, OpenError, ReadError};
pub use fold::{Folded, Sizes};
pub use load::Loaded;
pub use log::{DAMAGED, LogEntry, LogPage, Origin, Scope, Subject, told_before_it_was_counted};
pub use open::Options;
pub use owner::Owner;
pub use read::asks::{AskQuery, RawAsk};
pub use read::damaged::DamagedRow;
pub use read::message_order::{PlacedMessage, ReadDirection, Slice};
pub use read::messages::{MessagePage, MessageQuery, PageWithin, RawMessage};
pub use read::moment::{Opening, Outline, Overview, OverviewQuery, SessionGlance};
pub use read::place::{Before, MessagePlace, PagePlaces};
pub use read::rows::{CurrentRows, RowPosition, SessionRows, WholeSession};
pub use read::search::{Found, FoundPart, SearchQuery};
pub use read::sessions::{CreatedEdge, SessionHead, SessionOrder, SessionQuery};
pub use read::shape::PartShape;
pub use verify::{Finding, Progress, Report, Stage};

use committer::{Pending, Shared, Work, Write, Writer};
use read::damaged::DamagedRows;
use read::titles::Titles;
use readers::{Job, Readers};
use rusqlite::Connection;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::{fmt, io};
use tokio::sync::{mpsc, oneshot};

/// A handle to an open store. Cheap to clone; the store ends with its last handle, or by `close`.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: std::path::PathBuf,
    shared: Arc<Shared>,
    damaged: Arc<DamagedRows>,
    work: Option<SyncSender<Work>>,
    jobs: Option<mpsc::Sender<Job>>,
    titles: Arc<Mutex<Titles>>,
    threads: Vec<JoinHandle<()>>,
}

impl Store {
    /// Makes a commit. When this returns `Ok`, it is on disk.
    ///
    /// The commit is made even if the caller stops waiting for the answer.
    pub async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        self.commit_and(commit, None).await
    }

    /// Makes a commit and tells `on_durable` of it before anybody else, in the order of positions:
    /// whoever shows commits to others shows them in that order.
    pub async fn commit_then(&self, commit: Commit, on_durable: OnDurable) -> Result<Committed, CommitError> {
        self.commit_and(commit, Some(on_durable)).await
    }

    async fn commit_and(
        &self,
        commit: Commit,
        on_durable: Option<OnDurable>,
    ) -> Result<Committed, CommitError> {
        commit.check();
        let (answer, answered) = oneshot::channel();
        self.send(Work::Commit(Pending { commit, answer, on_durable })).await?;
        answered.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// The position of the last durable entry.
    #[must_use]
    pub fn head(&self) -> u64 {
        self.inner.shared.head.load(Ordering::Acquire)
    }

    /// Which store this is: a cursor of another one means nothing here.
    #[must_use]
    pub fn epoch(&self) -> Arc<str> {
        self.inner.shared.epoch.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the mark that tells this store from older copies of itself. True if it is such a copy: what was
    /// stored after the copy is not in it, and a cursor from then would skip what takes its place, so its epoch
    /// is another one now.
    ///
    /// For whoever serves the store, at the start and every few minutes: a copy that is younger than the last
    /// replacement is not told apart.
    pub async fn replace_mark(&self) -> Result<bool, CommitError> {
        let shared = Arc::clone(&self.inner.shared);
        let folder = self.inner.path.clone();
        let replacing = self.write(move |connection| {
            let replaced = open::mark::replace(connection, &folder)?;
            if replaced.is_copy {
                let epoch = open::new_epoch(connection)?;
                *shared.epoch.lock().unwrap_or_else(PoisonError::into_inner) = epoch;
            }
            Ok(replaced)
        });
        let replaced = replacing.await?;
        let is_copy = replaced.is_copy;
        let folder = self.inner.path.clone();
        self.write(move |connection| Ok(open::mark::settle(connection, &folder, &replaced)?)).await?;
        Ok(is_copy)
    }

    /// Transactions that commits were grouped into since the store was opened.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.inner.shared.transactions.load(Ordering::Relaxed)
    }

    /// What was counted since the store was opened.
    #[must_use]
    pub fn meters(&self) -> &StoreMeters {
        &self.inner.shared.meters
    }

    /// Commits and other writes that wait for the writing thread.
    #[must_use]
    pub fn queued(&self) -> usize {
        committer::QUEUE.saturating_sub(self.inner.shared.room.available_permits())
    }

    /// Whether the planned crash has happened.
    #[must_use]
    pub fn was_crashed(&self) -> bool {
        self.inner.shared.is_crashed.load(Ordering::Acquire)
    }

    /// Waits until the writing thread has broken: nothing can be stored any more, and the process should end.
    /// A store that is closed in order never breaks.
    pub async fn broke(&self) {
        let mut writer = self.inner.shared.writer.subscribe();
        match writer.wait_for(|writer| *writer != Writer::Works).await.map(|writer| *writer) {
            Ok(Writer::Broke) => {}
            // The sender lives as long as this handle.
            Ok(Writer::Works | Writer::Ended) | Err(_) => std::future::pending().await,
        }
    }

    /// Whether commits can be made, as far as is known.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        *self.inner.shared.writer.borrow() == Writer::Broke
    }

    /// Tells other processes of this user where this one can be reached, and with which key.
    pub fn announce(&self, address: &str, key: Option<&str>) -> io::Result<()> {
        self.inner.shared.lock.announce(address, key)
    }

    /// Writes what waits, makes a checkpoint, and releases the files and the lock.
    /// Other handles are told that the store is closed.
    pub async fn close(self) {
        self.inner.shared.is_closing.store(true, Ordering::Release);
        if let Some(jobs) = &self.inner.jobs {
            for _ in 0..Readers::COUNT {
                // A thread that is gone already needs no telling.
                let _ = jobs.send(Job::Stop).await;
            }
        }
        let (answer, answered) = oneshot::channel();
        if self.send(Work::Close(answer)).await.is_ok() {
            let _ = answered.await;
        }
    }

    /// For tests: nothing more is written, the files stay as a killed process leaves them, and the lock is free.
    pub async fn die(self) {
        if self.send(Work::Die).await.is_ok() {
            let mut writer = self.inner.shared.writer.subscribe();
            // An error means that it is gone.
            let _ = writer.wait_for(|writer| *writer != Writer::Works).await;
        }
        self.close().await;
    }

    /// Runs something on the writing thread that is not a commit.
    async fn write<T, F>(&self, write: F) -> Result<T, CommitError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, CommitError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let write: Write = Box::new(move |connection: &mut Connection| {
            let result = write(connection).map_err(|error| match error {
                CommitError::Unavailable(driver) => {
                    committer::certain(connection, error::Failure::Unavailable(driver))
                }
                error => error,
            });
            Box::new(move || {
                // A caller that gave up waiting has still written.
                let _ = answer.send(result);
            })
        });
        self.send(Work::Write(write)).await?;
        answered.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Runs one read as one transaction on a reading thread.
    async fn read<T, F>(&self, read: F) -> Result<T, ReadError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, ReadError> + Send + 'static,
    {
        let closed = || ReadError::Unavailable(DriverError::closed());
        if self.was_crashed() {
            return Err(closed());
        }
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |connection: &mut Connection| {
            // Dropped, it ends the transaction: a read has nothing to keep.
            let result = connection.transaction().map_err(ReadError::from).and_then(|moment| read(&moment));
            let _ = answer.send(result);
        });
        self.inner.shared.meters.reads.inc();
        let jobs = self.inner.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(Job::Read(job)).await.map_err(|_| closed())?;
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    async fn send(&self, work: Work) -> Result<(), CommitError> {
        let Ok(room) = self.inner.shared.room.acquire().await else { return Err(self.gone()) };
        let Some(queue) = &self.inner.work else { return Err(self.gone()) };
        // There is a permit for every place in the queue, so it is full only of what is gone.
        match queue.try_send(work) {
            Ok(()) => {
                // The committer gives it back when it takes the work.
                room.forget();
                Ok(())
            }
            Err(_) => Err(self.gone()),
        }
    }

    fn gone(&self) -> CommitError {
        if self.was_crashed() {
            CommitError::Crashed
        } else if *self.inner.shared.writer.borrow() != Writer::Ended {
            // It was dropped by a panic, which is told a moment later.
            CommitError::Unknown(DriverError::closed())
        } else {
            CommitError::Unavailable(DriverError::closed())
        }
    }
}

impl Drop for Inner {
    /// Waits for the threads: whoever drops a store may open it again in the next line.
    fn drop(&mut self) {
        self.work = None;
        self.jobs = None;
        let own = std::thread::current().id();
        // What waits to be called when a commit is durable may hold the last handle; then it is the writing
        // thread that drops the store, and it cannot wait for itself.
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != own) {
            // A thread that panicked has already said so.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.inner.path)
            .field("head", &self.head())
            .finish_non_exhaustive()
    }
}
