//! What every handler can reach.

use crate::auth::{Attempts, Password};
use crate::cors::Origins;
use crate::door::Names;
use crate::rpc::Places;
use crate::terminals::Terminals;
use http::HeaderValue;
use std::sync::Arc;
use std::time::Duration;
use sturdy_engine::Engine;
use tokio_util::sync::CancellationToken;

/// Below every client's patience.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How the server meets the outside.
#[derive(Debug)]
pub struct ServerOptions {
    /// None: everybody who reaches the port may use it.
    pub password: Option<Password>,
    /// Web pages from these origins may use the API, besides those of this machine.
    pub cors: Vec<String>,
    /// Without a password, only requests to these names are answered, besides those of this machine.
    pub names: Vec<String>,
    /// How often a silent event stream says that it is alive.
    pub heartbeat: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { password: None, cors: Vec::new(), names: Vec::new(), heartbeat: HEARTBEAT }
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
    attempts: Attempts,
    origins: Origins,
    names: Names,
    heartbeat: Duration,
    closing: CancellationToken,
    rpc: Places,
    /// Different after every start.
    boot: String,
    terminals: Terminals,
}

impl App {
    #[must_use]
    pub fn new(engine: Engine, options: ServerOptions) -> Self {
        let inner = Inner {
            engine,
            password: options.password,
            attempts: Attempts::default(),
            origins: Origins::new(&options.cors),
            names: Names::new(&options.names),
            heartbeat: options.heartbeat,
            closing: CancellationToken::new(),
            rpc: Places::default(),
            boot: format!("{:016x}", rand::random::<u64>()),
            terminals: Terminals::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(crate) fn password(&self) -> Option<&Password> {
        self.inner.password.as_ref()
    }

    pub(crate) fn attempts(&self) -> &Attempts {
        &self.inner.attempts
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.inner.origins
    }

    pub(crate) fn names(&self) -> &Names {
        &self.inner.names
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        self.inner.heartbeat
    }

    /// Names this run of the server.
    pub(crate) fn boot(&self) -> &str {
        &self.inner.boot
    }

    /// A place in the log as clients know it: the form of an event's id.
    pub(crate) fn place(&self, position: u64) -> String {
        position.to_string()
    }

    /// The same as a header.
    pub(crate) fn position(&self, position: u64) -> HeaderValue {
        HeaderValue::from_str(&self.place(position)).expect("BUG: a place is plain text")
    }

    pub(crate) fn rpc(&self) -> &Places {
        &self.inner.rpc
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
