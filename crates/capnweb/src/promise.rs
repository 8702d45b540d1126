//! Awaiting a value that is on its way.
//!
//! Only an awaited promise makes the peer send its value. What arrives may hold promises
//! again; `gather` waits for those too.

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
    Outcome, Promise, Stub, Thrown, Value,
    value::reference::{
        cell::{Cell, Stage, into_outcome},
        hook::{Hook, Ref, not_now},
        path::Path,
        turn,
    },
};

impl Promise {
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
                *reference = Ref::from(reference.read(Path::new(), &turn::origin()));
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
                *reference = Ref::from(reference.read(Path::new(), &turn::origin()));
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
                Hook::Variable(_) => return Some(Err(not_now())),
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
