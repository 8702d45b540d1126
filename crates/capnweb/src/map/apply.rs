//! Running the body of a map.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::Recorded;
use crate::{
    ErrorValue, Limits, Outcome, Thrown, Value,
    codec::evaluate::{Evaluator, MapTable, Scope},
    codec::json::{self, Arena, Json},
    value::reference::{
        caller::Origin,
        cell::Cell,
        ends::Mapper,
        hook::{Hook, Ref},
    },
};
use bumpalo::Bump;

/// The private table of one run of the body.
struct Frame<'m> {
    mapper: &'m Recorded,
    /// The element, then the result of each instruction so far.
    entries: Vec<Hook>,
}

impl MapTable for Frame<'_> {
    fn entry(&self, id: i64) -> Option<Ref> {
        match usize::try_from(id) {
            Ok(place) => self.entries.get(place).cloned().map(Ref::from),
            Err(_) => self.mapper.captures.get(usize::try_from(-(id + 1)).ok()?).cloned(),
        }
    }

    fn mapper(&self, captures: Vec<Ref>, instructions: Arc<[String]>) -> Arc<dyn Mapper> {
        Arc::new(Recorded { captures, instructions, budget: Arc::clone(&self.mapper.budget) })
    }
}

pub(super) fn apply(settled: &Arc<Cell>, mapper: &Recorded, origin: &Origin) -> Outcome {
    let value = match settled.value() {
        Some(Ok(value)) => value,
        Some(Err(reason)) => return Err(reason.clone()),
        None => return Err(ErrorValue::new("BUG: a pending value was mapped").into()),
    };
    match value {
        Value::Undefined => Ok(Value::Undefined),
        Value::Null => Ok(Value::Null),
        Value::Array(items) => {
            let mut arena = Arena::default();
            let body = read(mapper, arena.fresh())?;
            items
                .iter()
                .map(|item| run(item.clone(), mapper, &body, origin))
                .collect::<Result<_, _>>()
                .map(Value::Array)
        }
        single => {
            let mut arena = Arena::default();
            let body = read(mapper, arena.fresh())?;
            run(single.clone(), mapper, &body, origin)
        }
    }
}

/// The instructions, read once for all elements.
fn read<'t>(mapper: &'t Recorded, arena: &'t Bump) -> Result<Vec<Json<'t>>, Thrown> {
    let brackets = Limits::default().bracket_depth_max;
    let instructions = mapper.instructions.iter().map(|text| match json::read(text, brackets, arena) {
        Ok((tree, _)) => Ok(tree),
        Err(reason) => Err(ErrorValue::new(reason.to_string()).into()),
    });
    instructions.collect()
}

fn run(element: Value, mapper: &Recorded, body: &[Json<'_>], origin: &Origin) -> Outcome {
    let element = match element {
        Value::Stub(stub) if stub.0.path.is_empty() => stub.0.hook,
        other => Hook::value(other),
    };
    // The limits of the session do not reach in here: a body is the same everywhere.
    let limits = Limits::default();
    let mut frame = Frame { mapper, entries: vec![element] };
    let mut result = None;
    for (at, instruction) in body.iter().enumerate() {
        spend(&mapper.budget)?;
        let evaluator = Evaluator { scope: Scope::Map(&frame), limits: &limits, origin, fills: false };
        let value = evaluator.value(instruction, 0)?;
        if at + 1 == body.len() {
            result = Some(value);
        } else {
            frame.entries.push(as_hook(value));
        }
    }
    result.ok_or_else(|| ErrorValue::new("Invalid empty mapper function.").into())
}

fn as_hook(value: Value) -> Hook {
    match value {
        Value::Promise(promise) if promise.0.path.is_empty() => promise.0.hook,
        Value::Stub(stub) if stub.0.path.is_empty() => stub.0.hook,
        other => Hook::value(other),
    }
}

fn spend(budget: &AtomicU64) -> Result<(), Thrown> {
    let spent = budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    match spent {
        Ok(_) => Ok(()),
        Err(_) => Err(ErrorValue::range_error("this map is too large").code("map_too_large").into()),
    }
}
