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
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::process::Command;
use url::{Host, Url};

const TERMINAL: &str = "opencode";

pub(crate) fn run(arguments: Attach) -> Result<ExitCode, Failure> {
    // Nothing of ours is printed over the terminal's screen.
    out::start_log(LogLevel::Off, LogFormat::Text);
    cmd::block_on(attach(arguments))
}

async fn attach(arguments: Attach) -> Result<ExitCode, Failure> {
    let directory = directory(arguments.url.as_deref(), arguments.dir.clone())?;
    // Somebody else's server may have directories that are not here.
    let dir = arguments.dir.filter(|_| arguments.url.is_none());
    let choice = ServerChoice { server: arguments.url, dir, data: arguments.data };
    let server = connect::connect(&choice).await?;
    let mut terminal = Command::new(TERMINAL);
    terminal.arg("attach").arg(server.client.url());
    if let Some(directory) = directory {
        terminal.arg("--dir").arg(directory);
    }
    terminal.args(&arguments.arguments);
    if let Some((user, secret)) = server.client.credentials() {
        terminal.env(PASSWORD[1], secret).env(USERNAME[1], user);
    }
    // Ctrl-C is the terminal's; it must not end the server under it.
    let _interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    let ended = terminal.status().await;
    server.close().await;
    let status = ended.map_err(|cause| missing(&cause))?;
    // As a shell says it of a program that a signal ended.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(UNMET)))
}

/// Where the terminal works. Of a server on another machine only the user knows; without a word it is where that server is.
fn directory(server: Option<&str>, named: Option<PathBuf>) -> Result<Option<PathBuf>, Failure> {
    match (server, named) {
        (Some(_), Some(named)) => Ok(Some(named.canonicalize().unwrap_or(named))),
        (Some(server), None) if !is_on_this_machine(server) => Ok(None),
        (_, named) => connect::directory(named.as_deref()).map(Some),
    }
}

fn is_on_this_machine(server: &str) -> bool {
    let Ok(url) = Url::parse(server) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
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
