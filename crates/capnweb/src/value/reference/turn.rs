//! What runs now, what runs next, and on whose behalf.
//!
//! JavaScript settles promises in turns: what waits for a promise runs after the code
//! that settled it, in order, never inside it. `defer` gives the same here. It also
//! keeps a chain of ten thousand pipelined calls from becoming ten thousand stack frames.
//!
//! `origin` is the session on whose behalf code runs. It is set while a session
//! receives or polls, and captured by everything that is started then.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    sync::Arc,
};

use super::caller::{Caller, Origin};

type Job = Box<dyn FnOnce()>;

thread_local! {
    // Some while jobs are being run or gathered on this thread. Bounded by what the tables
    // of the sessions hold: every job settles something somebody waits for.
    static JOBS: RefCell<Option<VecDeque<Job>>> = const { RefCell::new(None) };
    static ORIGIN: RefCell<Origin> = const { RefCell::new(None) };
    static BURYING: Cell<u32> = const { Cell::new(0) };
    static GRAVES: RefCell<Vec<Box<dyn Send>>> = const { RefCell::new(Vec::new()) };
}

/// Drops `remains`, which may hold the last reference to something that holds the last
/// reference to something, and so on for as long as a peer likes: to a fixed depth at once, the
/// rest in a line.
pub(crate) fn bury(remains: impl Send + 'static) {
    const AT_ONCE: u32 = 24;
    // A thread that is ending has no line any more; then at once.
    let Ok(depth) = BURYING.try_with(Cell::get) else { return drop(remains) };
    if depth >= AT_ONCE {
        return GRAVES.with_borrow_mut(|graves| graves.push(Box::new(remains)));
    }
    BURYING.set(depth + 1);
    drop(remains);
    BURYING.set(depth);
    if depth == 0 {
        while let Some(next) = GRAVES.with_borrow_mut(Vec::pop) {
            BURYING.set(1);
            drop(next);
            BURYING.set(0);
        }
    }
}

/// Runs `job` after the current one, or at once when there is none.
pub(crate) fn defer(job: impl FnOnce() + 'static) {
    let mut job: Option<Job> = Some(Box::new(job));
    JOBS.with_borrow_mut(|jobs| {
        if let Some(queue) = jobs {
            queue.extend(job.take());
        }
    });
    if let Some(job) = job {
        gather(job);
    }
}

/// Runs `body`, then everything that was deferred meanwhile, until nothing is left.
pub(crate) fn gather<R>(body: impl FnOnce() -> R) -> R {
    let outermost = JOBS.with_borrow_mut(|jobs| {
        let outermost = jobs.is_none();
        jobs.get_or_insert_default();
        outermost
    });
    if !outermost {
        return body();
    }
    let _reset = Reset;
    let result = body();
    while let Some(job) = JOBS.with_borrow_mut(|jobs| jobs.as_mut().and_then(VecDeque::pop_front)) {
        job();
    }
    result
}

/// Leaves the thread clean, also when a job panics.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        let left = JOBS.with_borrow_mut(Option::take);
        drop(left);
    }
}

pub(crate) fn origin() -> Origin {
    ORIGIN.with_borrow(Clone::clone)
}

/// Runs `body` on behalf of a session.
pub(crate) fn on_behalf_of<R>(session: Arc<dyn Caller>, body: impl FnOnce() -> R) -> R {
    let before = ORIGIN.replace(Some(session));
    let _restore = Restore(Some(before));
    body()
}

struct Restore(Option<Origin>);

impl Drop for Restore {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            drop(ORIGIN.replace(before));
        }
    }
}
