//! Text to tree.

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Json, scan::scan};

/// Why a text is no message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("JSON nests deeper than {0} brackets")]
    TooDeep(usize),
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
}

/// Reads one JSON value and gives it to `then`, with the number of lone surrogates that
/// were replaced. A callback, because the tree borrows from a text we may have mended.
pub(crate) fn read<R>(
    text: &str,
    depth_max: usize,
    then: impl FnOnce(Json<'_>, u32) -> R,
) -> Result<R, ReadError> {
    let scanned = scan(text, depth_max).ok_or(ReadError::TooDeep(depth_max))?;
    let mut parser = serde_json::Deserializer::from_str(&scanned.text);
    // The scan has bounded the depth, far below what the stack holds.
    parser.disable_recursion_limit();
    let tree = Json::deserialize(&mut parser)?;
    parser.end()?;
    Ok(then(tree, scanned.replaced))
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json<'de>, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json<'de>, A::Error> {
        let mut object = Vec::new();
        while let Some(Name(name)) = members.next_key()? {
            object.push((name, members.next_value()?));
        }
        Ok(Json::Object(object))
    }
}

/// A member name, borrowed if the text allows.
struct Name<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}
