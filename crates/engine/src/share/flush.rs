//! Sends a sealed batch, in the best way that its service understands.
//!
//! Over Cap'n Web the right is redeemed and the batch appended in one request: the second call is made on what the
//! first will answer. While somebody watches the share, the same two calls go over a WebSocket that stays open. A
//! service, or a proxy before it, that does not understand one way is sent the next plainer one, down to plain HTTP,
//! and is not tried that way again for a while. A batch is the same whichever way it goes: one that may have arrived
//! already is recognised.
//!
//! Not here: what follows from an answer (`sender.rs`); requests over plain HTTP (`target.rs`).

use super::Inner;
use super::target::{SendError, Target};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sturdy_capnweb::{Asked, Handle, Options, Outcome, Stub, Thrown, Value, batch, from_value, to_value, ws};
use sturdy_store::outbox::Link;
use sturdy_store::share::{Ack, Batch};
use tokio::time::{Instant, timeout};
use tracing::debug;

/// Where a service speaks Cap'n Web.
const RPC: &str = "/rpc/share";

/// Requests go through a proxy of the system where there is one; a WebSocket does not, and where only that leads out it
/// would wait for nobody.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Refusals that may pass by themselves.
const PASSING: [&str; 4] = ["rate_limited", "overloaded", "conflict_retry", "full"];
/// Permanent refusals. An error without one of these codes (of a proxy, for instance) says nothing about the share.
const LASTING: [&str; 16] = [
    "stale_epoch",
    "cursor_mismatch",
    "request_conflict",
    "gap",
    "diverged",
    "chain_mismatch",
    "malformed",
    "unauthorized",
    "revoked",
    "expired",
    "forbidden_scope",
    "writer_forbidden",
    "must_rotate",
    "not_found",
    "gone",
    "too_large",
];

/// A way that a service may not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    /// Cap'n Web over a WebSocket.
    Socket,
    /// Cap'n Web in one request.
    Post,
}

/// Which transports are not tried for now, by service.
#[derive(Debug, Default)]
pub(super) struct TransportPauses {
    shut: Mutex<HashMap<(String, Way), Instant>>,
}

impl TransportPauses {
    fn is_open(&self, service: &str, way: Way) -> bool {
        let mut shut = self.shut.lock().unwrap_or_else(PoisonError::into_inner);
        // So that it holds no more than the services that are in use.
        shut.retain(|_, until| *until > Instant::now());
        !shut.contains_key(&(service.to_owned(), way))
    }

    fn shut(&self, service: &str, way: Way, pause: Duration) {
        debug!(
            service,
            ?way,
            "a share service does not support this transport; falling back to a simpler one"
        );
        let mut shut = self.shut.lock().unwrap_or_else(PoisonError::into_inner);
        shut.insert((service.to_owned(), way), Instant::now() + pause);
    }
}

/// What became of a batch: its answer, and how many watch the share.
type Flushed = Result<(Ack, u64), SendError>;

/// The ways of one link.
#[derive(Debug, Default)]
pub(super) struct Flusher {
    /// Open while somebody watches.
    socket: Option<Socket>,
}

#[derive(Debug)]
struct Socket {
    root: Stub,
    handle: Handle,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.handle.close();
    }
}

impl Flusher {
    pub(super) async fn append(
        &mut self,
        inner: &Arc<Inner>,
        link: &Link,
        batch: Batch,
        is_watched: bool,
    ) -> Flushed {
        let flushed = self.append_somehow(inner, link, batch, is_watched).await;
        if matches!(flushed, Ok((_, 0))) {
            // Nobody watches any more.
            self.socket = None;
        }
        flushed
    }

    async fn append_somehow(
        &mut self,
        inner: &Arc<Inner>,
        link: &Link,
        batch: Batch,
        is_watched: bool,
    ) -> Flushed {
        let target = Target::of(inner, link);
        if target.is_own() {
            return target.append(batch).await;
        }
        let ways = &inner.sharing.ways;
        let pause = inner.pace.way_pause;
        if is_watched && ways.is_open(&link.target, Way::Socket) {
            match self.over_socket(inner, link, &batch).await {
                Some(flushed) => return flushed,
                None => ways.shut(&link.target, Way::Socket, pause),
            }
            self.socket = None;
        }
        if ways.is_open(&link.target, Way::Post) {
            match over_post(&target, link, &batch).await {
                Some(flushed) => return flushed,
                None => ways.shut(&link.target, Way::Post, pause),
            }
        }
        target.append(batch).await
    }

