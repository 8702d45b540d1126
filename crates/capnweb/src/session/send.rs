//! Messages out.
//!
//! A message is written under the lock, in one go, so that ids and texts are in the same
//! order. If a value in it cannot be sent, every export made for it is taken back and
//! nothing is sent. What follows from a message (resolving promises in it, pumping its
//! streams) starts after the lock is released.

use std::sync::Arc;

use super::{
    Mode, Shared,
    import::{ImportKind, ImportRef, no_return_path},
    pump::pump,
    tables::{Export, State},
};
use crate::{
    ErrorValue, Readable, Thrown, Value, Writable,
    codec::encode::{Encoder, References, write_path},
    codec::json::write_integer,
    value::reference::{
        caller::Caller,
        cell::Stage,
        ends::Mapper,
        hook::{Hook, Ref},
        path::PathPart,
    },
};

/// The tables, while a message is being written.
struct Sending<'s> {
    session: &'s Arc<Shared>,
    state: &'s mut State,
    after: After,
}

/// What is to be done when the lock is released.
#[derive(Default)]
struct After {
    made: Vec<i64>,
    promises: Vec<(i64, Ref)>,
    pumps: Vec<(Readable, Arc<ImportRef>)>,
    undone: Vec<Export>,
    failed: bool,
}

/// A `stream` message that was sent.
pub(super) struct StreamSent {
    pub(super) import: Arc<ImportRef>,
    /// Its length as JavaScript counts it.
    pub(super) units: usize,
}

impl Shared {
    /// Writes a message and enters what it makes. `commit` runs when the text is complete.
    fn write<R>(
        self: &Arc<Self>,
        head: String,
        body: impl FnOnce(&mut Sending<'_>, &mut String) -> Result<(), Thrown>,
        commit: impl FnOnce(&mut State, String) -> R,
    ) -> Result<R, Thrown> {
        let mut guard = self.lock();
        guard.check_alive()?;
        let mut sending = Sending { session: self, state: &mut guard, after: After::default() };
        let mut text = head;
        let written = body(&mut sending, &mut text);
        let Sending { state, mut after, .. } = sending;
        let result = match written {
            Ok(()) => {
                text.push(']');
                state.unanswered += after.promises.len();
                Ok(commit(state, text))
            }
            Err(reason) => {
                after.undo(state);
                Err(reason)
            }
        };
        drop(guard);
        after.run(self);
        result
    }

    fn push(
        self: &Arc<Self>,
        head: String,
        body: impl FnOnce(&mut Sending<'_>, &mut String) -> Result<(), Thrown>,
    ) -> Hook {
        let most = self.limits().table_entries_max;
        let body = |sending: &mut Sending<'_>, out: &mut String| {
            sending.state.check_room(most)?;
            body(sending, out)?;
            out.push(']');
            Ok(())
        };
        let pushed = self.write(head, body, |state, text| {
            state.post(text);
            state.add_sent(self, ImportKind::Result)
        });
        pushed.map_or_else(Hook::rejected, |import| Hook::Import(import))
    }

    pub(super) fn push_call(self: &Arc<Self>, id: i64, path: &[PathPart], args: &[Value]) -> Hook {
        let mut head = opened("[\"push\",[\"pipeline\",", id);
        write_path(&mut head, path);
        head.push(',');
        self.push(head, |sending, out| sending.encode(out, |encoder| encoder.args(args, 0)))
    }

    pub(super) fn push_get(self: &Arc<Self>, id: i64, path: &[PathPart]) -> Hook {
        let mut head = opened("[\"push\",[\"pipeline\",", id);
        write_path(&mut head, path);
        self.push(head, |_, _| Ok(()))
    }

    pub(super) fn push_map(self: &Arc<Self>, id: i64, path: &[PathPart], mapper: &dyn Mapper) -> Hook {
        let mut head = opened("[\"push\",[\"remap\",", id);
        write_path(&mut head, path);
        head.push_str(",[");
        self.push(head, |sending, out| {
            for (at, capture) in mapper.captures().iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                sending.capture(out, capture)?;
            }
            out.push_str("],");
            mapper.write_instructions(out);
            Ok(())
        })
    }

