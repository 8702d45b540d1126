//! One reader: a cursor and a hint.

use super::{Body, Feed, Resync, Shown, Stored, Window, text_of};
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::records::call_of;
use sturdy_session::show::Replay;
use sturdy_store::{LogEntry, Origin, ReadError, Scope, Store, Subject};
use tokio::sync::watch;
use tracing::error;

/// Entries read at a time: a reader that is far behind takes its place among the others.
const PAGE: usize = 256;
/// And no more than this much of them, when they are large.
const PAGE_BYTES: usize = 256 * 1024;
/// Sessions whose state is kept from one page of the log to the next.
const REPLAYS: usize = 64;
/// Entries from this size on are shared between the readers that are behind.
const LARGE: usize = 64 * 1024;

pub struct Reader {
    feed: Feed,
    scope: Scope,
    wake: watch::Receiver<u64>,
    /// Last entry of the window that was read; none while the reader is behind it.
    tick: Option<u64>,
    position: u64,
    /// The same, for who watches how far readers are.
    place: Arc<AtomicU64>,
    /// The sessions of the last page, as they were right after it.
    replays: HashMap<SessionId, Replay>,
    /// A read of the log that has begun: it goes on when the reader is polled again.
    fetching: Option<BoxFuture<'static, Result<Fetched, ReadError>>>,
    /// Something of what was passed over could not be read, and the client is not told yet.
    has_gap: bool,
}

/// What a reader is given.
#[derive(Debug)]
pub enum Page {
    Entries(Vec<Arc<Shown>>),
    /// What came after its cursor is not all there any more; it goes on with what is new.
    Resync(Resync),
}

/// A page of the log, read and understood.
pub(super) struct Fetched {
    pub(super) facts: Vec<(LogEntry, Fact)>,
    /// Some entries could not be read.
    pub(super) has_gap: bool,
    pub(super) origins: Vec<Origin>,
    pub(super) reached: u64,
    pub(super) horizon: u64,
}

enum Found {
    Entries(Vec<Arc<Shown>>),
    /// Older than the window: ask the log.
    Behind,
}

impl Reader {
    pub(super) fn new(
        feed: Feed,
        scope: Scope,
        wake: watch::Receiver<u64>,
        tick: Option<u64>,
        position: u64,
    ) -> Self {
        let place = feed.place(position);
        Self {
            feed,
            scope,
            wake,
            tick,
            position,
            place,
            replays: HashMap::new(),
            fetching: None,
            has_gap: false,
        }
    }

    /// The position of the last durable entry this reader was given or passed over.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What comes after the cursor; waits until there is something. At most a page at a time.
    ///
    /// Cancel safe: the cursor moves when the entries are handed over, not before, and a read of the log
    /// that was begun is not begun again.
    pub async fn next(&mut self) -> Result<Page, ReadError> {
        loop {
            if std::mem::take(&mut self.has_gap) {
                return Ok(Page::Resync(Resync::Damaged));
            }
            self.wake.mark_unchanged();
            if self.fetching.is_none() {
                match self.look() {
                    Found::Entries(entries) if !entries.is_empty() => return Ok(Page::Entries(entries)),
                    Found::Entries(_) => {
                        // The feed lives as long as this reader, so the sender is never gone.
                        if self.wake.changed().await.is_err() {
                            std::future::pending::<()>().await;
                        }
                        continue;
                    }
                    Found::Behind => self.begin_to_fetch(),
                }
            }
            let Some(fetching) = &mut self.fetching else { continue };
            let fetched = fetching.await;
            self.fetching = None;
            let fetched = fetched?;
            if self.position + 1 < fetched.horizon {
                self.go_to_the_end();
                return Ok(Page::Resync(Resync::Horizon));
            }
            let entries = self.show(fetched);
            if !entries.is_empty() {
                return Ok(Page::Entries(entries));
            }
        }
    }

    /// Goes on with what is new from now on.
    fn go_to_the_end(&mut self) {
        let window = self.feed.lock();
        self.tick = Some(window.last_tick);
        self.position = window.position;
        self.place.store(self.position, Ordering::Relaxed);
    }

    fn look(&mut self) -> Found {
        let window = self.feed.lock();
        let Some(from) = self.place_in(&window) else { return Found::Behind };
        let mut entries = Vec::new();
        let mut bytes = 0;
        let mut tick = from;
        let mut position = self.position;
        let skip = (from + 1).saturating_sub(window.first_tick()) as usize;
        for shown in window.entries.iter().skip(skip) {
            tick = shown.tick;
            match shown.position() {
                // Already read from the log, before it came into the window.
                Some(at) if at <= position => continue,
                Some(at) => position = at,
                None => {}
            }
            if !shown.is_in(&self.scope) {
                continue;
            }
            bytes += shown.bytes();
            entries.push(shown.clone());
            if bytes >= PAGE_BYTES || entries.len() >= PAGE {
                break;
            }
        }
        drop(window);
        self.tick = Some(tick);
        self.position = position;
        self.place.store(position, Ordering::Relaxed);
        self.replays = HashMap::new();
        Found::Entries(entries)
    }

    /// The tick after which this reader goes on, if the window reaches back that far.
    fn place_in(&self, window: &Window) -> Option<u64> {
        if let Some(tick) = self.tick
            && tick + 1 >= window.first_tick()
        {
            return Some(tick);
        }
        if self.position >= window.position {
            return Some(window.last_tick);
        }
        let mut durable = window.entries.iter().filter(|shown| shown.position().is_some());
        let oldest = durable.next()?.position()?;
        if oldest > self.position + 1 {
            return None;
        }
        let next =
            window.entries.iter().find(|shown| shown.position().is_some_and(|at| at > self.position))?;
        Some(next.tick - 1)
    }

