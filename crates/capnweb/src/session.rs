//! One session: two tables, and the messages that move them.
//!
//! `Connection` is the session as its transport sees it: texts in, texts out, futures
//! polled. `Shared` is the same session as every stub sees it, behind a lock that is held
//! for table work only: never while a value is dropped, a method runs or a callback is
//! called, because each of those may come back here.
//!
//! Children: `tables` (entries and counts), `import` (what a stub of the peer's holds),
//! `export` (what we hold for the peer), `receive` (messages in), `send` (messages out),
//! `remote` and `pump` (streams to the peer), `end` (abort, close, broken).

mod connection;
mod end;
mod export;
mod import;
mod pump;
mod receive;
mod remote;
mod send;
mod tables;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize},
    },
    time::{Duration, Instant},
};

pub use connection::{Connection, Handle, Stats};
pub use end::Ended;
use tables::State;

use crate::{
    CallContext, ErrorValue, Limits, Thrown,
    value::reference::{
        caller::{Caller, Origin},
        cell::Task,
    },
};

/// Which way messages can still go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Both ways, until the end.
    Duplex,
    /// We answer once: nothing the peer would have to answer can be sent.
    BatchServer,
    /// We ask once: everything is sent before the first answer comes.
    BatchClient,
}

type Rewrite = Arc<dyn Fn(ErrorValue) -> ErrorValue + Send + Sync>;

/// How a session behaves.
#[derive(Clone)]
pub struct Options {
    pub limits: Limits,
    /// Given to every call that comes in.
    pub context: CallContext,
    /// Send members whose names an npm peer drops, instead of refusing them.
    pub allow_dropped_names: bool,
    rewrite: Option<Rewrite>,
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    pub(crate) mode: Mode,
}

impl Default for Options {
    fn default() -> Options {
        let start = Instant::now();
        Options {
            limits: Limits::default(),
            context: CallContext::default(),
            allow_dropped_names: false,
            rewrite: None,
            clock: Arc::new(move || start.elapsed()),
            mode: Mode::Duplex,
        }
    }
}

impl Options {
    /// With a value every incoming call can ask for: who calls, with which rights.
    #[must_use]
    pub fn with_context<T: Send + Sync + 'static>(mut self, value: T) -> Options {
        self.context = CallContext::new(value);
        self
    }

    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Options {
        self.limits = limits;
        self
    }

    /// With a hook that sees every error before it is sent, to redact or to add a stack.
    #[must_use]
    pub fn with_error_hook(
        mut self,
        hook: impl Fn(ErrorValue) -> ErrorValue + Send + Sync + 'static,
    ) -> Options {
        self.rewrite = Some(Arc::new(hook));
        self
    }

    /// With another clock for the flow control of streams: time since any fixed moment.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Options {
        self.clock = Arc::new(clock);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("limits", &self.limits)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// The session as its stubs and calls see it.
pub(crate) struct Shared {
    state: Mutex<State>,
    options: Options,
    /// Bytes waiting in the pipes of this session.
    piped: Arc<AtomicUsize>,
    /// Bytes of results the peer made us keep.
    retained: Arc<AtomicUsize>,
    replaced: AtomicU64,
    this: Weak<Shared>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// This session, as the one that asks.
    fn origin(self: &Arc<Self>) -> Origin {
        let this: Arc<Shared> = Arc::clone(self);
        Some(this)
    }

    pub(crate) fn mode(&self) -> Mode {
        self.options.mode
    }

    pub(crate) fn now(&self) -> Duration {
        (self.options.clock)()
    }

    fn adopt(&self, task: Task, line: impl FnOnce(&mut State) -> &mut Vec<Task>) {
        let mut state = self.lock();
        if state.ended.is_some() {
            // Dropped outside of the lock: what it holds may be stubs of this session.
            drop(state);
            drop(task);
            return;
        }
        line(&mut state).push(task);
        state.wake();
    }

    /// The errors of a value as the application wants them sent.
    fn rewritten(&self, reason: &Thrown) -> Option<Thrown> {
        let rewrite = self.options.rewrite.as_ref()?;
        Some(rewrite(reason.error()?.clone()).into())
    }
}

impl Caller for Shared {
    fn limits(&self) -> &Limits {
        &self.options.limits
    }

    fn context(&self) -> CallContext {
        self.options.context.clone()
    }

    fn spawn(&self, task: Task) {
        self.adopt(task, |state| &mut state.fresh_calls);
    }

    fn spawn_pump(&self, task: Task) {
        self.adopt(task, |state| &mut state.fresh_pumps);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}
