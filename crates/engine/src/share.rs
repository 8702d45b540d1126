//! Sharing sessions: links, and one task for each that sends what its session shows.
//!
//! A link says where a session is shared (`sturdy_store::outbox`). Its task (`sender.rs`) is woken when the session
//! moved, gathers for a moment, compares the session's rows with what was said before, seals the difference into a
//! batch, sends it and waits for the answer. Whatever dies in between, the next start finds the sealed batch and
//! sends it again unchanged; the service recognises a repeat.
//!
//! The session's record is the truth about whether it is shared: an active link whose session is gone or does not carry
//! the link's URL is deleted at the service, however that came about. Only the link's task talks to the service about
//! it; whoever shares a session waits for that task (`attempts.rs`).
//!
//! Not here: receiving (`sturdy_store::share`, `sturdy-server`).

mod attempts;
mod flush;
mod ids;
mod known;
mod links;
mod owner;
mod retry;
mod sender;
mod target;
mod wakes;

pub use ids::{new_capability_id, new_secret, new_share_id};
pub use owner::{OwnerRequest, ServiceAnswer};
pub use wakes::Wakes;

use crate::clock::Clock;
use crate::directory::Directories;
use crate::environment::Environment;
use crate::feed::Moved;
use crate::run::Sessions;
use crate::task::Tasks;
use attempts::Attempts;
use flush::TransportPauses;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sturdy_llm::Http;
use sturdy_store::Store;
use sturdy_store::share::ShareLimits;
use tokio::sync::Semaphore;

/// How often, and how long.
#[derive(Clone, Copy, Debug)]
pub struct SharePace {
    /// Changes are gathered this long before they are sent,
    pub gather: Duration,
    /// and only this long while somebody watches the share here.
    pub gather_watched: Duration,
    /// The first wait after a failure; each is up to twice the last.
    pub retry_first: Duration,
    pub retry_last: Duration,
    /// A link with nothing to send is compared with its service this often.
    pub reconcile: Duration,
    /// For one request.
    pub request: Duration,
    /// A way of sending that a service does not understand is not tried again for so long.
    pub way_pause: Duration,
}

impl Default for SharePace {
    fn default() -> Self {
        Self {
            gather: Duration::from_secs(1),
            gather_watched: Duration::from_millis(150),
            retry_first: Duration::from_secs(1),
            retry_last: Duration::from_secs(5 * 60),
            reconcile: Duration::from_secs(15 * 60),
            request: Duration::from_secs(30),
            way_pause: Duration::from_secs(10 * 60),
        }
    }
}

/// Requests to services at once.
const SENDING_MAX: usize = 8;

/// What sharing is handed to work with.
#[derive(Debug)]
pub(crate) struct SharePorts {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) http: Http,
    pub(crate) environment: Environment,
    pub(crate) pace: SharePace,
    pub(crate) directories: Arc<Directories>,
    pub(crate) sessions: Arc<Sessions>,
}

/// The sessions that are shared. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    inner: Arc<Inner>,
}

impl Shares {
    pub(crate) fn new(ports: SharePorts, moved: Moved) -> Self {
        let SharePorts { store, clock, tasks, http, environment, pace, directories, sessions } = ports;
        let sharing = Sharing::new(moved);
        let inner = Inner { store, clock, tasks, http, environment, pace, directories, sessions, sharing };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn limits(&self) -> ShareLimits {
        self.inner.sharing.limits()
    }
}

#[derive(Debug)]
struct Inner {
    store: Store,
    clock: Clock,
    tasks: Tasks,
    http: Http,
    environment: Environment,
    pace: SharePace,
    directories: Arc<Directories>,
    sessions: Arc<Sessions>,
    sharing: Sharing,
}

/// What sharing has in memory.
#[derive(Debug)]
struct Sharing {
    /// Links of shares that this store receives begin with this.
    own_url: OnceLock<String>,
    /// And are bounded by these.
    limits: OnceLock<ShareLimits>,
    wakes: Wakes,
    moved: Moved,
    room: Semaphore,
    attempts: Attempts,
    ways: TransportPauses,
}

impl Sharing {
    fn new(moved: Moved) -> Self {
        Self {
            own_url: OnceLock::new(),
            limits: OnceLock::new(),
            wakes: Wakes::default(),
            moved,
            room: Semaphore::new(SENDING_MAX),
            attempts: Attempts::default(),
            ways: TransportPauses::default(),
        }
    }

    fn limits(&self) -> ShareLimits {
        self.limits.get().copied().unwrap_or_default()
    }
}
