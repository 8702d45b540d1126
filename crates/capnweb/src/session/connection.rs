//! The session as its transport sees it.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, atomic::Ordering},
    task::{Context, Poll},
};

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::{
    Ended, Options, Shared,
    import::ImportKind,
    tables::{Export, State},
};
use crate::{
    ErrorValue, Stub, Thrown,
    codec::json::Arena,
    value::reference::cell::Task,
    value::reference::hook::{Hook, Ref},
    value::reference::turn,
};

/// One end of a session, without its transport.
///
/// Give it what arrives ([`receive`](Connection::receive)), send what it has to say
/// ([`poll_message`](Connection::poll_message)). Running methods are polled by the latter and
/// dropped with the connection: what must outlive it is spawned by the method itself.
pub struct Connection {
    shared: Arc<Shared>,
    calls: FuturesUnordered<Task>,
    pumps: FuturesUnordered<Task>,
    arena: Arena,
}

/// How full the tables are. An idle session has one export and one import: the two mains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub imports: usize,
    pub exports: usize,
    /// Lone surrogates replaced in what arrived.
    pub replaced_surrogates: u64,
}

impl Connection {
    /// A session that serves `root` to its peer; without one, every call on it is an error.
    pub fn new(root: Option<Stub>, options: Options) -> Connection {
        let shared = Arc::new_cyclic(|this| Shared {
            state: Mutex::default(),
            options,
            piped: Arc::default(),
            retained: Arc::default(),
            replaced: Default::default(),
            this: this.clone(),
        });
        let main = match root {
            Some(Stub(Ref { hook, path })) if path.is_empty() => hook,
            Some(stub) => stub.0.read(Vec::new(), &None),
            None => Hook::rejected(ErrorValue::new("This connection has no main object.")),
        };
        shared.lock().exports.insert(0, Export::new(main));
        Connection {
            shared,
            calls: FuturesUnordered::new(),
            pumps: FuturesUnordered::new(),
            arena: Arena::default(),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The peer's main object. Dropping it does not end the session; see [`Handle::close`].
    pub fn remote(&self) -> Stub {
        self.handle().remote()
    }

    /// A way to watch and end the session from elsewhere.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.shared))
    }

    /// Takes one message. A message that makes no sense ends the session, and the next
    /// messages out say why.
    pub fn receive(&mut self, text: &str) {
        let Connection { shared, arena, .. } = self;
        let arena = arena.fresh();
        turn::on_behalf_of(shared.clone(), || turn::gather(|| shared.receive(text, arena)));
    }

    /// False while the peer should wait: too many calls run, or it does not read its answers.
    pub fn wants_input(&self) -> bool {
        let state = self.shared.lock();
        let limits = self.shared.limits();
        let running = self.calls.len() + state.fresh_calls.len();
        state.ended.is_none()
            && running < limits.running_calls_max
            && state.outbox_bytes < limits.outbox_bytes_max
    }

    /// Whether the session is over.
    pub fn has_ended(&self) -> bool {
        self.shared.lock().ended.is_some()
    }

    /// The next message to send; `None` when the session has ended and everything was said.
    pub fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<String>> {
        loop {
            // What is said already goes first: methods are polled once for all of it, not once for each.
            if let Some(text) = self.shared.lock().next_text() {
                return Poll::Ready(Some(text));
            }
            let more = self.run_tasks(cx);
            let mut state = self.shared.lock();
            if !state.outbox.is_empty() {
                continue;
            }
            if state.ended.is_some() {
                drop(state);
                self.stop_tasks();
                return Poll::Ready(None);
            }
            if more || state.has_fresh() {
                continue;
            }
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
    }

    /// The next message, for a caller that awaits.
    pub fn message(&mut self) -> impl Future<Output = Option<String>> {
        std::future::poll_fn(|cx| self.poll_message(cx))
    }

    /// Whether a batch has nothing left to wait for.
    pub(crate) fn is_answered(&self) -> bool {
        self.shared.lock().unanswered == 0
    }

    /// Whether every stream of ours is pumped dry.
    pub(crate) fn is_pumped(&self) -> bool {
        self.pumps.is_empty() && self.shared.lock().fresh_pumps.is_empty()
    }

    /// Whether no method runs any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.shared.lock().fresh_calls.is_empty()
    }

    /// Everything said so far.
    pub(crate) fn drain(&mut self) -> Vec<String> {
        let mut state = self.shared.lock();
        state.outbox_bytes = 0;
        state.outbox.drain(..).collect()
    }

    /// Runs what can run now.
    pub(crate) fn poll_work(&mut self, cx: &mut Context<'_>) {
        loop {
            let more = self.run_tasks(cx);
            let mut state = self.shared.lock();
            if !more && !state.has_fresh() {
                state.waker = Some(cx.waker().clone());
                return;
            }
        }
    }

    fn adopt_fresh(&mut self) {
        let mut state = self.shared.lock();
        if !state.has_fresh() {
            return;
        }
        let calls = std::mem::take(&mut state.fresh_calls);
        let pumps = std::mem::take(&mut state.fresh_pumps);
        drop(state);
        self.calls.extend(calls);
        self.pumps.extend(pumps);
    }

    /// Polls methods and pumps. True when one ended, so that there may be more to do.
    fn run_tasks(&mut self, cx: &mut Context<'_>) -> bool {
        self.adopt_fresh();
        let Connection { shared, calls, pumps, .. } = self;
        if calls.is_empty() && pumps.is_empty() {
            return false;
        }
        turn::on_behalf_of(shared.clone(), || {
            turn::gather(|| {
                let mut more = false;
                for tasks in [calls, pumps] {
                    while let Poll::Ready(Some(())) = tasks.poll_next_unpin(cx) {
                        more = true;
                    }
                }
                more
            })
        })
    }

    fn stop_tasks(&mut self) {
        turn::gather(|| {
            self.calls.clear();
            self.pumps.clear();
        });
    }
}

impl State {
    fn next_text(&mut self) -> Option<String> {
        let text = self.outbox.pop_front()?;
        self.outbox_bytes -= text.len();
        Some(text)
    }

