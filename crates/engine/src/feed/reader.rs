//! One reader: a cursor and a hint.

use super::{Body, Feed, Shown, ShownFact, Window};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::replay::{Needs, needs, show_again};
use sturdy_store::{LogEntry, ReadError};
use tokio::sync::watch;
use tracing::error;

/// Entries read at a time: a reader that is far behind takes its place among the others.
const PAGE: usize = 256;
/// And no more than this much of them, when they are large.
const PAGE_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub struct Reader {
    feed: Feed,
    wake: watch::Receiver<u64>,
    /// Last entry of the window that was read; none while the reader is behind it.
    tick: Option<u64>,
    position: u64,
}

enum Found {
    Entries(Vec<Arc<Shown>>),
    /// Older than the window: ask the log.
    Behind,
}

impl Reader {
    pub(super) fn new(feed: Feed, wake: watch::Receiver<u64>, tick: Option<u64>, position: u64) -> Self {
        Self { feed, wake, tick, position }
    }

    /// The position of the last durable entry this reader was given.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What comes after the cursor; waits until there is something. At most a page at a time.
    ///
    /// Cancel safe: the cursor moves when the entries are handed over, not before.
    pub async fn next(&mut self) -> Result<Vec<Arc<Shown>>, ReadError> {
        loop {
            self.wake.mark_unchanged();
            match self.look() {
                Found::Entries(entries) if !entries.is_empty() => return Ok(entries),
                Found::Entries(_) => {
                    // The feed lives as long as this reader, so the sender is never gone.
                    if self.wake.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
                Found::Behind => {
                    let entries = self.catch_up().await?;
                    if !entries.is_empty() {
                        return Ok(entries);
                    }
                }
            }
        }
    }

    fn look(&mut self) -> Found {
        let window = self.feed.lock();
        let Some(from) = self.place_in(&window) else { return Found::Behind };
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let (mut tick, mut position) = (from, self.position);
        let skip = (from + 1).saturating_sub(window.first_tick()) as usize;
        for shown in window.entries.iter().skip(skip).take(PAGE) {
            tick = shown.tick;
            match shown.position() {
                // Already read from the log, before it came into the window.
                Some(at) if at <= position => continue,
                Some(at) => position = at,
                None => {}
            }
            bytes += shown.bytes();
            entries.push(shown.clone());
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        drop(window);
        (self.tick, self.position) = (Some(tick), position);
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

    async fn catch_up(&mut self) -> Result<Vec<Arc<Shown>>, ReadError> {
        let log = self.feed.store.log_after(self.position, PAGE).await?;
        let Some(last) = log.last().map(|entry| entry.position) else {
            // Everything after the cursor was removed with its session.
            self.position = self.feed.lock().position;
            return Ok(Vec::new());
        };
        let entries = self.show(log).await?;
        (self.tick, self.position) = (None, last);
        Ok(entries)
    }

    /// Builds what was shown when each entry happened.
    async fn show(&self, log: Vec<LogEntry>) -> Result<Vec<Arc<Shown>>, ReadError> {
        let facts: Vec<_> = log.into_iter().filter_map(readable).collect();
        let mut wanted: HashMap<&SessionId, (Vec<MessageId>, Vec<PartId>)> = HashMap::new();
        for (entry, fact) in &facts {
            match needs(fact) {
                Needs::Nothing => {}
                Needs::Message(id) => wanted.entry(&entry.session).or_default().0.push(id.clone()),
                Needs::Part(id) => wanted.entry(&entry.session).or_default().1.push(id.clone()),
            }
        }
        let mut messages = HashMap::new();
        let mut parts = HashMap::new();
        for (session, (of_messages, of_parts)) in wanted {
            let rows = self.feed.store.rows_of(session, &of_messages, &of_parts).await?;
            messages.extend(rows.messages.into_iter().map(|(id, row)| ((session.clone(), id), row)));
            parts.extend(rows.parts.into_iter().map(|(id, row)| ((session.clone(), id), row)));
        }
        let shown = facts.into_iter().filter_map(|(entry, fact)| {
            let row = match needs(&fact) {
                Needs::Nothing => None,
                Needs::Message(id) => Some(messages.get(&(entry.session.clone(), id.clone()))?),
                Needs::Part(id) => Some(parts.get(&(entry.session.clone(), id.clone()))?),
            };
            let row = show_again(&fact, row.map(String::as_str));
            Some(Arc::new(Shown {
                tick: 0,
                at: entry.at,
                directory: entry.directory.or_else(|| directory_of(&fact)).map(Arc::from),
                project: entry.project.map(Arc::from),
                body: Body::Fact(Box::new(ShownFact {
                    position: entry.position,
                    session: entry.session,
                    seq: entry.seq,
                    fact,
                    row,
                })),
                frames: [OnceLock::new(), OnceLock::new()],
            }))
        });
        Ok(shown.collect())
    }
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

/// A removed session has no row any more; its last fact still knows where it was.
fn directory_of(fact: &Fact) -> Option<String> {
    match fact {
        Fact::SessionRemoved { info } => Some(info.directory.clone()),
        _ => None,
    }
}
