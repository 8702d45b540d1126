//! Whether a value fits a JSON Schema. The only module that knows the library for it.
//!
//! References to other documents are not followed: a schema comes whole or not at all.

use serde_json::Value;
use sturdy_session::json::Map;

/// At most this many schema errors are reported to the model; a hundred are no more useful than ten.
const MISFITS_MAX: usize = 10;
/// A complaint quotes the value, which may be long.
const MISFIT_CHARS_MAX: usize = 300;

/// The schema itself is no schema.
#[derive(Debug, thiserror::Error)]
#[error("the schema cannot be used: {0}")]
pub(crate) struct SchemaError(String);

/// Whether anything can be checked against it.
pub(crate) fn check(schema: &Map) -> Result<(), SchemaError> {
    compile(schema).map(|_| ())
}

/// What does not fit, each with its place; nothing when the value is fine.
pub(crate) fn misfits(schema: &Map, value: &Value) -> Result<Vec<String>, SchemaError> {
    let validator = compile(schema)?;
    let complaint = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "the object itself" } else { &place };
        cut(format!("{place}: {error}"))
    };
    Ok(validator.iter_errors(value).take(MISFITS_MAX).map(complaint).collect())
}

fn compile(schema: &Map) -> Result<jsonschema::Validator, SchemaError> {
    let schema = Value::Object(schema.clone());
    jsonschema::validator_for(&schema).map_err(|error| SchemaError(cut(error.to_string())))
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MISFIT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
