//! One message as JSON, between the text and its meaning.
//!
//! `scan` looks at the text once, without building anything: it counts brackets, so
//! that no parser recurses further than we allow, and mends lone surrogates, which
//! JavaScript sends and Rust text cannot hold. `read` then builds the tree with
//! serde_json, borrowing every string that has no escape in it. `write` is the way out.
//!
//! Not here: what an array means (`evaluate`).

mod read;
mod scan;
mod write;

use std::borrow::Cow;

pub(crate) use read::{ReadError, read};
pub(crate) use write::{write_json, write_number, write_string};

/// A JSON value. Objects keep the order and the duplicates of the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'t> {
    Null,
    Bool(bool),
    Number(f64),
    String(Cow<'t, str>),
    Array(Vec<Json<'t>>),
    Object(Vec<(Cow<'t, str>, Json<'t>)>),
}

impl<'t> Json<'t> {
    /// The integer this is, if it is one that JavaScript counts exactly.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self {
            Json::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => Some(*number as i64),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Json<'t>]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The same tree, independent of the text it was read from.
    pub(crate) fn into_owned(self) -> Json<'static> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(flag) => Json::Bool(flag),
            Json::Number(number) => Json::Number(number),
            Json::String(text) => Json::String(Cow::Owned(text.into_owned())),
            Json::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(members) => Json::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (Cow::Owned(name.into_owned()), value.into_owned()))
                    .collect(),
            ),
        }
    }

    /// The text of this value, cut to something a person would read in an error.
    pub(crate) fn excerpt(&self) -> String {
        const LONGEST: usize = 500;
        let mut text = String::new();
        write_json(&mut text, self);
        if text.len() > LONGEST {
            let cut = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text.truncate(cut);
            text.push('…');
        }
        text
    }
}