    /// None: it does not work this way.
    async fn over_socket(&mut self, inner: &Arc<Inner>, link: &Link, batch: &Batch) -> Option<Flushed> {
        let limit = inner.pace.request;
        if self.socket.is_none() {
            self.socket = timeout(limit.min(CONNECT_TIMEOUT), connect(inner, link)).await.ok().flatten();
        }
        let calls = Calls::made_on(&self.socket.as_ref()?.root, link, batch);
        timeout(limit, calls.answered()).await.ok().flatten()
    }
}

async fn connect(inner: &Arc<Inner>, link: &Link) -> Option<Socket> {
    // http becomes ws, and https wss.
    let address = link.target.strip_prefix("http")?;
    let key = inner.environment.filled("STURDY_SHARE_SERVICE_KEY");
    let key = key.map(|key| ("x-opencode-share-key", key));
    let url = format!("ws{address}{RPC}");
    let client = ws::connect(&url, key.as_slice(), None, Options::default()).await.ok()?;
    let stop = inner.tasks.stopping().clone();
    inner.tasks.spawn("share-socket", async move {
        // Whoever waits for an answer hears that the socket is gone.
        let _ = stop.run_until_cancelled(client.run).await;
    });
    Some(Socket { root: client.root, handle: client.handle })
}

/// One request that holds everything. None: it does not work this way.
async fn over_post(target: &Target<'_>, link: &Link, batch: &Batch) -> Option<Flushed> {
    let mut request = batch::Batch::new(Options::default());
    let calls = Calls::made_on(&request.root(), link, batch);
    let body = request.request().await;
    let answer = match target.post(RPC, body.into_bytes()).await {
        Ok(answer) => answer,
        Err(unsent) => return Some(Err(unsent)),
    };
    match answer.status {
        200..300 => {}
        408 | 429 | 500 | 502..600 => return Some(Err(target.unmet(&answer))),
        _ => return None,
    }
    request.response(answer.status, "", &answer.body).await;
    calls.answered().await
}

/// Redeeming and appending, both on their way.
struct Calls {
    appended: Asked,
    viewers: Asked,
}

impl Calls {
    fn made_on(root: &Stub, link: &Link, batch: &Batch) -> Self {
        let writer = Value::object([("writer_id", link.writer.as_str())]);
        let right = [link.share.as_str().into(), link.secret.reveal().into(), writer];
        let redeemed = root.call("redeemShare", right);
        let batch = to_value(batch).expect("BUG: a batch is always a value");
        let appended = redeemed.get("share").call("appendOps", [batch]).ask();
        let viewers = redeemed.get("viewers").ask();
        Self { appended, viewers }
    }

    /// None: what came back is not about the share.
    async fn answered(self) -> Option<Flushed> {
        let ack = match understood(self.appended.await)? {
            Ok(ack) => ack,
            Err(unsent) => return Some(Err(unsent)),
        };
        let viewers = self.viewers.await.ok().and_then(|count| count.as_number());
        Some(Ok((ack, viewers.unwrap_or(0.0) as u64)))
    }
}

fn understood(appended: Outcome) -> Option<Result<Ack, SendError>> {
    match appended {
        Ok(value) => from_value(value).ok().map(Ok),
        Err(thrown) => refusal(&thrown).map(Err),
    }
}

fn refusal(thrown: &Thrown) -> Option<SendError> {
    let code = thrown.code()?;
    let count = |name: &str| {
        let value = thrown.error()?.props.get(name)?.as_number()?;
        Some(value as u64)
    };
    // The message says the code first, for peers that see nothing else.
    let message = thrown.message();
    let message = message.strip_prefix(code).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&message);
    if PASSING.contains(&code) {
        let wait = count("retry_after").map(Duration::from_secs);
        return Some(SendError::Later { why: message.to_owned(), wait });
    }
    let is_lasting = LASTING.contains(&code);
    is_lasting.then(|| SendError::Refused {
        code: code.to_owned(),
        message: message.to_owned(),
        epoch: count("epoch"),
    })
}
