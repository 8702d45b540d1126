//! A place in the stream of one store: `<epoch>.<position>`, or `<epoch>.<position>.<k>` behind the k-th of several
//! events of one entry.
//!
//! A cursor says what its reader saw last. It names the store, because positions of another one mean
//! nothing here: a store that was put back from a copy counts some positions a second time.

use std::fmt;

/// What a reader has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub position: u64,
    /// So many events of that entry; none means all of them.
    pub seen: Option<u32>,
}

/// Why a reader cannot go on where it was: it has to read the rows anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resync {
    /// Not a cursor of this server.
    Malformed,
    /// Of another store, or of this one before it was put back from a copy.
    Epoch,
    /// A place that this store has not come to.
    Future,
    /// Older than what is kept.
    Horizon,
    /// An entry that came after it cannot be read; the reader goes on behind it.
    Damaged,
}

impl Resync {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Epoch => "epoch",
            Self::Future => "future",
            Self::Horizon => "horizon",
            Self::Damaged => "damaged",
        }
    }
}

impl Cursor {
    /// Everything up to this position was seen.
    #[must_use]
    pub fn after(position: u64) -> Self {
        Self { position, seen: None }
    }

    /// Reads a cursor of the store `epoch`, which is at `head`.
    pub fn parse(text: &str, epoch: &str, head: u64) -> Result<Self, Resync> {
        let mut words = text.trim().split('.');
        let named = words.next().unwrap_or_default();
        let position = words.next().and_then(number::<u64>).ok_or(Resync::Malformed)?;
        let seen = match words.next() {
            None => None,
            Some(word) => Some(number::<u32>(word).filter(|seen| *seen > 0).ok_or(Resync::Malformed)?),
        };
        if words.next().is_some() || named.is_empty() {
            return Err(Resync::Malformed);
        }
        if named != epoch {
            return Err(Resync::Epoch);
        }
        if position > head {
            return Err(Resync::Future);
        }
        Ok(Self { position, seen })
    }

    /// As it is sent.
    #[must_use]
    pub fn text(self, epoch: &str) -> String {
        Named { cursor: self, epoch }.to_string()
    }
}

/// Digits only: `+7` and ` 7` are numbers to Rust, and not to us.
fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

struct Named<'a> {
    cursor: Cursor,
    epoch: &'a str,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cursor { position, seen } = self.cursor;
        match seen {
            None => write!(f, "{}.{position}", self.epoch),
            Some(seen) => write!(f, "{}.{position}.{seen}", self.epoch),
        }
    }
}
