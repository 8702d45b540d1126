//! The log as readers see it.
//!
//! Nobody is pushed at. A reader holds a cursor, is woken by a hint, and reads what comes after its
//! cursor: from the window of recent entries, or from the log if it was away for longer. There is no
//! queue per reader, so none can overflow, grow or drop.
//!
//! Invariant I11: a reader misses no durable entry after its cursor and sees none twice. Entries come
//! in through the committer, in the order of their positions.
//!
//! Beside entries the window carries events that are not stored (a toast, a changed project). They have
//! no position; a reader that was away does not get them.
//!
//! `cursor` names a place in this store, `reader` reads on from one, `follow` is what streams are made of,
//! `past` shows a session's entries again, `tail` says the same in the words of the v2 API, `meters` counts.

mod cursor;
mod follow;
mod meters;
mod moved;
mod past;
mod reader;
mod tail;

pub use cursor::{Cursor, Resync};
pub use follow::{Follower, Step};
pub use meters::{EngineMeters, Labels};
pub(crate) use moved::Moved;
pub(crate) use past::past;
pub use past::{PastEntry, PastPage};
pub use reader::{Page, Reader};
pub use sturdy_store::Scope;
pub use tail::{NumberedEvent, Tail};

use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::rows::Entry;
use sturdy_session::stamp::Millis;
use sturdy_session::types::event::Event;
use sturdy_store::Store;
use tokio::sync::watch;

/// What the window keeps: enough for a reader that reconnects after a hiccup, little enough to forget about.
const WINDOW_ENTRIES: usize = 2048;
/// All that the entries of the window hold. One entry may be larger; then it is alone.
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
    /// What clients see of it, as JSON, in order: `{"type":…,"properties":…}` each.
    pub events: Vec<Bytes>,
}

#[derive(Debug)]
pub enum Body {
    Entry(Stored),
    /// Not stored, not replayed.
    Told(Box<Event>),
}

/// An entry's place.
#[derive(Debug)]
pub struct Stored {
    pub position: u64,
    pub session: SessionId,
    /// Nothing more will be heard of the session.
    pub is_removal: bool,
}

impl Shown {
    /// The place in the log, for entries that have one.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        match &self.body {
            Body::Entry(entry) => Some(entry.position),
            Body::Told(_) => None,
        }
    }

    /// All that it holds in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        const OVERHEAD: usize = 256;
        const EACH: usize = size_of::<Bytes>();
        let events: usize = self.events.iter().map(|event| EACH + event.len()).sum();
        match &self.body {
            Body::Entry(_) => OVERHEAD + events,
            // Twice: the event, and the text that was made of it.
            Body::Told(_) => OVERHEAD + 2 * events,
        }
    }

    fn is_in(&self, scope: &Scope) -> bool {
        match (scope, &self.body) {
            (Scope::All, _) => true,
            (Scope::Directory(directory), _) => self.directory.as_deref() == Some(directory),
            (Scope::Session(session), Body::Entry(entry)) => entry.session == *session,
            (Scope::Session(_), Body::Told(_)) => false,
        }
    }
}

/// What one commit adds to the feed.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) session: SessionId,
    pub(crate) directory: Arc<str>,
    pub(crate) project: Arc<str>,
    entries: Vec<PublishedEntry>,
    counted: Vec<meters::Counted>,
}

#[derive(Debug)]
struct PublishedEntry {
    at: Millis,
    is_removal: bool,
    events: Vec<Bytes>,
}

impl Published {
    pub(crate) fn new(session: SessionId, directory: &str, project: &str, entries: &[Entry]) -> Self {
        let entry = |entry: &Entry| PublishedEntry {
            at: entry.at,
            is_removal: matches!(entry.fact, Fact::SessionRemoved { .. }),
            events: entry.events.iter().map(text_of).collect(),
        };
        let counted = entries.iter().filter_map(meters::counted).collect();
        let entries = entries.iter().map(entry).collect();
        Self { session, directory: Arc::from(directory), project: Arc::from(project), entries, counted }
    }
}

