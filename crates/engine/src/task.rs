//! The one place that spawns.
//!
//! Every task has a name, is waited for at shutdown, and ends when the engine says so.

use futures_util::FutureExt as _;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, debug_span, error, warn};

/// What made a task panic may have passed after so long; if it has not, it costs little to try.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The tasks of one engine.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Starts a task under a name that stands in every log line it writes.
    #[allow(clippy::disallowed_methods, reason = "the one place that spawns")]
    pub fn spawn<F>(&self, name: &'static str, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // Boxed: what the runtime makes around a task is then compiled for each result and not for each task.
        let task: Pin<Box<dyn Future<Output = F::Output> + Send>> = Box::pin(task);
        tokio::spawn(self.tracker.track_future(task.instrument(debug_span!("task", task = name))))
    }

    /// Starts a task that goes on for as long as the engine does. One that panics begins anew after a moment: nobody would
    /// notice that it is gone.
    pub(crate) fn keep<F>(&self, name: &'static str, task: impl Fn() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let tasks = self.clone();
        self.spawn(name, async move {
            // What it held is dropped by the panic, and nothing of it is looked at again.
            while AssertUnwindSafe(task()).catch_unwind().await.is_err() {
                error!(name, "a task panicked; it is started again");
                if !tasks.pause(AGAIN_AFTER).await {
                    return;
                }
            }
        });
    }

    /// Cancelled when everything should end.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    /// Waits, for work that is done every so often. False when everything should end.
    pub(crate) async fn pause(&self, time: Duration) -> bool {
        tokio::time::timeout(time, self.stop.cancelled()).await.is_err()
    }

    /// Says stop, waits, and reports what did not end in time.
    pub async fn finish(&self, grace: Duration) {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(grace, self.tracker.wait()).await.is_err() {
            warn!(left = self.tracker.len(), "tasks did not end in time");
        }
    }
}

/// For tests: the first task of a certain name panics, or the `stream` of a model at the next thing it says.
#[derive(Clone, Debug, Default)]
pub struct PanicPlan {
    task: Option<&'static str>,
    is_over: Arc<AtomicBool>,
}

impl PanicPlan {
    #[must_use]
    pub fn first(task: &'static str) -> Self {
        Self { task: Some(task), ..Self::default() }
    }

    /// Panics once, after `arm` was called.
    #[must_use]
    pub fn later(task: &'static str) -> Self {
        Self { task: Some(task), is_over: Arc::new(AtomicBool::new(true)) }
    }

    pub fn arm(&self) {
        self.is_over.store(false, Ordering::Release);
    }

    /// Whether the planned panic has happened.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(crate) fn come_true(&self, task: &'static str) {
        if self.task == Some(task) && !self.is_over.swap(true, Ordering::AcqRel) {
            panic!("as planned, the task {task} panics");
        }
    }
}
