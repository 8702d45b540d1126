//! Two sessions in one test, run until nothing more happens.

use std::task::{Context, Waker};

use sturdy_capnweb::{Connection, Options, Outcome, Promise, Stats, Stub, pair};

use crate::service::Service;

/// A client and a server, joined in memory.
pub(crate) struct Joined {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
}

impl Joined {
    pub(crate) fn new() -> Joined {
        Joined::serving(Service::root(), Options::default())
    }

    pub(crate) fn serving(root: Stub, options: Options) -> Joined {
        Joined {
            client: Connection::new(None, Options::default()),
            server: Connection::new(Some(root), options),
        }
    }

    pub(crate) fn root(&self) -> Stub {
        self.client.remote()
    }

    /// Carries messages until neither side has one.
    pub(crate) fn settle(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        let _ = pair::poll_join(&mut self.client, &mut self.server, &mut cx);
    }

    /// What a promise comes to without waiting for anything but messages.
    pub(crate) fn ask(&mut self, promise: Promise) -> Option<Outcome> {
        let mut asked = promise.ask();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..4 {
            self.settle();
            if let std::task::Poll::Ready(outcome) = Future::poll(std::pin::Pin::new(&mut asked), &mut cx) {
                return Some(outcome);
            }
        }
        None
    }

    pub(crate) fn stats(&self) -> (Stats, Stats) {
        (self.client.handle().stats(), self.server.handle().stats())
    }
}

/// A session that holds nothing but the two mains.
pub(crate) const EMPTY: Stats = Stats { imports: 1, exports: 1, replaced_surrogates: 0 };
