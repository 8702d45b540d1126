//! On whose behalf a call is made. Every call of a connection carries the same.

use crate::access::caller::Caller as Asking;
use std::sync::Arc;
use sturdy_capnweb::{Call, ErrorValue, Thrown};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Subscriptions of one connection. Each costs a task and, if its sink is slow, what it holds.
const SUBSCRIPTIONS_MAX: usize = 64;

/// How the caller can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// Once, and then never again.
    Batch,
    Socket,
}

#[derive(Debug)]
pub(super) struct Caller {
    pub(super) who: Asking,
    pub(super) transport: Transport,
    subscriptions: Arc<Semaphore>,
}

impl Caller {
    pub(super) fn new(who: Asking, transport: Transport) -> Self {
        Self { who, transport, subscriptions: Arc::new(Semaphore::new(SUBSCRIPTIONS_MAX)) }
    }

    /// The caller of a call. None stands behind a call that we make to ourselves because somebody
    /// gave us one of our own objects as a callback.
    pub(super) fn of(call: &Call) -> Result<&Self, Thrown> {
        let unknown = || {
            ErrorValue::new("This call comes from no connection, so the server cannot tell who makes it.")
                .code("no_caller")
        };
        call.context().get::<Self>().ok_or_else(|| unknown().into())
    }

    /// Room for one more subscription.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, Thrown> {
        self.subscriptions.clone().try_acquire_owned().map_err(|_| {
            let message = format!(
                "This connection has {SUBSCRIPTIONS_MAX} subscriptions, which is the most. Dispose one first."
            );
            ErrorValue::range_error(message).code("too_many_subscriptions").into()
        })
    }
}
