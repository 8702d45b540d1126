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
use crate::sse::weight;
use crate::wire::event::event;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Asked, Call, ErrorValue, Interface, Stub, Thrown, Value};
use sturdy_engine::feed::{Body, Reader, Shown};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// Calls of one sink that wait for their answer.
const UNDER_WAY_MAX: usize = 16;
/// What may be held for a sink that is slow; more is read again when its turn comes.
const HELD_BYTES_MAX: usize = 256 * 1024;

/// Why a subscription is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Disposed,
    SinkFailed,
    SessionRemoved,
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

/// A subscription that was asked for: its reader stands already, so nothing from now on is missed.
pub(super) struct Wanted {
    sink: Stub,
    reader: Reader,
    place: OwnedSemaphorePermit,
}

impl Wanted {
    /// `subscribe(after, sink)`.
    pub(super) fn read(app: &App, mut call: Call) -> Result<Self, Thrown> {
        let after = match call.arg() {
            nothing if nothing.is_nothing() => None,
            position => Some(u64::try_from(position)?),
        };
        let sink: Stub = call.take()?;
        let caller = Caller::of(&call)?;
        if caller.transport == Transport::Batch {
            let message = "A batch is over when it is answered. Subscribe over a WebSocket.";
            return Err(ErrorValue::new(message).code("batch_no_return_path").into());
        }
        let place = caller.place()?;
        debug!(caller = %caller.who, "a subscription begins");
        let feed = app.engine().feed();
        let reader = after.map_or_else(|| feed.reader(), |position| feed.reader_after(position));
        Ok(Self { sink, reader, place })
    }

    /// The handle of the subscription, which runs.
    pub(super) fn begin(self, app: &App, session: &SessionId) -> Stub {
        let stop = CancellationToken::new();
        let (end, ended) = watch::channel(None);
        let mut following = Following {
            app: app.clone(),
            session: session.clone(),
            sink: self.sink,
            position: self.reader.position(),
            reader: self.reader,
            held: VecDeque::new(),
            under_way: FuturesOrdered::new(),
            is_last: false,
            stop: stop.clone(),
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
    session: SessionId,
    sink: Stub,
    reader: Reader,
    /// Read and not yet passed on.
    held: VecDeque<Arc<Shown>>,
    /// The last entry that was passed on.
    position: u64,
    under_way: FuturesOrdered<Asked>,
    /// The session is gone; nothing comes after this.
    is_last: bool,
    stop: CancellationToken,
}

impl Following {
    async fn run(&mut self) -> Why {
        let closing = self.app.closing().clone();
        loop {
            self.pass_on();
            self.let_go();
            if self.is_last && self.under_way.is_empty() {
                return Why::SessionRemoved;
            }
            let has_room = self.held.is_empty() && !self.is_last && self.under_way.len() < UNDER_WAY_MAX;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Why::Disposed,
                () = closing.cancelled() => return Why::ServerClosing,
                Some(answer) = self.under_way.next() => {
                    if answer.is_err() {
                        return Why::SinkFailed;
                    }
                }
                read = self.reader.next(), if has_room => match read {
                    Ok(entries) => self.hold(entries),
                    Err(cause) => {
                        warn!(%cause, "a subscription ends: the store cannot be read");
                        return Why::StoreUnavailable;
                    }
                },
            }
        }
    }

    /// Keeps what concerns the session. Entries without a session are not stored and have no position.
    fn hold(&mut self, entries: Vec<Arc<Shown>>) {
        let mine = entries.into_iter().filter(|shown| match &shown.body {
            Body::Fact(fact) => fact.session == self.session,
            Body::Event(_) => false,
        });
        self.held.extend(mine);
    }

    /// Calls the sink as often as may be.
    fn pass_on(&mut self) {
        while self.under_way.len() < UNDER_WAY_MAX
            && let Some(shown) = self.held.pop_front()
        {
            let Body::Fact(fact) = &shown.body else { continue };
            self.position = fact.position;
            self.is_last |= matches!(fact.fact, Fact::SessionRemoved { .. });
            let Some(event) = event(&shown) else { continue };
            let event = super::value::parse(&event).expect("BUG: an event is always JSON");
            self.under_way.push_back(self.sink.invoke([event, Value::from(fact.position)]).ask());
        }
    }

    /// Drops what is held if it is much: the log still has it.
    fn let_go(&mut self) {
        let held: usize = self.held.iter().map(|shown| weight(shown)).sum();
        if held > HELD_BYTES_MAX {
            self.held = VecDeque::new();
            self.reader = self.app.engine().feed().reader_after(self.position);
        }
    }
}
