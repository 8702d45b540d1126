//! Work on files, off the async workers, with a bound for each directory.
//!
//! A network mount that hangs holds the thread that asked it, and nothing can take that thread back. So
//! files are looked at on threads of their own; one directory may hold a few of them and all together fewer
//! than there are; whoever waits for longer than a while is told, and the server goes on with everything else.
//!
//! Not here: work of tools, which belongs to a session and is stopped with it (`sturdy_worktree::tool`).

use crate::error::EngineError;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Threads that one directory may hold.
const PER_DIRECTORY_MAX: usize = 4;
/// Threads that all directories together may hold. The program has more: other work needs some too.
pub const FILE_THREADS_MAX: usize = 48;
/// A disk that spins up, a mount far away: they answer sooner.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The threads that look at files.
#[derive(Debug)]
pub(crate) struct FileWork {
    all: Arc<Semaphore>,
    by_directory: Mutex<HashMap<String, Arc<Semaphore>>>,
    stop: CancellationToken,
    hang: HangPlan,
}

impl FileWork {
    pub(crate) fn new(stop: CancellationToken, hang: HangPlan) -> Self {
        let all = Arc::new(Semaphore::new(FILE_THREADS_MAX));
        Self { all, by_directory: Mutex::default(), stop, hang }
    }

    /// Does this on a thread that may hang.
    pub(crate) async fn run<T, F>(&self, directory: &str, work: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        // Boxed: the wait around it is then compiled for each result and not for each piece of work.
        let doing = timeout(WAIT_MAX, self.on_a_thread(directory, Box::new(work)));
        tokio::select! {
            done = doing => done.unwrap_or_else(|_| {
                warn!(directory, "the file system of a directory does not respond");
                Err(EngineError::Hangs(directory.to_owned()))
            }),
            () = self.stop.cancelled() => Err(EngineError::Closing),
        }
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        directory: &str,
        work: Box<dyn FnOnce() -> T + Send>,
    ) -> Result<T, EngineError> {
        let closing = |_| EngineError::Closing;
        // First the own bound: a directory that hangs must not take what others wait for.
        let place = self.of(directory).acquire_owned().await.map_err(closing)?;
        let place_of_all = self.all.clone().acquire_owned().await.map_err(closing)?;
        let hang = self.hang.clone();
        let named = directory.to_owned();
        let thread = tokio::task::spawn_blocking(move || {
            // Given back when the thread is, however long that takes.
            let _places = (place, place_of_all);
            hang.come_true(Path::new(&named));
            work()
        });
        thread
            .await
            .map_err(|_| EngineError::Bad(format!("The files of {directory} could not be looked at.")))
    }

    fn of(&self, directory: &str) -> Arc<Semaphore> {
        let mut known = self.by_directory.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that nobody uses.
        known
            .retain(|_, bound| Arc::strong_count(bound) > 1 || bound.available_permits() < PER_DIRECTORY_MAX);
        known
            .entry(directory.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(PER_DIRECTORY_MAX)))
            .clone()
    }
}

/// For tests: looking at files of a directory hangs, as on a mount that is gone, until it is let go.
#[derive(Clone, Debug, Default)]
pub struct HangPlan {
    directory: Option<Arc<Path>>,
    state: Arc<(Mutex<Hanging>, Condvar)>,
}

#[derive(Debug, Default)]
struct Hanging {
    threads: usize,
    is_over: bool,
}

impl HangPlan {
    #[must_use]
    pub fn of(directory: &Path) -> Self {
        Self { directory: Some(directory.into()), ..Self::default() }
    }

    /// Hangs from `begin` on.
    #[must_use]
    pub fn later(directory: &Path) -> Self {
        let plan = Self::of(directory);
        plan.let_go();
        plan
    }

    pub(crate) fn is_planned(&self) -> bool {
        self.directory.is_some()
    }

    pub fn begin(&self) {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).is_over = false;
    }

    /// Threads that hang now.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).threads
    }

    pub fn let_go(&self) {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.state.1.notify_all();
    }

    fn come_true(&self, directory: &Path) {
        if self.directory.as_deref() != Some(directory) {
            return;
        }
        let mut hanging = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        hanging.threads += 1;
        while !hanging.is_over {
            hanging = self.state.1.wait(hanging).unwrap_or_else(PoisonError::into_inner);
        }
        hanging.threads -= 1;
    }
}
