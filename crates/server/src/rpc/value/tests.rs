//! Times and records, one by one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::{iso_time, parse};
use sturdy_capnweb::Value;

#[test]
fn times_read_as_javascript_prints_them() {
    for (milliseconds, text) in [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (-1.0, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000.0, "2000-02-29T00:00:00.000Z"),
        (1_767_323_045_678.0, "2026-01-02T03:04:05.678Z"),
        (-62_167_219_200_000.0, "0000-01-01T00:00:00.000Z"),
        (-62_167_219_200_001.0, "-000001-12-31T23:59:59.999Z"),
        (8.64e15, "+275760-09-13T00:00:00.000Z"),
        (-8.64e15, "-271821-04-20T00:00:00.000Z"),
    ] {
        assert_eq!(iso_time(milliseconds).as_deref(), Some(text));
    }
    assert_eq!(iso_time(f64::NAN), None);
}

#[test]
fn a_record_is_read_with_its_order_and_every_number_as_a_double() {
    let value = parse(r#"{"b":[1,-2,0.5,18446744073709551615],"a":{"x":null,"y":true},"":"é"}"#).unwrap();

    let numbers = [1.0, -2.0, 0.5, 18_446_744_073_709_551_615.0].map(Value::Number);
    let inner = Value::object([("x", Value::Null), ("y", true.into())]);
    let whole = Value::object([("b", Value::array(numbers)), ("a", inner), ("", "é".into())]);
    assert_eq!(value, whole);
    assert!(parse("{} {}").is_err());
}

#[test]
fn a_record_may_be_deeper_than_the_parser_likes() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));

    assert!(parse(&deep).is_ok());
}
