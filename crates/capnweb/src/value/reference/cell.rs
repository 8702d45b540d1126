//! A promise of this process: a value that will be there.
//!
//! A cell is pending, then either settled for good or linked to another promise, whose
//! fate it shares. What is asked of a pending cell waits in line. When the cell settles
//! the line is served in order, and a question that comes meanwhile stands at its end:
//! nothing overtakes.
//!
//! Every pending cell has one `Resolver`. Dropping it rejects the cell, so nobody waits
//! for a call that was forgotten.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use crate::{
    ErrorValue, Thrown, Value,
    value::reference::hook::{Hook, Ref},
    value::reference::turn,
};

pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
type Waiting = Box<dyn FnOnce() + Send>;

pub(crate) struct Cell {
    value: OnceLock<Result<Value, Thrown>>,
    line: Mutex<Line>,
}

/// A session keeps a cell for every result, most of them settled from the start: so a cell is
/// small, and what those do not need stands in a box.
#[derive(Default)]
struct Line {
    serving: bool,
    pending: bool,
    rest: Option<Box<Rest>>,
    /// What keeping the value is counted as, until it is dropped.
    charge: Option<Charge>,
}

#[derive(Default)]
struct Rest {
    link: Option<Ref>,
    waiting: VecDeque<Waiting>,
    wakers: Vec<Waker>,
    /// A local call that no session drives: whoever awaits the cell polls it.
    task: Option<Task>,
}

impl Line {
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    fn link(&self) -> Option<Ref> {
        self.rest.as_ref()?.link.clone()
    }

    fn take_task(&mut self) -> Option<Task> {
        self.rest.as_mut()?.task.take()
    }
}

/// Bytes on somebody's account.
struct Charge {
    bytes: usize,
    account: Arc<AtomicUsize>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Where a cell is. `Pending` also while earlier questions are still being served.
pub(crate) enum Stage {
    Pending,
    Linked(Ref),
    Settled,
}

impl Cell {
    pub(crate) fn settled(value: Result<Value, Thrown>) -> Arc<Cell> {
        let cell = Cell { value: OnceLock::new(), line: Mutex::default() };
        match value {
            Ok(Value::Promise(promise)) => cell.lock().rest().link = Some(promise.0.shortened()),
            value => drop(cell.value.set(value)),
        }
        Arc::new(cell)
    }

    pub(crate) fn rejected(reason: impl Into<Thrown>) -> Arc<Cell> {
        Cell::settled(Err(reason.into()))
    }

    pub(crate) fn pending() -> (Arc<Cell>, Resolver) {
        let line = Line { pending: true, ..Line::default() };
        let cell = Arc::new(Cell { value: OnceLock::new(), line: Mutex::new(line) });
        (Arc::clone(&cell), Resolver { cell: Some(cell) })
    }

    /// The outcome, once settled. A linked cell has none of its own.
    pub(crate) fn value(&self) -> Option<&Result<Value, Thrown>> {
        self.value.get()
    }

    pub(crate) fn stage(&self) -> Stage {
        let line = self.lock();
        if line.pending || line.serving {
            return Stage::Pending;
        }
        line.link().map_or(Stage::Settled, Stage::Linked)
    }

    /// The stage for somebody who is being served: the line before him does not count.
    pub(crate) fn stage_when_served(&self) -> Stage {
        if self.value.get().is_some() {
            return Stage::Settled;
        }
        self.lock().link().map_or(Stage::Pending, Stage::Linked)
    }

    /// The outcome, if it is there and nobody stands in line for it.
    pub(crate) fn settled_value(&self) -> Option<&Result<Value, Thrown>> {
        let value = self.value.get()?;
        (!self.lock().serving).then_some(value)
    }

    /// Runs `job` when the cell has left `Pending`, after those who asked before.
    pub(crate) fn wait(&self, job: Waiting) {
        let mut line = self.lock();
        if line.pending || line.serving {
            line.rest().waiting.push_back(job);
            return;
        }
        drop(line);
        job();
    }

    /// Wakes `waker` when the cell leaves `Pending`; polls the local call it may hold.
    pub(crate) fn watch(self: &Arc<Self>, waker: &Waker) {
        let task = {
            let mut line = self.lock();
            if !line.pending {
                drop(line);
                waker.wake_by_ref();
                return;
            }
            let wakers = &mut line.rest().wakers;
            if !wakers.iter().any(|known| known.will_wake(waker)) {
                wakers.push(waker.clone());
            }
            line.take_task()
        };
        if let Some(mut task) = task {
            let all = Waker::from(Arc::new(WakeAll(Arc::downgrade(self))));
            if task.as_mut().poll(&mut Context::from_waker(&all)).is_pending() {
                self.lock().rest().task = Some(task);
            }
        }
    }