/// The text of an event, as every reader is sent it.
fn text_of(event: &Event) -> Bytes {
    Bytes::from(serde_json::to_string(event).expect("BUG: an event is always JSON"))
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

/// Large entries that some reader holds: a second one that is behind takes the same.
type Large = Arc<Mutex<HashMap<u64, Weak<Shown>>>>;

/// The positions of readers, each as long as its reader lives.
type Places = Arc<Mutex<Vec<Weak<AtomicU64>>>>;

/// Cheap to clone; all clones are one feed.
#[derive(Clone, Debug)]
pub struct Feed {
    window: Arc<Mutex<Window>>,
    wake: watch::Sender<u64>,
    store: Store,
    large: Large,
    meters: EngineMeters,
    /// How far each reader is.
    readers: Places,
    /// How this process settled what the last one left open.
    settled: Arc<OnceLock<Settled>>,
    moved: Moved,
}

impl Feed {
    #[must_use]
    pub fn new(store: Store) -> Self {
        let window = Window { position: store.head(), ..Window::default() };
        Self {
            window: Arc::new(Mutex::new(window)),
            wake: watch::Sender::new(0),
            store,
            large: Large::default(),
            meters: EngineMeters::default(),
            readers: Places::default(),
            settled: Arc::default(),
            moved: Moved::default(),
        }
    }

    /// Called by the committer's thread, in the order of positions, when the entries are durable.
    pub(crate) fn publish(&self, first_position: u64, published: Published) {
        self.moved.tell(&published.session);
        let mut window = self.lock();
        for (position, entry) in (first_position..).zip(published.entries) {
            let PublishedEntry { at, is_removal, events } = entry;
            let body = Body::Entry(Stored { position, session: published.session.clone(), is_removal });
            let directory = Some(published.directory.clone());
            window.push(Shown {
                tick: 0,
                at,
                directory,
                project: Some(published.project.clone()),
                body,
                events,
            });
        }
        let tick = window.last_tick;
        drop(window);
        self.wake.send_replace(tick);
        published.counted.into_iter().for_each(|counted| self.meters.count(counted));
    }

    /// Who waits for a session to move.
    pub(crate) fn moved(&self) -> &Moved {
        &self.moved
    }

    /// Shows something that is not stored.
    pub fn tell(&self, at: Millis, directory: Option<&str>, project: Option<&str>, event: Event) {
        let events = vec![text_of(&event)];
        let body = Body::Told(Box::new(event));
        let directory = directory.map(Arc::from);
        let project = project.map(Arc::from);
        let mut window = self.lock();
        window.push(Shown { tick: 0, at, directory, project, body, events });
        let tick = window.last_tick;
        drop(window);
        self.wake.send_replace(tick);
    }

    /// What sessions did since the start.
    #[must_use]
    pub fn meters(&self) -> &EngineMeters {
        &self.meters
    }

    /// How many read the log.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.places().len()
    }

    /// How many entries the slowest of them is behind.
    #[must_use]
    pub fn lag(&self) -> u64 {
        let slowest = self.places().into_iter().min();
        slowest.map_or(0, |position| self.store.head().saturating_sub(position))
    }

    fn places(&self) -> Vec<u64> {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.iter().filter_map(Weak::upgrade).map(|position| position.load(Ordering::Relaxed)).collect()
    }

    /// Lets a reader be seen as long as it keeps this.
    fn place(&self, position: u64) -> Arc<AtomicU64> {
        let place = Arc::new(AtomicU64::new(position));
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|known| known.strong_count() > 0);
        readers.push(Arc::downgrade(&place));
        place
    }

    /// Whether anybody listens.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.wake.receiver_count() > 0
    }

    /// A reader of everything that comes from now on.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader_of(Scope::All)
    }

    /// The same for a part of the log.
    #[must_use]
    pub fn reader_of(&self, scope: Scope) -> Reader {
        let wake = self.wake.subscribe();
        let window = self.lock();
        Reader::new(self.clone(), scope, wake, Some(window.last_tick), window.position)
    }

    /// Where a reader begins that says nothing of what it saw.
    ///
    /// Soon after a restart that settled something it is most likely a client that was cut off by
    /// the restart and keeps no cursor, as the terminal client does: it would show for ever what was
    /// open when its stream broke. So it is shown how that ended, unless something else was stored
    /// since. To somebody who is really new these are records it would have read anyway.
    #[must_use]
    pub fn newcomer(&self, scope: Scope, now: Millis) -> Reader {
        match self.settled.get() {
            Some(settled)
                if settled.after == self.store.head() && now.saturating_sub(settled.at) < COMING_BACK =>
            {
                self.reader_after(scope, settled.before)
            }
            _ => self.reader_of(scope),
        }
    }

    /// Says that what came after `before` settled the work of a process that died.
    pub(crate) fn settled(&self, before: u64, at: Millis) {
        // Set once, by the start; a second start is another process.
        let _ = self.settled.set(Settled { before, after: self.store.head(), at });
    }

    /// A reader that was here before and saw everything up to `position`.
    #[must_use]
    pub fn reader_after(&self, scope: Scope, position: u64) -> Reader {
        Reader::new(self.clone(), scope, self.wake.subscribe(), None, position)
    }

    /// The store that is read, for those who compare what was shown with what is stored.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        // The window holds no half-made state: every change of it is complete before the guard goes.
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    fn push(&mut self, mut shown: Shown) {
        self.last_tick += 1;
        shown.tick = self.last_tick;
        if let Some(position) = shown.position() {
            self.position = position;
        }
        self.bytes += shown.bytes();
        self.entries.push_back(Arc::new(shown));
        while self.entries.len() > WINDOW_ENTRIES || (self.bytes > WINDOW_BYTES && self.entries.len() > 1) {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }
}

#[cfg(test)]
mod tests;
