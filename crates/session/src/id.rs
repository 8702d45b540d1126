//! Identifiers: typed, in the wire's form.
//!
//! `<prefix>_<12 hex digits of time><14 random base-62 characters>`. The time word wraps
//! every 795 days, so no order and no time is ever taken from an id: rows carry their own.
//! New ids come from `Stamp`; ids from outside are checked for their prefix and kept.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, sync::Arc};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Why a string is not an identifier of the wanted kind. The words are the wire's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("Expected a string starting with \"{prefix}\", got {}", quoted(got))]
    Prefix { prefix: &'static str, got: String },
    #[error("Expected an id of at most {ID_BYTES_MAX} bytes, got {bytes}")]
    TooLong { bytes: usize },
}

/// Longer strings are refused: an id is a key in every table and index.
pub const ID_BYTES_MAX: usize = 256;

/// What is repeated of a wrong string; the rest could be a whole document.
const QUOTED_CHARS_MAX: usize = 64;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS: usize = 14;

/// The low 48 bits of `ms * 4096 + counter`.
#[must_use]
pub fn time_word(ms: u64, counter: u64) -> u64 {
    ms.wrapping_mul(4096).wrapping_add(counter) & 0xffff_ffff_ffff
}

/// The complement, for ids that sort newest first.
#[must_use]
pub fn descending(word: u64) -> u64 {
    !word & 0xffff_ffff_ffff
}

/// Puts an id together from its time word and random bytes.
#[must_use]
pub fn compose(prefix: &str, word: u64, random: &[u8; RANDOM_CHARS]) -> String {
    let mut text = format!("{prefix}_{word:012x}");
    text.extend(random.iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])));
    text
}

/// As JSON quotes it, which is what clients compare with.
fn quoted(got: &str) -> String {
    serde_json::Value::from(got).to_string()
}

fn check(text: &str, prefix: &'static str) -> Result<Arc<str>, IdError> {
    if !text.starts_with(prefix) {
        let got = text.chars().take(QUOTED_CHARS_MAX).collect();
        return Err(IdError::Prefix { prefix, got });
    }
    if text.len() > ID_BYTES_MAX {
        return Err(IdError::TooLong { bytes: text.len() });
    }
    Ok(Arc::from(text))
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal, accepts $accepted:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// Takes an id from outside; it must start with its prefix.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                check(text, $accepted).map(Self)
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(de::Error::custom)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let pattern = Some(concat!("^", $accepted));
                ObjectBuilder::new().schema_type(Type::String).pattern(pattern).build().into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

ids! {
    SessionId = "ses", accepts "ses";
    MessageId = "msg", accepts "msg";
    PartId = "prt", accepts "prt";
    /// Alone in wanting the underscore too.
    EventId = "evt", accepts "evt_";
    PermissionId = "per", accepts "per";
    QuestionId = "que", accepts "que";
    PtyId = "pty", accepts "pty";
    WorkspaceId = "wrk", accepts "wrk";
}
