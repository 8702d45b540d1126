//! The engine: everything that runs, and the way to it.

use crate::clock::Clock;
use crate::directory::Directories;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::extension::Extensions;
use crate::feed::Feed;
use crate::files::{FileWork, HangPlan};
use crate::reads::Reads;
use crate::run::gate::Gates;
use crate::run::{Damage, Handle, Sessions};
use crate::share::{SharePace, Shares};
use crate::task::{PanicPlan, Tasks};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sturdy_session::id::SessionId;
use sturdy_session::types::status::Status;
use sturdy_store::{CrashPlan, DamagedRow, Durability, Store};

/// Running work is given this long to end when the engine closes.
const CLOSING_GRACE: Duration = Duration::from_secs(5);

/// How to open an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Where the store lives.
    pub data_dir: PathBuf,
    pub durability: Durability,
    /// Where the server works when a request names no directory.
    pub directory: PathBuf,
    pub environment: Environment,
    /// The wire version clients are told.
    pub wire_version: String,
    /// Tests let the process die at a chosen commit.
    pub crash: CrashPlan,
    /// Tests let a task panic.
    pub panics: PanicPlan,
    /// Tests let a directory hang.
    pub hang: HangPlan,
    /// What takes part in turns besides us.
    pub extensions: Extensions,
    /// How often shared sessions are sent.
    pub share: SharePace,
}

/// Cheap to clone; all clones are one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) options: EngineOptions,
    pub(crate) store: Store,
    pub(crate) reads: Reads,
    pub(crate) feed: Feed,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) files: Arc<FileWork>,
    pub(crate) directories: Arc<Directories>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) shares: Shares,
    /// Held by who changes the stored credentials.
    pub(crate) credentials: Arc<Mutex<()>>,
    pub(crate) gates: Gates,
}

impl Engine {
    /// What is stored, for reading.
    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.inner.reads
    }

    /// The store itself: for the share service, and for tests that look behind everything.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Tells other processes of this user where this one can be reached, and with which key.
    pub fn announce(&self, address: &str, key: Option<&str>) -> io::Result<()> {
        self.inner.store.announce(address, key)
    }

    /// Takes back what was allowed for always. False if there was no such approval.
    pub async fn remove_approval(&self, id: &str) -> Result<bool, EngineError> {
        Ok(self.inner.store.remove_approval(id).await?)
    }

    #[must_use]
    pub fn feed(&self) -> &Feed {
        &self.inner.feed
    }

    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.inner.options
    }

    /// Starts what a directory runs beside turns: its MCP servers. They stay started when its settings are read
    /// again. Whoever looks from now on finds them starting.
    pub fn start_servers(
        &self,
        directory: &str,
    ) -> impl Future<Output = Result<(), EngineError>> + Send + use<> {
        let directories = self.inner.directories.clone();
        let directory = directory.to_owned();
        directories.note_started(&directory);
        async move { directories.start_servers(&directory).await.map(drop) }
    }

    /// Forgets what is known of a directory: its configuration is read again on the next use.
    pub fn dispose(&self, directory: &str) {
        self.inner.directories.forget(directory);
    }

    /// Reads the configuration of every directory in use again; what cannot be used stays as it was, and the log says why.
    pub async fn reload_all(&self) {
        self.inner.directories.reload_all().await;
    }

    /// Forgets every directory.
    pub fn dispose_all(&self) {
        self.inner.directories.instances.forget_all();
    }

    /// The running session with this id, started if need be.
    pub async fn session(&self, id: &SessionId) -> Result<Handle, EngineError> {
        self.inner.sessions.session(id).await
    }

    /// What the sessions that do something are doing.
    #[must_use]
    pub fn statuses(&self) -> Vec<(SessionId, Status)> {
        self.inner.sessions.registry.statuses()
    }

    /// Prompts that nobody has begun to answer, in the sessions that have a task.
    #[must_use]
    pub fn waiting_prompts(&self) -> usize {
        self.inner.sessions.registry.waiting()
    }

    /// Sessions that cannot be run because what is stored of them does not fit together, and those of which
    /// something could not be read.
    #[must_use]
    pub fn damaged(&self) -> Vec<Damage> {
        let mut damaged = self.inner.sessions.quarantine.list();
        let rows = self.inner.store.damaged_rows();
        let unlisted = rows.into_iter().filter(|row| !self.inner.sessions.quarantine.holds(&row.session));
        damaged.extend(unlisted.map(|DamagedRow { session, place }| Damage {
            session,
            what: "a stored row cannot be read".to_owned(),
            place,
        }));
        damaged
    }

    /// How many sessions have a task of their own at the moment.
    #[must_use]
    pub fn awake(&self) -> usize {
        self.inner.sessions.registry.awake()
    }

    /// Looks at files of a directory, on a thread that may hang with them.
    ///
    /// # Errors
    /// They do not answer, or the server is shutting down.
    pub async fn look_at_files<T, F>(&self, directory: &str, look: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        self.inner.files.run(directory, look).await
    }

    /// Whether anything can be stored.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        !self.inner.store.is_broken()
    }

    /// Waits until nothing can be stored any more, whatever happens: then the process should end.
    pub async fn broke(&self) {
        self.inner.store.broke().await;
    }

    /// Ends what runs and closes the store. A step that is open is settled by the next start.
    pub async fn close(&self) {
        self.inner.directories.instances.forget_all();
        self.inner.tasks.finish(CLOSING_GRACE).await;
        self.inner.store.clone().close().await;
    }
}
