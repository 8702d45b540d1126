//! Opens the engine, then the door.

use crate::args::Serve;
use crate::args::share_limits;
use crate::failure::{self, BROKEN, Failure, INTERRUPTED, UNMET, USAGE};
use crate::host::{self, PASSWORD, USERNAME, USUAL_USER};
use crate::{cmd, connect, keys, notify, out};
use secrecy::SecretString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use sturdy_engine::{Engine, Environment};
use sturdy_server::{App, Password, ServerOptions, ShareOptions};
use sturdy_session::types::event::{Event, Nothing};
use tokio::net::{TcpListener, lookup_host};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tracing::{info, warn};

/// Where clients look first.
const USUAL_PORT: u16 = 4096;

pub(crate) fn run(arguments: Serve) -> Result<ExitCode, Failure> {
    out::start_log(arguments.log_level, arguments.log_format);
    let environment = keys::environment();
    let environment = if arguments.trust_all { environment.trusting_all() } else { environment };
    let directory = connect::directory(None)?;
    cmd::block_on(serve(arguments, environment, directory))
}

async fn serve(arguments: Serve, environment: Environment, directory: PathBuf) -> Result<ExitCode, Failure> {
    // Before anybody can know that we are here: a signal that comes early must not tear us down.
    let mut signals = Signals::watch()?;
    let data_dir = arguments.data.or_default(&environment);
    let key = host::new_key();
    let password = password(&environment, &key);
    for origin in &arguments.cors {
        expect_origin(origin)?;
    }
    if password.is_none() && !arguments.insecure {
        expect_loopback(&arguments.hostname, arguments.port).await?;
    }
    let sharing = share_limits::sharing(&arguments.share_limit);
    let mut options = host::engine_options(&data_dir, arguments.durability.into(), environment, directory);
    options.share = sharing.pace;
    let engine = Engine::open(options).await.map_err(|cause| failure::booting(&data_dir, cause))?;
    let listener = match bind(&arguments.hostname, arguments.port).await {
        Ok(listener) => listener,
        Err(failure) => {
            engine.close().await;
            return Err(failure);
        }
    };
    start_servers(&engine);
    let address = address(&listener, &arguments.hostname);
    let key = password.as_ref().map(|_| key.as_str());
    if let Err(cause) = engine.announce(&address, key) {
        warn!(%cause, "other processes cannot be told where this one listens");
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
    names.push(arguments.hostname);
    let share = arguments.share.then(|| {
        let public_url = arguments.share_url.unwrap_or_else(|| address.clone());
        names.extend(host_of(&public_url));
        ShareOptions {
            public_url,
            gateway_key: share_key(&engine.options().environment),
            limits: sharing.service,
        }
    });
    let options = ServerOptions { password, cors: arguments.cors, names, share, ..ServerOptions::default() };
    let app = App::new(engine.clone(), options);
    let mut serving = engine.tasks().spawn("server", sturdy_server::serve(listener, app.clone()));
    notify::ready(&engine.options().environment, &address);
    let code = until_told(&mut signals, &mut serving, &engine).await;
    notify::stopping(&engine.options().environment);
    app.closing().cancel();
    tokio::select! {
        // The second word is not a request.
        code = signals.stop() => return Ok(code),
        _ = serving => {}
    }
    engine.close().await;
    info!("closed");
    Ok(code)
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

/// Serves until it is told to stop, or cannot go on.
async fn until_told(signals: &mut Signals, serving: &mut JoinHandle<()>, engine: &Engine) -> ExitCode {
    loop {
        tokio::select! {
            told = signals.next() => match told {
                Told::Stop(code) => return code,
                Told::ReadAgain => read_again(engine),
            },
            // Only ends when it is told to; a panic in it ends the program.
            _ = &mut *serving => return ExitCode::from(UNMET),
            // Nothing can be stored any more: whoever started us starts us again, and that settles what is open.
            () = engine.broke() => {
                out::talk("error: the store's writing thread failed; the server ends. Start it again.");
                return ExitCode::from(BROKEN);
            }
        }
    }
}

/// Configuration is read again when it is next needed, and clients are told to look again. What runs goes on.
fn read_again(engine: &Engine) {
    engine.dispose_all();
    engine.feed().tell(engine.clock().now(), None, None, Event::GlobalDisposed(Nothing {}));
    info!("configuration will be read again");
}

/// What a signal means.
enum Told {
    Stop(ExitCode),
    ReadAgain,
}

/// The ways to be told to stop, and to read configuration again.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn watch() -> Result<Self, Failure> {
        let refused =
            |cause: io::Error| Failure::new(UNMET, "signals cannot be watched").with("cause", cause);
        let interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
        let terminate = signal(SignalKind::terminate()).map_err(refused)?;
        let hangup = signal(SignalKind::hangup()).map_err(refused)?;
        Ok(Self { interrupt, terminate, hangup })
    }

    /// Waits for the next one.
    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::Stop(ExitCode::from(INTERRUPTED)),
            _ = self.terminate.recv() => Told::Stop(ExitCode::SUCCESS),
            _ = self.hangup.recv() => Told::ReadAgain,
        }
    }

    /// Waits until it is told to stop, and says which exit code that means.
    async fn stop(&mut self) -> ExitCode {
        loop {
            if let Told::Stop(code) = self.next().await {
                return code;
            }
        }
    }
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

/// An address as the resolver wants it.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

async fn bind(host: &str, port: u16) -> Result<TcpListener, Failure> {
    let wanted = if port == 0 { USUAL_PORT } else { port };
    match listen(host, wanted).await {
        Ok(listener) => Ok(listener),
        Err(cause) if port == 0 && cause.kind() == io::ErrorKind::AddrInUse => {
            listen(host, 0).await.map_err(|cause| refused(host, 0, &cause))
        }
        Err(cause) => Err(refused(host, wanted, &cause)),
    }
}

async fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((bare(host), port)).await
}

fn refused(host: &str, port: u16, cause: &io::Error) -> Failure {
    let place = format!("{host}:{port}");
    match cause.kind() {
        io::ErrorKind::AddrInUse => Failure::new(UNMET, "the port is in use")
            .with("address", place)
            .with("try", "sturdy serve --port 0   takes a free one"),
        io::ErrorKind::PermissionDenied => Failure::new(UNMET, "this port needs more rights than you have")
            .with("address", place)
            .with("try", "a port above 1023, as in: sturdy serve --port 4096"),
        io::ErrorKind::AddrNotAvailable => Failure::new(USAGE, "this machine does not have that address")
            .with("address", place)
            .with("try", "sturdy serve --hostname 127.0.0.1"),
        _ => Failure::new(UNMET, "the server cannot listen")
            .with("address", place)
            .with("cause", cause)
            .with("try", "sturdy serve --hostname 127.0.0.1 --port 0"),
    }
}

/// The address in the form a client can use.
fn address(listener: &TcpListener, host: &str) -> String {
    let port = listener.local_addr().as_ref().map_or(0, SocketAddr::port);
    if host.contains(':') && !host.starts_with('[') {
        format!("http://[{host}]:{port}")
    } else {
        format!("http://{host}:{port}")
    }
}
