//! What a reference points at, and the four things one can ask of it.
//!
//! `call`, `get`, `map` and `resolve` work alike on an object of this process, on one at
//! a peer, on a promise and on the end of a stream. None of them waits: what is not
//! there yet is answered by a promise.

use std::{fmt, sync::Arc};

use super::{
    caller::Origin,
    cell::{Cell, Stage},
    ends::{LocalObject, LocalWriter, Mapper, RemoteObject, Variable},
    path::{Found, Path, PathPart, not_a_function, walk},
};
use crate::{ErrorValue, Stub, Thrown, Value, Writable};

#[derive(Clone)]
pub(crate) enum Hook {
    /// An object or function of this process.
    Target(Arc<dyn LocalObject>),
    /// Something at the peer of a session.
    Import(Arc<dyn RemoteObject>),
    /// A promise of this process, or a value that was one.
    Cell(Arc<Cell>),
    /// The writing end of a stream of this process.
    Writer(Arc<dyn LocalWriter>),
    /// A placeholder inside the body of a map that is being recorded.
    Variable(Variable),
}

/// A hook and the members of it that are meant. Nothing is sent until it is used.
#[derive(Clone)]
pub(crate) struct Ref {
    pub(crate) hook: Hook,
    pub(crate) path: Path,
}

/// Called with a cell that is settled, neither pending nor linked.
pub(crate) type Then = Box<dyn FnOnce(Arc<Cell>) + Send>;

impl From<Hook> for Ref {
    fn from(hook: Hook) -> Ref {
        Ref { hook, path: Path::new() }
    }
}

impl Ref {
    pub(crate) fn call(&self, rest: Path, args: Vec<Value>, origin: &Origin) -> Hook {
        self.hook.call(self.joined(rest), args, origin)
    }

    /// The member itself, asked for now.
    pub(crate) fn read(&self, rest: Path, origin: &Origin) -> Hook {
        self.hook.get(self.joined(rest), origin)
    }

    pub(crate) fn map(&self, rest: Path, mapper: Arc<dyn Mapper>, origin: &Origin) -> Hook {
        self.hook.map(self.joined(rest), mapper, origin)
    }

    pub(crate) fn resolve(&self, origin: &Origin, then: Then) {
        if self.path.is_empty() {
            self.hook.resolve(origin, then);
        } else {
            self.hook.get(self.path.clone(), origin).resolve(origin, then);
        }
    }

    pub(crate) fn joined(&self, rest: Path) -> Path {
        if self.path.is_empty() {
            return rest;
        }
        let mut path = self.path.clone();
        path.extend(rest);
        path
    }

    /// What the promise came to, if that is known here and now. Runs nothing.
    pub(crate) fn peek(&self) -> Option<Result<Value, Thrown>> {
        let mut reference = self.clone();
        // Bounded: each turn follows one link or one reference inside a value.
        for _ in 0..64 {
            let cell = match &reference.hook {
                Hook::Cell(cell) => Arc::clone(cell),
                Hook::Import(import) => match import.settled() {
                    Some(cell) => cell,
                    None if import.is_object() && reference.path.is_empty() => {
                        return Some(Ok(Value::Stub(Stub(reference))));
                    }
                    None => return None,
                },
                Hook::Target(_) if reference.path.is_empty() => {
                    return Some(Ok(Value::Stub(Stub(reference))));
                }
                Hook::Target(_) | Hook::Writer(_) | Hook::Variable(_) => return None,
            };
            reference = match (cell.stage_when_served(), cell.value()) {
                (Stage::Linked(target), _) => Ref { path: target.joined(reference.path), hook: target.hook },
                (Stage::Settled, Some(Ok(value))) => match walk(value, &reference.path) {
                    Ok(Found::Value(found)) => return Some(Ok(found.clone())),
                    Ok(Found::Undefined) => return Some(Ok(Value::Undefined)),
                    Ok(Found::Beyond(next, [])) if matches!(next.hook, Hook::Target(_)) => {
                        return Some(Ok(Value::Stub(Stub(next.clone()))));
                    }
                    Ok(Found::Beyond(next, rest)) => {
                        Ref { path: next.joined(rest.to_vec()), hook: next.hook.clone() }
                    }
                    Err(reason) => return Some(Err(reason)),
                },
                (Stage::Settled, Some(Err(reason))) => return Some(Err(reason.clone())),
                (Stage::Settled | Stage::Pending, _) => return None,
            };
        }
        None
    }

