//! A value that is on its way, and can be used before it arrives.
//!
//! Calls, reads and maps on a promise are sent at once and run where the value will be,
//! so a chain of them costs one round trip. Only an awaited promise makes the peer send
//! its value.

pub(crate) mod gather;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::{BoxFuture, FutureExt};
use serde::de::DeserializeOwned;

use crate::{
    MapScope, Outcome, Stub, Thrown, Value, map,
    target::asker,
    value::reference::cell::{Cell, Stage, into_outcome},
    value::reference::hook::{Hook, Ref},
    value::reference::path::{Path, PathPart},
};

/// Something that will be a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise(pub(crate) Ref);

impl Promise {
    /// A promise that is already kept.
    pub fn ready(value: impl Into<Value>) -> Promise {
        Promise(Ref::from(Hook::value(value.into())))
    }

    /// Calls a method of the value to come.
    pub fn call(&self, method: &str, args: impl IntoIterator<Item = Value>) -> Promise {
        Promise(Ref::from(self.0.call(vec![PathPart::from(method)], args.into_iter().collect(), &asker())))
    }

    /// Calls the function to come.
    pub fn invoke(&self, args: impl IntoIterator<Item = Value>) -> Promise {
        Promise(Ref::from(self.0.call(Path::new(), args.into_iter().collect(), &asker())))
    }

    /// A member of the value to come. Nothing is sent until it is awaited, called or passed on.
    pub fn get(&self, part: impl Into<PathPart>) -> Promise {
        Promise(Ref { hook: self.0.hook.clone(), path: self.0.joined(vec![part.into()]) })
    }

    /// Runs `body` where the value will be: once per element of an array, not at all on null
    /// or undefined, once on anything else.
    ///
    /// `body` runs here, once, with a placeholder; what it does to the placeholder is recorded
    /// and sent. Stubs from outside are brought in with [`MapScope::capture`].
    pub fn map<V: Into<Value>>(&self, body: impl FnOnce(&MapScope, Promise) -> V) -> Promise {
        map::record(&self.0, body)
    }

    /// A second promise for the same value, with an entry of its own at the peer. A clone is
    /// cheaper and shares the first one's.
    #[must_use]
    pub fn dup(&self) -> Promise {
        Promise(Ref::from(self.0.read(Path::new(), &asker())))
    }

    /// The object to come, usable as one already. Passed to a peer, it arrives as a stub and the
    /// call does not wait for it.
    pub fn into_stub(self) -> Stub {
        Stub(self.0)
    }

    /// Asks for the value now, without waiting for it. Awaiting does this by itself; a batch
    /// needs it before the request is sent.
    pub fn ask(self) -> Asked {
        self.ask_within(0)
    }

    /// Asked for inside the value of another promise, so many deep.
    pub(crate) fn ask_within(self, hops: usize) -> Asked {
        let mut asked = Asked { state: State::Walking(self.0), hops };
        asked.begin();
        asked
    }

    /// The value as a Rust type.
    pub async fn parse<T: DeserializeOwned>(self) -> Result<T, Thrown> {
        Ok(crate::from_value(self.await?)?)
    }
}

/// An object is a promise of itself.
impl From<Stub> for Promise {
    fn from(stub: Stub) -> Promise {
        Promise(stub.0)
    }
}

impl IntoFuture for Promise {
    type Output = Outcome;
    type IntoFuture = Asked;

    fn into_future(self) -> Asked {
        self.ask()
    }
}

/// A promise whose value was asked for. Dropping it means that nobody wants it any more.
#[derive(Debug)]
#[must_use = "nothing waits for the value unless this is awaited"]
pub struct Asked {
    state: State,
    hops: usize,
}

enum State {
    Walking(Ref),
    Completing(BoxFuture<'static, Outcome>),
    Done,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            State::Walking(_) => "Walking",
            State::Completing(_) => "Completing",
            State::Done => "Done",
        })
    }
}

impl Asked {
    fn begin(&mut self) {
        if let State::Walking(reference) = &mut self.state {
            if !reference.path.is_empty() {
                *reference = Ref::from(reference.read(Path::new(), &asker()));
            }
            if let Hook::Import(import) = &reference.hook {
                import.pull();
            }
        }
    }

    /// Follows the promise as far as it is kept. `None` while it is not.
    fn walk(reference: &mut Ref, cx: &Context<'_>) -> Option<Outcome> {
        loop {
            if !reference.path.is_empty() {
                *reference = Ref::from(reference.read(Path::new(), &asker()));
            }
            let cell = match &reference.hook {
                Hook::Cell(cell) => Arc::clone(cell),
                Hook::Import(import) if import.is_object() && import.settled().is_none() => {
                    return Some(Ok(Value::Stub(Stub(reference.clone()))));
                }
                Hook::Import(import) => {
                    import.pull();
                    Arc::clone(import.cell())
                }
                Hook::Target(_) => return Some(Ok(Value::Stub(Stub(reference.clone())))),
                Hook::Writer(writer) => {
                    return Some(Ok(Value::Writable(crate::Writable::local(Arc::clone(writer)))));
                }
                Hook::Variable(_) => return Some(Err(map::not_now())),
            };
            match cell.stage_when_served() {
                Stage::Settled => return Some(Self::take(reference, cell)),
                Stage::Linked(target) => *reference = target,
                Stage::Pending => {
                    cell.watch(cx.waker());
                    // Settled meanwhile: look again rather than wait for a wake that was spent.
                    if matches!(cell.stage_when_served(), Stage::Pending) {
                        return None;
                    }
                }
            }
        }
    }

    /// Gives up the reference first, so that the value need not be copied if nobody shares it.
    fn take(reference: &mut Ref, cell: Arc<Cell>) -> Outcome {
        reference.hook = Hook::Cell(Cell::settled(Ok(Value::Undefined)));
        into_outcome(cell)
    }
}

impl Future for Asked {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        loop {
            match &mut self.state {
                State::Walking(reference) => match Asked::walk(reference, cx) {
                    None => return Poll::Pending,
                    Some(Ok(value)) if gather::has_promise(std::slice::from_ref(&value)) => {
                        self.state = State::Completing(gather::complete(value, self.hops + 1));
                    }
                    Some(outcome) => {
                        self.state = State::Done;
                        return Poll::Ready(outcome);
                    }
                },
                State::Completing(future) => {
                    let outcome = std::task::ready!(future.poll_unpin(cx));
                    self.state = State::Done;
                    return Poll::Ready(outcome);
                }
                State::Done => return Poll::Ready(Ok(Value::Undefined)),
            }
        }
    }
}
