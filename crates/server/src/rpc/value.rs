//! Records, which leave the store as JSON text, as values; and a time as JavaScript prints it.

use super::failure;
use crate::error::{ApiError, reference};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use sturdy_capnweb::{Object, Thrown, Value};
use tracing::error;

/// A record as a value.
pub(super) async fn record(json: &str) -> Result<Value, Thrown> {
    match parse(json) {
        Ok(value) => Ok(value),
        Err(cause) => {
            let reference = reference();
            error!(%reference, %cause, "a stored record is not JSON");
            Err(failure::thrown(ApiError::Unforeseen { reference }).await)
        }
    }
}

/// What a JavaScript client would have got from the same text: every number is a double.
pub(super) fn parse(json: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    // Our own text, and no deeper than what was parsed with a limit when it came in.
    reader.disable_recursion_limit();
    let value = Json::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value.0)
}

struct Json(Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Reading).map(Json)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Json(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some(name) = members.next_key::<String>()? {
            let Json(member) = members.next_value()?;
            object.insert(name, member);
        }
        Ok(Value::Object(object))
    }
}

/// `2026-01-02T03:04:05.678Z`, as `Date.prototype.toISOString` has it; none for an invalid date.
pub(super) fn iso_time(milliseconds: f64) -> Option<String> {
    const DAY_MS: i64 = 86_400_000;
    if !milliseconds.is_finite() {
        return None;
    }
    let milliseconds = milliseconds as i64;
    let days = milliseconds.div_euclid(DAY_MS);
    let rest = milliseconds.rem_euclid(DAY_MS);
    let (year, month, day) = civil(days);
    let hour = rest / 3_600_000;
    let minute = rest / 60_000 % 60;
    let second = rest / 1000 % 60;
    let thousandth = rest % 1000;
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+07}"),
    };
    Some(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{thousandth:03}Z"))
}

/// The date of a day since 1970. Years begin in March here, so that the leap day is the last of one.
fn civil(days: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097;
    let days = days + 719_468;
    let era = days.div_euclid(ERA_DAYS);
    let of_era = days.rem_euclid(ERA_DAYS);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + era * 400 + carry, month, day)
}

#[cfg(test)]
mod tests;
