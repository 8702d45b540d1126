//! The bounds of a whole answer.

use super::*;

fn grew(block: usize, bytes: usize) -> Said {
    Said::TextGrew { block: block.to_string(), text: "x".repeat(bytes) }
}

#[test]
fn an_answer_has_a_number_of_bytes_over_all_its_parts() {
    let mut limits = Limits::default();

    for block in 0..16 {
        assert!(limits.pass(grew(block, PART_BYTES_MAX)).is_ok());
    }

    let message = format!("The answer is larger than {ANSWER_BYTES_MAX} bytes");
    assert_eq!(limits.pass(grew(16, 1)), Err(too_long(&message)));
}

#[test]
fn an_answer_has_a_number_of_parts() {
    let mut limits = Limits::default();

    for block in 0..PARTS_MAX {
        assert!(limits.pass(grew(block, 1)).is_ok());
    }

    let message = format!("The answer has more than {PARTS_MAX} parts");
    assert_eq!(limits.pass(grew(PARTS_MAX, 1)), Err(too_long(&message)));
    assert!(limits.pass(grew(0, 1)).is_ok(), "a part that is open may go on");
}

#[test]
fn metadata_of_a_text_counts_against_its_size_limit() {
    let mut limits = Limits::default();
    let seal = serde_json::json!({ "acme": { "signature": "x".repeat(PART_BYTES_MAX) } });
    let metadata = seal.as_object().cloned();

    let sealed = limits.pass(Said::ReasoningEnded { block: "a".to_owned(), metadata });

    let message = format!("A part of the answer is larger than {PART_BYTES_MAX} bytes");
    assert_eq!(sealed, Err(too_long(&message)));
}
