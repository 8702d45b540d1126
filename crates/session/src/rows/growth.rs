//! Growth: what is added to an open part by whoever reads it, and which facts are folded away.
//!
//! The store calls these without knowing what they mean: it finds the entries of a kind behind a row and
//! has them added. Everything else in the row stays as it was written, byte for byte.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

pub use crate::fact::GROWTH as KIND;

/// Say nothing any more once a later entry has the same subject.
pub const SUPERSEDED: [&str; 2] = [crate::fact::PROGRESS, crate::fact::DIFFED];

/// One piece of growth.
#[derive(Debug, Deserialize)]
pub struct Grew<'a> {
    #[serde(borrow)]
    pub part: Cow<'a, str>,
    #[serde(borrow)]
    pub delta: Cow<'a, str>,
}

/// Reads the data of an entry of the kind `KIND`.
pub fn read(data: &str) -> Result<Grew<'_>, serde_json::Error> {
    serde_json::from_str(data)
}

/// The same part with more at the end of its `text`, or of the arguments of a call (`state.raw`).
pub fn add(data: &str, more: &str) -> Result<String, serde_json::Error> {
    let Fields(mut fields) = serde_json::from_str(data)?;
    let is_call = fields.iter().any(|(key, value)| key == "type" && value.get() == "\"tool\"");
    let state = fields.iter_mut().find(|(key, _)| is_call && key == "state");
    if let Some((_, state)) = state {
        let grown = add_to("raw", state.get(), more)?;
        *state = Cow::Owned(RawValue::from_string(grown)?);
        return serde_json::to_string(&Fields(fields));
    }
    add_to("text", data, more)
}

/// The same object with more at the end of one of its strings.
fn add_to(name: &'static str, data: &str, more: &str) -> Result<String, serde_json::Error> {
    let Fields(mut fields) = serde_json::from_str(data)?;
    let place = fields.iter().position(|(key, _)| key == name);
    let text = match place {
        Some(place) => {
            let mut text: String = serde_json::from_str(fields[place].1.get())?;
            text.push_str(more);
            text
        }
        None => more.to_owned(),
    };
    let text = serde_json::value::to_raw_value(&text)?;
    match place {
        Some(place) => fields[place].1 = Cow::Owned(text),
        None => fields.push((Cow::Borrowed(name), Cow::Owned(text))),
    }
    serde_json::to_string(&Fields(fields))
}

/// An object's fields in their order, the values as they are written.
struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    fields.push((Cow::Owned(key), Cow::Borrowed(map.next_value::<&'de RawValue>()?)));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, &**value)))
    }
}
