//! Integers of any size, kept as their digits.
//!
//! Nothing here computes: the crate carries such numbers, and whoever wants to add
//! them chooses a library.

use std::fmt;

/// A decimal integer without leading zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BigInt(String);

impl BigInt {
    /// Reads `-?[0-9]+`; anything else is `None`.
    pub fn parse(text: &str) -> Option<BigInt> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        Some(BigInt(if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") }))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for BigInt {
            fn from(number: $integer) -> BigInt {
                BigInt(number.to_string())
            }
        }
    )*};
}
from_integer!(i32, u32, i64, u64, i128, u128);
