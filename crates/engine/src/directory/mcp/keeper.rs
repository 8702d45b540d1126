//! The task that keeps one server: connects it, notices its end, starts it again.
//!
//! A server that cannot be connected stays failed until somebody orders it or, a while later, wants
//! its tools. A server that ran and ended is started again by itself, a few times and ever more slowly;
//! what it offered is remembered meanwhile, so that a call in between is told what happened. A keeper that panics has
//! failed to connect, and obeys the next order.

use super::{Shared, Status, misfits};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::fmt;
use std::num::NonZeroU64;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::types::event::{Event, Toast, ToastVariant};
use sturdy_worktree::mcp::{CallError, Client, ConnectError, Lifeline, Offered, Server, connect};
use sturdy_worktree::tool::Tool;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// Long enough to read an address.
const TOAST_MS: NonZeroU64 = NonZeroU64::new(8_000).unwrap();

/// Starts in a row of a server that keeps ending.
const STARTS_MAX: u32 = 5;
/// Before the first of them; each further one waits twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// A server that stood for this long has earned all its starts again.
const STEADY: Duration = Duration::from_secs(60);
/// A server that could not be connected is left alone for this long.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// What people want of a server. Answered when it is done.
#[derive(Debug)]
pub(super) enum Order {
    Connect(oneshot::Sender<()>),
    Disconnect(oneshot::Sender<()>),
    /// Somebody would use it, if it were there.
    Retry,
}

/// A server in use.
pub(super) struct Live {
    pub(super) client: Client,
    pub(super) tools: Vec<Arc<dyn Tool>>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("client", &self.client.name()).finish_non_exhaustive()
    }
}

impl Live {
    pub(super) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name).cloned()
    }
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Disabled,
    Connecting,
    Connected(Arc<Live>),
    /// It ended and is started again.
    Restarting {
        why: String,
        last: Arc<Live>,
    },
    Failed(ConnectError),
}

impl State {
    /// It has had its first chance.
    pub(super) fn is_tried(&self) -> bool {
        !matches!(self, Self::Connecting)
    }

    /// Waiting would not change anything soon.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Connecting | Self::Restarting { .. } => false,
            // Its keeper is about to notice.
            Self::Connected(live) => !live.client.is_broken(),
            Self::Disabled | Self::Failed(_) => true,
        }
    }

    pub(super) fn status(&self) -> Status {
        match self {
            Self::Disabled => Status::Disabled,
            Self::Connecting => Status::Failed("Still connecting".to_owned()),
            Self::Connected(_) => Status::Connected,
            Self::Restarting { why, .. } => Status::Failed(why.clone()),
            Self::Failed(ConnectError::Failed(why)) => Status::Failed(why.clone()),
            Self::Failed(ConnectError::NeedsAuth) => Status::NeedsAuth,
            Self::Failed(ConnectError::NeedsRegistration(why)) => Status::NeedsRegistration(why.clone()),
        }
    }
}

#[derive(Debug)]
pub(super) struct Keeper {
    server: Server,
    shared: Arc<Shared>,
    state: watch::Sender<State>,
    orders: mpsc::Receiver<Order>,
    /// Who waits for the next end of connecting.
    waiting: Vec<oneshot::Sender<()>>,
}

/// What a keeper begins with.
enum First {
    Connect,
    Wait,
    Rest,
}

const PANICKED: &str = "Sturdy panicked while it talked to it; this is a bug";

/// Why a connection is not kept any longer.
enum Left {
    Ended(String),
    Ordered(Option<Order>),
}

impl Keeper {
    pub(super) fn new(
        server: Server,
        shared: Arc<Shared>,
        orders: mpsc::Receiver<Order>,
    ) -> (Self, watch::Receiver<State>) {
        let first = if server.is_enabled { State::Connecting } else { State::Disabled };
        let (state, seen) = watch::channel(first);
        (Self { server, shared, state, orders, waiting: Vec::new() }, seen)
    }

    /// Connects and keeps, until the directory is forgotten.
    pub(super) async fn run(self) {
        self.keep_on(First::Connect).await;
    }

