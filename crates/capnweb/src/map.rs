//! Running a recorded function where the data is.
//!
//! A map is a list of instructions over a private table: 0 is the element, the
//! captures count down from -1, the results of the instructions count up from 1.
//! `apply` runs one we received or hold; `record` makes one from a Rust closure.

mod apply;
mod record;

use std::sync::{Arc, atomic::AtomicU64};

use crate::value::reference::hook::Ref;

pub(crate) use apply::{Frame, apply};
pub use record::MapScope;
pub(crate) use record::{Recording, Variable, not_now, record};

/// A recorded function, with the objects it uses from outside.
#[derive(Clone)]
pub(crate) struct Mapper {
    pub(crate) captures: Vec<Ref>,
    /// JSON texts, read when the map is applied.
    pub(crate) instructions: Arc<[String]>,
    /// Evaluations left, shared with the maps inside.
    pub(crate) budget: Arc<AtomicU64>,
}

impl Mapper {
    /// The instructions as they stand in a message.
    pub(crate) fn write_instructions(&self, out: &mut String) {
        out.push('[');
        for (at, instruction) in self.instructions.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(instruction);
        }
        out.push(']');
    }

    pub(crate) fn budget(evaluations: u64) -> Arc<AtomicU64> {
        Arc::new(AtomicU64::new(evaluations))
    }
}
