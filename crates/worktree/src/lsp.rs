//! Language servers: started by the first file they know, asked after each change, ended with the
//! directory.
//!
//! A server is started once for each root. One that cannot be started, breaks off, speaks nonsense or
//! too much of it (`frame.rs`) is broken and stays so; nothing is tried in a loop. If it was our own code that broke, it
//! is started again by the next file it knows, a few times. A change waits a bounded time for what the
//! servers say about it and goes on without them.
//!
//! Not here: which servers a directory has (the engine, from its settings), and what a tool makes of
//! their words (`tools/change.rs`).

mod client;
mod diagnostic;
mod frame;
mod known;
mod words;

pub use known::{known, known_names};
pub use words::Operation;

use crate::process::{Inherited, Service, StartedService};
use client::Client;
pub use diagnostic::{Diagnostic, Severity};
use frame::FrameError;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What a change waits for a server that is just being started. It goes on starting meanwhile.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// Symbols shown of a search.
const SYMBOLS_MAX: usize = 10;

/// Files of others whose errors are told.
const OTHER_FILES_MAX: usize = 20;

/// Servers of one directory. Beyond that a server is started for the directory itself and not for each of the places
/// below it that could be a root: a repository may have hundreds of them.
const SERVERS_MAX: usize = 16;

/// How often a server is started that our own code brought down.
const STARTS_MAX: u32 = 3;

/// A program that knows a language.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub id: String,
    pub command: Vec<String>,
    /// With their dot; none is every file.
    pub extensions: Vec<String>,
    pub variables: Vec<(String, String)>,
    /// What it is told at its start.
    pub initialization: Value,
    /// Its root is the nearest directory that holds one of these.
    pub root_files: Vec<String>,
}

/// How a started server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub id: String,
    pub root: PathBuf,
    /// Why it does not run any more.
    pub broken: Option<String>,
}

/// Why a language server gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LspError {
    #[error("no language server is configured for this file")]
    NoServer,
    #[error("the language server {id} does not run: {why}")]
    Broken { id: String, why: String },
    #[error("the language server took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("the language server refused")]
    Refused(#[source] async_lsp::Error),
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf),
}

/// Starts a task.
pub type Spawn = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;
/// Called when a language server was started or failed.
pub type OnStateChange = Arc<dyn Fn() + Send + Sync>;

/// The language servers of one directory. Dropping it ends them.
pub struct Lsp {
    servers: Vec<Server>,
    directory: PathBuf,
    inherited: Inherited,
    /// Given to every server.
    variables: Vec<(OsString, OsString)>,
    spawn: Spawn,
    tell: OnStateChange,
    stop: CancellationToken,
    start_patience: Duration,
    started: Mutex<Started>,
}

/// By name and root.
type Started = HashMap<(String, PathBuf), Running>;

/// One server, and how often it was started.
struct Running {
    state: watch::Sender<State>,
    starts: u32,
}

/// A server is starting, then one of the others; `Ready` may become `Broken`.
#[derive(Clone)]
enum State {
    Starting,
    Ready(Arc<Client>),
    /// And why.
    Broken(Arc<str>),
    /// The task that talks to it has panicked. The fault is ours, so it may be started again.
    Panicked,
}

impl State {
    /// Why it does not run and will not by itself.
    fn why_broken(&self) -> Option<String> {
        match self {
            Self::Starting | Self::Ready(_) => None,
            Self::Broken(why) => Some(why.to_string()),
            Self::Panicked => Some(PANICKED.to_owned()),
        }
    }
}

const PANICKED: &str = "Sturdy panicked while it talked to it; this is a bug";

impl fmt::Debug for Lsp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lsp").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Drop for Lsp {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Server {
    #[must_use]
    pub fn takes(&self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        self.extensions.is_empty() || self.extensions.iter().any(|end| name.ends_with(end.as_str()))
    }
}

impl Lsp {
    #[must_use]
    pub fn new(
        servers: Vec<Server>,
        directory: PathBuf,
        variables: Vec<(OsString, OsString)>,
        spawn: Spawn,
        tell: OnStateChange,
        stop: CancellationToken,
    ) -> Self {
        let start_patience = START_PATIENCE;
        let started = Mutex::default();
        let inherited = Inherited::default();
        Self { servers, directory, inherited, variables, spawn, tell, stop, start_patience, started }
    }

    /// What the servers inherit.
    #[must_use]
    pub fn inheriting(self, inherited: Inherited) -> Self {
        let mut lsp = self;
        lsp.inherited = inherited;
        lsp
    }

