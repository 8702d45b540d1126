//! One file per command.

pub(crate) mod attach;
pub(crate) mod auth;
pub(crate) mod doctor;
pub(crate) mod du;
pub(crate) mod gc;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod models;
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
use std::process::ExitCode;
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

/// Runs a command that talks to a server, and ends the server if it was started for it.
fn with_server(
    choice: &ServerChoice,
    work: impl AsyncFnOnce(&Connection) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    out::start_log(LogLevel::Error, LogFormat::Text);
    runtime()?.block_on(async {
        let connection = connect(choice).await?;
        let outcome = work(&connection).await;
        connection.close().await;
        outcome
    })
}
