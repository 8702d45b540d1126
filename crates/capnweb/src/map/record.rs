//! Making a map from a closure.
//!
//! The closure runs once, here, on placeholders. A call, read or map on a placeholder
//! becomes an instruction; a stub from outside becomes a capture.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Mapper;
use crate::{
    ErrorValue, Limits, Promise, Stub, Thrown, Value,
    codec::encode::{Encoder, ReferenceTarget},
    target::asker,
    value::reference::hook::{Hook, Ref},
    value::reference::path::{Path, PathPart, write_path},
};

/// A placeholder: an entry in the table of the map being recorded.
#[derive(Clone)]
pub(crate) struct Variable {
    recorder: Arc<Recorder>,
    index: i64,
}

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
        let variable = Variable { recorder: Arc::clone(&self.0), index };
        Promise(Ref { hook: Hook::Variable(variable), path: reference.path.clone() })
    }
}

/// Where the encoder puts references while a body is recorded.
pub(crate) struct Recording {
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
            Hook::Variable(variable) if Arc::ptr_eq(&variable.recorder, &self.recorder) => variable.index,
            other => self.capture(other),
        }
    }

    pub(crate) fn reference(&mut self, out: &mut String, tag: &str, reference: &Ref) -> Result<(), Thrown> {
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

fn write_head(out: &mut String, tag: &str, index: i64) {
    out.push_str("[\"");
    out.push_str(tag);
    out.push_str("\",");
    out.push_str(&index.to_string());
}

impl Variable {
    pub(crate) fn call(&self, path: &[PathPart], args: Vec<Value>) -> Hook {
        let mut recording = Recording { recorder: Arc::clone(&self.recorder) };
        let mut out = String::new();
        write_head(&mut out, "pipeline", self.index);
        out.push(',');
        write_path(&mut out, path);
        out.push(',');
        let mut encoder = Encoder {
            out,
            place: ReferenceTarget::Map(&mut recording),
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
    pub(crate) fn get(&self, path: &[PathPart]) -> Hook {
        let mut out = String::new();
        write_head(&mut out, "pipeline", self.index);
        out.push(',');
        write_path(&mut out, path);
        out.push(']');
        self.instruction(out)
    }

    pub(crate) fn map(&self, path: &[PathPart], mapper: Mapper) -> Hook {
        let recording = Recording { recorder: Arc::clone(&self.recorder) };
        let mut out = String::new();
        write_head(&mut out, "remap", self.index);
        out.push(',');
        write_path(&mut out, path);
        out.push_str(",[");
        for (at, capture) in mapper.captures.iter().enumerate() {
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

    fn instruction(&self, text: String) -> Hook {
        let mut tape = self.recorder.tape();
        tape.instructions.push(text);
        let index = i64::try_from(tape.instructions.len()).unwrap_or(i64::MAX);
        Hook::Variable(Variable { recorder: Arc::clone(&self.recorder), index })
    }

    fn fail(&self, reason: Thrown) -> Hook {
        self.recorder.tape().failed.get_or_insert_with(|| reason.clone());
        Hook::rejected(reason)
    }
}

/// Runs `body` on a placeholder and asks for the map of `reference`.
pub(crate) fn record<V: Into<Value>>(reference: &Ref, body: impl FnOnce(&MapScope, Promise) -> V) -> Promise {
    let recorder = Arc::new(Recorder(Mutex::default()));
    let element = Variable { recorder: Arc::clone(&recorder), index: 0 };
    let scope = MapScope(Arc::clone(&recorder));
    let result = body(&scope, Promise(Ref::from(Hook::Variable(element)))).into();
    match finish(&recorder, &result) {
        Ok(mapper) => Promise(Ref::from(reference.map(Path::new(), mapper, &asker()))),
        Err(reason) => Promise(Ref::from(Hook::rejected(reason))),
    }
}

fn finish(recorder: &Arc<Recorder>, result: &Value) -> Result<Mapper, Thrown> {
    let mut recording = Recording { recorder: Arc::clone(recorder) };
    let mut encoder = Encoder {
        out: String::new(),
        place: ReferenceTarget::Map(&mut recording),
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
    Ok(Mapper {
        captures: tape.captures,
        instructions: tape.instructions.into_iter().chain(std::iter::once(last)).collect(),
        budget: Mapper::budget(limits.map_evaluations_max),
    })
}

/// A placeholder has no value here.
pub(crate) fn not_now() -> Thrown {
    ErrorValue::new("the body of a map cannot wait: its placeholder has no value here").into()
}
