//! `Stamp`: the only door for time and new ids.
//!
//! A stamp is a value. Its owner tells it the wall clock (`tick`) and gets back a time that
//! never runs backwards: not when the clock is set back, and not after a restart, because
//! the owner starts it at the last time it finds in the store. With a fixed seed every id
//! is known beforehand, which is what tests want.

use crate::id::{
    EventId, MessageId, PartId, PermissionId, PtyId, QuestionId, SessionId, compose, descending, time_word,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

/// More ids than this in one millisecond would carry into the next one's time word.
const IDS_PER_MILLISECOND: u64 = 4095;

/// Time and identity for one decision after another.
#[derive(Debug)]
pub struct Stamp {
    now: Millis,
    id_ms: Millis,
    counter: u64,
    random: StdRng,
}

impl Stamp {
    /// Starts at `now`, which is not earlier than anything stored. Where an earlier stamp gave
    /// out ids of its own, `go_on_after` follows.
    #[must_use]
    pub fn new(now: Millis, seed: [u8; 32]) -> Self {
        Self { now, id_ms: now, counter: 0, random: StdRng::from_seed(seed) }
    }

    /// A stamp whose every id is known beforehand.
    #[must_use]
    pub fn fixed(now: Millis) -> Self {
        Self::new(now, [7; 32])
    }

    /// Goes on where an earlier stamp ended: `last` is the latest time it stored.
    pub fn go_on_after(&mut self, last: Millis) -> Millis {
        // Its last millisecond gave out ids, and may have borrowed from the next one for more;
        // ids go on after both. Time as well, so that the next restart finds a later `last`.
        self.tick(last.saturating_add(2))
    }

    /// Takes the wall clock over; a clock that was set back changes nothing.
    pub fn tick(&mut self, wall_ms: Millis) -> Millis {
        self.now = self.now.max(wall_ms);
        self.now
    }

    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// A number in `0..1`, for jitter.
    pub fn fraction(&mut self) -> f64 {
        f64::from(self.random.next_u32()) / (f64::from(u32::MAX) + 1.0)
    }

    /// One of `count` choices; `count` must not be zero.
    pub fn choice(&mut self, count: usize) -> usize {
        self.random.next_u32() as usize % count
    }

    pub fn session_id(&mut self) -> SessionId {
        let word = descending(self.word());
        let text = self.text(SessionId::PREFIX, word);
        SessionId::parse(&text).expect("BUG: own id has its prefix")
    }

    /// A ULID for calls the server makes itself.
    pub fn ulid(&mut self) -> String {
        const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let time = (0..10).rev().map(|digit| (self.now >> (5 * digit)) & 31);
        let mut text: String = time.map(|index| char::from(CROCKFORD[index as usize])).collect();
        for _ in 0..16 {
            text.push(char::from(CROCKFORD[self.choice(32)]));
        }
        text
    }

    fn word(&mut self) -> u64 {
        if self.now > self.id_ms {
            self.id_ms = self.now;
            self.counter = 0;
        }
        self.counter += 1;
        if self.counter > IDS_PER_MILLISECOND {
            // Borrow the next millisecond rather than repeat or run backwards.
            self.id_ms += 1;
            self.counter = 1;
        }
        time_word(self.id_ms, self.counter)
    }

    fn text(&mut self, prefix: &str, word: u64) -> String {
        let mut random = [0; 14];
        self.random.fill_bytes(&mut random);
        compose(prefix, word, &random)
    }
}

macro_rules! new_ids {
    ($($method:ident -> $id:ident;)*) => {
        impl Stamp {$(
            pub fn $method(&mut self) -> $id {
                let word = self.word();
                let text = self.text($id::PREFIX, word);
                $id::parse(&text).expect("BUG: own id has its prefix")
            }
        )*}
    };
}

new_ids! {
    message_id -> MessageId;
    part_id -> PartId;
    event_id -> EventId;
    permission_id -> PermissionId;
    question_id -> QuestionId;
    pty_id -> PtyId;
}