    /// How long a change waits for a server that is just being started.
    #[must_use]
    pub fn start_patience(self, start_patience: Duration) -> Self {
        let mut lsp = self;
        lsp.start_patience = start_patience;
        lsp
    }

    /// The servers that were started, by name and root.
    #[must_use]
    pub fn status(&self) -> Vec<Status> {
        let one = |((id, root), running): (&(String, PathBuf), &Running)| {
            let state = running.state.borrow();
            let is_starting = matches!(&*state, State::Starting);
            let broken = state.why_broken();
            (!is_starting).then(|| Status { id: id.clone(), root: root.clone(), broken })
        };
        let mut all: Vec<Status> = self.lock().iter().filter_map(one).collect();
        all.sort_by(|a, b| (&a.id, &a.root).cmp(&(&b.id, &b.root)));
        all
    }

    /// Starts the servers of a file, if they were not, without waiting: who reads it may change it soon.
    pub async fn warm(&self, path: &Path) {
        for server in self.servers.iter().filter(|server| server.takes(path)) {
            drop(self.start(server, path).await);
        }
    }

    /// Tells the servers that these files changed, and what they have to say about them: all of it for
    /// these, the errors for others.
    pub async fn diagnose(&self, paths: &[PathBuf]) -> Vec<Diagnostic> {
        let mut asked: Vec<Arc<Client>> = Vec::new();
        for path in paths {
            let clients = self.clients_of(path).await;
            join_all(clients.iter().map(|client| client.look_at(path))).await;
            for client in clients {
                if !asked.iter().any(|known| Arc::ptr_eq(known, &client)) {
                    asked.push(client);
                }
            }
        }
        let mut all = Vec::new();
        let mut others = Vec::new();
        for client in asked {
            client.gather(paths, &mut all, &mut others);
        }
        others.truncate(OTHER_FILES_MAX);
        all.extend(others.into_iter().flatten());
        all
    }

    /// Symbols whose name fits, of all servers that run.
    pub async fn symbols(&self, query: &str) -> Vec<Value> {
        let running = self.running();
        let found = join_all(running.iter().map(|client| client.symbols(query))).await;
        found.into_iter().flatten().take(SYMBOLS_MAX).collect()
    }

    /// What the servers of a file know of a place in it. `line` and `column` count from 1.
    pub async fn operate(
        &self,
        operation: Operation,
        path: &Path,
        (line, column): (u32, u32),
        query: &str,
    ) -> Result<Vec<Value>, LspError> {
        let clients = self.clients_of(path).await;
        if clients.is_empty() {
            return Err(self.why_nobody(path).await);
        }
        let mut results = Vec::new();
        for client in clients {
            client.open(path).await?;
            results.extend(client.operate(operation, path, (line, column), query).await?);
        }
        Ok(results)
    }

    async fn why_nobody(&self, path: &Path) -> LspError {
        let Some(server) = self.servers.iter().find(|server| server.takes(path)) else {
            return LspError::NoServer;
        };
        let why = self.start(server, path).await.borrow().why_broken();
        let why = why.unwrap_or_else(|| "it is still starting".to_owned());
        LspError::Broken { id: server.id.clone(), why }
    }

    /// The servers that know this file and run; those that do not run yet are started.
    async fn clients_of(&self, path: &Path) -> Vec<Arc<Client>> {
        let waiting = self.servers.iter().filter(|server| server.takes(path)).map(|server| {
            let patience = self.start_patience;
            async move {
                let mut state = self.start(server, path).await;
                let settled = state.wait_for(|state| !matches!(state, State::Starting));
                let state = tokio::time::timeout(patience, settled).await.ok()?.ok()?.clone();
                match state {
                    State::Ready(client) => Some(client),
                    State::Starting | State::Broken(_) | State::Panicked => None,
                }
            }
        });
        join_all(waiting).await.into_iter().flatten().collect()
    }

    fn running(&self) -> Vec<Arc<Client>> {
        let ready = |running: &Running| match &*running.state.borrow() {
            State::Ready(client) => Some(client.clone()),
            State::Starting | State::Broken(_) | State::Panicked => None,
        };
        self.lock().values().filter_map(ready).collect()
    }

