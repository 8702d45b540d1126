//! The MCP servers of one directory: which there are, how they stand, what they offer.
//!
//! Servers are connected when work begins in the directory, all of them at once, each by a task of its own that
//! keeps it (`keeper.rs`); whoever only looks connects nothing. A directory without servers has nothing of this:
//! no task, no client, no file is read.
//!
//! A prompt waits a moment for servers that are still connecting, and goes on without those that take
//! longer; they are there for its next step.
//!
//! Not here: the protocol (`sturdy_worktree::mcp`), prompts and resources (`offer.rs`), logins (`login.rs`, `returns.rs`).

mod callback;
mod keeper;
mod login;
mod offer;
mod parse;

pub(crate) use callback::Callback;
pub use login::LoginStarted;

use crate::clock::Clock;
use crate::directory::Directories;
use crate::directory::config::{McpEntry, Settings};
use crate::feed::Feed;
use crate::schema;
use crate::task::{PanicPlan, Tasks};
use keeper::{Keeper, Live, Order, State};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sturdy_session::types::event::Event;
use sturdy_worktree::mcp::auth::Logins;
use sturdy_worktree::mcp::{Client, McpTransport, Server, Servers, resource_tools};
use sturdy_worktree::process::{Inherited, STORE};
use sturdy_worktree::tool::Tool;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a prompt waits for servers that are not there yet.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Orders waiting for one server; people press a button now and then.
const ORDERS: usize = 8;
/// Servers of one directory. Each is a program, or a connection that is kept.
const SERVERS_MAX: usize = 128;

/// How a server stands, as clients are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Connected,
    Disabled,
    Failed(String),
    NeedsAuth,
    NeedsRegistration(String),
}

impl Status {
    #[must_use]
    pub fn wire(&self) -> Value {
        match self {
            Self::Connected => json!({ "status": "connected" }),
            Self::Disabled => json!({ "status": "disabled" }),
            Self::Failed(error) => json!({ "status": "failed", "error": plain(error) }),
            Self::NeedsAuth => json!({ "status": "needs_auth" }),
            Self::NeedsRegistration(error) => {
                json!({ "status": "needs_client_registration", "error": plain(error) })
            }
        }
    }
}

/// The words of a server without anything that a terminal would obey.
fn plain(words: &str) -> String {
    words.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}

/// Why a server was not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    #[error("MCP server not found: {0}")]
    Unknown(String),
    #[error("MCP server {0} does not support OAuth")]
    NoOAuth(String),
    /// What was sent makes no server.
    #[error("{0}")]
    Bad(String),
}

/// What keepers share.
pub(crate) struct Shared {
    directory: String,
    project: String,
    tasks: Tasks,
    panics: PanicPlan,
    feed: Feed,
    clock: Clock,
    logins: Logins,
    returns: Callback,
    /// What programs inherit.
    inherited: Inherited,
    /// Named to programs, so that what a killed server leaves running is found.
    realm: String,
    /// The program that shows a page to the user, if one is named.
    browser: Option<String>,
    stop: CancellationToken,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Shared {
    fn tell(&self, event: Event) {
        self.feed.tell(self.clock.now(), Some(&self.directory), Some(&self.project), event);
    }
}

/// One server and the way to its keeper.
#[derive(Debug)]
struct Entry {
    server: Server,
    state: watch::Receiver<State>,
    orders: mpsc::Sender<Order>,
    /// Not yet wanted by anybody.
    asleep: Option<Keeper>,
}

impl Entry {
    fn status(&self) -> Status {
        match (&self.asleep, &*self.state.borrow()) {
            // It would be connected, and nobody has asked for anything yet.
            (Some(_), State::Connecting) => Status::Disabled,
            (_, state) => state.status(),
        }
    }
}

/// All servers of a directory, in the order of the configuration. Dropping them ends them.
#[derive(Debug)]
pub struct McpServers {
    shared: Arc<Shared>,
    entries: Arc<Mutex<Vec<Entry>>>,
    timeout_ms: Option<u64>,
    /// Those of a project that is not trusted.
    withheld: Vec<String>,
    _stop: DropGuard,
}

/// The library for it lives in `schema.rs`; an invalid schema refuses nothing.
fn misfits(schema: &Map<String, Value>, value: &Value) -> Vec<String> {
    schema::misfits(schema, value).unwrap_or_default()
}

impl McpServers {
    pub(crate) fn new(
        directories: &Directories,
        directory: &str,
        project: &str,
        settings: &Settings,
        inherited: &Inherited,
    ) -> Self {
        let stop = directories.tasks.stopping().child_token();
        let shared = Arc::new(Shared {
            directory: directory.to_owned(),
            project: project.to_owned(),
            tasks: directories.tasks.clone(),
            panics: directories.panics.clone(),
            feed: directories.feed.clone(),
            clock: directories.clock.clone(),
            logins: directories.logins.clone(),
            returns: directories.returns.clone(),
            inherited: inherited.clone(),
            realm: directories.realm(),
            browser: directories.environment.filled("BROWSER").map(str::to_owned),
            stop: stop.clone(),
        });
        let servers = Self {
            shared,
            entries: Arc::default(),
            timeout_ms: settings.mcp_timeout_ms(),
            withheld: settings.withheld_servers().to_vec(),
            _stop: stop.drop_guard(),
        };
        for (name, entry) in settings.mcp() {
            servers.put(parse::server(name, entry.clone(), directory, servers.timeout_ms));
        }
        servers
    }

