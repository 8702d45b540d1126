//! One file per command.

pub(crate) mod serve;
pub(crate) mod verify;

use crate::failure::{Failure, UNMET};
use tokio::runtime::{Builder, Runtime};

/// Two workers: one streams while the other answers. The store has threads of its own.
const WORKERS: usize = 2;
/// File reads and git; each holds a thread for a moment.
const BLOCKING_MAX: usize = 16;

fn runtime() -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(WORKERS).max_blocking_threads(BLOCKING_MAX).enable_all();
    builder
        .build()
        .map_err(|cause| Failure::new(UNMET, "the program cannot start its threads").with("cause", cause))
}