    /// Waits for an order before it does anything.
    pub(super) async fn wait(self) {
        self.keep_on(First::Wait).await;
    }

    async fn keep_on(mut self, mut first: First) {
        loop {
            let work = async {
                let order = match first {
                    First::Connect => self.live().await,
                    First::Wait => self.next_order().await,
                    First::Rest => self.rest().await,
                };
                self.obey(order).await;
            };
            // The connection is dropped by the panic; of the rest only what is settled here is looked at again.
            if AssertUnwindSafe(work).catch_unwind().await.is_ok() {
                return;
            }
            error!(server = %self.server.name, "the task of an MCP server panicked");
            self.settle(State::Failed(ConnectError::Failed(PANICKED.to_owned())));
            first = First::Rest;
        }
    }

    async fn obey(&mut self, mut order: Option<Order>) {
        while let Some(given) = order {
            order = match given {
                Order::Connect(done) => {
                    self.waiting.push(done);
                    self.state.send_replace(State::Connecting);
                    self.live().await
                }
                Order::Disconnect(done) => {
                    self.settle(State::Disabled);
                    let _ = done.send(());
                    self.next_order().await
                }
                Order::Retry => self.live().await,
            };
        }
    }

    /// Connects, keeps and starts again, until somebody wants something else.
    async fn live(&mut self) -> Option<Order> {
        let mut starts = 0;
        loop {
            let stop = self.shared.stop.child_token();
            let server = self.server.clone();
            let shared = self.shared.clone();
            let connecting = connected(&server, &shared, stop.clone());
            shared.panics.come_true("mcp");
            let connected = tokio::select! {
                connected = connecting => connected,
                order = self.next_order() => {
                    // Dropping what connects has ended the program, too.
                    stop.cancel();
                    return order;
                }
            };
            let (live, lifeline) = match connected {
                Ok(connected) => connected,
                Err(cause) => {
                    let may_pass = matches!(cause, ConnectError::Failed(_));
                    if may_pass && self.may_start_again(&mut starts, cause.to_string()) {
                        if let Some(order) = self.pause(starts).await {
                            return order;
                        }
                        continue;
                    }
                    warn!(server = %self.server.name, %cause, "an MCP server cannot be connected");
                    if let Some(toast) = wanted_of_a_person(&self.server.name, &cause) {
                        self.shared.tell(Event::TuiToastShow(toast));
                    }
                    self.settle(State::Failed(cause));
                    return self.rest().await;
                }
            };
            info!(server = %self.server.name, tools = live.tools.len(), "an MCP server is connected");
            let since = Instant::now();
            let left = self.keep(live, lifeline, &stop).await;
            self.shared.tell(Event::McpToolsChanged { server: self.server.name.clone() });
            let why = match left {
                Left::Ordered(order) => return order,
                Left::Ended(why) => why,
            };
            if self.shared.stop.is_cancelled() {
                return None;
            }
            warn!(server = %self.server.name, why, "an MCP server has ended");
            if since.elapsed() >= STEADY {
                starts = 0;
            }
            starts = starts.max(1);
            if !self.may_start_again(&mut starts, why.clone()) {
                self.settle(State::Failed(ConnectError::Failed(why)));
                return self.rest().await;
            }
            if let Some(order) = self.pause(starts).await {
                return order;
            }
        }
    }

    /// Only what ran before is started again.
    fn may_start_again(&self, starts: &mut u32, why: String) -> bool {
        if *starts == 0 || *starts > STARTS_MAX {
            return false;
        }
        *starts += 1;
        self.state.send_modify(|state| {
            if let State::Connected(last) | State::Restarting { last, .. } = &*state {
                *state = State::Restarting { why, last: last.clone() };
            }
        });
        true
    }

    /// Waits before the next start. Something if an order came instead.
    async fn pause(&mut self, starts: u32) -> Option<Option<Order>> {
        let pause = PAUSE * 2_u32.saturating_pow(starts.saturating_sub(2));
        tokio::select! {
            () = sleep(pause) => None,
            order = self.next_order() => Some(order),
        }
    }

