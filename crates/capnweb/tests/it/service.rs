//! The service the recorded vectors were made with, in Rust.
//!
//! Shared by the tests and by the `peer` example that the npm package talks to. Children:
//! `calls` (values, objects, callbacks), `failures` (what is thrown), `streams`, `share`.

mod calls;
mod failures;
mod share;
mod streams;

use std::sync::{
    Arc, LazyLock, Mutex, OnceLock, PoisonError,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use sturdy_capnweb::{Call, Handle, Interface, Reply, Stub, Thrown, Value};

/// What one connection remembers.
#[derive(Default)]
pub(crate) struct Service {
    pub(crate) kept: Mutex<Option<Stub>>,
    /// Counters disposed so far.
    pub(crate) disposed: Arc<AtomicUsize>,
    /// What happened to streams and callbacks, for tests to look at.
    pub(crate) seen: Arc<Mutex<Vec<String>>>,
}

impl Service {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    /// A new root for a connection.
    pub(crate) fn root() -> Stub {
        ROOT.stub(Service::default())
    }
}

static ROOT: LazyLock<Arc<Interface<Service>>> = LazyLock::new(|| {
    let interface = Interface::named("Service").private("instanceField");
    let interface = calls::add(interface);
    let interface = failures::add(interface);
    let interface = streams::add(interface);
    share::add(interface).build()
});

/// A counter that counts its own end.
pub(crate) struct Counter {
    value: AtomicI64,
    disposed: Option<Arc<AtomicUsize>>,
}

static COUNTER: LazyLock<Arc<Interface<Counter>>> = LazyLock::new(|| {
    Interface::named("Counter")
        .quick("increment", |this: Arc<Counter>, mut call: Call| match call.take_or(1i64) {
            Ok(by) => Reply::value(this.value.fetch_add(by, Ordering::Relaxed) + by),
            Err(reason) => Reply::error(reason),
        })
        .getter("value", |this, _| async move { Ok(this.value.load(Ordering::Relaxed).into()) })
        .disposed(|this| {
            if let Some(disposed) = &this.disposed {
                disposed.fetch_add(1, Ordering::Relaxed);
            }
        })
        .build()
});

pub(crate) fn counter(start: i64) -> Stub {
    COUNTER.stub(Counter { value: AtomicI64::new(start), disposed: None })
}

pub(crate) fn counted(start: i64, disposed: &Arc<AtomicUsize>) -> Stub {
    COUNTER.stub(Counter { value: AtomicI64::new(start), disposed: Some(Arc::clone(disposed)) })
}

/// The session a call came through, for methods that look at its tables.
pub(crate) struct SessionSlot(pub(crate) OnceLock<Handle>);

type Answer = Result<Value, Thrown>;
