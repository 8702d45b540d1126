//! Entries, counts, and the queue of texts to send.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, Weak},
    task::Waker,
};

use super::{
    Ended, Shared,
    import::{ImportKind, ImportRef},
};
use crate::{
    ErrorValue, Readable, Thrown,
    codec::json::write_integer,
    value::reference::{cell::Task, ends::OnBroken, hook::Hook},
};

/// Something of ours the peer can address.
pub(super) struct Export {
    pub(super) hook: Hook,
    pub(super) count: u64,
    pub(super) pulled: bool,
    pub(super) answered: bool,
    /// Made by `stream`: answered unasked and dropped with the answer.
    pub(super) once: bool,
    pub(super) is_pipe: bool,
    /// The reading end of a pipe until it is taken.
    pub(super) readable: Option<Readable>,
}

impl Export {
    pub(super) fn new(hook: Hook) -> Export {
        Export { hook, count: 1, pulled: false, answered: false, once: false, is_pipe: false, readable: None }
    }
}

/// Something of the peer's that we hold.
pub(super) struct Import {
    pub(super) held: Weak<ImportRef>,
    /// Which holder this is: an id can be introduced again while its last holder is going.
    pub(super) generation: u64,
    /// How often the peer mentioned it; what a release gives back.
    pub(super) introductions: u64,
    pub(super) kind: ImportKind,
    pub(super) on_broken: Vec<(u64, OnBroken)>,
}

/// Export ids are counters, ours and the peer's pushes: nobody can choose them to collide.
/// Import ids are the peer's choice, and hashed with a key.
#[derive(Default)]
pub(super) struct CounterHasher(u64);

impl Hasher for CounterHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // The golden ratio spreads neighbours over the whole range.
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }
}

#[derive(Default)]
pub(crate) struct State {
    pub(super) exports: HashMap<i64, Export, BuildHasherDefault<CounterHasher>>,
    pub(super) imports: HashMap<i64, Import>,
    /// The peer's last push, stream or pipe.
    pub(super) received: i64,
    /// Our last push, stream or pipe.
    pub(super) sent: i64,
    /// Our last stub, promise or writable; counts down.
    pub(super) exported: i64,
    pub(super) generation: u64,
    pub(super) registered: u64,
    /// Bounded by the tables: each text makes or answers an entry, or releases one.
    pub(super) outbox: VecDeque<String>,
    pub(super) outbox_bytes: usize,
    pub(super) waker: Option<Waker>,
    pub(super) fresh_calls: Vec<Task>,
    pub(super) fresh_pumps: Vec<Task>,
    /// Exports the peer waits for.
    pub(super) unanswered: usize,
    pub(super) pipes: usize,
    pub(super) ended: Option<Ended>,
}

impl State {
    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    pub(super) fn post(&mut self, text: String) {
        self.outbox_bytes += text.len();
        self.outbox.push_back(text);
        self.wake();
    }

    pub(super) fn check_alive(&self) -> Result<(), Thrown> {
        match &self.ended {
            None => Ok(()),
            Some(ended) => Err(ended.reason.clone()),
        }
    }

    pub(super) fn check_room(&self, most: usize) -> Result<(), Thrown> {
        if self.exports.len() + self.imports.len() < most {
            return Ok(());
        }
        let text = format!("more than {most} objects and calls are open in this session");
        Err(ErrorValue::range_error(text).code("table_full").into())
    }

    /// The id of the peer's next push, stream or pipe.
    pub(super) fn next_received(&mut self) -> i64 {
        self.received += 1;
        self.received
    }

    pub(super) fn add_export(&mut self, hook: Hook) -> i64 {
        self.exported -= 1;
        self.exports.insert(self.exported, Export::new(hook));
        self.exported
    }

    /// A promise is answered unasked, as if it had been pulled.
    pub(super) fn mark_pulled(&mut self, id: i64) {
        if let Some(export) = self.exports.get_mut(&id) {
            export.pulled = true;
        }
    }

    /// An import we made by sending something.
    pub(super) fn add_sent(&mut self, session: &Arc<Shared>, kind: ImportKind) -> Arc<ImportRef> {
        self.sent += 1;
        self.add_import(session, self.sent, kind, 1)
    }

    pub(super) fn add_import(
        &mut self,
        session: &Arc<Shared>,
        id: i64,
        kind: ImportKind,
        introductions: u64,
    ) -> Arc<ImportRef> {
        self.generation += 1;
        let held = ImportRef::new(session, id, self.generation, kind);
        let import = Import {
            held: Arc::downgrade(&held),
            generation: self.generation,
            introductions,
            kind,
            on_broken: Vec::new(),
        };
        self.imports.insert(id, import);
        held
    }

    /// Takes an export out. The caller drops it after unlocking.
    pub(super) fn take_export(&mut self, id: i64) -> Option<Export> {
        let export = self.exports.remove(&id)?;
        if export.is_pipe {
            self.pipes -= 1;
        }
        Some(export)
    }

    pub(super) fn post_release(&mut self, id: i64, introductions: u64) {
        let mut text = String::with_capacity(32);
        text.push_str("[\"release\",");
        write_integer(&mut text, id);
        text.push(',');
        write_integer(&mut text, i64::try_from(introductions).unwrap_or(i64::MAX));
        text.push(']');
        self.post(text);
    }
}
