//! Numbers and texts as JavaScript writes them.

use crate::wire::{becomes, print, read, refused};
use proptest::prelude::*;
use serde_json::{Value, json};
use sturdy_session::json::{Num, mend_surrogates, print_number, tidy, utf16_len, utf16_prefix};
use sturdy_session::types::part::{Part, SourceText};
use sturdy_session::types::usage::Tokens;

/// What a JavaScript engine prints for each.
const PRINTED: [(f64, &str); 31] = [
    (0.0, "0"),
    (-0.0, "0"),
    (1.0, "1"),
    (-1.0, "-1"),
    (1.5, "1.5"),
    (100.0, "100"),
    (0.1 + 0.2, "0.30000000000000004"),
    (0.00321, "0.00321"),
    (0.003_209_999_999_999_999_3, "0.0032099999999999993"),
    (0.0001, "0.0001"),
    (0.000_012_5, "0.0000125"),
    (0.000_01, "0.00001"),
    (-0.000_01, "-0.00001"),
    (0.000_001, "0.000001"),
    (0.000_000_999, "9.99e-7"),
    (1e-7, "1e-7"),
    (1.5e-7, "1.5e-7"),
    (-1.5e-7, "-1.5e-7"),
    (5e-324, "5e-324"),
    (1e15, "1000000000000000"),
    (123_456_789.125, "123456789.125"),
    // Was: …813, as near and as short, but not even.
    (-441_207_348_991_597.0 / 16.0, "-27575459311974.812"),
    (1.0 / 16_777_216.0, "5.960464477539063e-8"),
    (1_152_921_504_606_846_976.0, "1152921504606847000"),
    (9_007_199_254_740_991.0, "9007199254740991"),
    (9_007_199_254_740_992.0, "9007199254740992"),
    (123_456_789_012_345_680_000.0, "123456789012345680000"),
    (1e21, "1e+21"),
    (1.5e21, "1.5e+21"),
    (-1e21, "-1e+21"),
    (f64::MAX, "1.7976931348623157e+308"),
];

#[test]
fn a_number_prints_as_in_javascript() {
    for (value, text) in PRINTED {
        assert_eq!(print_number(value), text);
        assert_eq!(print(&Num(value)), text);
    }
}

#[test]
fn a_number_prints_so_inside_a_type_and_by_way_of_a_value() {
    for (value, text) in PRINTED {
        let tokens = Tokens { total: Some(Num(value)), ..Tokens::default() };
        let expected = format!(
            r#"{{"total":{text},"input":0,"output":0,"reasoning":0,"cache":{{"read":0,"write":0}}}}"#
        );
        assert_eq!(print(&tokens), expected);
        assert_eq!(serde_json::to_value(tokens).unwrap()["total"].as_f64(), Some(value));

        // Flattened and tagged on the way, which is another path through the printer.
        let part = format!(
            r#"{{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"step-finish","reason":"stop","cost":{text},"tokens":{expected}}}"#
        );
        becomes::<Part>(&part, &part);
    }
}

#[test]
fn what_is_no_number_prints_as_zero_and_never_as_null() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(print(&Num(value)), "0");
        assert_eq!(Num(value).count(), 0);
    }
}

#[test]
fn a_number_is_read_in_any_notation() {
    for text in ["5", "5.0", "5e0", "0.5e1", "50e-1"] {
        assert_eq!(read::<Num>(text), Num(5.0));
    }
    refused::<Num>("null", "expected f64");
    refused::<Num>("\"5\"", "expected f64");
}

#[test]
fn an_integer_may_be_written_as_a_float_but_not_be_negative() {
    let span = |start: &str| {
        format!(
            r#"{{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"","time":{{"start":{start}}}}}"#
        )
    };

    for text in ["1794770276512.0", "1.794770276512e12", "1794770276512.25"] {
        becomes::<Part>(&span(text), &span("1794770276512"));
    }
    for text in ["-1", "1e300", "9007199254740993"] {
        refused::<Part>(&span(text), "non-negative integer");
    }
    refused::<Part>(&span("\"1\""), "invalid type");
}

#[test]
fn a_count_has_neither_sign_nor_fraction() {
    assert_eq!([Num(2.9), Num(-3.0), Num(0.0), Num(1e300)].map(Num::count), [2, 0, 0, u64::MAX]);
}

