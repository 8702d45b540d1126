//! Tokens and what they cost.

use crate::wire::{becomes, print, read};
use proptest::prelude::*;
use sturdy_session::json::Num;
use sturdy_session::types::usage::{Prices, Tokens, Usage};

/// The step of the spec's vectors: 200 of the input cached, 10 of the output reasoning.
fn step() -> Usage {
    Usage {
        input: Some(1000),
        output: Some(50),
        reasoning: Some(10),
        cache_read: Some(200),
        cache_write: None,
        total: Some(1050),
    }
}

fn prices(more: &str) -> Prices {
    read(&format!(r#"{{"input":3,"output":15,"cache":{{"read":0.3,"write":3.75}}{more}}}"#))
}

#[test]
fn usage_is_split_into_what_is_shown() {
    assert_eq!(
        print(&step().tokens()),
        r#"{"total":1050,"input":800,"output":40,"reasoning":10,"cache":{"read":200,"write":0}}"#
    );
}

#[test]
fn the_total_is_left_out_when_the_provider_did_not_say() {
    assert_eq!(
        print(&Usage::default().tokens()),
        r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#
    );
}

#[test]
fn more_cached_than_read_and_more_thought_than_said_is_not_negative() {
    let odd = Usage {
        input: Some(5),
        output: Some(3),
        reasoning: Some(9),
        cache_read: Some(4),
        cache_write: Some(4),
        total: None,
    };

    assert_eq!(print(&odd.tokens()), r#"{"input":0,"output":0,"reasoning":9,"cache":{"read":4,"write":4}}"#);
}

#[test]
fn tokens_that_were_not_written_are_read_as_zero() {
    becomes::<Tokens>("{}", r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#);
}

#[test]
fn a_step_costs_what_the_vector_says() {
    assert_eq!(print(&step().cost(&prices(""))), "0.00321");
}

#[test]
fn cached_writes_and_reasoning_have_their_prices() {
    let usage = Usage {
        input: Some(10),
        output: Some(7),
        reasoning: Some(7),
        cache_read: None,
        cache_write: Some(10),
        total: None,
    };

    // 10 · 3.75 + 7 · 15, per million.
    assert_eq!(print(&usage.cost(&prices(""))), "0.0001425");
}

#[test]
fn a_sum_of_decimals_has_no_binary_residue() {
    let usage = Usage { input: Some(1_000_000), output: Some(2_000_000), ..Usage::default() };
    let tenths: Prices = read(r#"{"input":0.1,"output":0.1}"#);

    assert_eq!(print(&usage.cost(&tenths)), "0.3");
}

#[test]
fn missing_negative_and_absurd_prices_count_nothing() {
    for text in
        [r#"{"input":0,"output":0}"#, r#"{"input":-3,"output":-0.5}"#, r#"{"input":1e300,"output":0}"#]
    {
        assert_eq!(print(&step().cost(&read(text))), "0", "{text}");
    }
    assert_eq!(Usage::default().cost(&prices("")), Num::ZERO);
}

#[test]
fn prices_far_below_a_cent_are_not_lost() {
    let tiny: Prices = read(r#"{"input":0.000001,"output":1e-9}"#);
    let usage = Usage { input: Some(1_000_000), output: Some(1_000_000), ..Usage::default() };

    assert_eq!(print(&usage.cost(&tiny)), "0.000001001");
}

#[test]
fn the_largest_tier_below_the_context_sets_the_price() {
    let tier = |price: u32, kind: &str, size: u32| {
        format!(r#"{{"input":{price},"output":0,"tier":{{"type":"{kind}","size":{size}}}}}"#)
    };
    let tiers = [tier(20, "context", 2000), tier(10, "context", 1000), tier(90, "weekday", 0)].join(",");
    let prices: Prices = read(&format!(r#"{{"input":1,"output":0,"tiers":[{tiers}]}}"#));
    let cost = |input: u64| print(&Usage { input: Some(input), ..Usage::default() }.cost(&prices));

    assert_eq!(cost(1000), "0.001", "exactly the size is not above it");
    assert_eq!(cost(1001), "0.01001");
    assert_eq!(cost(2000), "0.02");
    assert_eq!(cost(2001), "0.04002");
}

#[test]
fn the_tier_is_chosen_by_all_input_but_only_the_uncached_is_billed_as_input() {
    let prices: Prices = read(
        r#"{"input":1,"output":0,"tiers":[{"input":10,"output":0,"cache":{"read":2},"tier":{"type":"context","size":1000}}]}"#,
    );
    let usage = Usage { input: Some(1500), cache_read: Some(1400), ..Usage::default() };

    // 100 · 10 + 1400 · 2, per million.
    assert_eq!(print(&usage.cost(&prices)), "0.0038");
}

#[test]
fn long_context_prices_apply_above_two_hundred_thousand_unless_a_tier_does() {
    let long = r#","experimentalOver200K":{"input":6,"output":30}"#;
    let tiered =
        format!(r#"{long},"tiers":[{{"input":9,"output":0,"tier":{{"type":"context","size":250000}}}}]"#);
    let cost =
        |input: u64, more: &str| print(&Usage { input: Some(input), ..Usage::default() }.cost(&prices(more)));

    assert_eq!(cost(200_000, long), "0.6");
    assert_eq!(cost(200_001, long), "1.200006");
    assert_eq!(cost(250_000, &tiered), "1.5");
    assert_eq!(cost(300_000, &tiered), "2.7");
}

#[test]
fn prices_print_as_they_were_read() {
    let text = r#"{"input":3,"output":15,"cache":{"read":0.3,"write":3.75},"tiers":[{"input":6,"output":22.5,"cache":{"read":0.6,"write":7.5},"tier":{"type":"context","size":200000}}],"experimentalOver200K":{"input":6,"output":22.5,"cache":{"read":0,"write":0}}}"#;
    becomes::<Prices>(text, text);
}

#[test]
fn a_session_keeps_the_residue_of_removed_steps() {
    let cost = step().cost(&prices(""));

    let three = Num::ZERO + cost + cost + cost;

    assert_eq!(print(&(three - cost - cost)), "0.0032099999999999993");
}

#[test]
fn a_session_adds_up_tokens_but_never_totals() {
    let mut sum = Tokens::default();
    (0..3).for_each(|_| sum.add(&step().tokens()));
    assert_eq!(print(&sum), r#"{"input":2400,"output":120,"reasoning":30,"cache":{"read":600,"write":0}}"#);

    (0..3).for_each(|_| sum.subtract(&step().tokens()));
    assert_eq!(sum, Tokens::default());
}

prop_compose! {
    fn usages()(
        input in prop::option::of(0_u64..3_000_000), output in prop::option::of(0_u64..200_000),
        reasoning in prop::option::of(0_u64..200_000), cache_read in prop::option::of(0_u64..3_000_000),
        cache_write in prop::option::of(0_u64..3_000_000), total in prop::option::of(any::<u64>()),
    ) -> Usage {
        Usage { input, output, reasoning, cache_read, cache_write, total }
    }
}

proptest! {
    /// Against the same sum in integers: prices in thousandths, so that nothing is rounded.
    #[test]
    fn a_cost_is_the_exact_sum(usage in usages(), milli in any::<[u16; 4]>()) {
        let price = |index: usize| Num(f64::from(milli[index]) / 1000.0);
        let mut prices = Prices { input: price(0), output: price(1), ..Prices::default() };
        prices.cache.read = price(2);
        prices.cache.write = price(3);

        let cost = usage.cost(&prices);

        let tokens = usage.tokens();
        let counts = [tokens.input, tokens.output + tokens.reasoning, tokens.cache.read, tokens.cache.write];
        let billionths: u128 = counts.iter().zip(milli).map(|(n, p)| u128::from(n.count()) * u128::from(p)).sum();
        let exact: f64 = format!("{billionths}e-9").parse().unwrap();
        prop_assert_eq!(cost, Num(exact));
    }

    /// Whatever a provider reports, nothing shown is negative and nothing overflows.
    #[test]
    fn absurd_usage_does_no_harm(numbers in any::<[Option<u64>; 6]>()) {
        let [input, output, reasoning, cache_read, cache_write, total] = numbers;
        let usage = Usage { input, output, reasoning, cache_read, cache_write, total };
        let tokens = usage.tokens();

        prop_assert!(tokens.input >= Num::ZERO && tokens.output >= Num::ZERO);
        prop_assert!(usage.cost(&prices("")).0.is_finite());
        prop_assert_eq!(read::<Tokens>(&print(&tokens)), tokens);
    }
}
