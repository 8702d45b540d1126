//! Prompts that wait for a turn of their own, and prompts that wait until somebody goes on.

use crate::bench::{Bench, done, finished, new_prompt, prompt, ready, refused, tool_call};
use insta::assert_snapshot;
use std::collections::BTreeMap;
use sturdy_session::fact::Fact;
use sturdy_session::id::MessageId;
use sturdy_session::row::{RowChange, seq_of_place};
use sturdy_session::rows::fold;
use sturdy_session::show::show_next;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::{Input, NewPrompt, PromptStart, State};
use sturdy_session::types::delivery::Delivery;

fn queued(text: &str) -> Input {
    Input::Prompt(Box::new(NewPrompt { delivery: Delivery::Queue, ..new_prompt(text) }))
}

fn held(text: &str, delivery: Delivery) -> Input {
    let start = PromptStart::WhenResumed;
    Input::Prompt(Box::new(NewPrompt { delivery, start, ..new_prompt(text) }))
}

/// The messages of a log in the order of the conversation: prompts by their words, answers by a dash.
fn conversation(log: &[Fact]) -> Vec<String> {
    let mut state = State::default();
    let mut places: BTreeMap<MessageId, (u64, String)> = BTreeMap::new();
    for (seq, fact) in log.iter().enumerate() {
        for write in fold(&mut state, [fact.clone()], seq as u64, 0).rows {
            match write.change {
                RowChange::Message(row) => {
                    let words = match fact {
                        Fact::PromptAdmitted { posted, .. } => format!("{:?}", posted.parts[0].body),
                        _ => "-".to_owned(),
                    };
                    let words = words.split('"').nth(1).unwrap_or("-").to_owned();
                    places.entry(row.id).or_insert((row.ord, words));
                }
                RowChange::PlaceMessage { id, ord } => places.get_mut(&id).unwrap().0 = ord,
                _ => {}
            }
        }
    }
    let mut placed: Vec<(u64, String)> = places.into_values().collect();
    placed.sort();
    placed.into_iter().map(|(_, words)| words).collect()
}

