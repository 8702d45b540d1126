//! Numbers and free-form values as clients expect them.
//!
//! Every number on the wire is an ECMAScript number: integral values print without a
//! fraction, the range 1e-6 to 1e21 without an exponent. `Num` prints so; `tidy` gives
//! integral values inside free-form data the same form.
//!
//! Reading is as wide as JavaScript's: `5.0` is the integer 5, and half of a character that
//! a program cut in two (`mend_surrogates`) does not make a text unreadable.

pub mod depth;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A free-form JSON object: metadata, tool input, provider options.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// `{}`; other members are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Nothing {}

/// Largest integer a binary64 holds exactly; above it JavaScript prints digits of its own.
const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// An ECMAScript number.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Num(pub f64);

impl PartialSchema for Num {
    fn schema() -> RefOr<Schema> {
        f64::schema()
    }
}

impl ToSchema for Num {}

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
        // JSON has no such number, and a null would not read back; counts and prices take it as 0 too.
        if !value.is_finite() {
            return serializer.serialize_i64(0);
        }
        if value.fract() == 0.0 && value.abs() < EXACT_INTEGER_MAX {
            return serializer.serialize_i64(value as i64);
        }
        // Between these, serde's printer and JavaScript's agree.
        if (1e-4..1e15).contains(&value.abs()) {
            return serializer.serialize_f64(value);
        }
        let raw = RawValue::from_string(print_number(value)).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self)
    }
}

/// The text JavaScript prints for a finite number.
#[must_use]
pub fn print_number(value: f64) -> String {
    let Some(number) = serde_json::Number::from_f64(value) else { return "0".to_owned() };
    if value == 0.0 {
        return "0".to_owned();
    }
    // The digits are those of serde's printer: of two that are equally short and equally near,
    // it takes the even one as JavaScript does, and Rust's own `{}` does not.
    let (digits, point) = significant(&number.to_string());
    let sign = if value < 0.0 { "-" } else { "" };
    let count = digits.len() as i32;
    match point {
        _ if !(-5..=21).contains(&point) => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
        }
        _ if point <= 0 => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
        _ if point >= count => format!("{sign}{digits}{}", "0".repeat((point - count) as usize)),
        _ => {
            let (whole, fraction) = digits.split_at(point as usize);
            format!("{sign}{whole}.{fraction}")
        }
    }
}

/// The digits of a printed number without leading and trailing zeros, and where the point stands
/// before, in or after them: `-1.50e3` is `15` with the point at 4.
fn significant(printed: &str) -> (String, i32) {
    let unsigned = printed.trim_start_matches('-');
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = (all.len() - digits.len()) as i32;
    let exponent: i32 = exponent.parse().unwrap_or(0);
    (digits.trim_end_matches('0').to_owned(), exponent + whole.len() as i32 - leading)
}

/// Gives integral floats their integer form, all the way down, as JavaScript would.
pub fn tidy(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64()
                && number.is_f64()
                && let Some(integer) = integer_form(float)
            {
                *number = integer;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(map) => map.values_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Through the printed digits, not by a cast: above 2^53 JavaScript fills up with zeros.
fn integer_form(float: f64) -> Option<serde_json::Number> {
    if float.fract() != 0.0 || float.abs() >= 1e21 {
        return None;
    }
    let digits = print_number(float);
    let signed = digits.parse::<i64>().map(Into::into);
    signed.or_else(|_| digits.parse::<u64>().map(Into::into)).ok()
}

/// Reads an integer that may be written as a float; the fraction of a millisecond is dropped.
pub fn whole<'de, T: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let out_of_range = || de::Error::custom(format_args!("Expected a non-negative integer, got {value}"));
    if !(0.0..EXACT_INTEGER_MAX).contains(&value) {
        return Err(out_of_range());
    }
    T::try_from(value as u64).map_err(|_| out_of_range())
}

/// The same for a field that may be missing.
pub fn whole_option<'de, T: TryFrom<u64>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Whole<T>(T);
    impl<'de, T: TryFrom<u64>> Deserialize<'de> for Whole<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            whole(deserializer).map(Self)
        }
    }
    Ok(Option::<Whole<T>>::deserialize(deserializer)?.map(|whole| whole.0))
}

/// Replaces escaped halves of surrogate pairs (`\ud83d` alone) in a JSON text by `\ufffd`.
/// JavaScript writes them when a text was cut in the middle of a character; no Rust string
/// can hold them. A text without any comes back as it is.
#[must_use]
pub fn mend_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match (surrogate(bytes, at), surrogate(bytes, at + ESCAPE_LEN)) {
            (Some(Half::High), Some(Half::Low)) => at += 2 * ESCAPE_LEN,
            (Some(_), _) => {
                let copy = mended.get_or_insert_with(|| bytes.to_vec());
                copy[at..at + ESCAPE_LEN].copy_from_slice(br"\ufffd");
                at += ESCAPE_LEN;
            }
            // Two bytes, so that the second of `\\` does not begin an escape.
            (None, _) => at += 2,
        }
    }
    match mended {
        None => Cow::Borrowed(json),
        Some(copy) => Cow::Owned(String::from_utf8(copy).expect("BUG: ASCII replaced by ASCII")),
    }
}

const ESCAPE_LEN: usize = r"\ud83d".len();

enum Half {
    High,
    Low,
}

fn surrogate(bytes: &[u8], at: usize) -> Option<Half> {
    let digits = bytes.get(at..at + ESCAPE_LEN)?.strip_prefix(br"\u")?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match unit {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
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
