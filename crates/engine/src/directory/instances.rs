//! All directories in use, and in which of them work has begun.

use crate::directory::Directories;
use crate::directory::instance::{Instance, absolute};
use crate::error::EngineError;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;
use tracing::warn;

/// All directories in use.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    by_directory: Mutex<HashMap<String, Arc<OnceCell<Arc<Instance>>>>>,
    /// Directories in which somebody works: their servers run, also after their settings were read again.
    started: Mutex<HashSet<String>>,
}

/// Directories kept at once. More are forgotten and made again when they are needed.
const INSTANCES_MAX: usize = 256;

impl Instances {
    pub(super) fn is_started(&self, directory: &str) -> bool {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).contains(directory)
    }

    fn note_started(&self, directory: &str) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if started.len() >= INSTANCES_MAX {
            started.clear();
        }
        started.insert(directory.to_owned());
    }

    pub(crate) fn forget(&self, directory: &str) {
        if let Some(instance) = self.lock().remove(directory).as_ref().and_then(|cell| cell.get()) {
            instance.mcp.close();
        }
    }

    pub(crate) fn forget_all(&self) {
        for cell in self.lock().drain().map(|(_, cell)| cell) {
            cell.get().inspect(|instance| instance.mcp.close());
        }
    }

    /// Those that are made.
    pub(crate) fn ready(&self) -> Vec<Arc<Instance>> {
        self.lock().values().filter_map(|cell| cell.get().cloned()).collect()
    }

    /// Those that are made. One that is being made may have read what just changed; it serves whoever
    /// waits for it, and the next is made anew.
    pub(crate) fn made(&self) -> Vec<Arc<Instance>> {
        self.lock().retain(|_, cell| cell.initialized());
        self.ready()
    }

    pub(super) fn cell(&self, directory: &str) -> Arc<OnceCell<Arc<Instance>>> {
        let mut known = self.lock();
        if known.len() >= INSTANCES_MAX && !known.contains_key(directory) {
            known.clear();
        }
        known.entry(directory.to_owned()).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<OnceCell<Arc<Instance>>>>> {
        self.by_directory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directories {
    /// The instance, with its servers started. Whoever only looks does not start anything.
    pub(crate) async fn start_servers(&self, directory: &str) -> Result<Arc<Instance>, EngineError> {
        self.note_started(directory);
        let instance = self.instance(directory).await?;
        instance.mcp.start();
        Ok(instance)
    }

    /// From now on whoever makes the instance starts its servers.
    pub(crate) fn note_started(&self, directory: &str) {
        self.instances.note_started(&absolute(&self.default_directory, directory));
    }

    /// Reads the settings of every directory in use again. One whose settings are wrong now keeps the ones it has:
    /// a server that runs should not stop working because of a typo.
    pub(crate) async fn reload_all(self: &Arc<Self>) {
        for instance in self.instances.made() {
            let directory = &instance.directory;
            match self.check(directory).await {
                Ok(()) => self.forget(directory),
                Err(cause) => warn!(
                    %directory,
                    %cause,
                    "the configuration of a directory is wrong; it keeps the one from before"
                ),
            }
        }
    }

    /// Forgets what is known of a directory. If its servers ran, they are started again.
    pub(crate) fn forget(self: &Arc<Self>, directory: &str) {
        self.instances.forget(directory);
        if self.instances.is_started(directory) {
            let directories = self.clone();
            let directory = directory.to_owned();
            self.tasks.spawn("restart", async move {
                if let Err(cause) = directories.start_servers(&directory).await {
                    warn!(%cause, "the servers of a directory are not started again");
                }
            });
        }
    }
}