#[test]
fn a_queued_prompt_waits_until_the_turn_is_over_and_has_one_of_its_own() {
    let mut bench = Bench::talking();

    assert_snapshot!(bench.feed(queued("later")), @r#"fact   prompt.admitted text "later", queues"#);
    bench.said(tool_call("c1", "bash"));
    bench.said(finished(FinishReason::ToolCalls));
    let part = bench.call();
    // Another step of the same turn does not take it up, and it stands behind what the turn says meanwhile.
    bench.feed(Input::Returned { part, outcome: done("ok") });
    assert_snapshot!(bench.prepare(), @r"
    fact   step.started
    effect CallModel attempt 0
    ");
    assert_eq!(conversation(&bench.log), ["hi", "-", "-", "later"]);
    assert_snapshot!(bench.said(finished(FinishReason::Stop)), @r"
    fact   step.began
    fact   step.finished stop cost 0.000114
    fact   step.ended
    fact   session.idled done
    fact   turn.continued
    effect Prepare
    ");
    assert_snapshot!(bench.prepare(), @r"
    fact   step.started takes 1
    effect CallModel attempt 0
    ");

    assert_eq!(conversation(&bench.log), ["hi", "-", "-", "later", "-"]);
}

#[test]
fn prompts_that_steer_go_before_those_that_queue_and_each_of_these_goes_alone() {
    let mut bench = Bench::talking();
    bench.feed(queued("first in line"));
    bench.feed(queued("second in line"));
    bench.feed(prompt("now"));

    bench.said(finished(FinishReason::Stop));
    assert_snapshot!(bench.prepare(), @r"
    fact   step.started takes 1
    effect CallModel attempt 0
    ");
    bench.said(finished(FinishReason::Stop));
    bench.prepare();
    bench.said(finished(FinishReason::Stop));
    bench.prepare();
    bench.said(finished(FinishReason::Stop));

    assert!(bench.state.is_at_rest());
    let order = ["hi", "-", "now", "-", "first in line", "-", "second in line", "-"];
    assert_eq!(conversation(&bench.log), order);
}

#[test]
fn a_queued_prompt_outlives_a_stop_and_a_restart_and_goes_on_when_asked() {
    let mut bench = Bench::talking();
    bench.feed(queued("later"));

    bench.feed(Input::Abort);
    bench.crash();
    bench.feed(Input::Restarted);

    assert!(bench.state.is_idle());
    assert_eq!(bench.state.waiting().len(), 1);
    bench.feed(Input::Resume);
    assert_snapshot!(bench.prepare(), @r"
    fact   step.started takes 1
    effect CallModel attempt 0
    ");
}

#[test]
fn a_turn_that_fails_is_followed_by_the_queued_one() {
    let mut bench = Bench::talking();
    bench.feed(queued("later"));

    assert_snapshot!(bench.failed(refused()), @r"
    fact   session.failed APIError
    fact   step.ended APIError
    fact   session.idled failed
    fact   turn.continued
    effect Prepare
    ");
}

#[test]
fn a_prompt_that_cannot_be_prepared_does_not_take_the_queued_ones_with_it() {
    let mut bench = Bench::new();
    bench.feed(prompt("hi"));
    bench.feed(queued("later"));
    let user = bench.state.waiting().next().unwrap().clone();

    assert_snapshot!(bench.feed(Input::NotPrepared { user, failure: refused() }), @r"
    fact   prompt.failed 1
    fact   session.failed APIError
    fact   session.idled failed
    fact   turn.continued
    effect Prepare
    ");
}

#[test]
fn a_held_prompt_starts_nothing_and_is_taken_up_by_the_next_one() {
    let mut bench = Bench::new();

    let first = bench.feed(held("note", Delivery::Steer));
    let second = bench.feed(held("later", Delivery::Queue));
    assert_snapshot!(first, @r#"fact   prompt.admitted text "note", is held"#);
    assert_snapshot!(second, @r#"fact   prompt.admitted text "later", queues, is held"#);
    assert!(bench.state.is_idle());

    bench.feed(prompt("hi"));
    assert_snapshot!(bench.prepare(), @r"
    fact   step.started takes 2
    effect CallModel attempt 0
    ");
    bench.said(finished(FinishReason::Stop));
    bench.prepare();
    assert_eq!(conversation(&bench.log), ["note", "hi", "-", "later", "-"]);
}

#[test]
fn a_prompt_that_is_not_to_start_joins_a_session_that_is_at_work() {
    let mut bench = Bench::talking();

    let admitted = bench.feed(held("and this", Delivery::Steer));

    assert_snapshot!(admitted, @r#"fact   prompt.admitted text "and this""#);
}

#[test]
fn events_say_how_a_prompt_joins() {
    let mut bench = Bench::talking();
    bench.feed(queued("later"));
    bench.said(finished(FinishReason::Stop));
    let before = bench.state.clone();
    let user = before.waiting().next().unwrap().clone();
    let decision = bench.decide(Input::Prepared { user, ready: Box::new(ready()) });

    let admitted = bench.log.iter().rev().find(|fact| matches!(fact, Fact::PromptAdmitted { .. })).unwrap();
    let shown = show_next(&before, admitted, 5).remove(0);
    assert_eq!((shown.kind, &shown.data["delivery"]), ("prompt.admitted", &"queue".into()));
    let shown = show_next(&before, &decision.facts[0], 5).remove(0);
    assert_eq!((shown.kind, &shown.data["delivery"]), ("prompted", &"queue".into()));
}

#[test]
fn the_place_of_a_waiting_prompt_still_says_which_fact_made_it() {
    let mut bench = Bench::talking();
    let decision = bench.decide(queued("later"));
    let seq = bench.log.len() as u64;

    let folded = fold(&mut bench.state, decision.facts, seq, 0);

    let places = folded.rows.iter().filter_map(|write| match &write.change {
        RowChange::Message(row) => Some(row.ord),
        RowChange::Part(row) => Some(row.ord),
        _ => None,
    });
    assert!(places.map(seq_of_place).eq([seq + 1, seq + 1]));
}
