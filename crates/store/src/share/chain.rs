//! The hash over everything a writer has sent.
//!
//! `chain(n) = SHA-256(chain(n-1), line(n))`, where a line has every field of the operation that must not
//! change between two attempts. It starts from the share and the writer, so no two writers share a chain.

use super::op::Operation;
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Write as _};

const FIELD: char = '\u{1F}';
const END: char = '\n';
/// Most lines are shorter.
const LINE_BYTES: usize = 256;

/// A point of a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chain([u8; 32]);

/// Where the chain of a writer begins.
#[must_use]
pub fn chain_start(share: &str, writer: &str) -> Chain {
    let mut hasher = Sha256::new();
    hasher.update(b"sturdy-chain-1");
    hasher.update([FIELD as u8]);
    hasher.update(share);
    hasher.update([FIELD as u8]);
    hasher.update(writer);
    Chain(hasher.finalize().into())
}

impl Chain {
    /// The chain after one more operation.
    #[must_use]
    pub fn after(&self, operation: &Operation) -> Self {
        let payload = Sha256::digest(operation.payload_json.as_deref().unwrap_or_default());
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(line(operation, &payload));
        Self(hasher.finalize().into())
    }

    /// Reads what `Display` wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[place * 2..place * 2 + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(2 * self.0.len());
        push_hex(&mut text, &self.0);
        f.write_str(&text)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({self})")
    }
}

/// Every field that must not change, in one text: this is done for each operation of a batch, on either side.
fn line(operation: &Operation, payload: &[u8]) -> String {
    let Operation { op_id, seq, kind, key, version, schema, depends_on, payload_json: _ } = operation;
    let mut line = String::with_capacity(LINE_BYTES);
    let written =
        write!(line, "{seq}{FIELD}{op_id}{FIELD}{kind}{FIELD}{key}{FIELD}{version}{FIELD}{schema}{FIELD}");
    written.expect("BUG: a text takes everything");
    for (place, dependency) in depends_on.iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        line.push_str(dependency);
    }
    line.push(FIELD);
    push_hex(&mut line, payload);
    line.push(END);
    line
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}
