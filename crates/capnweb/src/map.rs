//! Running a recorded function where the data is.
//!
//! A map is a list of instructions over a private table: 0 is the element, the
//! captures count down from -1, the results of the instructions count up from 1.
//! `apply` runs one we received or hold; `record` makes one from a Rust closure.

mod apply;
mod record;

use std::sync::{Arc, atomic::AtomicU64};

use crate::{
    Outcome,
    value::reference::{caller::Origin, cell::Cell, ends::Mapper, hook::Ref},
};

pub use record::MapScope;

/// A function as a list of instructions.
pub(crate) struct Recorded {
    captures: Vec<Ref>,
    /// JSON texts, read when the map is applied.
    instructions: Arc<[String]>,
    /// Evaluations left, shared with the maps inside.
    budget: Arc<AtomicU64>,
}

impl Recorded {
    /// With a budget of its own.
    pub(crate) fn new(captures: Vec<Ref>, instructions: Arc<[String]>, evaluations_max: u64) -> Recorded {
        Recorded { captures, instructions, budget: Arc::new(AtomicU64::new(evaluations_max)) }
    }
}

impl Mapper for Recorded {
    fn captures(&self) -> &[Ref] {
        &self.captures
    }

    fn write_instructions(&self, out: &mut String) {
        out.push('[');
        for (at, instruction) in self.instructions.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(instruction);
        }
        out.push(']');
    }

    fn apply(&self, settled: &Arc<Cell>, origin: &Origin) -> Outcome {
        apply::apply(settled, self, origin)
    }
}