    /// How they stand, once each that was started has had its chance to connect.
    pub async fn status(&self) -> Vec<(String, Status)> {
        for mut state in self.states() {
            let _ = state.wait_for(State::is_tried).await;
        }
        let entries = self.lock();
        let mut all: Vec<(String, Status)> =
            entries.iter().map(|entry| (entry.server.name.clone(), entry.status())).collect();
        for name in &self.withheld {
            if !all.iter().any(|(known, _)| known == name) {
                all.push((name.clone(), Status::Failed(self.untrusted())));
            }
        }
        all
    }

    fn untrusted(&self) -> String {
        format!("not started: {} is not trusted", self.shared.directory)
    }

    /// Adds a server, or puts another one in its place, and connects it.
    pub async fn add(&self, name: &str, config: &Map<String, Value>) -> Result<(), ServerError> {
        let entry = McpEntry::read(name, config).map_err(ServerError::Bad)?;
        let server = parse::server(name, entry, &self.shared.directory, self.timeout_ms);
        let is_enabled = server.is_enabled;
        let is_known = self.lock().iter().any(|entry| entry.server.name == name);
        if !is_known && self.lock().len() >= SERVERS_MAX {
            return Err(ServerError::Bad(format!("A directory has at most {SERVERS_MAX} MCP servers")));
        }
        self.put(server);
        self.shared.returns.stop_in(&self.shared.directory, name);
        if is_enabled { self.connect(name).await } else { Ok(()) }
    }

    /// Connects a server, again if it is connected. How that went is its status.
    pub async fn connect(&self, name: &str) -> Result<(), ServerError> {
        self.order(name, Order::Connect).await
    }

    pub async fn disconnect(&self, name: &str) -> Result<(), ServerError> {
        self.order(name, Order::Disconnect).await
    }

    /// What they offer now. Waits a moment for those that were started and are not there yet.
    pub async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.settled().await;
        let live = self.connected();
        let mut tools = Vec::new();
        if live.iter().any(|live| live.client.has_resources()) {
            tools.extend(self.resource_tools());
        }
        tools.extend(live.iter().flat_map(|live| live.tools.iter().cloned()));
        tools
    }