#[test]
fn sums_are_binary_like_those_of_the_reference() {
    let mut sum = Num(0.1) + Num(0.2);
    assert_eq!(print(&sum), "0.30000000000000004");

    sum -= Num(0.2);
    sum += Num(1.0);
    assert_eq!(print(&(sum - Num(1.0))), "0.10000000000000009");
}

#[test]
fn tidying_gives_integral_floats_their_integer_form_all_the_way_down() {
    let mut value: Value = read(
        r#"{"a":1.0,"b":[-0.0,2.50,{"c":1e3,"d":"1.0","e":null,"f":true}],"g":12345678901234567890.0,"h":1e16,"i":-1152921504606846976.0}"#,
    );

    tidy(&mut value);

    assert_eq!(
        value.to_string(),
        r#"{"a":1,"b":[0,2.5,{"c":1000,"d":"1.0","e":null,"f":true}],"g":12345678901234567000,"h":10000000000000000,"i":-1152921504606847000}"#
    );
}

#[test]
fn tidying_leaves_integers_and_huge_numbers_alone() {
    let mut value = json!([u64::MAX, i64::MIN, 1e21, 1e300, 0.1]);
    let before = value.clone();

    tidy(&mut value);

    assert_eq!(value, before);
}

#[test]
fn half_a_character_does_not_make_a_text_unreadable() {
    let cases = [
        (r#"{"a":"cut \ud83d"}"#, r#"{"a":"cut \ufffd"}"#),
        (r#""\uDE00 late""#, r#""\ufffd late""#),
        (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
        (r#""\ud83dx\ude00""#, r#""\ufffdx\ufffd""#),
        (r#""\ud83d\n""#, r#""\ufffd\n""#),
    ];
    for (cut, mended) in cases {
        assert!(serde_json::from_str::<Value>(cut).is_err(), "{cut}");
        assert_eq!(mend_surrogates(cut), mended);
        read::<Value>(mended);
    }
}

#[test]
fn whole_characters_and_escaped_backslashes_are_left_alone() {
    for text in
        [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\\\\ud83d é \u0041""#, "", "\\", r"\u", r"\ud8", "{}"]
    {
        assert!(matches!(mend_surrogates(text), std::borrow::Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn lengths_are_counted_in_utf16() {
    assert_eq!([utf16_len(""), utf16_len("aé"), utf16_len("😀a")], [0, 2, 3]);
    assert_eq!([utf16_prefix("😀a", 1), utf16_prefix("😀a", 2), utf16_prefix("ab", 9)], ["", "😀", "ab"]);
}

proptest! {
    /// What is printed reads back as the same number, and is JSON.
    #[test]
    fn a_printed_number_reads_back(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());

        let text = print(&Num(value));

        prop_assert_eq!(&text, &print_number(value));
        prop_assert_eq!(read::<Num>(&text), Num(value));
        prop_assert_eq!(text.parse::<f64>().unwrap(), value);
    }

    /// The same for numbers of the size that occurs: prices, costs, counts.
    #[test]
    fn a_printed_cost_reads_back(units in 0_u64..1 << 53, exponent in -12_i32..12) {
        let value = units as f64 * 10_f64.powi(exponent);
        let place = SourceText { value: String::new(), start: Num(value), end: Num(-value) };

        let text = print(&place);

        let has_exponent = print(&Num(value)).contains('e');
        prop_assert_eq!(has_exponent, value != 0.0 && !(1e-6..1e21).contains(&value));
        prop_assert_eq!(read::<SourceText>(&text), place);
    }

    /// Mending makes any cut text readable and changes no other.
    #[test]
    fn mending_makes_escapes_readable(units in prop::collection::vec(any::<u16>(), 0..40)) {
        let text: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let text = format!("\"{text}\"");

        let read_back: String = read(&mend_surrogates(&text));

        prop_assert_eq!(read_back, String::from_utf16_lossy(&units));
    }

    /// Tidying changes how a number is written, never which number it is.
    #[test]
    fn tidying_keeps_every_value(bits in any::<u64>(), whole in any::<i64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let mut tidied = json!([value, value.trunc(), whole as f64, whole]);

        tidy(&mut tidied);

        let numbers: Vec<f64> = tidied.as_array().unwrap().iter().map(|item| item.as_f64().unwrap()).collect();
        prop_assert_eq!(numbers, vec![value, value.trunc(), whole as f64, whole as f64]);
    }
}