    /// One call on a writable stream of the peer's, answered unasked.
    pub(super) fn stream_call(
        self: &Arc<Self>,
        id: i64,
        method: &str,
        args: &[Value],
    ) -> Result<StreamSent, Thrown> {
        if self.mode() == Mode::BatchServer {
            return Err(no_return_path());
        }
        let head = format!("[\"stream\",[\"pipeline\",{id},[\"{method}\"],");
        let body = |sending: &mut Sending<'_>, out: &mut String| {
            sending.encode(out, |encoder| encoder.args(args, 0))?;
            out.push(']');
            Ok(())
        };
        self.write(head, body, |state, text| {
            let units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
            state.post(text);
            StreamSent { import: state.add_sent(self, ImportKind::Once), units }
        })
    }

    pub(super) fn post_pull(&self, id: i64) {
        let mut state = self.lock();
        // Looked up under the lock: an answer that came unasked has released the entry, and a
        // pull after the release would end the session.
        if state.imports.contains_key(&id) {
            state.post(format!("[\"pull\",{id}]"));
        }
    }

    /// Sends what an export came to.
    pub(super) fn post_answer(self: &Arc<Self>, id: i64, value: &Result<Value, Thrown>) {
        // One message can ask for answers without end; nobody reads them as fast as we write.
        if self.lock().outbox_bytes > 2 * self.limits().outbox_bytes_max {
            let text = "the peer asked for more than it reads";
            return self
                .lost(ErrorValue::range_error(text).code("outbox_full").into(), super::end::CLOSE_ABORTED);
        }
        let reason = match value {
            Ok(value) => {
                let head = opened("[\"resolve\",", id);
                let body = |sending: &mut Sending<'_>, out: &mut String| {
                    sending.encode(out, |encoder| encoder.value(value, 0))
                };
                match self.write(head, body, State::post) {
                    Ok(()) => return,
                    Err(reason) => reason,
                }
            }
            Err(reason) => reason.clone(),
        };
        let reason = self.rewritten(&reason).unwrap_or(reason);
        let mut encoder = Encoder {
            out: opened("[\"reject\",", id),
            references: None,
            depth_max: self.limits().depth_max,
            allow_dropped: self.options.allow_dropped_names,
        };
        if encoder.value(&reason.0, 0).is_err() {
            // A thrown stub or stream: the caller learns that it failed, not with what.
            encoder.out =
                format!("[\"reject\",{id},[\"error\",\"Error\",\"the thrown value cannot be sent\"]");
        }
        encoder.out.push(']');
        let mut state = self.lock();
        if state.ended.is_none() {
            state.post(encoder.out);
        }
    }
}

/// The beginning of a message about one entry.
fn opened(head: &str, id: i64) -> String {
    let mut out = String::with_capacity(64);
    out.push_str(head);
    write_integer(&mut out, id);
    out.push(',');
    out
}

impl After {
    fn undo(&mut self, state: &mut State) {
        self.failed = true;
        self.undone.extend(self.made.drain(..).filter_map(|id| state.take_export(id)));
        self.promises.clear();
    }

    fn run(self, session: &Arc<Shared>) {
        for (id, promise) in self.promises {
            session.answer_when_settled(id, &promise);
        }
        // Of a message that was not sent, the pipes are let go unread: dropping tells the peer.
        for (readable, import) in self.pumps {
            if !self.failed {
                session.spawn_pump(pump(readable, import));
            }
        }
        drop(self.undone);
    }
}

