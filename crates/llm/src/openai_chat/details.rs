//! What must come back with a thought or a call as it was told: pieces with their seals.
//!
//! OpenRouter tells a thought as `reasoning_details`, pieces of which some are signed or encrypted; behind it stand
//! providers that refuse the answer to a call without them. Google's compatible server seals the call itself. Both
//! are kept where the reference keeps them, in the metadata of the part.

use serde_json::{Map, Value, json};

pub(super) const DETAILS: &str = "reasoning_details";
const OPENROUTER: &str = "openrouter";

/// Pieces as they come.
#[derive(Debug, Default)]
pub(super) struct Details {
    pieces: Vec<Value>,
    /// How many of them a call has been given.
    given: usize,
}

impl Details {
    pub(super) fn add(&mut self, told: Value) {
        let told = match told {
            Value::Array(pieces) => pieces,
            Value::Object(_) => vec![told],
            _ => Vec::new(),
        };
        told.into_iter().filter(Value::is_object).for_each(|piece| self.add_piece(piece));
    }

    /// A piece of text goes on where the one before it ended.
    fn add_piece(&mut self, piece: Value) {
        let grown = match piece["type"].as_str() {
            Some("reasoning.text") => "text",
            Some("reasoning.summary") => "summary",
            _ => return self.pieces.push(piece),
        };
        let is_same = |last: &&mut Value| last["type"] == piece["type"] && last["index"] == piece["index"];
        let Some(last) = self.pieces.last_mut().filter(is_same).and_then(Value::as_object_mut) else {
            return self.pieces.push(piece);
        };
        let Value::Object(piece) = piece else { return };
        for (name, value) in piece {
            match (last.get_mut(&name), value) {
                (Some(Value::String(text)), Value::String(more)) if name == grown => text.push_str(&more),
                (_, Value::Null) => {}
                (_, value) => drop(last.insert(name, value)),
            }
        }
    }

    /// All pieces so far.
    pub(super) fn metadata(&self) -> Option<Map<String, Value>> {
        let all = || Map::from_iter([(OPENROUTER.to_owned(), json!({ DETAILS: self.pieces }))]);
        (!self.pieces.is_empty()).then(all)
    }

    /// The same, if no call has them yet.
    pub(super) fn metadata_of_call(&mut self) -> Option<Map<String, Value>> {
        let is_new = self.given < self.pieces.len();
        self.given = self.pieces.len();
        self.metadata().filter(|_| is_new)
    }
}

/// The text in a piece or a list of them.
pub(super) fn text(told: &Value) -> String {
    match told {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces.iter().map(text).collect(),
        Value::Object(piece) => {
            let said = ["text", "summary"]
                .into_iter()
                .find_map(|name| piece.get(name).filter(|said| !said.is_null()));
            said.map(text).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Adds the pieces that a part holds, each once: a call repeats those of the thought before it.
pub(super) fn gather(metadata: &Option<Map<String, Value>>, all: &mut Vec<Value>) {
    let kept = metadata.as_ref().and_then(|metadata| metadata.get(OPENROUTER)?.get(DETAILS)?.as_array());
    for piece in kept.into_iter().flatten() {
        if !all.contains(piece) {
            all.push(piece.clone());
        }
    }
}

/// What Google's compatible server sealed a call with.
pub(super) fn sealed(extra: &Value) -> Option<Map<String, Value>> {
    let seal = extra["google"]["thought_signature"].as_str()?;
    Some(Map::from_iter([("google".to_owned(), json!({ "thoughtSignature": seal }))]))
}

pub(super) fn seal_of_call(metadata: &Option<Map<String, Value>>) -> Option<&str> {
    metadata.as_ref()?.get("google")?.get("thoughtSignature")?.as_str()
}
