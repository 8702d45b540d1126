//! A target that is written to: one operation at a time, in order.
//!
//! When a write fails, everything after it fails with the same error, the close included.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::pipe::closed;
use crate::{
    Call, ErrorValue, Reply, Target, Thrown, Value,
    value::reference::caller::Origin,
    value::reference::cell::{Resolver, Task, poll_once},
};

/// What a target is asked to do.
pub(super) enum Op {
    Write(Value),
    Close,
    Abort(Thrown),
}

pub(super) struct Sink {
    target: Arc<dyn Target>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Op, Resolver, usize)>,
    bytes: usize,
    running: bool,
    failed: Option<Thrown>,
    over: bool,
}

impl Sink {
    pub(super) fn new(target: Arc<dyn Target>) -> Arc<Sink> {
        Arc::new(Sink { target, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_over(&self) -> bool {
        let state = self.lock();
        state.over || state.failed.is_some()
    }

    /// Puts an operation in line and serves the line, unless that is being done.
    /// Returns what is left to do when no session is there to do it.
    pub(super) fn ask(
        self: &Arc<Self>,
        op: Op,
        done: Resolver,
        bytes_max: usize,
        origin: &Origin,
    ) -> Option<Task> {
        let bytes = match &op {
            Op::Write(value) => value.weight(),
            Op::Close | Op::Abort(_) => 0,
        };
        let refused = {
            let mut state = self.lock();
            let refused = state.refusal(bytes, bytes_max);
            match refused {
                Some(reason) => Some((reason, op, done)),
                None => {
                    state.over |= matches!(op, Op::Close | Op::Abort(_));
                    state.bytes += bytes;
                    // An abort does not wait for what it makes useless.
                    let lost = if matches!(op, Op::Abort(_)) {
                        std::mem::take(&mut state.waiting)
                    } else {
                        VecDeque::new()
                    };
                    state.waiting.push_back((op, done, bytes));
                    let serve = !std::mem::replace(&mut state.running, true);
                    drop(state);
                    for (_, done, _) in lost {
                        done.settle(Err(closed()));
                    }
                    return if serve { self.serve(origin) } else { None };
                }
            }
        };
        if let Some((reason, op, done)) = refused {
            drop(op);
            done.settle(Err(reason));
        }
        None
    }

    fn serve(self: &Arc<Self>, origin: &Origin) -> Option<Task> {
        let sink = Arc::clone(self);
        let asker = origin.clone();
        let mut task: Task = Box::pin(async move {
            while let Some((op, done, bytes)) = sink.next() {
                let outcome = sink.perform(op, &asker).await;
                if let Err(reason) = &outcome {
                    sink.lock().failed.get_or_insert_with(|| reason.clone());
                }
                sink.lock().bytes -= bytes;
                done.settle(outcome.map(|_| Value::Undefined));
            }
        });
        if poll_once(&mut task) {
            return None;
        }
        match origin {
            // A pump, not a call: it must go on while no more calls are taken.
            Some(session) => {
                session.spawn_pump(task);
                None
            }
            None => Some(task),
        }
    }

    fn next(&self) -> Option<(Op, Resolver, usize)> {
        let mut state = self.lock();
        let next = state.waiting.pop_front();
        state.running = next.is_some();
        next
    }

    async fn perform(&self, op: Op, origin: &Origin) -> Result<Value, Thrown> {
        let failed = self.lock().failed.clone();
        if let (Some(reason), Op::Write(_) | Op::Close) = (failed, &op) {
            return Err(reason);
        }
        let (name, args) = match op {
            Op::Write(value) => ("write", vec![value]),
            Op::Close => ("close", Vec::new()),
            Op::Abort(reason) => ("abort", vec![reason.0]),
        };
        match Arc::clone(&self.target).call(name, Call::new(args, origin)) {
            Reply::Now(outcome) => outcome,
            Reply::Later(future) => future.await,
        }
    }
}

impl State {
    fn refusal(&self, bytes: usize, bytes_max: usize) -> Option<Thrown> {
        if let Some(reason) = &self.failed {
            return Some(reason.clone());
        }
        if self.over {
            return Some(closed());
        }
        let full = self.bytes + bytes > bytes_max && !self.waiting.is_empty();
        full.then(|| {
            ErrorValue::range_error("the stream is full: its sink is slower than its writer")
                .code("pipe_full")
                .into()
        })
    }
}