impl Sending<'_> {
    /// Goes on writing `out`, with values that may refer to what the tables hold.
    fn encode(
        &mut self,
        out: &mut String,
        write: impl FnOnce(&mut Encoder<'_>) -> Result<(), Thrown>,
    ) -> Result<(), Thrown> {
        let depth_max = self.session.limits().depth_max;
        let allow_dropped = self.session.options.allow_dropped_names;
        let mut encoder =
            Encoder { out: std::mem::take(out), references: Some(self), depth_max, allow_dropped };
        let written = write(&mut encoder);
        *out = encoder.out;
        written
    }

    fn export(&mut self, out: &mut String, tag: &str, hook: Hook) -> Result<i64, Thrown> {
        self.state.check_room(self.session.limits().table_entries_max)?;
        let id = self.state.add_export(hook);
        self.after.made.push(id);
        out.push_str(&format!("[\"{tag}\",{id}]"));
        Ok(id)
    }

    /// The peer's own thing, if that is what this is.
    fn theirs(&self, hook: &Hook) -> Option<i64> {
        match hook {
            Hook::Import(import) if import.is_of(&**self.session) && import.settled().is_none() => {
                Some(import.id())
            }
            _ => None,
        }
    }

    fn capture(&mut self, out: &mut String, reference: &Ref) -> Result<(), Thrown> {
        let reference = reference.clone().shortened();
        match self.theirs(&reference.hook) {
            Some(id) if reference.path.is_empty() => {
                write_theirs(out, "import", id, &[]);
                Ok(())
            }
            _ => self.stub(out, &reference),
        }
    }
}

impl References for Sending<'_> {
    fn stub(&mut self, out: &mut String, reference: &Ref) -> Result<(), Thrown> {
        let reference = settled_stub(reference.clone().shortened());
        if let Some(id) = self.theirs(&reference.hook) {
            write_theirs(out, "import", id, &reference.path);
            return Ok(());
        }
        if let Hook::Variable(_) = reference.hook {
            return Err(outside_its_map());
        }
        if reference.path.is_empty() {
            return self.export(out, "export", reference.hook).map(drop);
        }
        Err(ErrorValue::new("a property has to be awaited, or sent as a promise, before it is sent").into())
    }

    fn promise(&mut self, out: &mut String, reference: &Ref) -> Result<(), Thrown> {
        let reference = reference.clone().shortened();
        if let Some(id) = self.theirs(&reference.hook) {
            write_theirs(out, "pipeline", id, &reference.path);
            return Ok(());
        }
        if let Hook::Variable(_) = reference.hook {
            return Err(outside_its_map());
        }
        let id = self.export(out, "promise", reference.hook.clone())?;
        self.state.mark_pulled(id);
        self.after.promises.push((id, reference));
        Ok(())
    }

    fn writable(&mut self, out: &mut String, stream: &Writable) -> Result<(), Thrown> {
        self.export(out, "writable", stream.hook()).map(drop)
    }

    /// Opens a pipe before this message and mentions its reading end in it.
    fn readable(&mut self, out: &mut String, stream: &Readable) -> Result<(), Thrown> {
        if self.session.mode() == Mode::BatchServer {
            let text = "batch_no_streams: a stream cannot be returned in an HTTP batch";
            return Err(ErrorValue::new(text).code("batch_no_streams").into());
        }
        self.state.check_room(self.session.limits().table_entries_max)?;
        self.state.post("[\"pipe\"]".to_owned());
        let pipe = self.state.add_sent(self.session, ImportKind::Pipe);
        out.push_str(&format!("[\"readable\",{}]", pipe.id()));
        self.after.pumps.push((stream.clone(), pipe));
        Ok(())
    }
}

/// A promise that came to be a stub is that stub.
fn settled_stub(mut reference: Ref) -> Ref {
    // Bounded: a chain of stubs that are promises of stubs is followed for a while, then sent as it is.
    for _ in 0..16 {
        let cell = match &reference.hook {
            Hook::Import(import) => match import.settled() {
                Some(cell) => cell,
                None => break,
            },
            Hook::Cell(cell) => Arc::clone(cell),
            Hook::Target(_) | Hook::Writer(_) | Hook::Variable(_) => break,
        };
        reference = match (cell.stage_when_served(), cell.value()) {
            (Stage::Linked(target), _) => Ref { path: target.joined(reference.path), hook: target.hook },
            (Stage::Settled, Some(Ok(Value::Stub(stub)))) => {
                Ref { path: stub.0.joined(reference.path), hook: stub.0.hook.clone() }
            }
            _ => break,
        };
    }
    reference
}

fn write_theirs(out: &mut String, tag: &str, id: i64, path: &[PathPart]) {
    out.push_str(&format!("[\"{tag}\",{id}"));
    if !path.is_empty() {
        out.push(',');
        write_path(out, path);
    }
    out.push(']');
}

fn outside_its_map() -> Thrown {
    ErrorValue::new("the placeholder of a map was used outside of its body").into()
}
