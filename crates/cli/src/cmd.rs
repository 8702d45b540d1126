//! One file per command.

pub(crate) mod attach;
pub(crate) mod auth;
pub(crate) mod doctor;
pub(crate) mod du;
pub(crate) mod gc;
pub(crate) mod grant;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod open;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod share;
pub(crate) mod token;
pub(crate) mod trust;
pub(crate) mod verify;

use crate::args::{LogFormat, LogLevel, ServerChoice};
use crate::connect::{Connection, connect};
use crate::failure::{Failure, UNMET};
use crate::out;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;
use sturdy_engine::files::FILE_THREADS_MAX;
use tokio::runtime::{Builder, Runtime};

/// Two workers: one streams while the other answers. The store has threads of its own.
const WORKERS: usize = 2;
/// File reads and git; each holds a thread for a moment. A thread that reads from a mount that is gone is held
/// for good; the engine sees to it that there are others.
const BLOCKING_MAX: usize = FILE_THREADS_MAX + 16;
/// How long threads that still read are waited for at the end. Those that hang are left.
const LAST_READS: Duration = Duration::from_secs(1);

/// Runs this to its end, and does not wait for threads that hang.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run_to_end(Box::pin(work))
}

/// Compiled once, and not for each command: what a runtime does around a future is a lot of code.
fn run_to_end<T>(work: Pin<Box<dyn Future<Output = Result<T, Failure>> + '_>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_timeout(LAST_READS);
    outcome
}

fn runtime() -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(WORKERS).max_blocking_threads(BLOCKING_MAX).enable_all();
    builder
        .build()
        .map_err(|cause| Failure::new(UNMET, "the program cannot start its threads").with("cause", cause))
}

/// Runs a command that talks to a server, and ends the server if it was started for it.
fn with_server(
    choice: &ServerChoice,
    work: impl AsyncFnOnce(&Connection) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    out::start_log(LogLevel::Error, LogFormat::Text);
    block_on(async {
        let connection = connect(choice).await?;
        let outcome = work(&connection).await;
        connection.close().await;
        outcome
    })
}
