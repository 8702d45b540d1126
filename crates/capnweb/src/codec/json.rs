//! One message as JSON, between the text and its meaning.
//!
//! `scan` looks at the text once, without building anything: it counts brackets, so
//! that no parser recurses further than we allow, and mends lone surrogates, which
//! JavaScript sends and Rust text cannot hold. `read` then builds the tree with
//! serde_json, borrowing every string that has no escape in it. `write` is the way out.
//!
//! A tree lives in an arena, which is emptied between messages: a small message costs no
//! allocation, and dropping its tree costs nothing.
//!
//! Not here: what an array means (`evaluate`).

mod read;
mod scan;
mod write;

use bumpalo::Bump;

pub(crate) use read::{ReadError, read};
pub(crate) use write::{write_integer, write_json, write_number, write_string};

/// A JSON value. Objects keep the order and the duplicates of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Json<'t> {
    Null,
    Bool(bool),
    Number(f64),
    String(&'t str),
    Array(&'t [Json<'t>]),
    Object(&'t [(&'t str, Json<'t>)]),
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

    pub(crate) fn as_str(&self) -> Option<&'t str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&'t [Json<'t>]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text of this value.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        write_json(&mut text, self);
        text
    }

    /// The text of this value, cut to something a person would read in an error.
    pub(crate) fn excerpt(&self) -> String {
        const LONGEST: usize = 500;
        let mut text = self.text();
        if text.len() > LONGEST {
            let cut = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text.truncate(cut);
            text.push('…');
        }
        text
    }
}

/// Room for the tree of one message after the other.
#[derive(Default)]
pub(crate) struct Arena(Bump);

impl Arena {
    /// What is kept for the next message; a larger room was for a large message, and is given back.
    const KEPT_BYTES_MAX: usize = 32 * 1024;

    /// Empties the room and lends it out.
    pub(crate) fn fresh(&mut self) -> &Bump {
        if self.0.allocated_bytes() > Self::KEPT_BYTES_MAX {
            self.0 = Bump::new();
        } else {
            self.0.reset();
        }
        &self.0
    }
}
