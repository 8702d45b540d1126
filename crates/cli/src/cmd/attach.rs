//! The installed OpenCode terminal on this store's server.
//!
//! The terminal is a program of its own; it is given the URL, and the password in its environment. A server that
//! was started for it ends with it.

use crate::args::{Attach, LogFormat, LogLevel, ServerChoice};
use crate::connect;
use crate::failure::{Failure, UNMET};
use crate::host::{PASSWORD, USERNAME};
use crate::{cmd, out};
use std::io;
use std::process::ExitCode;
use tokio::process::Command;

const TERMINAL: &str = "opencode";

pub(crate) fn run(arguments: Attach) -> Result<ExitCode, Failure> {
    // Nothing of ours is printed over the terminal's screen.
    out::start_log(LogLevel::Off, LogFormat::Text);
    cmd::block_on(attach(arguments))
}

async fn attach(arguments: Attach) -> Result<ExitCode, Failure> {
    let directory = connect::directory(arguments.dir.as_deref())?;
    let choice = ServerChoice { server: arguments.url, dir: arguments.dir, data: arguments.data };
    let server = connect::connect(&choice).await?;
    let mut terminal = Command::new(TERMINAL);
    terminal.arg("attach").arg(server.client.url()).arg("--dir").arg(&directory).args(&arguments.arguments);
    if let Some((user, secret)) = server.client.credentials() {
        terminal.env(PASSWORD[1], secret).env(USERNAME[1], user);
    }
    // Ctrl-C is the terminal's; it must not end the server under it.
    let _interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    let ended = terminal.status().await;
    server.close().await;
    let status = ended.map_err(|cause| missing(&cause))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn missing(cause: &io::Error) -> Failure {
    let failure = match cause.kind() {
        io::ErrorKind::NotFound => Failure::new(UNMET, "the OpenCode terminal is not installed"),
        _ => Failure::new(UNMET, "the OpenCode terminal does not start").with("cause", cause),
    };
    failure
        .with("looked", format!("for \"{TERMINAL}\" in PATH"))
        .with("try", "npm install -g opencode-ai, or: sturdy run \"…\"")
}