    /// Stays with a connection: notes when its tools change, and when it ends.
    async fn keep(&mut self, live: Live, lifeline: Lifeline, stop: &CancellationToken) -> Left {
        let mut client = live.client.clone();
        self.settle(State::Connected(Arc::new(live)));
        let mut life = Box::pin(lifeline.run());
        let mut refresh: Option<BoxFuture<'static, Result<Live, CallError>>> = None;
        loop {
            let next = async {
                match &mut refresh {
                    Some(refresh) => refresh.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                why = &mut life => return Left::Ended(why),
                order = ordered(&mut self.orders, &self.shared.stop) => {
                    // Told, then waited for: it has a moment to end by itself.
                    stop.cancel();
                    life.await;
                    return Left::Ordered(order);
                }
                () = client.tools_changed() => refresh = Some(Box::pin(listed(client.clone()))),
                listed = next => {
                    refresh = None;
                    match listed {
                        Ok(live) => {
                            self.state.send_replace(State::Connected(Arc::new(live)));
                            self.shared.tell(Event::McpToolsChanged { server: self.server.name.clone() });
                        }
                        Err(cause) => warn!(server = %self.server.name, %cause, "changed tools cannot be listed"),
                    }
                }
            }
        }
    }

    /// Failed; waits for an order, or for somebody who would use it after a while.
    async fn rest(&mut self) -> Option<Order> {
        let since = Instant::now();
        loop {
            match any_order(&mut self.orders, &self.shared.stop).await {
                Some(Order::Retry) => {
                    let may_pass = matches!(&*self.state.borrow(), State::Failed(ConnectError::Failed(_)));
                    if may_pass && since.elapsed() >= RETRY_AFTER {
                        return Some(Order::Retry);
                    }
                }
                order => return order,
            }
        }
    }

    fn settle(&mut self, state: State) {
        self.state.send_replace(state);
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(());
        }
    }

    async fn next_order(&mut self) -> Option<Order> {
        ordered(&mut self.orders, &self.shared.stop).await
    }
}

/// What is shown to a person who alone can help.
fn wanted_of_a_person(server: &str, cause: &ConnectError) -> Option<Toast> {
    let message = match cause {
        ConnectError::Failed(_) => return None,
        ConnectError::NeedsAuth => {
            format!("The MCP server \"{server}\" wants a login: POST /mcp/{server}/auth/authenticate")
        }
        ConnectError::NeedsRegistration(why) => format!("The MCP server \"{server}\": {why}"),
    };
    let title = Some("An MCP server wants a login".to_owned());
    Some(Toast { title, message, variant: ToastVariant::Warning, duration: TOAST_MS })
}

/// The next order; none when there will be no more.
async fn any_order(orders: &mut mpsc::Receiver<Order>, stop: &CancellationToken) -> Option<Order> {
    tokio::select! {
        order = orders.recv() => order,
        () = stop.cancelled() => None,
    }
}

/// The next order that is not about a server nobody can reach.
async fn ordered(orders: &mut mpsc::Receiver<Order>, stop: &CancellationToken) -> Option<Order> {
    loop {
        match any_order(orders, stop).await {
            Some(Order::Retry) => {}
            order => return order,
        }
    }
}

/// A connection, and what is offered through it.
async fn connected(
    server: &Server,
    shared: &Shared,
    stop: CancellationToken,
) -> Result<(Live, Lifeline), ConnectError> {
    let (client, mut lifeline) = Box::pin(connect(server, &shared.logins, stop)).await?;
    match lifeline.during(Box::pin(listed(client))).await {
        Ok(Ok(live)) => Ok((live, lifeline)),
        Ok(Err(cause)) => Err(ConnectError::Failed(format!("Its tools cannot be listed: {cause}"))),
        Err(why) => Err(ConnectError::Failed(why)),
    }
}

async fn listed(client: Client) -> Result<Live, CallError> {
    let tools = Offered::all(&client, misfits).await?;
    Ok(Live { client, tools })
}