    /// The same promise, without the links that lead to it, so that links never form chains.
    pub(crate) fn shortened(mut self) -> Ref {
        while let Hook::Cell(cell) = &self.hook {
            let Stage::Linked(target) = cell.stage() else { break };
            self = Ref { path: target.joined(self.path), hook: target.hook };
        }
        self
    }
}

impl Hook {
    pub(crate) fn rejected(reason: impl Into<Thrown>) -> Hook {
        Hook::Cell(Cell::rejected(reason))
    }

    pub(crate) fn value(value: Value) -> Hook {
        Hook::Cell(Cell::settled(Ok(value)))
    }

    pub(crate) fn call(&self, path: Path, args: Vec<Value>, origin: &Origin) -> Hook {
        match self {
            Hook::Target(held) => Arc::clone(held).call(path, args, origin),
            Hook::Import(import) => match import.settled() {
                Some(cell) => Hook::Cell(cell).call(path, args, origin),
                None => import.call(&path, args),
            },
            Hook::Cell(cell) => {
                let held = origin.clone();
                after(cell, origin, move |cell| call_settled(&cell, path, args, &held))
            }
            Hook::Writer(writer) => writer.call(&path, args, origin),
            Hook::Variable(Variable { recorder, index }) => Arc::clone(recorder).call(*index, &path, args),
        }
    }

    pub(crate) fn get(&self, path: Path, origin: &Origin) -> Hook {
        match self {
            Hook::Target(held) => Arc::clone(held).get(path, origin),
            Hook::Import(import) => match import.settled() {
                Some(cell) => Hook::Cell(cell).get(path, origin),
                None => import.get(&path),
            },
            Hook::Cell(_) if path.is_empty() => self.clone(),
            Hook::Cell(cell) => {
                let held = origin.clone();
                after(cell, origin, move |cell| get_settled(&cell, path, &held))
            }
            Hook::Writer(_) if path.is_empty() => self.clone(),
            Hook::Writer(_) => Hook::rejected(ErrorValue::type_error("a writable stream has no properties")),
            Hook::Variable(Variable { recorder, index }) => Arc::clone(recorder).get(*index, &path),
        }
    }

    pub(crate) fn map(&self, path: Path, mapper: Arc<dyn Mapper>, origin: &Origin) -> Hook {
        match self {
            Hook::Import(import) if import.settled().is_none() => import.map(&path, &*mapper),
            Hook::Variable(Variable { recorder, index }) => Arc::clone(recorder).map(*index, &path, &*mapper),
            Hook::Writer(_) => Hook::rejected(ErrorValue::type_error("a writable stream cannot be mapped")),
            Hook::Target(_) | Hook::Import(_) | Hook::Cell(_) => {
                let (cell, resolver) = Cell::pending();
                let held = origin.clone();
                let then = move |settled: Arc<Cell>| {
                    let mapped = mapper.apply(&settled, &held);
                    // What it captured is let go before anybody hears of the result.
                    drop(mapper);
                    resolver.settle(mapped);
                };
                self.get(path, origin).resolve(origin, Box::new(then));
                Hook::Cell(cell)
            }
        }
    }

    /// Gives `then` the value, however long that takes. Asks the peer for it if need be.
    pub(crate) fn resolve(&self, origin: &Origin, then: Then) {
        match self {
            Hook::Target(_) => then(Cell::settled(Ok(Value::Stub(Stub(Ref::from(self.clone())))))),
            Hook::Import(import) if import.is_object() && import.settled().is_none() => {
                then(Cell::settled(Ok(Value::Stub(Stub(Ref::from(self.clone()))))));
            }
            Hook::Writer(writer) => {
                then(Cell::settled(Ok(Value::Writable(Writable::local(Arc::clone(writer))))));
            }
            Hook::Variable(_) => then(Cell::rejected(not_now())),
            Hook::Import(import) => {
                import.pull();
                // The job keeps the import: whoever waits for it still wants it.
                let import = Arc::clone(import);
                let origin = origin.clone();
                let cell = Arc::clone(import.cell());
                cell.wait(Box::new(move || {
                    resolve_served(import.cell(), &origin, then);
                    drop(import);
                }));
            }
            Hook::Cell(cell) if cell.settled_value().is_some() => then(Arc::clone(cell)),
            Hook::Cell(cell) => {
                adopt(cell, origin);
                let waited = Arc::clone(cell);
                let origin = origin.clone();
                cell.wait(Box::new(move || resolve_served(&waited, &origin, then)));
            }
        }
    }

