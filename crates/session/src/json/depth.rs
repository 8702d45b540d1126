//! How deep JSON may be.
//!
//! What comes in is refused above [`LEVELS_MAX`], at every door, so that what is stored stays readable by
//! everybody's parser, also inside the few levels that a fact, a row or an event puts around it. What is
//! stored already is read however deep it is, up to a bound that the stack allows: an older version may
//! have let it in.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Lists and objects inside each other that may come in: bodies, arguments of calls, results of tools.
pub const LEVELS_MAX: usize = 64;

/// What is read back from the store: more than ever could be written (a parser's own limit is 128), and far
/// below what the stack holds.
const STORED_LEVELS_MAX: usize = 160;

/// Whether brackets nest deeper than this. The text need not be JSON: what is wrong with it is for its
/// parser to say.
#[must_use]
pub fn is_text_deeper(text: &[u8], levels_max: usize) -> bool {
    let mut levels = 0_usize;
    let mut in_string = false;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                levels += 1;
                if levels > levels_max {
                    return true;
                }
            }
            b']' | b'}' => levels = levels.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    false
}

/// Whether a value nests deeper than this.
#[must_use]
pub fn is_deeper(value: &Value, levels_max: usize) -> bool {
    match value {
        Value::Array(items) => levels_max == 0 || items.iter().any(|item| is_deeper(item, levels_max - 1)),
        Value::Object(members) => {
            levels_max == 0 || members.values().any(|member| is_deeper(member, levels_max - 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Reads what the store gave back.
pub fn read_stored<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let read = serde_json::from_str(text);
    // Almost everything is flat. Looking again costs only what is damaged or deep.
    if read.is_ok() || is_text_deeper(text.as_bytes(), STORED_LEVELS_MAX) {
        return read;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}
