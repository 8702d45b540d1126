//! What each key may hold.
//!
//! `table.rs` has a shape per key, here they are looked at. A value of the wrong type is an error that names its place;
//! a key nobody knows is kept and warned about, because other programs share the file.

mod table;

use serde_json::{Map, Value};
use table::{MCP_LOCAL, MCP_REMOTE, MCP_SWITCH, ROOT};

/// What a value looks like.
pub(super) enum Shape {
    Any,
    Text,
    Flag,
    Number,
    /// A whole number, at least this.
    Whole(u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Just this truth value.
    Only(bool),
    List(&'static Shape),
    Map(&'static Shape),
    Fields(&'static Fields),
    Either(&'static [Shape]),
    /// A server of tools: its `type` says which fields it has.
    Mcp,
}

pub(super) struct Fields {
    pub(super) known: &'static [(&'static str, Shape)],
    pub(super) required: &'static [&'static str],
    /// Other keys are passed on to somebody else, so they are no surprise.
    pub(super) open: bool,
}

/// What a look at a document found.
#[derive(Default)]
pub(super) struct Findings {
    /// Path and what is wrong.
    pub(super) wrong: Vec<(Vec<String>, String)>,
    /// Path and, if one is near, the key that was probably meant.
    pub(super) unknown: Vec<(Vec<String>, Option<&'static str>)>,
    /// Other files say the rest, so nothing is missing.
    is_part: bool,
}

/// Looks at a whole document.
pub(super) fn check(document: &Map<String, Value>) -> Findings {
    let mut findings = Findings::default();
    fields(document, &ROOT, &mut Vec::new(), &mut findings);
    findings
}

/// A part of a document without what is wrong in it. Another file has the last word there, so nobody is told.
pub(super) fn sound(part: &Map<String, Value>) -> Map<String, Value> {
    let mut findings = Findings { is_part: true, ..Findings::default() };
    fields(part, &ROOT, &mut Vec::new(), &mut findings);
    let mut sound = Value::Object(part.clone());
    // From the end, so that what is taken out of a list does not move what is still to be taken.
    for (path, _) in findings.wrong.iter().rev().filter(|(path, _)| !is_permission(path)) {
        take_out(&mut sound, path);
    }
    match sound {
        Value::Object(sound) => sound,
        _ => Map::new(),
    }
}

/// A rule that makes no sense is refused, whoever replaces it: without it something would be allowed.
fn is_permission(path: &[String]) -> bool {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(keys[..], ["permission", ..] | ["agent" | "mode", _, "permission", ..])
}

fn take_out(document: &mut Value, path: &[String]) {
    let Some((last, above)) = path.split_last() else { return };
    let place = above.iter().try_fold(document, |value, key| match value {
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        value => value.get_mut(key),
    });
    match place {
        Some(Value::Object(map)) => drop(map.shift_remove(last)),
        Some(Value::Array(items)) => {
            if let Some(index) = last.parse::<usize>().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// Whether a document may have this key.
pub(super) fn is_known(key: &str) -> bool {
    ROOT.known.iter().any(|(name, _)| *name == key)
}

fn fields(map: &Map<String, Value>, shape: &Fields, path: &mut Vec<String>, out: &mut Findings) {
    let missing = |name: &&&str| !out.is_part && !map.contains_key(**name);
    for name in shape.required.iter().filter(missing) {
        out.wrong.push((path.clone(), format!("The key \"{name}\" is missing")));
    }
    for (key, value) in map {
        path.push(key.clone());
        match shape.known.iter().find(|(name, _)| name == key) {
            Some((_, shape)) => look(value, shape, path, out),
            None if shape.open => {}
            None => out.unknown.push((path.clone(), nearest(key, shape.known))),
        }
        path.pop();
    }
}

fn look(value: &Value, shape: &Shape, path: &mut Vec<String>, out: &mut Findings) {
    // A null says "as if it were not there".
    if value.is_null() {
        return;
    }
    match (shape, value) {
        (Shape::Any, _) => {}
        (Shape::List(item), Value::Array(items)) => {
            for (index, value) in items.iter().enumerate() {
                path.push(index.to_string());
                look(value, item, path, out);
                path.pop();
            }
        }
        (Shape::Map(item), Value::Object(map)) => {
            for (key, value) in map {
                path.push(key.clone());
                look(value, item, path, out);
                path.pop();
            }
        }
        (Shape::Fields(shape), Value::Object(map)) => fields(map, shape, path, out),
        (Shape::Mcp, Value::Object(map)) => {
            let shape = match map.get("type").and_then(Value::as_str) {
                Some("local") => &MCP_LOCAL,
                Some("remote") => &MCP_REMOTE,
                _ => &MCP_SWITCH,
            };
            fields(map, shape, path, out);
        }
        (Shape::Either(shapes), _) => either(value, shapes, path, out),
        _ if is_scalar_fit(value, shape) => {}
        _ => out
            .wrong
            .push((path.clone(), format!("Expected {}, found {}", expected(shape), found(value, shape)))),
    }
}

/// The alternative that fits; if none does, the one that fits the kind of value says what is wrong with it.
fn either(value: &Value, shapes: &[Shape], path: &mut Vec<String>, out: &mut Findings) {
    let mut closest = None;
    for shape in shapes {
        let mut tried = Findings { is_part: out.is_part, ..Findings::default() };
        look(value, shape, path, &mut tried);
        if tried.wrong.is_empty() {
            out.unknown.append(&mut tried.unknown);
            return;
        }
        if matches!((shape, value), (Shape::Map(_) | Shape::Fields(_), Value::Object(_))) {
            closest = Some(tried);
        }
    }
    match closest {
        Some(mut tried) => out.wrong.append(&mut tried.wrong),
        None => {
            let all: Vec<String> = shapes.iter().map(expected).collect();
            let found = found(value, &Shape::Any);
            out.wrong.push((path.clone(), format!("Expected {}, found {found}", all.join(" or "))));
        }
    }
}

fn is_scalar_fit(value: &Value, shape: &Shape) -> bool {
    match (shape, value) {
        (Shape::Text, Value::String(_))
        | (Shape::Flag, Value::Bool(_))
        | (Shape::Number, Value::Number(_)) => true,
        (Shape::Whole(least), Value::Number(number)) => {
            let whole = number
                .as_u64()
                .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64));
            whole.is_some_and(|number| number >= *least)
        }
        (Shape::Word(words), Value::String(word)) => words.contains(&word.as_str()),
        (Shape::Only(only), Value::Bool(flag)) => only == flag,
        _ => false,
    }
}

fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Any => "anything".to_owned(),
        Shape::Text => "a string".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::Number => "a number".to_owned(),
        Shape::Whole(least) => format!("a whole number of at least {least}"),
        Shape::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
        Shape::Only(only) => only.to_string(),
        Shape::List(_) => "a list".to_owned(),
        Shape::Map(_) | Shape::Fields(_) | Shape::Mcp => "an object".to_owned(),
        Shape::Either(shapes) => shapes.iter().map(expected).collect::<Vec<_>>().join(" or "),
    }
}

/// The kind of what was found. The value itself only where a word of ours was expected: elsewhere it
/// might be a key that slipped into the wrong place.
fn found(value: &Value, shape: &Shape) -> String {
    match (shape, value) {
        (Shape::Word(_), Value::String(word)) if word.len() <= 20 => format!("\"{word}\""),
        (_, Value::String(_)) => "a string".to_owned(),
        (_, Value::Number(_)) => "a number".to_owned(),
        (_, Value::Bool(flag)) => flag.to_string(),
        (_, Value::Array(_)) => "a list".to_owned(),
        (_, Value::Object(_)) => "an object".to_owned(),
        (_, Value::Null) => "null".to_owned(),
    }
}

/// The known key that is one or two letters away.
fn nearest(key: &str, known: &'static [(&'static str, Shape)]) -> Option<&'static str> {
    let distance = |name: &str| edits(key, name);
    let (best, name) = known.iter().map(|(name, _)| (distance(name), *name)).min()?;
    (best <= 2 && best < name.len() / 2).then_some(name)
}

fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}