    /// How the server of this file is; started if it never was, or if it was our fault that it broke.
    async fn start(&self, server: &Server, path: &Path) -> watch::Receiver<State> {
        let mut root = self.root_of(server, path).await;
        let mut started = self.lock();
        if started.len() >= SERVERS_MAX && !started.contains_key(&(server.id.clone(), root.clone())) {
            root.clone_from(&self.directory);
        }
        let is_new = || Running { state: watch::Sender::new(State::Starting), starts: 0 };
        let running = started.entry((server.id.clone(), root.clone())).or_insert_with(is_new);
        let state = running.state.clone();
        let receiver = state.subscribe();
        let is_panicked = matches!(&*state.borrow(), State::Panicked);
        if running.starts > 0 && !(is_panicked && running.starts < STARTS_MAX) {
            return receiver;
        }
        running.starts += 1;
        state.send_replace(State::Starting);
        drop(started);
        let variables = self.variables.clone();
        let inherited = self.inherited.clone();
        let tell = self.tell.clone();
        let stop = self.stop.clone();
        (self.spawn)(Box::pin(serve(server.clone(), root, inherited, variables, state, tell, stop)));
        receiver
    }

    /// Looked for where nobody else waits: the disk may hang.
    async fn root_of(&self, server: &Server, path: &Path) -> PathBuf {
        let directory = self.directory.clone();
        let names = server.root_files.clone();
        let path = path.to_owned();
        let look = move || {
            let inside = |place: &&Path| place.starts_with(&directory);
            let is_root = |place: &&Path| names.iter().any(|file| place.join(file).exists());
            path.ancestors().skip(1).take_while(inside).find(is_root).map(Path::to_owned)
        };
        let found = tokio::task::spawn_blocking(look).await.ok().flatten();
        found.unwrap_or_else(|| self.directory.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Started> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs one server from its start to its end.
async fn serve(
    server: Server,
    root: PathBuf,
    inherited: Inherited,
    variables: Vec<(OsString, OsString)>,
    state: watch::Sender<State>,
    tell: OnStateChange,
    stop: CancellationToken,
) {
    let id = server.id.clone();
    let talk = async {
        let (client, talking) =
            Client::connect(&server, &root, start_process(&server, &root, inherited, variables).await?);
        tokio::pin!(talking);
        tokio::select! {
            ended = &mut talking => return Ok(ended),
            ready = client.introduce(&server) => ready?,
        }
        state.send_replace(State::Ready(Arc::new(client)));
        tell();
        Ok(talking.await)
    };
    // What it held is dropped by the panic, and nothing of it is looked at again.
    let talk = AssertUnwindSafe(talk).catch_unwind();
    let last = tokio::select! {
        ended = talk => {
            let last = match ended {
                Ok(Ok(Ok(()))) => State::Broken("it has ended".into()),
                Ok(Ok(Err(cause))) => State::Broken(last_words(&cause).into()),
                Ok(Err(LspError::Broken { why, .. })) => State::Broken(why.into()),
                Ok(Err(cause)) => State::Broken(cause.to_string().into()),
                Err(_) => State::Panicked,
            };
            tracing::warn!(server = id, why = last.why_broken(), "language server broke");
            last
        }
        () = stop.cancelled() => State::Broken("its directory is closed".into()),
    };
    // Lets go of the client, and with it of the process.
    state.send_replace(last);
    tell();
}

/// Starts the process where nobody else waits: it enters its root while it is started, and that hangs if the disk does.
async fn start_process(
    server: &Server,
    root: &Path,
    inherited: Inherited,
    variables: Vec<(OsString, OsString)>,
) -> Result<StartedService, LspError> {
    let own = server.variables.iter().map(|(name, value)| (name.into(), value.into()));
    let variables: Vec<(OsString, OsString)> = variables.into_iter().chain(own).collect();
    let command = server.command.clone();
    let root = root.to_owned();
    let starting = move || Service::start(&command, &root, &inherited, variables);
    let started = tokio::task::spawn_blocking(starting).await.unwrap_or_else(|cause| Err(cause.into()));
    started.map_err(|cause| {
        let why = format!("it cannot be started: {cause}");
        LspError::Broken { id: server.id.clone(), why }
    })
}

/// Why a talk ended. What the server said is not repeated: it may be a piece of somebody's file.
fn last_words(cause: &async_lsp::Error) -> String {
    match cause {
        async_lsp::Error::Eof | async_lsp::Error::ServiceStopped => "it has ended".to_owned(),
        async_lsp::Error::Deserialize(_) | async_lsp::Error::Protocol(_) => FrameError::Nonsense.to_string(),
        async_lsp::Error::Io(cause) => cause.to_string(),
        _ => "the connection broke".to_owned(),
    }
}
