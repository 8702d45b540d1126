//! Text to tree.

use std::{borrow::Cow, fmt};

use bumpalo::Bump;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Json, scan::scan};

/// Why a text is no message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("JSON nests deeper than {0} brackets")]
    TooDeep(usize),
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
}

/// Reads one JSON value; also says how many lone surrogates were replaced.
pub(crate) fn read<'t>(
    text: &'t str,
    depth_max: usize,
    arena: &'t Bump,
) -> Result<(Json<'t>, u32), ReadError> {
    let scanned = scan(text, depth_max).ok_or(ReadError::TooDeep(depth_max))?;
    let text = match scanned.text {
        Cow::Borrowed(text) => text,
        Cow::Owned(mended) => arena.alloc_str(&mended),
    };
    let mut parser = serde_json::Deserializer::from_str(text);
    // The scan has bounded the depth, far below what the stack holds.
    parser.disable_recursion_limit();
    let tree = Tree(arena).deserialize(&mut parser)?;
    parser.end()?;
    Ok((tree, scanned.replaced))
}

/// Makes a tree in an arena.
#[derive(Clone, Copy)]
struct Tree<'t>(&'t Bump);

impl<'t> DeserializeSeed<'t> for Tree<'t> {
    type Value = Json<'t>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Json<'t>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for Tree<'t> {
    type Value = Json<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'t>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json<'t>, E> {
        Ok(Json::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'t>, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'t>, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'t>, E> {
        Ok(Json::Number(number))
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<Json<'t>, E> {
        Ok(Json::String(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'t>, E> {
        Ok(Json::String(self.0.alloc_str(text)))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<Json<'t>, A::Error> {
        let mut list = Gathering::new(self.0, Json::Null);
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Json::Array(list.done()))
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<Json<'t>, A::Error> {
        let mut list = Gathering::new(self.0, ("", Json::Null));
        while let Some(name) = members.next_key_seed(Name(self.0))? {
            list.push((name, members.next_value_seed(self)?));
        }
        Ok(Json::Object(list.done()))
    }
}

/// A list whose length is not known: the first few stand on the stack, many in a vector.
struct Gathering<'t, T> {
    arena: &'t Bump,
    few: [T; INLINE_MAX],
    count: usize,
    many: Vec<T>,
}

/// Most lists of a message are shorter: a message, a call, its path and its arguments.
const INLINE_MAX: usize = 4;

impl<'t, T: Copy> Gathering<'t, T> {
    fn new(arena: &'t Bump, blank: T) -> Gathering<'t, T> {
        Gathering { arena, few: [blank; INLINE_MAX], count: 0, many: Vec::new() }
    }

    fn push(&mut self, item: T) {
        if self.count < INLINE_MAX {
            self.few[self.count] = item;
        } else {
            if self.count == INLINE_MAX {
                self.many.reserve(4 * INLINE_MAX);
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(item);
        }
        self.count += 1;
    }

    fn done(self) -> &'t [T] {
        let all = if self.count <= INLINE_MAX { &self.few[..self.count] } else { &self.many[..] };
        self.arena.alloc_slice_copy(all)
    }
}

/// A member name, borrowed if the text allows.
struct Name<'t>(&'t Bump);

impl<'t> DeserializeSeed<'t> for Name<'t> {
    type Value = &'t str;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<&'t str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for Name<'t> {
    type Value = &'t str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<&'t str, E> {
        Ok(text)
    }

    fn visit_str<E>(self, text: &str) -> Result<&'t str, E> {
        Ok(self.0.alloc_str(text))
    }
}
