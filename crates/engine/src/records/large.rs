//! Links in the place of large values, and the value that a link stands for.
//!
//! A conversation is shown whole, and what tools answered and files hold is looked at one by one, if at all. So whoever
//! asks for it that way is given `{"$blob": hash, "bytes": n}` for what is large, and each value by its hash. A value is
//! a text, or a list or object that is large though no text in it is; what is inside of that may be a link again.
//!
//! Which values: every one of a call and of a file. Not what people and models said, which is what a conversation is; not
//! what a running call shows, which is bounded and new every moment.
//!
//! Nothing is kept for this. A link is made where a part is read, and followed by looking into the part again.

use super::fields;
use bytes::Bytes;
use serde_json::{Value, json};
use sturdy_store::PartShape;

/// A shorter text stays where it is: asking for it would cost more than it.
const TEXT_BYTES_MIN: usize = 16 * 1024;
/// The same for a list or an object, without what is a link in it.
const TREE_BYTES_MIN: usize = 64 * 1024;
/// Below `input` and `metadata` of a call. These themselves stay: a glance at a call reads their fields.
const TREE_LEVEL_MIN: usize = 3;
/// About what a link takes.
const LINK_BYTES: usize = 100;

/// What is done with large values where something is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LargeValues {
    #[default]
    Whole,
    Linked,
}

impl LargeValues {
    #[must_use]
    pub fn shape(self) -> PartShape {
        match self {
            Self::Whole => PartShape::STORED,
            Self::Linked => PartShape(linked),
        }
    }

    /// An event as it is sent.
    #[must_use]
    pub fn event(self, text: Bytes) -> Bytes {
        match self {
            Self::Whole => text,
            Self::Linked => linked_event(&text).unwrap_or(text),
        }
    }
}

/// What a link stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LargeValue {
    Text(String),
    /// A list or an object.
    Json(String),
}

impl LargeValue {
    #[must_use]
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::Json(text) => text,
        }
    }
}

/// The value of a part that has this hash. None if there is none, also where the part cannot be read.
#[must_use]
pub fn value_in(part: &str, hash: &str) -> Option<LargeValue> {
    let mut value: Value = fields("a part", part).ok()?;
    let mut links = Links { wanted: Some(hash), ..Links::default() };
    links.in_part(&mut value);
    links.found
}

/// A part that cannot be read, or has nothing large in it, stays as it is.
fn linked(part: String) -> String {
    if part.len() < TEXT_BYTES_MIN {
        return part;
    }
    let Ok(mut value) = fields::<Value>("a part", &part) else { return part };
    let mut links = Links::default();
    links.in_part(&mut value);
    if links.count == 0 { part } else { value.to_string() }
}

fn linked_event(text: &[u8]) -> Option<Bytes> {
    if text.len() < TEXT_BYTES_MIN || !text.starts_with(b"{\"type\":\"message.part.updated\"") {
        return None;
    }
    let mut event: Value = fields("an event", std::str::from_utf8(text).ok()?).ok()?;
    let mut links = Links::default();
    links.in_part(event.pointer_mut("/properties/part")?);
    (links.count > 0).then(|| Bytes::from(event.to_string()))
}

/// Puts links into a part, and keeps the value that is wanted.
#[derive(Default)]
struct Links<'a> {
    wanted: Option<&'a str>,
    found: Option<LargeValue>,
    count: usize,
}

impl Links<'_> {
    fn in_part(&mut self, part: &mut Value) {
        if !matches!(part["type"].as_str(), Some("tool" | "file")) {
            return;
        }
        let is_running = part["state"]["status"] == "running";
        let shown = part.pointer_mut("/state/metadata").filter(|_| is_running).map(Value::take);
        self.walk(part, 0);
        if let (Some(shown), Some(place)) = (shown, part.pointer_mut("/state/metadata")) {
            *place = shown;
        }
    }

    /// Gives about how many bytes stay.
    fn walk(&mut self, value: &mut Value, level: usize) -> usize {
        let bytes = match value {
            Value::String(text) if text.len() >= TEXT_BYTES_MIN => {
                let text = std::mem::take(text);
                *value = self.link(LargeValue::Text(text));
                return LINK_BYTES;
            }
            Value::String(text) => return text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => return 0,
            Value::Array(items) => items.iter_mut().map(|item| self.walk(item, level + 1)).sum(),
            Value::Object(fields) => {
                let field = |(name, item): (&String, &mut Value)| name.len() + self.walk(item, level + 1);
                fields.iter_mut().map(field).sum::<usize>()
            }
        };
        if bytes < TREE_BYTES_MIN || level < TREE_LEVEL_MIN {
            return bytes;
        }
        *value = self.link(LargeValue::Json(value.to_string()));
        LINK_BYTES
    }

    fn link(&mut self, large: LargeValue) -> Value {
        let (LargeValue::Text(text) | LargeValue::Json(text)) = &large;
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let bytes = text.len();
        self.count += 1;
        if self.wanted == Some(hash.as_str()) {
            self.found = Some(large);
        }
        json!({ "$blob": hash, "bytes": bytes })
    }
}

#[cfg(test)]
mod tests;
