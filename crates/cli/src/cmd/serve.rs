//! `sturdy serve`: opens the engine, then listens.

mod listen;
mod open_files;
pub(super) mod shares;
mod until;

use crate::args::{LogFormat, LogLevel, Serve, share_limits};
use crate::failure::{self, Failure, USAGE};
use crate::host::{self, PASSWORD, USERNAME, USUAL_USER};
use crate::traces::{self, Exporter};
use crate::{cmd, connect, keys, out};
use listen::{address, bare, bind, refused};
use secrecy::SecretString;
use std::path::PathBuf;
use std::process::ExitCode;
use sturdy_engine::task::Tasks;
use sturdy_engine::{Engine, Environment};
use sturdy_server::{App, Password, ServerOptions, ShareOptions};
use tokio::net::lookup_host;
use tracing::warn;
use until::{Signals, until_told};

pub(crate) fn run(arguments: Serve) -> Result<ExitCode, Failure> {
    let environment = keys::environment();
    let exporter = start_log(arguments.log_level, arguments.log_format, &environment);
    let environment = if arguments.trust_all { environment.trusting_all() } else { environment };
    let directory = connect::directory(None)?;
    cmd::block_on(serve(arguments, environment, directory, exporter))
}

/// Starts the log, and the recording of spans if the environment asks for them.
fn start_log(level: LogLevel, format: LogFormat, environment: &Environment) -> Option<Exporter> {
    match traces::from_environment(environment).map(Option::unzip) {
        Ok((spans, exporter)) => {
            out::start_log_and(level, format, spans);
            exporter
        }
        Err(unusable) => {
            out::start_log(level, format);
            warn!(cause = %unusable, "traces are not exported");
            None
        }
    }
}

/// Sends spans until it is told to finish: after the engine, whose last spans it sends too.
fn start_exporter(exporter: Option<Exporter>) -> Tasks {
    let tasks = Tasks::default();
    if let Some(exporter) = exporter {
        tasks.spawn("traces", exporter.run(tasks.stopping().clone()));
    }
    tasks
}

async fn serve(
    arguments: Serve,
    environment: Environment,
    directory: PathBuf,
    exporter: Option<Exporter>,
) -> Result<ExitCode, Failure> {
    // Before anybody can know that we are here: a signal that comes early must not tear us down.
    let mut signals = Signals::watch()?;
    let data_dir = arguments.data.or_default(&environment);
    let key = host::new_key();
    let password = password(&environment, &key);
    for origin in &arguments.cors {
        expect_origin(origin)?;
    }
    let inherited = if arguments.listen_on_stdin { Some(listen::inherited()?) } else { None };
    let given = inherited.as_ref().and_then(|listener| listener.local_addr().ok());
    let hostname = given.map_or(arguments.hostname, |address| address.ip().to_string());
    if password.is_none() && !arguments.insecure {
        expect_loopback(&hostname, arguments.port).await?;
    }
    let sharing = share_limits::sharing(&arguments.share_limit);
    let mut options = host::engine_options(&data_dir, arguments.durability.into(), environment, directory);
    options.share = sharing.pace;
    let engine = Engine::open(options).await.map_err(|cause| failure::booting(&data_dir, cause))?;
    let bound = match inherited {
        Some(listener) => Ok(listener),
        None => bind(&hostname, arguments.port).await,
    };
    let listener = match bound {
        Ok(listener) => listener,
        Err(failure) => {
            engine.close().await;
            return Err(failure);
        }
    };
    let exporting = start_exporter(exporter);
    // Before the server says that it listens: a client may connect right after that line.
    let limits = open_files::server_options();
    start_servers(&engine);
    let address = address(&listener, &hostname);
    let key = password.as_ref().map(|_| key.as_str());
    if let Err(cause) = engine.announce(&address, key) {
        warn!(%cause, "the address of this server could not be stored; other programs will not find it");
    }
    if password.is_none() {
        let who = if arguments.insecure {
            "everybody who can reach the server"
        } else {
            "every user of this machine"
        };
        out::talk(&format!("warning: {} is not set; {who} can use it", PASSWORD[0]));
    }
    out::data(&format!("sturdy data is in {}", data_dir.display()));
    out::data(&format!("sturdy server listening on {address}"));
    out::data(&format!("open {address} in a browser"));
    out::data(&format!("attach a terminal with: sturdy attach, or: opencode attach {address}"));

    let mut names = arguments.allow_host;
    names.push(hostname);
    let share = arguments.share.then(|| {
        let public_url = arguments.share_url.unwrap_or_else(|| address.clone());
        names.extend(host_of(&public_url));
        ShareOptions {
            public_url,
            gateway_key: share_key(&engine.options().environment),
            limits: sharing.service,
        }
    });
    let options = ServerOptions { password, cors: arguments.cors, names, share, ..limits };
    let app = App::new(engine.clone(), options);
    Ok(until_told(&mut signals, listener, app, &address, exporting).await)
}

/// Who may create shares, when not everybody may.
fn share_key(environment: &Environment) -> Option<SecretString> {
    environment.filled("STURDY_SHARE_KEY").map(SecretString::from)
}

/// The name by which people reach the server.
fn host_of(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().filter(|host| !host.is_empty()).map(str::to_owned)
}

/// Connects the MCP servers of the directory the server works in; clients that look find them connected. A
/// directory with wrong settings says so to whoever works in it.
fn start_servers(engine: &Engine) {
    let directory = engine.options().directory.to_string_lossy().into_owned();
    let starting = engine.start_servers(&directory);
    engine.tasks().spawn("start", async move {
        if let Err(cause) = starting.await {
            warn!(%cause, "the MCP servers of this directory are not started");
        }
    });
}

/// The user's password, and a key of this process for the user's own commands.
fn password(environment: &Environment, key: &str) -> Option<Password> {
    let secret = host::first(environment, PASSWORD)?.to_owned();
    let user = host::first(environment, USERNAME).unwrap_or(USUAL_USER);
    Some(Password::new(user, secret).or_key(key))
}

/// Without a password, whoever reaches the port can run commands as the user of the server.
async fn expect_loopback(host: &str, port: u16) -> Result<(), Failure> {
    let found = lookup_host((bare(host), port)).await.map_err(|cause| refused(host, port, &cause))?;
    for address in found {
        if !address.ip().is_loopback() {
            return Err(Failure::new(USAGE, "other machines would be let in without a password")
                .with("address", address.ip())
                .with("try", format!("{}=… sturdy serve --hostname {host}", PASSWORD[0]))
                .with("or", "sturdy serve --insecure, if everybody who reaches the port may use it"));
        }
    }
    Ok(())
}

fn expect_origin(origin: &str) -> Result<(), Failure> {
    if sturdy_server::is_origin(origin) {
        return Ok(());
    }
    Err(Failure::new(USAGE, "this is not an origin of a web page")
        .with("value", format!("--cors {origin}"))
        .with("try", "--cors https://tools.example   scheme and host, maybe a port, and no path"))
}
