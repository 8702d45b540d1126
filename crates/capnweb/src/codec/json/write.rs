//! Tree to text, with numbers spelled as JavaScript spells them.

use std::fmt::Write as _;

use super::Json;

pub(crate) fn write_json(out: &mut String, json: &Json<'_>) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Json::Number(number) => write_number(out, *number),
        Json::String(text) => write_string(out, text),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(out, name);
                out.push(':');
                write_json(out, value);
            }
            out.push('}');
        }
    }
}

/// A string with its quotes.
pub(crate) fn write_string(out: &mut String, text: &str) {
    let plain = text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    out.reserve(text.len() + 2);
    if plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        let quoted = serde_json::to_string(text).expect("BUG: text always has a JSON form");
        out.push_str(&quoted);
    }
}

/// Ids and most numbers are integers, so they skip the formatting machinery.
pub(crate) fn write_integer(out: &mut String, number: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push('-');
    }
    out.push_str(str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// A finite number: integers without a point, shortest digits otherwise, an exponent
/// where JavaScript would write one.
pub(crate) fn write_number(out: &mut String, number: f64) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        // Also turns -0 into 0, as the npm package does.
        return write_integer(out, number as i64);
    }
    let shortest = format!("{number:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-6..21).contains(&exponent) {
        let _ = write!(out, "{number}");
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{}", exponent.abs());
    }
}
