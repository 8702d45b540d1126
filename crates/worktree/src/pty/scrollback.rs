//! What a terminal showed, bounded, read by cursor.
//!
//! Positions are counted as clients count them: in UTF-16 units since the terminal began. The newest text is kept;
//! the oldest goes. Readers hold a cursor and pull; there is no queue per reader. While somebody looks, the
//! terminal waits for them (`wait_for_readers`), so that a reader misses nothing that came after it began; one that
//! does not read for a while is let go, so that it cannot hold up the program for ever.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// A screen's history for somebody who comes late.
const KEPT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// How far a reader may be behind before the program waits. A unit is at most three bytes, so this is always less
/// than what is kept.
const BEHIND_UNITS_MAX: u64 = 256 * 1024;
/// A reader that takes nothing for this long is let go.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// One piece, as clients expect it.
const PIECE_BYTES_MAX: usize = 64 * 1024;

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrollbackStart {
    /// With all that is kept.
    Oldest,
    /// With what comes from now on.
    Newest,
    /// At this position, or the oldest kept one behind it.
    At(u64),
}

#[derive(Debug)]
struct Piece {
    start: u64,
    units: u64,
    text: String,
}

#[derive(Debug, Default)]
struct Inner {
    pieces: VecDeque<Piece>,
    bytes: usize,
    end: u64,
    is_closed: bool,
    /// How far each reader has come.
    readers: HashMap<u64, u64>,
    last_reader: u64,
}

#[derive(Debug, Default)]
pub(super) struct Scrollback {
    inner: Mutex<Inner>,
    /// The end, or that it is closed.
    grown: watch::Sender<u64>,
    /// Somebody has read, or is gone.
    read: Notify,
}

impl Scrollback {
    pub(super) fn push(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut inner = self.lock();
        inner.push(text);
        let end = inner.end;
        drop(inner);
        self.grown.send_replace(end);
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.grown.send_modify(|_| {});
    }

    pub(super) fn reader(self: &Arc<Self>, from: ScrollbackStart) -> ScrollbackReader {
        let grown = self.grown.subscribe();
        let mut inner = self.lock();
        let oldest = inner.pieces.front().map_or(inner.end, |piece| piece.start);
        let cursor = match from {
            ScrollbackStart::Oldest => oldest,
            ScrollbackStart::Newest => inner.end,
            ScrollbackStart::At(position) => position.clamp(oldest, inner.end),
        };
        inner.last_reader += 1;
        let id = inner.last_reader;
        let newest = inner.end;
        inner.readers.insert(id, cursor);
        drop(inner);
        ScrollbackReader { id, screen: self.clone(), grown, cursor, newest }
    }

    /// Returns when no reader is far behind.
    pub(super) async fn wait_for_readers(&self) {
        while self.lock().slowest_is_behind() {
            if timeout(WAIT_MAX, self.read.notified()).await.is_err() {
                let mut inner = self.lock();
                let least = inner.end.saturating_sub(BEHIND_UNITS_MAX);
                inner.readers.retain(|_, cursor| *cursor >= least);
                drop(inner);
                // Those that were let go find out when they look.
                self.grown.send_modify(|_| {});
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every change is complete before the guard goes.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, text: &str) {
        let units = units(text);
        match self.pieces.back_mut() {
            Some(last) if last.text.len() + text.len() <= PIECE_BYTES_MAX => {
                last.text.push_str(text);
                last.units += units;
            }
            _ => self.pieces.push_back(Piece { start: self.end, units, text: text.to_owned() }),
        }
        self.bytes += text.len();
        self.end += units;
        while self.bytes > KEPT_BYTES_MAX
            && let Some(oldest) = self.pieces.pop_front()
        {
            self.bytes -= oldest.text.len();
        }
    }

    fn slowest_is_behind(&self) -> bool {
        self.readers.values().any(|cursor| cursor + BEHIND_UNITS_MAX < self.end)
    }

    /// The text at a position, what is left of the piece it lies in, and the position behind it.
    fn after(&self, cursor: u64) -> Option<(&str, u64)> {
        let index = self.pieces.partition_point(|piece| piece.start + piece.units <= cursor);
        let piece = self.pieces.get(index)?;
        let skipped = cursor.saturating_sub(piece.start);
        Some((&piece.text[byte_at(&piece.text, skipped)..], piece.start + piece.units))
    }
}

/// Somebody who looks at a terminal.
#[derive(Debug)]
pub struct ScrollbackReader {
    id: u64,
    screen: Arc<Scrollback>,
    grown: watch::Receiver<u64>,
    cursor: u64,
    /// Where the terminal stood when this reader began: up to here it is shown the past.
    pub newest: u64,
}

impl ScrollbackReader {
    /// The next text, at most 64 KiB. None when the terminal is closed, or the reader was too slow. May be given up.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            self.grown.borrow_and_update();
            if let Some(text) = self.take()? {
                return Some(text);
            }
            self.grown.changed().await.ok()?;
        }
    }

    /// What was there before this reader came; None when it has caught up.
    pub fn past(&mut self) -> Option<String> {
        if self.cursor >= self.newest { None } else { self.take().flatten() }
    }

    /// None: there will be no more. Some(None): not yet.
    fn take(&mut self) -> Option<Option<String>> {
        let mut inner = self.screen.lock();
        // Let go: too slow.
        inner.readers.get(&self.id)?;
        if self.cursor == inner.end {
            return if inner.is_closed { None } else { Some(None) };
        }
        let (text, behind) = inner.after(self.cursor)?;
        let text = text.to_owned();
        self.cursor = behind;
        inner.readers.insert(self.id, self.cursor);
        drop(inner);
        self.screen.read.notify_one();
        Some(Some(text))
    }
}

impl Drop for ScrollbackReader {
    fn drop(&mut self) {
        self.screen.lock().readers.remove(&self.id);
        self.screen.read.notify_one();
    }
}

fn units(text: &str) -> u64 {
    text.chars().map(|c| c.len_utf16() as u64).sum()
}

/// Where in the text this many units are passed.
fn byte_at(text: &str, units: u64) -> usize {
    let mut passed = 0;
    for (index, c) in text.char_indices() {
        if passed >= units {
            return index;
        }
        passed += c.len_utf16() as u64;
    }
    text.len()
}

#[cfg(test)]
mod tests;
