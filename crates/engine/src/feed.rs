//! The log as readers see it.
//!
//! Nobody is pushed at. A reader holds a cursor, is woken by a hint, and reads what comes after its
//! cursor: from the window of recent entries, or from the log if it was away for longer. There is no
//! queue per reader, so none can overflow, grow or drop.
//!
//! Invariant I11: a reader misses no durable entry after its cursor and sees none twice. Entries come
//! in through the committer, in the order of their positions.
//!
//! Beside facts the window carries events that are not stored (a toast, a changed project). They have
//! no position; a reader that was away does not get them.

mod reader;

pub use reader::Reader;

use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::stamp::Millis;
use sturdy_session::types::event::Event;
use sturdy_store::Store;
use tokio::sync::watch;

/// What the window keeps: enough for a reader that reconnects after a hiccup, little enough to forget about.
const WINDOW_ENTRIES: usize = 2048;
const WINDOW_BYTES: usize = 1024 * 1024;

/// How long clients take to come back after a restart.
const COMING_BACK: Millis = 60_000;

/// One thing to show, shared by all readers.
#[derive(Debug)]
pub struct Shown {
    /// Order in the window; readers do not see it.
    tick: u64,
    pub at: Millis,
    /// The instance it belongs to; none is the whole server.
    pub directory: Option<Arc<str>>,
    pub project: Option<Arc<str>>,
    pub body: Body,
    /// The frame as it goes out, made once by the first reader that needs it: one per kind of stream.
    pub frames: [OnceLock<Bytes>; 2],
}

#[derive(Debug)]
pub enum Body {
    Fact(Box<ShownFact>),
    /// Not stored, not replayed.
    Event(Box<Event>),
}

#[derive(Debug)]
pub struct ShownFact {
    pub position: u64,
    pub session: SessionId,
    pub seq: u64,
    pub fact: Fact,
    /// The record the fact changed, right after it, as JSON.
    pub row: Option<String>,
}

impl Shown {
    /// The place in the log, for entries that have one.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        match &self.body {
            Body::Fact(fact) => Some(fact.position),
            Body::Event(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        const OVERHEAD: usize = 256;
        match &self.body {
            // Twice: the record, and the frame that will be made of it.
            Body::Fact(fact) => OVERHEAD + 2 * fact.row.as_ref().map_or(64, String::len),
            Body::Event(_) => 2 * OVERHEAD,
        }
    }
}

/// What one commit adds to the feed.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) session: SessionId,
    pub(crate) at: Millis,
    pub(crate) directory: Arc<str>,
    pub(crate) project: Arc<str>,
    pub(crate) facts: Vec<(Fact, Option<String>)>,
    /// The session's seq before the first fact.
    pub(crate) seq: u64,
}

#[derive(Debug, Default)]
struct Window {
    entries: VecDeque<Arc<Shown>>,
    bytes: usize,
    last_tick: u64,
    /// Position of the newest entry that was ever in the window.
    position: u64,
}

/// Where the log stood before and after, and when that was.
#[derive(Debug)]
struct Settled {
    before: u64,
    after: u64,
    at: Millis,
}

/// Cheap to clone; all clones are one feed.
#[derive(Clone, Debug)]
pub struct Feed {
    window: Arc<Mutex<Window>>,
    wake: watch::Sender<u64>,
    store: Store,
    /// How this process settled what the last one left open.
    settled: Arc<OnceLock<Settled>>,
}

impl Feed {
    #[must_use]
    pub fn new(store: Store) -> Self {
        let window = Window { position: store.head(), ..Window::default() };
        Self {
            window: Arc::new(Mutex::new(window)),
            wake: watch::Sender::new(0),
            store,
            settled: Arc::default(),
        }
    }

    /// Called by the committer's thread, in the order of positions, when the entries are durable.
    pub(crate) fn publish(&self, first_position: u64, news: Published) {
        let mut window = self.lock();
        for (index, (fact, row)) in news.facts.into_iter().enumerate() {
            let index = index as u64;
            let body = Body::Fact(Box::new(ShownFact {
                position: first_position + index,
                session: news.session.clone(),
                seq: news.seq + index + 1,
                fact,
                row,
            }));
            window.push(news.at, Some(news.directory.clone()), Some(news.project.clone()), body);
        }
        let tick = window.last_tick;
        drop(window);
        self.wake.send_replace(tick);
    }

    /// Shows something that is not stored.
    pub fn tell(&self, at: Millis, directory: Option<&str>, project: Option<&str>, event: Event) {
        let mut window = self.lock();
        window.push(at, directory.map(Arc::from), project.map(Arc::from), Body::Event(Box::new(event)));
        let tick = window.last_tick;
        drop(window);
        self.wake.send_replace(tick);
    }

    /// Whether anybody listens.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.wake.receiver_count() > 0
    }

    /// A reader of everything that comes from now on.
    #[must_use]
    pub fn reader(&self) -> Reader {
        let wake = self.wake.subscribe();
        let window = self.lock();
        Reader::new(self.clone(), wake, Some(window.last_tick), window.position)
    }

    /// A reader that says nothing of what it saw.
    ///
    /// Soon after a restart that settled something it is most likely a client that was cut off by
    /// the restart and keeps no cursor, as the terminal client does: it would show for ever what was
    /// open when its stream broke. So it is shown how that ended, unless something else was stored
    /// since. To somebody who is really new these are records it would have read anyway.
    #[must_use]
    pub fn newcomer(&self, now: Millis) -> Reader {
        match self.settled.get() {
            Some(settled)
                if settled.after == self.store.head() && now.saturating_sub(settled.at) < COMING_BACK =>
            {
                self.reader_after(settled.before)
            }
            _ => self.reader(),
        }
    }

    /// Says that what came after `before` settled the work of a process that died.
    pub(crate) fn settled(&self, before: u64, at: Millis) {
        // Set once, by the start; a second start is another process.
        let _ = self.settled.set(Settled { before, after: self.store.head(), at });
    }

    /// A reader that was here before and saw everything up to `position`.
    #[must_use]
    pub fn reader_after(&self, position: u64) -> Reader {
        let wake = self.wake.subscribe();
        let newest = self.lock().position;
        // A cursor from the future belongs to another store: begin with what is new here.
        if position > newest.max(self.store.head()) {
            return self.reader();
        }
        Reader::new(self.clone(), wake, None, position)
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        // The window holds no half-made state: every change of it is complete before the guard goes.
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    fn push(&mut self, at: Millis, directory: Option<Arc<str>>, project: Option<Arc<str>>, body: Body) {
        self.last_tick += 1;
        let frames = [OnceLock::new(), OnceLock::new()];
        let shown = Shown { tick: self.last_tick, at, directory, project, body, frames };
        if let Some(position) = shown.position() {
            self.position = position;
        }
        self.bytes += shown.bytes();
        self.entries.push_back(Arc::new(shown));
        while self.entries.len() > WINDOW_ENTRIES || self.bytes > WINDOW_BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }
}
