//! Bodies against their types: what is wrong, and where.
//!
//! The words are the wire's: `Missing key`, `Expected …, got …`, then the place as a list of keys.

use crate::error::{ApiError, Kind};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_path_to_error::Segment;
use sturdy_session::depth::{LEVELS_MAX, is_text_deeper};
use sturdy_session::json::mend_surrogates;

/// Reads a body.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|cause| ApiError::schema(Kind::Body, format!("The body is not UTF-8: {cause}")))?;
    if is_text_deeper(bytes, LEVELS_MAX) {
        let message = format!("The body nests lists and objects deeper than {LEVELS_MAX} levels");
        return Err(ApiError::schema(Kind::Body, message));
    }
    let text = mend_surrogates(text);
    // Every body is an object; serde would take a list for one, field by field.
    if text.trim_start().starts_with('[') {
        // What is in it may be a secret.
        let shown = if text.trim() == "[]" { "[]" } else { "a list" };
        return Err(ApiError::schema(Kind::Payload, format!("Expected object, got {shown}")));
    }
    if text.trim().is_empty() {
        return Err(ApiError::schema(Kind::Payload, "Expected object, got undefined"));
    }
    let mut reader = serde_json::Deserializer::from_str(&text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|cause| {
        let place = cause.path().iter().map(segment).collect::<String>();
        wrong(cause.inner(), &place)
    })?;
    reader.end().map_err(|cause| wrong(&cause, ""))?;
    Ok(value)
}

fn segment(segment: &Segment) -> String {
    match segment {
        Segment::Seq { index } => format!("[{index}]"),
        Segment::Map { key } => format!("[{}]", quoted(key)),
        // Which alternative was tried is no place in the text.
        Segment::Enum { .. } | Segment::Unknown => String::new(),
    }
}

fn wrong(cause: &serde_json::Error, place: &str) -> ApiError {
    let text = without_line(cause);
    match cause.classify() {
        Category::Syntax | Category::Eof | Category::Io => {
            let message =
                format!("The body is not JSON: {text} at line {} column {}", cause.line(), cause.column());
            ApiError::schema(Kind::Body, message)
        }
        Category::Data => {
            let (what, place) = said(&text, place);
            let message = if place.is_empty() { what } else { format!("{what}\n  at {place}") };
            ApiError::schema(Kind::Payload, message)
        }
    }
}

/// serde's sentence in the wire's words.
fn said(text: &str, place: &str) -> (String, String) {
    if let Some(name) = text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return ("Missing key".to_owned(), format!("{place}[{}]", quoted(name)));
    }
    let got = |prefix: &str| {
        let (got, expected) = text.strip_prefix(prefix)?.split_once(", expected ")?;
        Some(format!("Expected {}, got {}", kind(expected), value(got)))
    };
    if let Some(said) = got("invalid type: ").or_else(|| got("invalid value: ")) {
        return (said, place.to_owned());
    }
    if let Some(said) = got("unknown variant ") {
        return (said.replace("one of ", "").replace(", `", " | `").replace('`', "\""), place.to_owned());
    }
    (text.to_owned(), place.to_owned())
}

/// serde's name of a type as the wire names it.
fn kind(expected: &str) -> &str {
    match expected {
        "a string" => "string",
        "a boolean" => "boolean",
        "a sequence" => "array",
        "a map" => "object",
        name if name.starts_with("struct ") => "object",
        other => other,
    }
}

/// serde names the type of a value and quotes it; the wire shows it as JSON.
fn value(got: &str) -> &str {
    let quoted = ["integer `", "floating point `", "boolean `"];
    let number = quoted.iter().find_map(|kind| got.strip_prefix(kind)?.strip_suffix('`'));
    number.or_else(|| got.strip_prefix("string ")).unwrap_or(got)
}

/// The place is said in keys, not in lines.
fn without_line(cause: &serde_json::Error) -> String {
    let text = cause.to_string();
    let suffix = format!(" at line {} column {}", cause.line(), cause.column());
    text.strip_suffix(&suffix).unwrap_or(&text).to_owned()
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}
