//! What is too large for an operation, made to fit: the longest texts in it are cut.
//!
//! The same input gives the same output, so a repeat has the same hash.

use crate::share::OP_BYTES_MAX;
use serde_json::Value;

/// Texts are not cut below this; an object that is large without long texts is replaced.
const TEXT_BYTES_MIN: usize = 256;
const CUT: &str = "\n[The rest is left out: it is too long to be shared.]";

pub(super) fn shorten(payload: String) -> String {
    if payload.len() <= OP_BYTES_MAX {
        return payload;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(&payload) else { return payload };
    let mut longest = OP_BYTES_MAX / 2;
    loop {
        cut(&mut value, longest);
        if let Value::Object(fields) = &mut value {
            fields.insert("share_truncated".to_owned(), Value::Bool(true));
        }
        let text = value.to_string();
        if text.len() <= OP_BYTES_MAX {
            return text;
        }
        if longest <= TEXT_BYTES_MIN {
            return names_only(&value);
        }
        longest /= 2;
    }
}

/// Cuts every text that has more bytes.
fn cut(value: &mut Value, most: usize) {
    match value {
        Value::String(text) if text.len() > most => {
            text.truncate(text.floor_char_boundary(most));
            text.push_str(CUT);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, most)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cut(field, most)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Only what says which thing it is.
fn names_only(value: &Value) -> String {
    let mut kept = serde_json::Map::new();
    for name in ["id", "sessionID", "messageID", "type", "role", "time"] {
        if let Some(field) = value.get(name) {
            kept.insert(name.to_owned(), field.clone());
        }
    }
    kept.insert("share_truncated".to_owned(), Value::Bool(true));
    Value::Object(kept).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_payload_that_is_too_large_is_cut_at_its_longest_texts_and_says_so() {
        let long = "ü".repeat(OP_BYTES_MAX);
        let payload = json!({ "id": "prt_1", "state": { "output": long, "title": "cat file" } }).to_string();

        let short = shorten(payload.clone());

        let value: Value = serde_json::from_str(&short).unwrap();
        assert!(short.len() <= OP_BYTES_MAX);
        assert_eq!(value["id"], "prt_1");
        assert_eq!(value["state"]["title"], "cat file");
        assert_eq!(value["share_truncated"], true);
        assert!(value["state"]["output"].as_str().unwrap().ends_with(CUT));
        assert_eq!(shorten(payload), short);
    }

    #[test]
    fn a_payload_that_fits_is_not_touched() {
        let payload = r#"{ "id":1 ,"text":"as it is" }"#.to_owned();

        assert_eq!(shorten(payload.clone()), payload);
    }

    #[test]
    fn a_payload_of_many_small_values_keeps_its_names() {
        let many: Vec<u32> = (0..1_000_000).collect();
        let payload = json!({ "id": "prt_1", "type": "tool", "many": many }).to_string();

        let short = shorten(payload);

        assert_eq!(
            serde_json::from_str::<Value>(&short).unwrap(),
            json!({ "id": "prt_1", "type": "tool", "share_truncated": true })
        );
    }
}
