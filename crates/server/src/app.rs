//! What every handler can reach.

mod client_lines;
mod controls;
mod share_limits;
mod share_pages;
mod share_readers;
mod shares;
pub(crate) mod terminals;

pub(crate) use client_lines::{ClientLine, ClientLines};
pub(crate) use controls::Controls;
pub use share_limits::ServiceLimits;
pub(crate) use share_pages::Page;
pub(crate) use share_readers::{Reader, ReaderCounts};
pub use shares::ShareOptions;
pub(crate) use shares::{Shares, WholeRoom};
pub(crate) use terminals::Terminals;

use crate::access::auth::{FailedLogins, Password};
use crate::access::cors::Origins;
use crate::access::devices::Devices;
use crate::access::door::Names;
use crate::access::grants::Grants;
use crate::access::tickets::Tickets;
use crate::access::tokens::Tokens;
use crate::connections::{Connections, Sockets};
use crate::error::ApiError;
use crate::streams::Streams;
use http::HeaderValue;
use std::sync::Arc;
use std::time::Duration;
use sturdy_engine::Engine;
use sturdy_engine::feed::Cursor;
use sturdy_worktree::search::KeptNames;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Below every client's patience.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A checkout with a very large file takes longer than anybody waits.
const GIT_PATIENCE: Duration = Duration::from_secs(30);

/// More are told to come back.
const CONNECTIONS_MAX: usize = 2048;
/// A thousand viewers of a share, and everybody else.
const STREAMS_MAX: usize = 1536;
/// Bodies above the usual size that are read at once; each may hold 32 MiB.
const UPLOADS_MAX: usize = 16;
/// Large values that are sent at once; each is held until its reader has it.
const LARGE_VALUES_MAX: usize = 8;

/// How the server meets the outside.
#[derive(Debug)]
pub struct ServerOptions {
    /// None: everybody who reaches the port may use it.
    pub password: Option<Password>,
    /// Web pages from these origins may use the API, besides those of this machine.
    pub cors: Vec<String>,
    /// Without a password, only requests to these names are answered, besides those of this machine.
    pub names: Vec<String>,
    /// Connections at once, and how many of them may be event streams.
    pub connections_max: usize,
    pub streams_max: usize,
    /// How often a silent event stream says that it is alive.
    pub heartbeat: Duration,
    /// How long somebody who asks about a checkout waits for git.
    pub git_patience: Duration,
    /// None: this server receives no shares.
    pub share: Option<ShareOptions>,
    pub offer: Offer,
}

/// Which routes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offer {
    #[default]
    Everything,
    /// Only the share service, what it needs to be looked after, and the page that shows a share.
    Shares,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            password: None,
            cors: Vec::new(),
            names: Vec::new(),
            connections_max: CONNECTIONS_MAX,
            streams_max: STREAMS_MAX,
            heartbeat: HEARTBEAT,
            git_patience: GIT_PATIENCE,
            share: None,
            offer: Offer::default(),
        }
    }
}

/// Cheap to clone; all clones are one server.
#[derive(Clone, Debug)]
pub struct App {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    password: Option<Password>,
    guesses: FailedLogins,
    origins: Origins,
    names: Names,
    connections: Connections,
    streams: Streams,
    uploads: Arc<Semaphore>,
    large_values: Arc<Semaphore>,
    heartbeat: Duration,
    git_patience: Duration,
    closing: CancellationToken,
    sockets: Sockets,
    share_sockets: Sockets,
    devices: Devices,
    tokens: Tokens,
    grants: Grants,
    tickets: Tickets,
    /// Different after every start.
    boot: String,
    terminals: Terminals,
    file_names: Arc<KeptNames>,
    controls: Controls,
    client_lines: ClientLines,
    shares: Option<Shares>,
    offer: Offer,
}