    /// A tool by its name, also of a server that is being started again. Waits a moment for servers that are
    /// not there yet: a call that a person answers after a restart is the first to want them.
    pub(crate) async fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if self.lock().is_empty() {
            return None;
        }
        if let Some(served) = self.served(name) {
            return Some(served);
        }
        self.start();
        let is_read = self.resource_tools().into_iter().find(|tool| tool.spec().name == name);
        if is_read.is_none() || !self.connected().iter().any(|live| live.client.has_resources()) {
            self.settled().await;
        }
        is_read.or_else(|| self.served(name))
    }

    fn served(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let known = |entry: &Entry| match &*entry.state.borrow() {
            State::Connected(live) | State::Restarting { last: live, .. } => live.tool(name),
            _ => None,
        };
        self.lock().iter().find_map(known)
    }

    /// What servers want a model to know: name, words, and the names of their tools.
    pub(crate) fn instructions(&self) -> Vec<(String, String, Vec<String>)> {
        let of = |live: Arc<Live>| {
            let words = live.client.instructions()?;
            let tools = live.tools.iter().map(|tool| tool.spec().name.clone()).collect();
            Some((live.client.name().to_owned(), words, tools))
        };
        let mut all: Vec<_> = self.connected().into_iter().filter_map(of).collect();
        all.sort();
        all
    }

    /// Ends all of them, now.
    pub(crate) fn close(&self) {
        self.shared.stop.cancel();
    }

    fn resource_tools(&self) -> Vec<Arc<dyn Tool>> {
        let entries = Arc::downgrade(&self.entries);
        let clients: Servers = Arc::new(move || {
            let entries = entries.upgrade();
            entries.map(|entries| clients(&locked(&entries))).unwrap_or_default()
        });
        resource_tools(&clients)
    }

    /// Connects those that should be and are not. Nobody waits for that.
    pub(crate) fn start(&self) {
        for entry in self.lock().iter_mut().filter(|entry| entry.server.is_enabled) {
            match entry.asleep.take() {
                Some(keeper) => drop(self.shared.tasks.spawn("mcp", keeper.run())),
                // A full queue has better things to do.
                None => drop(entry.orders.try_send(Order::Retry)),
            }
        }
    }

    /// Waits a moment for those that were started.
    async fn settled(&self) {
        let all = async {
            for mut state in self.states() {
                let _ = state.wait_for(State::is_settled).await;
            }
        };
        let _ = timeout(WAIT_MAX, all).await;
    }

    async fn order(&self, name: &str, given: Given) -> Result<(), ServerError> {
        let is_known = self.lock().iter().any(|entry| entry.server.name == name);
        if !is_known && self.withheld.iter().any(|withheld| withheld == name) {
            return Err(ServerError::Bad(format!("MCP server {name} is {}", self.untrusted())));
        }
        order(&self.shared, &self.entries, name, given).await
    }

    fn put(&self, mut server: Server) {
        if let McpTransport::Local { variables, inherited, .. } = &mut server.place {
            *inherited = self.shared.inherited.clone();
            variables.push((STORE.to_owned(), self.shared.realm.clone()));
        }
        let (orders, inbox) = mpsc::channel(ORDERS);
        let (keeper, state) = Keeper::new(server.clone(), self.shared.clone(), inbox);
        let entry = Entry { server, state, orders, asleep: Some(keeper) };
        let mut entries = self.lock();
        // The keeper of the one before ends when nobody can give it orders.
        match entries.iter_mut().find(|known| known.server.name == entry.server.name) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
    }

    fn server(&self, name: &str) -> Result<Server, ServerError> {
        let entries = self.lock();
        let found = entries.iter().find(|entry| entry.server.name == name);
        found.map(|entry| entry.server.clone()).ok_or_else(|| ServerError::Unknown(name.to_owned()))
    }

    fn states(&self) -> Vec<watch::Receiver<State>> {
        self.lock().iter().filter(|entry| entry.asleep.is_none()).map(|entry| entry.state.clone()).collect()
    }

    fn connected(&self) -> Vec<Arc<Live>> {
        connected(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        locked(&self.entries)
    }
}

/// What is wanted of a server; who waits for its end is put into it.
type Given = fn(oneshot::Sender<()>) -> Order;

async fn order(
    shared: &Shared,
    entries: &Mutex<Vec<Entry>>,
    name: &str,
    given: Given,
) -> Result<(), ServerError> {
    let (done, ended) = oneshot::channel();
    let orders = {
        let mut entries = locked(entries);
        let entry = entries.iter_mut().find(|entry| entry.server.name == name);
        let Some(entry) = entry else { return Err(ServerError::Unknown(name.to_owned())) };
        if let Some(keeper) = entry.asleep.take() {
            shared.tasks.spawn("mcp", keeper.wait());
        }
        entry.orders.clone()
    };
    // Nobody there any more means that the directory is disposed, and the server with it.
    if orders.send(given(done)).await.is_ok() {
        let _ = ended.await;
    }
    Ok(())
}

fn locked(entries: &Mutex<Vec<Entry>>) -> MutexGuard<'_, Vec<Entry>> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connected(entries: &[Entry]) -> Vec<Arc<Live>> {
    let live = |entry: &Entry| match &*entry.state.borrow() {
        State::Connected(live) => Some(live.clone()),
        _ => None,
    };
    entries.iter().filter_map(live).collect()
}

fn clients(entries: &[Entry]) -> Vec<Client> {
    connected(entries).iter().map(|live| live.client.clone()).collect()
}
