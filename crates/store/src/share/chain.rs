//! The hash over everything a writer has sent.
//!
//! `chain(n) = SHA-256(chain(n-1), line(n))`, where a line has every field of the operation that must not
//! change between two attempts. It starts from the share and the writer, so no two writers share a chain.

use super::op::Operation;
use sha2::{Digest as _, Sha256};
use std::fmt;

const FIELD: u8 = 0x1F;
const END: u8 = 0x0A;

/// A point of a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chain([u8; 32]);

/// Where the chain of a writer begins.
#[must_use]
pub fn chain_start(share: &str, writer: &str) -> Chain {
    let mut hasher = Sha256::new();
    hasher.update(b"sturdy-chain-1");
    hasher.update([FIELD]);
    hasher.update(share);
    hasher.update([FIELD]);
    hasher.update(writer);
    Chain(hasher.finalize().into())
}

impl Chain {
    /// The chain after one more operation.
    #[must_use]
    pub fn after(&self, operation: &Operation) -> Self {
        let payload = Sha256::digest(operation.payload_json.as_deref().unwrap_or_default());
        let fields = [
            operation.seq.to_string(),
            operation.op_id.clone(),
            operation.kind.clone(),
            operation.key.clone(),
            operation.version.to_string(),
            operation.schema.to_string(),
            operation.depends_on.join(","),
            hex(&payload),
        ];
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        for (place, field) in fields.iter().enumerate() {
            if place > 0 {
                hasher.update([FIELD]);
            }
            hasher.update(field);
        }
        hasher.update([END]);
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
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({self})")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