impl App {
    #[must_use]
    pub fn new(engine: Engine, options: ServerOptions) -> Self {
        let shares = options.share.map(|options| Shares::new(options, &engine));
        let devices = Devices::open(&engine.options().data_dir);
        let tokens = Tokens::open(&engine.options().data_dir);
        let inner = Inner {
            engine,
            password: options.password,
            guesses: FailedLogins::default(),
            origins: Origins::new(&options.cors),
            names: Names::new(&options.names),
            connections: Connections::new(options.connections_max),
            streams: Streams::new(options.streams_max),
            uploads: Arc::new(Semaphore::new(UPLOADS_MAX)),
            large_values: Arc::new(Semaphore::new(LARGE_VALUES_MAX)),
            heartbeat: options.heartbeat,
            git_patience: options.git_patience,
            closing: CancellationToken::new(),
            sockets: Sockets::default(),
            share_sockets: Sockets::default(),
            devices,
            tokens,
            grants: Grants::default(),
            tickets: Tickets::default(),
            boot: format!("{:016x}", rand::random::<u64>()),
            terminals: Terminals::default(),
            file_names: Arc::default(),
            controls: Controls::default(),
            client_lines: ClientLines::default(),
            shares,
            offer: options.offer,
        };
        Self { inner: Arc::new(inner) }
    }

    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// What terminals were told.
    pub(crate) fn controls(&self) -> &Controls {
        &self.inner.controls
    }

    /// Lines that clients put into the log.
    pub(crate) fn client_lines(&self) -> &ClientLines {
        &self.inner.client_lines
    }

    /// Names of files that were looked for before.
    pub(crate) fn file_names(&self) -> &Arc<KeptNames> {
        &self.inner.file_names
    }

    pub(crate) fn password(&self) -> Option<&Password> {
        self.inner.password.as_ref()
    }

    pub(crate) fn guesses(&self) -> &FailedLogins {
        &self.inner.guesses
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.inner.origins
    }

    pub(crate) fn names(&self) -> &Names {
        &self.inner.names
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.inner.connections
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.inner.streams
    }

    /// Room for one more large body.
    pub(crate) fn upload(&self) -> Option<OwnedSemaphorePermit> {
        self.inner.uploads.clone().try_acquire_owned().ok()
    }

    /// Room for one more large value on its way out.
    pub(crate) fn large_value(&self) -> Option<OwnedSemaphorePermit> {
        self.inner.large_values.clone().try_acquire_owned().ok()
    }

    pub(crate) fn git_patience(&self) -> Duration {
        self.inner.git_patience
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        self.inner.heartbeat
    }

    /// Browsers that are logged in.
    pub(crate) fn devices(&self) -> &Devices {
        &self.inner.devices
    }

    /// Programs that were given a token.
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.inner.tokens
    }

    /// Does what waits for a disk where nobody else waits for it. It is done also when nobody waits for the answer.
    pub(crate) async fn on_a_thread<T, F>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> T + Send + 'static,
    {
        let app = self.clone();
        // Boxed: compiled for each result and not for each piece of work.
        let work: Box<dyn FnOnce() -> T + Send> = Box::new(move || work(&app));
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| ApiError::Overloaded("The server is stopping.".to_owned()))
    }

    /// The same for what nobody waits for.
    pub(crate) fn write_down(&self, work: impl FnOnce(&Self) + Send + 'static) {
        let app = self.clone();
        drop(tokio::task::spawn_blocking(move || work(&app)));
    }

    /// Holders of grants that are being answered.
    pub(crate) fn grants(&self) -> &Grants {
        &self.inner.grants
    }

    /// Downloads that are about to be made.
    pub(crate) fn tickets(&self) -> &Tickets {
        &self.inner.tickets
    }

    /// Names this run of the server.
    pub(crate) fn boot(&self) -> &str {
        &self.inner.boot
    }

    /// A place in the log as clients know it: the form of an event's id.
    pub(crate) fn place(&self, position: u64) -> String {
        Cursor::after(position).text(&self.engine().reads().epoch())
    }

    /// The same as a header.
    pub(crate) fn position(&self, position: u64) -> HeaderValue {
        HeaderValue::from_str(&self.place(position)).expect("BUG: a place is plain text")
    }

    pub(crate) fn shares(&self) -> Option<&Shares> {
        self.inner.shares.as_ref()
    }

    pub(crate) fn offer(&self) -> Offer {
        self.inner.offer
    }

    pub(crate) fn sockets(&self) -> &Sockets {
        &self.inner.sockets
    }

    /// Those of the share service, which may be open to all: strangers take nobody's place but their own.
    pub(crate) fn share_sockets(&self) -> &Sockets {
        &self.inner.share_sockets
    }

    pub(crate) fn terminals(&self) -> &Terminals {
        &self.inner.terminals
    }

    /// Cancelled when the server should stop: no new connections, streams end.
    #[must_use]
    pub fn closing(&self) -> &CancellationToken {
        &self.inner.closing
    }
}