    fn has_fresh(&self) -> bool {
        !self.fresh_calls.is_empty() || !self.fresh_pumps.is_empty()
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("stats", &self.handle().stats()).finish_non_exhaustive()
    }
}

/// Watches and ends a session. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle(pub(super) Arc<Shared>);

impl Handle {
    pub fn remote(&self) -> Stub {
        let held = {
            let mut state = self.0.lock();
            let known = state.imports.get(&0).and_then(|import| import.held.upgrade());
            known.unwrap_or_else(|| state.add_import(&self.0, 0, ImportKind::Main, 1))
        };
        Stub(Ref::from(Hook::Import(held)))
    }

    pub fn stats(&self) -> Stats {
        let state = self.0.lock();
        let imports = state.imports.len() + usize::from(!state.imports.contains_key(&0));
        let replaced_surrogates = self.0.replaced.load(Ordering::Relaxed);
        Stats { imports, exports: state.exports.len(), replaced_surrogates }
    }

    /// Ends the session with an `abort` that says why.
    pub fn abort(&self, reason: impl Into<Thrown>) {
        self.0.abort(reason.into());
    }

    /// Ends the session as disposing its main object does in JavaScript: no message, close 3000.
    pub fn close(&self) {
        self.0.close("RPC session was shut down by disposing the main stub");
    }

    /// The transport is gone; everything pending fails with this reason.
    pub fn lost(&self, reason: impl Into<Thrown>) {
        self.0.lost(reason.into(), super::end::CLOSE_ABORTED);
    }

    /// How it ended, once it has.
    pub fn ended(&self) -> Option<Ended> {
        self.0.lock().ended.clone()
    }
}

/// So that `Connection` can be awaited inside `select!` without pinning.
impl Unpin for Connection {}

const _: fn() = || {
    fn sendable<T: Send>() {}
    sendable::<Connection>();
    sendable::<Pin<Box<dyn Future<Output = ()> + Send>>>();
};