    fn begin_to_fetch(&mut self) {
        if self.replays.len() > REPLAYS {
            self.replays = HashMap::new();
        }
        let known = self.replays.keys().cloned().collect();
        let fetching = fetch(self.feed.store.clone(), self.position, self.scope.clone(), known);
        self.fetching = Some(Box::pin(fetching));
    }

    /// Shows a page of the log as it was shown when it happened.
    fn show(&mut self, fetched: Fetched) -> Vec<Arc<Shown>> {
        let Fetched { facts, has_gap, origins, reached, .. } = fetched;
        self.has_gap |= has_gap;
        for origin in origins {
            let session = origin.session.clone();
            let (replay, has_gap) = begin(origin);
            self.has_gap |= has_gap;
            self.replays.insert(session, replay);
        }
        let mut entries = Vec::with_capacity(facts.len());
        for (entry, fact) in facts {
            let replay = self.replays.entry(entry.session.clone()).or_default();
            let events = replay.show(&fact, entry.at);
            // A removed session has no row any more; its last fact still knows where it was.
            let removed = if let Fact::SessionRemoved { info } = &fact { Some(info) } else { None };
            let directory = entry.directory.or_else(|| removed.map(|info| info.directory.clone()));
            let project = entry.project.or_else(|| removed.map(|info| info.project_id.clone()));
            let shown = Shown {
                tick: 0,
                at: entry.at,
                directory: directory.map(Arc::from),
                project: project.map(Arc::from),
                body: Body::Entry(Stored {
                    position: entry.position,
                    session: entry.session,
                    is_removal: removed.is_some(),
                }),
                events: events.iter().map(text_of).collect(),
            };
            if shown.is_in(&self.scope) {
                entries.push(self.shared(shown));
            }
        }
        self.tick = None;
        self.position = reached;
        self.place.store(reached, Ordering::Relaxed);
        entries
    }

    /// One copy of what is large, however many readers are behind.
    fn shared(&self, shown: Shown) -> Arc<Shown> {
        let Some(position) = shown.position().filter(|_| shown.bytes() >= LARGE) else {
            return Arc::new(shown);
        };
        let mut large = self.feed.large.lock().unwrap_or_else(PoisonError::into_inner);
        large.retain(|_, held| held.strong_count() > 0);
        if let Some(held) = large.get(&position).and_then(Weak::upgrade) {
            return held;
        }
        let shown = Arc::new(shown);
        large.insert(position, Arc::downgrade(&shown));
        shown
    }
}

/// Reads a page and what its entries need to be shown again: a bounded number of reads, however long the
/// sessions are.
pub(super) async fn fetch(
    store: Store,
    position: u64,
    scope: Scope,
    known: Vec<SessionId>,
) -> Result<Fetched, ReadError> {
    let page = store.log_page(position, scope, known, PAGE).await?;
    let read = page.entries.len();
    let mut facts: Vec<_> = page.entries.into_iter().filter_map(readable).collect();
    let mut has_gap = facts.len() < read;
    let compacted = facts.iter().filter(|(_, fact)| matches!(fact, Fact::ToolCompacted { .. }));
    let subject = |(entry, fact): &(LogEntry, Fact)| {
        let id = fact.subject()?.to_owned();
        Some(Subject { session: entry.session.clone(), id, before: entry.position })
    };
    let subjects: Vec<_> = compacted.filter_map(subject).collect();
    if !subjects.is_empty() {
        let mut about = store.entries_about(subjects).await?.into_iter();
        for (entry, fact) in &mut facts {
            if let Fact::ToolCompacted { before, .. } = fact {
                let stored = about.next().unwrap_or_default();
                let read = stored.len();
                let said: Vec<_> = stored.into_iter().filter_map(readable).collect();
                has_gap |= said.len() < read;
                *before = call_of(&entry.session, said.iter().map(|(_, fact)| fact)).map(Box::new);
            }
        }
    }
    Ok(Fetched { facts, has_gap, origins: page.origins, reached: page.reached, horizon: page.horizon })
}

/// A session as it was before the first entry that a reader missed, and whether something of that could not be
/// read. Then what follows may show less than it did when it happened, and the reader has to be told.
pub(super) fn begin(origin: Origin) -> (Replay, bool) {
    let keyframe = origin.keyframe.as_deref().map(Replay::from_keyframe);
    let mut has_gap = false;
    let mut replay = match keyframe {
        None => Replay::from_start(),
        Some(Ok(replay)) => replay,
        Some(Err(cause)) => {
            error!(session = %origin.session, %cause, "a keyframe cannot be read");
            has_gap = true;
            Replay::from_start()
        }
    };
    for entry in origin.entries {
        match readable(entry) {
            Some((_, fact)) => replay.pass(&fact),
            None => has_gap = true,
        }
    }
    (replay, has_gap)
}

impl Window {
    fn first_tick(&self) -> u64 {
        self.entries.front().map_or(self.last_tick + 1, |oldest| oldest.tick)
    }
}

/// An entry that cannot be read is passed over here and reported by `verify`: one damaged entry
/// must not cut every reader off.
fn readable(entry: LogEntry) -> Option<(LogEntry, Fact)> {
    match Fact::parse(&entry.kind, &entry.data) {
        Ok(fact) => Some((entry, fact)),
        Err(cause) => {
            error!(position = entry.position, %cause, "an entry of the log cannot be read");
            None
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("scope", &self.scope)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
