//! Running a recorded function where the data is.
//!
//! A map is a list of instructions over a private table: 0 is the element, the
//! captures count down from -1, the results of the instructions count up from 1.
//! `apply` runs one we received or hold; `record` makes one from a Rust closure.

mod apply;
mod record;

use std::sync::{Arc, atomic::AtomicU64};

use crate::{hook::Ref, json::Json};

pub(crate) use apply::{Frame, apply};
pub use record::MapScope;
pub(crate) use record::{Recording, Variable, not_now, record};

/// A recorded function, with the objects it uses from outside.
#[derive(Clone)]
pub(crate) struct Mapper {
    pub(crate) captures: Vec<Ref>,
    /// Templates: evaluated anew for each element.
    pub(crate) instructions: Arc<[Json<'static>]>,
    /// Evaluations left, shared with the maps inside.
    pub(crate) budget: Arc<AtomicU64>,
}

impl Mapper {
    pub(crate) fn budget(evaluations: u64) -> Arc<AtomicU64> {
        Arc::new(AtomicU64::new(evaluations))
    }
}
