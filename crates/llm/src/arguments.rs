//! The arguments of a call while they stream in.
//!
//! A call may run as soon as its arguments are whole, while the model goes on talking. Whole is
//! found by counting brackets outside of strings, one look per byte, so that a file of a megabyte
//! written by a tool costs no more than its length. More than a megabyte is not gathered; the model is told.

use crate::limits::{self, ARGUMENTS_BYTES_MAX};
use serde_json::{Map, Value};
use sturdy_session::talk::CallInput;

/// JSON text that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    text: String,
    depth: usize,
    in_string: bool,
    escaped: bool,
    is_too_long: bool,
}

impl Arguments {
    /// Adds a piece. Answers the whole once the brackets close and the text is JSON.
    pub(crate) fn push(&mut self, piece: &str) -> Option<Value> {
        if self.is_too_long || self.text.len() + piece.len() > ARGUMENTS_BYTES_MAX {
            self.is_too_long = true;
            self.text = String::new();
            return None;
        }
        let mut closed = false;
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    closed = self.depth == 0;
                }
                _ => {}
            }
        }
        self.text.push_str(piece);
        if closed && self.depth == 0 && !self.in_string {
            serde_json::from_str(&self.text).ok()
        } else {
            None
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_too_long && self.text.trim().is_empty()
    }

    /// What there is when no more comes. No arguments at all are an empty object.
    pub(crate) fn finish(self) -> CallInput {
        if self.is_too_long {
            return limits::too_many_arguments();
        }
        if self.is_empty() {
            return CallInput::Json(Value::Object(Map::new()));
        }
        match serde_json::from_str(&self.text) {
            Ok(value) => CallInput::Json(value),
            Err(error) => CallInput::Malformed { text: self.text, error: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests;
