//! What every stream is made of: a reader, what was read and not passed on yet, and the cursor of the last event.
//!
//! A follower gives events one by one, each with the cursor that a client says when it comes back. It holds
//! little: what is more than that is dropped and read again when its turn comes.

use super::{Body, Cursor, Feed, Page, Reader, Resync, Shown};
use std::collections::VecDeque;
use std::sync::Arc;
use sturdy_session::stamp::Millis;
use sturdy_store::{ReadError, Scope};

/// What a follower may hold between two events.
const HELD_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub struct Follower {
    feed: Feed,
    scope: Scope,
    reader: Reader,
    held: VecDeque<Arc<Shown>>,
    /// Events of the first held entry that were passed on.
    passed: usize,
    /// Events of this entry that the client had seen when it came back.
    seen: Option<(u64, usize)>,
    /// Entries up to here were passed on or passed over.
    position: u64,
    resync: Option<Resync>,
    epoch: Arc<str>,
}

/// What comes next.
#[derive(Debug)]
pub enum Step {
    Event {
        shown: Arc<Shown>,
        /// Which of its events.
        index: usize,
        /// None when it is not stored.
        cursor: Option<Cursor>,
    },
    /// The client has to read everything anew; what is new follows after this cursor.
    Resync(Resync, Cursor),
}

impl Follower {
    /// Goes on after the cursor a client brings along; without one, begins with what is new. With `now`, who
    /// comes without a cursor soon after a restart is shown how that ended what was open.
    #[must_use]
    pub fn new(feed: &Feed, scope: Scope, cursor: Option<&str>, now: Option<Millis>) -> Self {
        let epoch = feed.store.epoch();
        let cursor = cursor.map(|text| Cursor::parse(text, &epoch, feed.store.head()));
        let (reader, seen, resync) = match cursor {
            None => {
                let reader = match now {
                    Some(now) => feed.newcomer(scope.clone(), now),
                    None => feed.reader_of(scope.clone()),
                };
                (reader, None, None)
            }
            Some(Err(why)) => (feed.reader_of(scope.clone()), None, Some(why)),
            Some(Ok(Cursor { position, seen: None })) => {
                (feed.reader_after(scope.clone(), position), None, None)
            }
            Some(Ok(Cursor { position, seen: Some(seen) })) => {
                let reader = feed.reader_after(scope.clone(), position.saturating_sub(1));
                (reader, Some((position, seen as usize)), None)
            }
        };
        let position = reader.position();
        let held = VecDeque::new();
        Self { feed: feed.clone(), scope, reader, held, passed: 0, seen, position, resync, epoch }
    }

    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Everything up to here was passed on or passed over, also what was of no concern.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        let is_idle = self.held.is_empty() && self.seen.is_none();
        Cursor::after(if is_idle { self.position.max(self.reader.position()) } else { self.position })
    }

    /// The next event, if it is at hand.
    pub fn ready(&mut self) -> Option<Step> {
        if let Some(why) = self.resync.take() {
            return Some(Step::Resync(why, Cursor::after(self.position)));
        }
        loop {
            let shown = self.held.front()?.clone();
            if let (0, Some((position, seen)), Some(at)) = (self.passed, self.seen, shown.position()) {
                // Only the first entry was half seen.
                self.seen = None;
                self.passed = if at == position { seen } else { 0 };
            }
            let index = self.passed;
            let is_last = index + 1 >= shown.events.len();
            if is_last {
                self.held.pop_front();
                self.passed = 0;
                self.position = shown.position().unwrap_or(self.position);
            } else {
                self.passed += 1;
            }
            if index >= shown.events.len() {
                continue;
            }
            let seen = if shown.events.len() == 1 { None } else { Some(index as u32 + 1) };
            let cursor = shown.position().map(|position| Cursor { position, seen });
            return Some(Step::Event { shown, index, cursor });
        }
    }

    /// Waits until something is ready. Cancel safe.
    pub async fn fill(&mut self) -> Result<(), ReadError> {
        match self.reader.next().await? {
            Page::Entries(entries) => self.held.extend(entries),
            Page::Resync(why) => {
                self.position = self.reader.position();
                self.seen = None;
                self.resync = Some(why);
            }
        }
        Ok(())
    }

    /// Drops what is held if it is much: it can be read again. A client that stalls then costs little more
    /// than what its socket holds.
    pub fn let_go(&mut self) {
        let held: usize = self.held.iter().map(|shown| shown.bytes()).sum();
        let can_be_read_again = || self.held.iter().all(|shown| matches!(shown.body, Body::Entry(_)));
        if held <= HELD_BYTES_MAX || !can_be_read_again() {
            return;
        }
        let half = self.held.front().and_then(|shown| Some((shown.position()?, self.passed)));
        if let Some((position, _)) = half.filter(|(_, passed)| *passed > 0) {
            self.seen = half;
            // What stood before it and was not in the log any more, its session being removed, may still be in the
            // window. The client is past it.
            self.position = position - 1;
        }
        self.passed = 0;
        self.held = VecDeque::new();
        self.reader = self.feed.reader_after(self.scope.clone(), self.position);
    }
}

#[cfg(test)]
mod tests;
