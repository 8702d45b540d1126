//! Making a map from a closure.
//!
//! The closure runs once, here, on placeholders. A call, read or map on a placeholder
//! becomes an instruction; a stub from outside becomes a capture.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Recorded;
use crate::{
    ErrorValue, Limits, PathPart, Promise, Readable, Stub, Thrown, Value, Writable,
    codec::encode::{Encoder, References, write_path},
    value::reference::{
        ends::{MapRecorder, Mapper, Variable},
        hook::{Hook, Ref},
        path::Path,
        turn,
    },
};

struct Recorder(Mutex<Tape>);

#[derive(Default)]
struct Tape {
    captures: Vec<Ref>,
    instructions: Vec<String>,
    failed: Option<Thrown>,
}

impl Recorder {
    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn placeholder(self: &Arc<Self>, index: i64) -> Hook {
        let recorder: Arc<Recorder> = Arc::clone(self);
        Hook::Variable(Variable { recorder, index })
    }

    fn instruction(self: &Arc<Self>, text: String) -> Hook {
        let index = {
            let mut tape = self.tape();
            tape.instructions.push(text);
            i64::try_from(tape.instructions.len()).unwrap_or(i64::MAX)
        };
        self.placeholder(index)
    }

    fn fail(&self, reason: Thrown) -> Hook {
        self.tape().failed.get_or_insert_with(|| reason.clone());
        Hook::rejected(reason)
    }
}

/// What the body of a map can reach besides its element.
#[derive(Clone)]
pub struct MapScope(Arc<Recorder>);

impl std::fmt::Debug for MapScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MapScope")
    }
}

impl MapScope {
    /// Brings a stub in. The peer gets it for as long as the map runs.
    pub fn capture(&self, stub: &Stub) -> Promise {
        self.bring(&stub.0)
    }

    /// Brings a promise in, also the placeholder of an enclosing map.
    pub fn capture_promise(&self, promise: &Promise) -> Promise {
        self.bring(&promise.0)
    }

    fn bring(&self, reference: &Ref) -> Promise {
        let index = Recording { recorder: Arc::clone(&self.0) }.capture(&reference.hook);
        Promise(Ref { hook: self.0.placeholder(index), path: reference.path.clone() })
    }
}

/// Where the encoder puts references while a body is recorded.
struct Recording {
    recorder: Arc<Recorder>,
}

impl Recording {
    /// The table entry of something from outside.
    fn capture(&self, hook: &Hook) -> i64 {
        let mut tape = self.recorder.tape();
        let place = tape.captures.iter().position(|known| known.path.is_empty() && known.hook.same_as(hook));
        let place = place.unwrap_or_else(|| {
            tape.captures.push(Ref::from(hook.clone()));
            tape.captures.len() - 1
        });
        -1 - i64::try_from(place).unwrap_or(i64::MAX - 1)
    }

    fn index_of(&self, hook: &Hook) -> i64 {
        match hook {
            Hook::Variable(variable) if self.is_ours(variable) => variable.index,
            other => self.capture(other),
        }
    }

    fn is_ours(&self, variable: &Variable) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&variable.recorder), Arc::as_ptr(&self.recorder))
    }

    fn reference(&self, out: &mut String, tag: &str, reference: &Ref) -> Result<(), Thrown> {
        if matches!(&reference.hook, Hook::Target(_) | Hook::Writer(_)) && tag == "export" {
            return Err(ErrorValue::new("a map cannot make new objects").into());
        }
        write_head(out, tag, self.index_of(&reference.hook));
        if !reference.path.is_empty() {
            out.push(',');
            write_path(out, &reference.path);
        }
        out.push(']');
        Ok(())
    }
}

impl References for Recording {
    fn stub(&mut self, out: &mut String, reference: &Ref) -> Result<(), Thrown> {
        self.reference(out, "import", reference)
    }

    fn promise(&mut self, out: &mut String, reference: &Ref) -> Result<(), Thrown> {
        self.reference(out, "pipeline", reference)
    }

    fn readable(&mut self, _: &mut String, _: &Readable) -> Result<(), Thrown> {
        Err(no_streams())
    }

    fn writable(&mut self, _: &mut String, _: &Writable) -> Result<(), Thrown> {
        Err(no_streams())
    }
}