    /// Keeps a local call until somebody awaits it or a session takes it over.
    pub(crate) fn keep(&self, task: Task) {
        self.lock().rest().task = Some(task);
    }

    pub(crate) fn take_task(&self) -> Option<Task> {
        self.lock().take_task()
    }

    /// Puts the bytes of the value on an account for as long as the cell lives, once. Returns
    /// what stands on the account then.
    pub(crate) fn charge(&self, account: &Arc<AtomicUsize>) -> usize {
        let Some(Ok(value)) = self.value.get() else { return account.load(Ordering::Relaxed) };
        let bytes = value.weight();
        let mut line = self.lock();
        if line.charge.is_none() {
            account.fetch_add(bytes, Ordering::Relaxed);
            line.charge = Some(Charge { bytes, account: Arc::clone(account) });
        }
        account.load(Ordering::Relaxed)
    }

    fn settle(self: &Arc<Self>, outcome: Outcome) {
        let wakers = {
            let mut line = self.lock();
            if !line.pending {
                return;
            }
            match outcome {
                Outcome::Value(Ok(Value::Promise(promise))) => {
                    line.rest().link = Some(promise.0.shortened());
                }
                Outcome::Value(value) => drop(self.value.set(value)),
                Outcome::Link(target) => line.rest().link = Some(target.shortened()),
            }
            line.pending = false;
            let Some(rest) = &mut line.rest else { return };
            let wakers = std::mem::take(&mut rest.wakers);
            line.serving = !rest.waiting.is_empty();
            wakers
        };
        wakers.into_iter().for_each(Waker::wake);
        let cell = Arc::clone(self);
        turn::defer(move || cell.serve());
    }

    /// Serves the line until it is empty. Only one turn does, the one that settled.
    fn serve(&self) {
        loop {
            let next = {
                let mut line = self.lock();
                let next = line.rest.as_mut().and_then(|rest| rest.waiting.pop_front());
                line.serving = next.is_some();
                next
            };
            match next {
                Some(job) => job(),
                None => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // A scalar holds nothing; anything else may hold the next cell of a long chain.
        let value = self
            .value
            .take()
            .filter(|value| !matches!(value, Ok(Value::Undefined | Value::Null | Value::Number(_))));
        let rest = self.line.get_mut().unwrap_or_else(PoisonError::into_inner).rest.take();
        if value.is_some() || rest.is_some() {
            turn::bury((value, rest));
        }
    }
}

/// Takes a settled value out of its cell, copying only if somebody else looks at it.
pub(crate) fn into_outcome(cell: Arc<Cell>) -> Result<Value, Thrown> {
    let value = match Arc::try_unwrap(cell) {
        Ok(mut cell) => cell.value.take(),
        Err(shared) => shared.value.get().cloned(),
    };
    value.unwrap_or(Ok(Value::Undefined))
}

enum Outcome {
    Value(Result<Value, Thrown>),
    Link(Ref),
}

/// The right and duty to settle a cell.
pub(crate) struct Resolver {
    cell: Option<Arc<Cell>>,
}

impl Resolver {
    pub(crate) fn settle(mut self, value: Result<Value, Thrown>) {
        if let Some(cell) = self.cell.take() {
            cell.settle(Outcome::Value(value));
        }
    }

    /// Gives the cell the fate of another promise.
    pub(crate) fn link(mut self, target: Hook) {
        if let Some(cell) = self.cell.take() {
            cell.settle(Outcome::Link(Ref::from(target)));
        }
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        if let Some(cell) = self.cell.take() {
            let gone = ErrorValue::new("the call was dropped before it ended").code("dropped");
            cell.settle(Outcome::Value(Err(gone.into())));
        }
    }
}

/// Wakes everybody who awaits a cell: any of them can go on with its local call.
struct WakeAll(Weak<Cell>);

impl Wake for WakeAll {
    fn wake(self: Arc<Self>) {
        let Some(cell) = self.0.upgrade() else { return };
        let wakers = cell.lock().rest.as_mut().map(|rest| std::mem::take(&mut rest.wakers));
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

/// True once the task is done. Runs what it can of it now.
pub(crate) fn poll_once(task: &mut Task) -> bool {
    matches!(task.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(()))
}
