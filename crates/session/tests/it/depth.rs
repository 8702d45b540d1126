//! How deep JSON may be, and that what is stored can be read.

use proptest::prelude::*;
use serde_json::{Value, json};
use sturdy_session::depth::{LEVELS_MAX, is_deeper, is_text_deeper, read_stored};

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn levels_are_counted_outside_of_strings() {
    let text = r#"{"a":"[[[[\"[[[","b":[[1]],"c\\":"{"}"#;

    assert!(!is_text_deeper(text.as_bytes(), 3));
    assert!(is_text_deeper(text.as_bytes(), 2));
    assert!(!is_text_deeper(nested(LEVELS_MAX).as_bytes(), LEVELS_MAX));
    assert!(is_text_deeper(nested(LEVELS_MAX + 1).as_bytes(), LEVELS_MAX));
    assert!(!is_deeper(&json!({"a": [1, {"b": 2}]}), 3));
    assert!(is_deeper(&json!({"a": [1, {"b": 2}]}), 2));
}

#[test]
fn what_is_stored_is_read_however_deep_it_is_and_damage_stays_damage() {
    let deep: Value = read_stored(&nested(150)).expect("deeper than a parser allows by itself");

    assert_eq!(deep.to_string(), nested(150));
    assert!(read_stored::<Value>(&nested(100_000)).is_err(), "the stack has an end");
    assert!(read_stored::<Value>("{\"a\":").is_err());
    assert!(read_stored::<Value>("[] []").is_err());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<String>().prop_map(Value::from)];
    leaf.prop_recursive(8, 64, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// A value and its text have the same depth, whatever strings are in it.
    #[test]
    fn a_value_and_its_text_are_equally_deep(value in value(), levels in 0_usize..10) {
        prop_assert_eq!(is_deeper(&value, levels), is_text_deeper(value.to_string().as_bytes(), levels));
    }
}