fn no_streams() -> Thrown {
    ErrorValue::new("a stream cannot be used in the body of a map").into()
}

fn write_head(out: &mut String, tag: &str, index: i64) {
    out.push_str("[\"");
    out.push_str(tag);
    out.push_str("\",");
    out.push_str(&index.to_string());
}

impl MapRecorder for Recorder {
    fn call(self: Arc<Self>, index: i64, path: &[PathPart], args: Vec<Value>) -> Hook {
        let mut recording = Recording { recorder: Arc::clone(&self) };
        let mut out = String::new();
        write_head(&mut out, "pipeline", index);
        out.push(',');
        write_path(&mut out, path);
        out.push(',');
        let mut encoder = Encoder {
            out,
            references: Some(&mut recording),
            depth_max: Limits::default().depth_max,
            allow_dropped: false,
        };
        match encoder.args(&args, 0) {
            Ok(()) => {
                encoder.out.push(']');
                let text = encoder.out;
                self.instruction(text)
            }
            Err(reason) => self.fail(reason),
        }
    }

    /// Reads are written where they are used; nothing is recorded until then.
    fn get(self: Arc<Self>, index: i64, path: &[PathPart]) -> Hook {
        let mut out = String::new();
        write_head(&mut out, "pipeline", index);
        out.push(',');
        write_path(&mut out, path);
        out.push(']');
        self.instruction(out)
    }

    fn map(self: Arc<Self>, index: i64, path: &[PathPart], mapper: &dyn Mapper) -> Hook {
        let recording = Recording { recorder: Arc::clone(&self) };
        let mut out = String::new();
        write_head(&mut out, "remap", index);
        out.push(',');
        write_path(&mut out, path);
        out.push_str(",[");
        for (at, capture) in mapper.captures().iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_head(&mut out, "import", recording.index_of(&capture.hook));
            out.push(']');
        }
        out.push_str("],");
        mapper.write_instructions(&mut out);
        out.push(']');
        self.instruction(out)
    }
}

impl Stub {
    /// Runs `body` where the object is. See [`Promise::map`].
    pub fn map<V: Into<Value>>(&self, body: impl FnOnce(&MapScope, Promise) -> V) -> Promise {
        record(&self.0, body)
    }
}

impl Promise {
    /// Runs `body` where the value will be: once per element of an array, not at all on null
    /// or undefined, once on anything else.
    ///
    /// `body` runs here, once, with a placeholder; what it does to the placeholder is recorded
    /// and sent. Stubs from outside are brought in with [`MapScope::capture`].
    pub fn map<V: Into<Value>>(&self, body: impl FnOnce(&MapScope, Promise) -> V) -> Promise {
        record(&self.0, body)
    }
}

/// Runs `body` on a placeholder and asks for the map of `reference`.
fn record<V: Into<Value>>(reference: &Ref, body: impl FnOnce(&MapScope, Promise) -> V) -> Promise {
    let recorder = Arc::new(Recorder(Mutex::default()));
    let element = recorder.placeholder(0);
    let scope = MapScope(Arc::clone(&recorder));
    let result = body(&scope, Promise(Ref::from(element))).into();
    match finish(&recorder, &result) {
        Ok(mapper) => Promise(Ref::from(reference.map(Path::new(), Arc::new(mapper), &turn::origin()))),
        Err(reason) => Promise(Ref::from(Hook::rejected(reason))),
    }
}

fn finish(recorder: &Arc<Recorder>, result: &Value) -> Result<Recorded, Thrown> {
    let mut recording = Recording { recorder: Arc::clone(recorder) };
    let mut encoder = Encoder {
        out: String::new(),
        references: Some(&mut recording),
        depth_max: Limits::default().depth_max,
        allow_dropped: false,
    };
    encoder.value(result, 0)?;
    let last = encoder.out;
    let tape = std::mem::take(&mut *recorder.tape());
    if let Some(reason) = tape.failed {
        return Err(reason);
    }
    let limits = Limits::default();
    let instructions = tape.instructions.into_iter().chain(std::iter::once(last)).collect();
    Ok(Recorded::new(tape.captures, instructions, limits.map_evaluations_max))
}
