//! The events of one session, given to a callback one by one.
//!
//! A subscription is a reader of the feed and no queue: it goes on reading when the sink has answered.
//! A few calls are under way at once, so that a round trip does not cost an event each; they are sent
//! and arrive in order. A sink that stalls costs those few and a bounded piece of a page; when it
//! answers again it goes on where it was, from the log if it must.
//!
//! It ends when its handle is disposed (the end of the connection does that too), when the sink fails,
//! when the session is removed, or when the server closes. `ended()` of the handle says which.

use super::caller::{Caller, Transport};
use crate::app::App;
use crate::grants::ended;
use crate::wire::event::{event, resync_event};
use futures_util::future::{BoxFuture, pending};
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt as _, StreamExt as _};
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Asked, Call, ErrorValue, Interface, Stub, Thrown, Value};
use sturdy_engine::feed::{Body, Follower, Scope, Step};
use sturdy_session::id::SessionId;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// Calls of one sink that wait for their answer.
const UNDER_WAY_MAX: usize = 16;

/// Why a subscription is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Disposed,
    SinkFailed,
    SessionRemoved,
    /// The grant it was begun with does not stand any more.
    GrantEnded,
    ServerClosing,
    /// The caller may subscribe again after the last position it saw.
    StoreUnavailable,
}

impl Why {
    fn word(self) -> &'static str {
        match self {
            Self::Disposed => "disposed",
            Self::SinkFailed => "sink_failed",
            Self::SessionRemoved => "session_removed",
            Self::GrantEnded => "grant_ended",
            Self::ServerClosing => "server_closing",
            Self::StoreUnavailable => "store_unavailable",
        }
    }
}

/// What the caller holds.
struct Subscription {
    stop: CancellationToken,
    ended: watch::Receiver<Option<Why>>,
}

static SUBSCRIPTION: LazyLock<Arc<Interface<Subscription>>> = LazyLock::new(|| {
    Interface::named("Subscription")
        .method("ended", |this: Arc<Subscription>, _| async move {
            let mut ended = this.ended.clone();
            let why = ended.wait_for(Option::is_some).await.ok().and_then(|why| *why);
            Ok(why.unwrap_or(Why::ServerClosing).word().into())
        })
        .disposed(|this| this.stop.cancel())
        .build()
});

/// A subscription that was asked for: it follows the feed already, so nothing from now on is missed.
pub(super) struct Wanted {
    sink: Stub,
    follower: Follower,
    place: OwnedSemaphorePermit,
    granted: BoxFuture<'static, ()>,
}

impl Wanted {
    /// `subscribe(after, sink)`.
    pub(super) fn read(app: &App, session: &SessionId, mut call: Call) -> Result<Self, Thrown> {
        let after = match call.arg() {
            nothing if nothing.is_nothing() => None,
            cursor => Some(String::try_from(cursor)?),
        };
        let sink: Stub = call.take()?;
        let caller = Caller::of(&call)?;
        if caller.transport == Transport::Batch {
            let message = "A batch is over when it is answered. Subscribe over a WebSocket.";
            return Err(ErrorValue::new(message).code("batch_no_return_path").into());
        }
        let place = caller.place()?;
        debug!(caller = %caller.who, "a subscription begins");
        let engine = app.engine();
        let scope = Scope::Session(session.clone());
        let follower = Follower::new(engine.feed(), scope, after.as_deref(), None);
        Ok(Self { sink, follower, place, granted: pending().boxed() })
    }

    /// The same, until a grant does not stand any more.
    pub(super) fn while_granted(mut self, app: &App, grant: &str) -> Self {
        self.granted = ended(app.clone(), grant.to_owned()).map(drop).boxed();
        self
    }

    /// The handle of the subscription, which runs.
    pub(super) fn begin(self, app: &App) -> Stub {
        let stop = CancellationToken::new();
        let (end, ended) = watch::channel(None);
        let mut following = Following {
            app: app.clone(),
            sink: self.sink,
            follower: self.follower,
            under_way: FuturesOrdered::new(),
            is_last: false,
            stop: stop.clone(),
            granted: self.granted,
        };
        let place = self.place;
        app.engine().tasks().spawn("subscription", async move {
            let why = following.run().await;
            // The sink is let go before anybody hears of the end.
            drop((following, place));
            debug!(why = why.word(), "a subscription is over");
            end.send_replace(Some(why));
        });
        SUBSCRIPTION.stub(Subscription { stop, ended })
    }
}

struct Following {
    app: App,
    sink: Stub,
    follower: Follower,
    under_way: FuturesOrdered<Asked>,
    /// The session is gone; nothing comes after this.
    is_last: bool,
    stop: CancellationToken,
    granted: BoxFuture<'static, ()>,
}

impl Following {
    async fn run(&mut self) -> Why {
        let closing = self.app.closing().clone();
        loop {
            self.pass_on();
            self.follower.let_go();
            if self.is_last && self.under_way.is_empty() {
                return Why::SessionRemoved;
            }
            let has_room = !self.is_last && self.under_way.len() < UNDER_WAY_MAX;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Why::Disposed,
                () = closing.cancelled() => return Why::ServerClosing,
                () = &mut self.granted => return Why::GrantEnded,
                Some(answer) = self.under_way.next() => {
                    if answer.is_err() {
                        return Why::SinkFailed;
                    }
                }
                read = self.follower.fill(), if has_room => if let Err(cause) = read {
                    warn!(%cause, "a subscription ends: the store cannot be read");
                    return Why::StoreUnavailable;
                },
            }
        }
    }

    /// Calls the sink as often as may be, with each event and the cursor behind it.
    fn pass_on(&mut self) {
        while self.under_way.len() < UNDER_WAY_MAX && !self.is_last {
            let Some(step) = self.follower.ready() else { return };
            let (event, cursor) = match step {
                Step::Resync(why, cursor) => {
                    let now = self.app.engine().clock().now();
                    (resync_event(now, why, cursor, self.follower.epoch()), Some(cursor))
                }
                Step::Event { shown, index, cursor } => {
                    let is_over = |body: &Body| matches!(body, Body::Entry(entry) if entry.is_removal);
                    self.is_last = is_over(&shown.body) && index + 1 == shown.events.len();
                    (event(&shown, index), cursor)
                }
            };
            let event = super::value::parse(&event).expect("BUG: an event is always JSON");
            let cursor = cursor.map(|cursor| cursor.text(self.follower.epoch()));
            let cursor = Value::from(cursor);
            self.under_way.push_back(self.sink.invoke([event, cursor]).ask());
        }
    }
}
