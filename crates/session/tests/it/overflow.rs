//! How full the context window of a model is.

use proptest::prelude::*;
use sturdy_session::json::Num;
use sturdy_session::overflow::{Budget, Limits, estimate};
use sturdy_session::types::usage::{CacheTokens, Tokens};

fn limits(context: u64, input: Option<u64>, output: u64) -> Limits {
    Limits { context, input, output }
}

fn total(tokens: u64) -> Tokens {
    Tokens { total: Some(Num::from(tokens)), ..Tokens::default() }
}

fn is_full(limits: Limits, tokens: u64) -> bool {
    limits.is_full(&total(tokens), &Budget::default())
}

#[test]
fn a_window_is_full_when_the_answer_no_longer_fits() {
    assert!(is_full(limits(100_000, None, 32_000), 80_000));
    assert!(!is_full(limits(200_000, None, 32_000), 110_000));
    assert!(is_full(limits(100_000, None, 32_000), 68_000));
    assert!(!is_full(limits(100_000, None, 32_000), 67_999));
}

#[test]
fn an_input_limit_counts_instead_of_the_window() {
    let large = limits(400_000, Some(272_000), 128_000);
    assert!(is_full(large, 274_000));
    assert!(!is_full(large, 230_000));
    let small = limits(232_000, Some(200_000), 32_000);
    assert!(is_full(small, 198_000));
    assert!(is_full(small, 181_000));
    assert!(!is_full(small, 179_999));
}

#[test]
fn an_unknown_window_is_never_full() {
    assert!(!is_full(limits(0, None, 0), 10_000_000));
    assert_eq!(limits(0, Some(5), 0).usable(&Budget::default()), None);
}

#[test]
fn an_unknown_answer_length_is_the_ceiling() {
    assert_eq!(limits(100_000, None, 0).usable(&Budget::default()), Some(68_000));
    assert_eq!(limits(0, None, 0).answer(32_000), 32_000);
    assert_eq!(limits(0, None, 8_000).answer(32_000), 8_000);
    assert_eq!(limits(0, None, 64_000).answer(32_000), 32_000);
}

#[test]
fn an_input_limit_of_zero_is_none() {
    assert_eq!(limits(100_000, Some(0), 10_000).usable(&Budget::default()), Some(90_000));
}

#[test]
fn the_reserved_tokens_can_be_set_and_apply_only_below_an_input_limit() {
    let budget = Budget { reserved: Some(50_000), ..Budget::default() };

    assert_eq!(limits(400_000, Some(272_000), 128_000).usable(&budget), Some(222_000));
    assert_eq!(limits(100_000, None, 10_000).usable(&budget), Some(90_000));
    assert_eq!(limits(400_000, Some(40_000), 128_000).usable(&budget), Some(0));
}

#[test]
fn a_short_answer_reserves_less() {
    assert_eq!(limits(100_000, Some(90_000), 4_000).usable(&Budget::default()), Some(86_000));
}

#[test]
fn nothing_is_full_when_compaction_is_not_automatic() {
    let budget = Budget { auto: false, ..Budget::default() };

    assert!(!limits(1000, None, 100).is_full(&total(5000), &budget));
}

#[test]
fn without_a_total_the_parts_are_added_but_not_reasoning() {
    let mut tokens = Tokens {
        total: None,
        input: Num(1.0),
        output: Num(20.0),
        reasoning: Num(5000.0),
        cache: CacheTokens { read: Num(300.0), write: Num(4000.0) },
    };
    assert_eq!(tokens.used(), 4321);

    tokens.total = Some(Num(0.0));
    assert_eq!(tokens.used(), 4321);

    tokens.total = Some(Num(7.0));
    assert_eq!(tokens.used(), 7);
}

#[test]
fn a_token_is_about_four_characters() {
    assert_eq!(estimate(""), 0);
    assert_eq!(estimate("a"), 0);
    assert_eq!(estimate("ab"), 1);
    assert_eq!(estimate("abcde"), 1);
    assert_eq!(estimate("abcdef"), 2);
    assert_eq!(estimate("😀😀"), 1);
}

proptest! {
    /// More tokens never make a full window less full.
    #[test]
    fn fullness_only_grows(
        context in 0..1_000_000_u64,
        input in prop::option::of(0..1_000_000_u64),
        output in 0..200_000_u64,
        tokens in 0..2_000_000_u64,
        more in 0..1000_u64,
    ) {
        let limits = limits(context, input, output);
        prop_assert!(!is_full(limits, tokens) || is_full(limits, tokens + more));
    }
}