    /// The promise with its links followed, as far as it is settled.
    pub(crate) fn same_as(&self, other: &Hook) -> bool {
        match (self, other) {
            (Hook::Target(a), Hook::Target(b)) => Arc::ptr_eq(a, b),
            (Hook::Import(a), Hook::Import(b)) => Arc::ptr_eq(a, b),
            (Hook::Cell(a), Hook::Cell(b)) => Arc::ptr_eq(a, b),
            (Hook::Writer(a), Hook::Writer(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A placeholder has no value here.
pub(crate) fn not_now() -> Thrown {
    ErrorValue::new("the body of a map cannot wait: its placeholder has no value here").into()
}

fn resolve_served(cell: &Arc<Cell>, origin: &Origin, then: Then) {
    match cell.stage_when_served() {
        Stage::Linked(target) => target.resolve(origin, then),
        Stage::Settled => then(Arc::clone(cell)),
        Stage::Pending => then(Cell::rejected(ErrorValue::new("BUG: a pending promise was served"))),
    }
}

/// A call nobody drove so far is driven by the session that now waits for it.
fn adopt(cell: &Arc<Cell>, origin: &Origin) {
    if let (Some(session), Some(task)) = (origin, cell.take_task()) {
        session.spawn(task);
    }
}

/// Asks a promise when it is there: now, or in line.
fn after(cell: &Arc<Cell>, origin: &Origin, ask: impl FnOnce(Arc<Cell>) -> Hook + Send + 'static) -> Hook {
    match cell.stage() {
        Stage::Pending => {
            adopt(cell, origin);
            let (answer, resolver) = Cell::pending();
            let waited = Arc::clone(cell);
            cell.wait(Box::new(move || resolver.link(ask(waited))));
            Hook::Cell(answer)
        }
        Stage::Linked(_) | Stage::Settled => ask(Arc::clone(cell)),
    }
}

fn call_settled(cell: &Arc<Cell>, path: Path, args: Vec<Value>, origin: &Origin) -> Hook {
    let value = match cell.stage_when_served() {
        Stage::Linked(target) => return target.call(path, args, origin),
        Stage::Settled | Stage::Pending => cell.value(),
    };
    match value {
        Some(Ok(value)) => call_value(value, &path, args, origin),
        Some(Err(reason)) => Hook::rejected(reason.clone()),
        None => Hook::rejected(ErrorValue::new("BUG: a pending promise was called")),
    }
}

fn call_value(value: &Value, path: &[PathPart], args: Vec<Value>, origin: &Origin) -> Hook {
    match walk(value, path) {
        Ok(Found::Beyond(reference, rest)) => reference.call(rest.to_vec(), args, origin),
        Ok(Found::Value(Value::Writable(stream))) => stream.callee().call(Path::new(), args, origin),
        Ok(Found::Value(_) | Found::Undefined) => writable_method(value, path).map_or_else(
            || Hook::rejected(not_a_function(path)),
            |(hook, rest)| hook.call(rest, args, origin),
        ),
        Err(reason) => Hook::rejected(reason),
    }
}

/// A writable inside a value can still be written to through a path that ends in its method.
fn writable_method(value: &Value, path: &[PathPart]) -> Option<(Hook, Path)> {
    let (method, before) = path.split_last()?;
    match walk(value, before) {
        Ok(Found::Value(Value::Writable(stream))) => Some((stream.callee(), vec![method.clone()])),
        _ => None,
    }
}

fn get_settled(cell: &Arc<Cell>, path: Path, origin: &Origin) -> Hook {
    let value = match cell.stage_when_served() {
        Stage::Linked(target) => return target.read(path, origin),
        Stage::Settled | Stage::Pending => cell.value(),
    };
    match value {
        Some(Ok(value)) => match walk(value, &path) {
            Ok(Found::Beyond(reference, rest)) => reference.read(rest.to_vec(), origin),
            Ok(Found::Value(found)) => Hook::value(found.clone()),
            Ok(Found::Undefined) => Hook::value(Value::Undefined),
            Err(reason) => Hook::rejected(reason),
        },
        Some(Err(reason)) => Hook::rejected(reason.clone()),
        None => Hook::rejected(ErrorValue::new("BUG: a pending promise was read")),
    }
}

impl fmt::Debug for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.hook {
            Hook::Target(_) => "local".to_owned(),
            Hook::Import(import) => format!("import {}", import.id()),
            Hook::Cell(_) => "promise".to_owned(),
            Hook::Writer(_) => "stream".to_owned(),
            Hook::Variable(_) => "map variable".to_owned(),
        };
        f.write_str(&what)?;
        self.path.iter().try_for_each(|part| write!(f, ".{part}"))
    }
}

impl PartialEq for Ref {
    fn eq(&self, other: &Ref) -> bool {
        self.hook.same_as(&other.hook) && self.path == other.path
    }
}
