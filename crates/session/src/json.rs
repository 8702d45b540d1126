//! Numbers and free-form values as clients expect them (spec: model-and-storage §0).
//!
//! Every number on the wire is an ECMAScript number: integral values print without a
//! fraction, the range 1e-6 to 1e21 without an exponent. `Num` prints so; `tidy` does
//! the same to values that came from elsewhere.

use serde::{Deserialize, Serialize, Serializer, de};
use serde_json::value::RawValue;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A free-form JSON object: metadata, tool input, provider options.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// Largest integer a binary64 holds exactly; above it JavaScript prints digits of its own.
const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// An ECMAScript number.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Num(pub f64);

impl Num {
    pub const ZERO: Self = Self(0.0);

    /// The value as a token count: never negative, never a fraction.
    #[must_use]
    pub fn count(self) -> u64 {
        if self.0.is_finite() && self.0 > 0.0 { self.0 as u64 } else { 0 }
    }
}

impl From<u64> for Num {
    fn from(value: u64) -> Self {
        Self(value as f64)
    }
}

impl From<f64> for Num {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl Add for Num {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Num {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Num {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Num {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Serialize for Num {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if value.fract() == 0.0 && value.abs() < EXACT_INTEGER_MAX {
            return serializer.serialize_i64(value as i64);
        }
        let magnitude = value.abs();
        let printers_differ = (1e-6..1e-4).contains(&magnitude) || (1e15..1e21).contains(&magnitude);
        if printers_differ {
            let raw = RawValue::from_string(print_number(value)).map_err(serde::ser::Error::custom)?;
            return raw.serialize(serializer);
        }
        serializer.serialize_f64(value)
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self)
    }
}

/// The text JavaScript prints for a finite number.
#[must_use]
pub fn print_number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs();
    if (1e-6..1e21).contains(&magnitude) {
        // Rust's `{}` never uses an exponent and prints the shortest digits that round-trip.
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

/// Gives integral floats their integer form, all the way down, as JavaScript would.
pub fn tidy(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64()
                && number.is_f64()
                && float.fract() == 0.0
                && float.abs() < EXACT_INTEGER_MAX
            {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(map) => map.values_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Length as the reference counts it: UTF-16 code units.
#[must_use]
pub fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The longest prefix of at most `units` UTF-16 code units.
#[must_use]
pub fn utf16_prefix(text: &str, units: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.len_utf16();
        if used > units {
            return &text[..at];
        }
    }
    text
}
