//! The way from an object to one of its members.
//!
//! Walking never leaves plain data by itself: a stub or promise on the way gets the
//! rest of the path, and names every JavaScript object answers to lead nowhere.

use std::fmt;

use crate::{ErrorValue, Thrown, Value, value::reference::hook::Ref, value::reserved::is_inherited};

/// One element of a path: a member name, or the place in an array.
#[derive(Clone, Debug, PartialEq)]
pub enum PathPart {
    Name(String),
    /// A double, because a peer may send any number; only whole ones find something.
    Index(f64),
}

pub(crate) type Path = Vec<PathPart>;

impl From<&str> for PathPart {
    fn from(name: &str) -> PathPart {
        PathPart::Name(name.to_owned())
    }
}

impl From<String> for PathPart {
    fn from(name: String) -> PathPart {
        PathPart::Name(name)
    }
}

impl From<usize> for PathPart {
    fn from(place: usize) -> PathPart {
        PathPart::Index(place as f64)
    }
}

impl fmt::Display for PathPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathPart::Name(name) => f.write_str(name),
            PathPart::Index(place) => write!(f, "{place}"),
        }
    }
}

/// Where a walk ended.
pub(crate) enum Found<'v> {
    /// Plain data, found whole.
    Value(&'v Value),
    Undefined,
    /// A reference on the way; the rest of the path is for it.
    Beyond(&'v Ref, &'v [PathPart]),
}

/// Walks plain data.
pub(crate) fn walk<'v>(mut value: &'v Value, path: &'v [PathPart]) -> Result<Found<'v>, Thrown> {
    let mut rest = path;
    loop {
        match value {
            Value::Stub(stub) => return Ok(Found::Beyond(&stub.0, rest)),
            Value::Promise(promise) => return Ok(Found::Beyond(&promise.0, rest)),
            _ => {}
        }
        let Some((part, after)) = rest.split_first() else { return Ok(Found::Value(value)) };
        rest = after;
        let next = match (value, part) {
            (_, PathPart::Name(name)) if is_inherited(name) => None,
            (Value::Object(object), PathPart::Name(name)) => object.get(name),
            (Value::Array(items), PathPart::Index(place)) => item(items, *place),
            _ => None,
        };
        match (next, after.first()) {
            (Some(found), _) => value = found,
            (None, None) => return Ok(Found::Undefined),
            (None, Some(wanted)) => return Err(read_of_undefined(wanted)),
        }
        if let (Value::Undefined, Some(wanted)) = (value, after.first()) {
            return Err(read_of_undefined(wanted));
        }
    }
}

fn item(items: &[Value], place: f64) -> Option<&Value> {
    if place.fract() != 0.0 || place < 0.0 {
        return None;
    }
    items.get(place as usize)
}

pub(crate) fn read_of_undefined(wanted: &PathPart) -> Thrown {
    ErrorValue::type_error(format!("Cannot read properties of undefined (reading '{wanted}')")).into()
}

pub(crate) fn not_a_function(path: &[PathPart]) -> Thrown {
    let joined: Vec<String> = path.iter().map(ToString::to_string).collect();
    ErrorValue::type_error(format!("'{}' is not a function.", joined.join("."))).into()
}
