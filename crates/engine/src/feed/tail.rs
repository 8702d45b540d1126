//! The events of one session in the words of the v2 API: a page of its history, or what comes next.
//!
//! Everything is read from the log, forward, so a history and a tail that was open all the time say the same. The feed is
//! only the hint that there is something to read.

use super::reader::{begin, fetch};
use super::{Feed, Page, Reader, Scope};
use sturdy_session::id::SessionId;
use sturdy_session::show::{NextEvent, Replay};
use sturdy_store::{ReadError, Store};

/// An event with its place.
#[derive(Clone, Debug)]
pub struct NumberedEvent {
    pub session: SessionId,
    /// Counts what is durable within the session: 1 is its first, and none is left out. Growth has none.
    pub seq: Option<u64>,
    /// Of the entry, in the log of the whole store.
    pub position: u64,
    pub at: u64,
    /// Which of the entry's events.
    pub index: usize,
    pub directory: Option<String>,
    pub event: NextEvent,
}

/// Reads the events of a session, or of all of them, forward.
#[derive(Debug)]
pub struct Tail {
    store: Store,
    scope: Scope,
    wake: Reader,
    /// Entries up to here were read.
    position: u64,
    /// Events up to this number were seen, in a session's tail.
    seen: u64,
    replays: std::collections::HashMap<SessionId, Replay>,
}

impl Tail {
    /// What comes after this event of a session.
    pub async fn of_session(feed: &Feed, session: &SessionId, after: u64) -> Result<Self, ReadError> {
        let store = feed.store().clone();
        let scope = Scope::Session(session.clone());
        // Attached first: what comes while the log is read is a hint already.
        let wake = feed.reader_of(scope.clone());
        // Read before the log is searched: what is stored meanwhile is found behind it.
        let head = store.head();
        // The entry of that event may have shown more than that event.
        let first = store.first_told_after(session, after).await?;
        let position = first.map_or(head, |position| position.saturating_sub(1));
        Ok(Self { store, scope, wake, position, seen: after, replays: Default::default() })
    }

    /// What comes from now on, in every session.
    #[must_use]
    pub fn of_all(feed: &Feed) -> Self {
        let wake = feed.reader();
        let position = wake.position();
        let store = feed.store().clone();
        Self { store, scope: Scope::All, wake, position, seen: 0, replays: Default::default() }
    }

    /// The next events that there are already; none when everything was read.
    pub async fn ready(&mut self) -> Result<Vec<NumberedEvent>, ReadError> {
        loop {
            let known = self.replays.keys().cloned().collect();
            let before = self.position;
            let page = fetch(self.store.clone(), self.position, self.scope.clone(), known).await?;
            for origin in page.origins {
                self.replays.insert(origin.session.clone(), begin(origin).0);
            }
            let mut events = Vec::new();
            for (entry, fact) in page.facts {
                let replay = self.replays.entry(entry.session.clone()).or_default();
                let shown = replay.show_next(&fact, entry.at);
                let durable = shown.iter().filter(|event| event.is_durable).count() as u64;
                // The entry knows the number of its last one.
                let mut last = entry.told.saturating_sub(durable);
                for (index, event) in shown.into_iter().enumerate() {
                    last += u64::from(event.is_durable);
                    let seq = event.is_durable.then_some(last);
                    if seq.is_none_or(|seq| seq > self.seen) {
                        let session = entry.session.clone();
                        let directory = entry.directory.clone();
                        let position = entry.position;
                        let at = entry.at;
                        events.push(NumberedEvent { session, seq, position, at, index, directory, event });
                    }
                }
            }
            self.position = page.reached;
            if self.replays.len() > REPLAYS_MAX {
                self.replays.clear();
            }
            if !events.is_empty() || page.reached <= before || page.reached >= self.store.head() {
                return Ok(events);
            }
        }
    }

    /// Waits until there may be more.
    pub async fn changed(&mut self) -> Result<(), ReadError> {
        match self.wake.next().await? {
            Page::Entries(_) | Page::Resync(_) => Ok(()),
        }
    }
}

/// Sessions whose state is kept from one page to the next.
const REPLAYS_MAX: usize = 64;
