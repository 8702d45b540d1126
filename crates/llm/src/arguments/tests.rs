//! Arguments are found whole exactly once, wherever the pieces are cut.

use super::*;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn no_arguments_are_an_empty_object() {
    assert_eq!(Arguments::default().finish(), CallInput::Json(json!({})));
}

#[test]
fn brackets_inside_strings_do_not_count() {
    let mut arguments = Arguments::default();

    assert_eq!(arguments.push(r#"{"a":"}\"}"#), None);
    assert_eq!(arguments.push(r#"","b":[1]}"#), Some(json!({ "a": "}\"}", "b": [1] })));
}

#[test]
fn what_is_not_json_is_kept_as_text() {
    let mut arguments = Arguments::default();

    assert_eq!(arguments.push("{'a': 1}"), None);
    assert!(matches!(arguments.finish(), CallInput::Malformed { text, .. } if text == "{'a': 1}"));
}

proptest! {
    #[test]
    fn a_cut_anywhere_gives_the_same_whole(words in proptest::collection::vec(".{0,8}", 1..6), cut in 0usize..200) {
        let whole = json!({ "words": words, "nested": { "list": [[], {}, "]}"] } });
        let text = whole.to_string();
        let cut = (0..=cut.min(text.len() - 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();

        let mut arguments = Arguments::default();
        let first = arguments.push(&text[..cut]);
        let second = arguments.push(&text[cut..]);

        prop_assert_eq!(first, None);
        prop_assert_eq!(second, Some(whole));
    }
}

#[test]
fn more_than_a_megabyte_is_not_gathered() {
    let mut arguments = Arguments::default();

    let first = arguments.push(&format!("{{\"a\":\"{}", "x".repeat(ARGUMENTS_BYTES_MAX)));
    let last = arguments.push("\"}");

    assert_eq!((first, last), (None, None));
    assert!(arguments.text.is_empty());
    assert_eq!(arguments.finish(), limits::too_many_arguments());
}
