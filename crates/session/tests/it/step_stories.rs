//! Stories of one step: what each thing a provider can say becomes, and what it does not.
//!
//! They follow a step event by event, where `stories` follows a user.

use crate::bench::*;
use insta::assert_snapshot;
use serde_json::json;
use sturdy_session::fact::{Fact, Outcome};
use sturdy_session::json::Map;
use sturdy_session::talk::{CallInput, FinishReason, Said};
use sturdy_session::turn::{Answer, Effect, Input, Ready};
use sturdy_session::types::message::Switches;
use sturdy_session::types::part::{Part, PartBody};
use sturdy_session::types::tool::ToolState;

fn thought(block: &str) -> Said {
    Said::ReasoningStarted { block: block.to_owned(), metadata: None }
}

fn think(block: &str, words: &str) -> Said {
    Said::ReasoningGrew { block: block.to_owned(), text: words.to_owned(), metadata: None }
}

fn call_with(call: &str, name: &str, input: CallInput) -> Said {
    let call = call.to_owned();
    let name = name.to_owned();
    Said::ToolCalled { call, name, input, metadata: None, by_provider: false }
}

/// A step that was heard and whose model may call `bash` and `read`.
fn begun() -> Bench {
    let mut bench = Bench::new();
    bench.feed(prompt("go"));
    let user = bench.state.waiting().next().unwrap().clone();
    let ready = Ready { tools: vec!["bash".to_owned(), "read".to_owned()], ..ready() };
    bench.feed(Input::Prepared { user, ready: Box::new(ready) });
    bench.said(Said::Started);
    bench
}

/// The newest tool part that was started.
fn started(bench: &Bench) -> (String, Map) {
    let started = bench.log.iter().rev().find_map(|fact| match fact {
        Fact::ToolStarted { tool, input, .. } => Some((tool.clone(), input.clone())),
        _ => None,
    });
    started.expect("no call was started")
}

#[test]
fn the_first_word_of_a_provider_begins_the_step_once() {
    let mut bench = Bench::talking();

    assert_snapshot!(bench.said(Said::Started), @"fact   step.began");
    assert_snapshot!(bench.said(Said::Started), @"");
}

#[test]
fn thoughts_open_side_by_side_and_each_grows_by_its_own_name() {
    let mut bench = begun();

    assert_snapshot!(bench.said(thought("r1")), @"fact   text.started r1 Reasoning");
    assert_snapshot!(bench.said(thought("r2")), @"fact   text.started r2 Reasoning");
    // It is open already.
    assert_snapshot!(bench.said(thought("r1")), @"");
    bench.said(think("r1", "one"));
    bench.said(think("r2", "two"));
    // Nobody opened it.
    assert_snapshot!(bench.said(think("r3", "three")), @"");
    assert_snapshot!(bench.said(Said::ReasoningEnded { block: "r2".to_owned(), metadata: None }), @r#"fact   text.ended "two""#);
    assert_snapshot!(bench.said(finished(FinishReason::Stop)), @r#"
    fact   text.ended "one"
    fact   step.finished stop cost 0.000114
    fact   step.ended
    fact   session.idled done
    "#);
}

#[test]
fn what_a_provider_notes_on_a_thought_is_kept_with_it() {
    let mut bench = begun();
    bench.said(thought("r1"));
    bench.said(think("r1", "hm"));
    let signed = Map::from_iter([("acme".to_owned(), json!({ "signature": "abc" }))]);

    bench.said(Said::ReasoningEnded { block: "r1".to_owned(), metadata: Some(signed.clone()) });

    let closed = bench.log.iter().rev().find_map(|fact| match fact {
        Fact::TextEnded { text, metadata, .. } => Some((text.clone(), metadata.clone())),
        _ => None,
    });
    assert_eq!(closed, Some(("hm".to_owned(), Some(signed))));
    let shown = serde_json::to_value(&bench.shown.last().unwrap().1[0]).unwrap();
    assert!(shown["properties"]["part"]["time"]["end"].is_u64());
}

#[test]
fn one_text_is_open_at_a_time() {
    let mut bench = begun();
    bench.said(text_started("t1"));
    bench.said(text("t1", "one"));

    assert_snapshot!(bench.said(text_started("t2")), @r#"
    fact   text.ended "one"
    fact   text.started t2 Text
    "#);
    // The first is closed: what is still said to it is dropped, and so is its second end.
    assert_snapshot!(bench.said(text("t1", "more")), @"");
    assert_snapshot!(bench.said(text_ended("t1")), @"");
    // An empty chunk is no growth.
    assert_snapshot!(bench.said(text("t2", "")), @"");
}

#[test]
fn a_call_is_seen_before_its_arguments_are_complete() {
    let mut bench = begun();
    let announced = || Said::ToolInputStarted { call: "c1".to_owned(), name: "bash".to_owned() };

    assert_snapshot!(bench.said(announced()), @"fact   tool.called c1 bash");
    assert_snapshot!(bench.said(announced()), @"");
    let grew = Said::ToolInputGrew { call: "c1".to_owned(), json: "{\"comm".to_owned() };
    assert_snapshot!(bench.said(grew), @r#"fact   text.grew "{\"comm""#);
    assert_eq!(raw_of(&bench).as_deref(), Some("{\"comm"));
    assert_snapshot!(bench.said(tool_call("c1", "bash")), @r"
    fact   tool.started bash
    effect RunTool bash
    ");
}

/// The arguments of the first call as far as they came, in the part that clients read.
fn raw_of(bench: &Bench) -> Option<String> {
    let body = bench.state.open_step()?.calls[0].body.as_deref()?;
    let state = serde_json::to_value(body).unwrap()["state"].clone();
    state["raw"].as_str().map(str::to_owned)
}

#[test]
fn arguments_beyond_the_limit_are_not_kept() {
    let mut bench = begun();
    bench.said(Said::ToolInputStarted { call: "c1".to_owned(), name: "bash".to_owned() });
    let half = "x".repeat(600 * 1024);
    let grew = || Said::ToolInputGrew { call: "c1".to_owned(), json: half.clone() };

    bench.said(grew());
    bench.said(grew());

    assert_eq!(raw_of(&bench).map(|raw| raw.len()), Some(half.len()));
}

#[test]
fn a_call_that_is_said_twice_runs_once() {
    let mut bench = begun();
    bench.said(tool_call("c1", "bash"));

    assert_snapshot!(bench.said(tool_call("c1", "bash")), @"");
}

#[test]
fn arguments_that_are_no_object_are_wrapped() {
    let mut bench = begun();

    bench.said(call_with("c1", "bash", CallInput::Json(json!(["ls", "-l"]))));

    assert_eq!(
        started(&bench),
        ("bash".to_owned(), Map::from_iter([("value".to_owned(), json!(["ls", "-l"]))]))
    );
}

#[test]
fn a_tool_that_does_not_exist_is_told_and_one_in_other_letters_is_meant() {
    let mut bench = begun();

    bench.said(call_with("c1", "Bash", CallInput::Json(json!({ "command": "ls" }))));
    assert_eq!(started(&bench).0, "bash");

    assert_snapshot!(bench.said(call_with("c2", "delete", CallInput::Json(json!({})))), @r"
    fact   tool.called c2 delete
    fact   tool.started invalid
    effect RunTool invalid
    ");
    let (_, input) = started(&bench);
    assert_eq!(input["tool"], "delete");
    assert_eq!(input["error"], r#"there is no tool named "delete"; the tools are bash, read"#);
}

#[test]
fn more_calls_than_a_step_may_have_are_refused_one_by_one() {
    let mut bench = begun();

    let mut runs = 0;
    // Was: calls that were all announced before the first was complete were all refused.
    for number in 0..200 {
        let call = format!("c{number}");
        let name = "bash".to_owned();
        bench.said(Said::ToolInputStarted { call, name });
    }
    for number in 0..1000 {
        bench.said(tool_call(&format!("c{number}"), "bash"));
        runs += bench.effects.iter().filter(|effect| matches!(effect, Effect::RunTool(_))).count();
    }

    assert_eq!(runs, 128);
    let refused = bench.log.iter().filter(|fact| {
        matches!(fact, Fact::ToolEnded { outcome: Outcome::Failed { error, .. }, .. }
            if error.starts_with("Not run: more than 128 calls"))
    });
    assert_eq!(refused.count(), 1000 - 128);
}

#[test]
fn a_call_the_provider_ran_asks_for_no_further_step() {
    let mut bench = begun();
    let said = Said::ToolCalled {
        call: "c1".to_owned(),
        name: "web_search".to_owned(),
        input: CallInput::Json(json!({ "query": "weather" })),
        metadata: None,
        by_provider: true,
    };

    bench.said(said);
    assert!(bench.effects.is_empty(), "the provider runs it");
    let output = json!({ "results": ["rain"] });
    assert_snapshot!(bench.said(Said::ToolReturned { call: "c1".to_owned(), output, is_error: false }), @"fact   tool.ended done");
    assert_snapshot!(bench.said(finished(FinishReason::Stop)), @r"
    fact   step.finished stop cost 0.000114
    fact   step.ended
    fact   session.idled done
    ");
}

#[test]
fn a_call_that_failed_is_told_to_the_model_and_the_turn_goes_on() {
    let mut bench = begun();
    bench.said(tool_call("c1", "bash"));
    bench.said(finished(FinishReason::ToolCalls));
    let part = bench.call();
    let outcome = Outcome::Failed { error: "no such file".to_owned(), metadata: None };

    assert_snapshot!(bench.feed(Input::Returned { part, outcome }), @r"
    fact   tool.ended failed
    fact   step.finished tool-calls cost 0.000114
    fact   step.ended
    fact   turn.continued
    effect Prepare
    ");
}

#[test]
fn a_running_call_reports_and_one_that_ended_does_not() {
    let mut bench = begun();
    bench.said(tool_call("c1", "bash"));
    let part = bench.call();
    let metadata = Map::from_iter([("output".to_owned(), json!("half"))]);
    let report = |title: &str| Input::Progressed {
        part: part.clone(),
        title: Some(title.to_owned()),
        metadata: Some(metadata.clone()),
    };

    assert_snapshot!(bench.feed(report("listing")), @"fact   tool.progressed");
    bench.feed(Input::Returned { part: part.clone(), outcome: done("all") });
    assert_snapshot!(bench.feed(report("late")), @"");
}

#[test]
fn a_call_whose_arguments_never_came_whole_is_interrupted_and_keeps_what_came() {
    let mut bench = begun();
    bench.said(Said::ToolInputStarted { call: "c1".to_owned(), name: "bash".to_owned() });
    bench.said(Said::ToolInputGrew { call: "c1".to_owned(), json: "{\"comm".to_owned() });

    bench.feed(Input::Abort);
    let step = bench.state.open_step().map(|step| step.message.clone());
    if let Some(step) = step {
        bench.feed(Input::Settle { step });
    }

    assert!(bench.state.is_idle());
    let ended: Vec<_> = bench
        .log
        .iter()
        .filter_map(|fact| match fact {
            Fact::ToolEnded { outcome, .. } => Some(outcome.clone()),
            _ => None,
        })
        .collect();
    let error = "Tool execution aborted".to_owned();
    // In the fact itself: the growth may be folded away.
    assert_eq!(ended, [Outcome::Interrupted { error, raw: Some("{\"comm".to_owned()) }]);
}

#[test]
fn what_an_interrupted_call_reported_is_kept_with_it() {
    let mut bench = begun();
    bench.said(tool_call("c1", "bash"));
    let part = bench.call();
    let step = bench.step();
    let metadata = Map::from_iter([("output".to_owned(), json!("half"))]);
    bench.feed(Input::Progressed { part: part.clone(), title: None, metadata: Some(metadata) });

    bench.feed(Input::Abort);
    let running = bench.state.open_step().and_then(|step| step.calls[0].body.as_deref().cloned()).unwrap();
    bench.feed(Input::Settle { step });

    let ended = bench.log.iter().find(|fact| matches!(fact, Fact::ToolEnded { .. })).unwrap();
    let Part { body: PartBody::Tool(tool), .. } = sturdy_session::records::moved(running, ended) else {
        panic!("a tool part")
    };
    let ToolState::Error { error, metadata, .. } = tool.state else { panic!("an interrupted call") };
    assert_eq!(error, "Tool execution aborted");
    assert_eq!(
        metadata.map(serde_json::Value::Object),
        Some(json!({ "output": "half", "interrupted": true }))
    );
}

#[test]
fn a_failure_beside_a_running_call_is_not_tried_again() {
    let mut bench = begun();
    bench.said(tool_call("c1", "bash"));

    // Asking again would run the call a second time.
    assert_snapshot!(bench.failed(overloaded()), @r"
    fact   tool.ended interrupted
    fact   session.failed APIError
    fact   step.ended APIError
    fact   session.idled failed
    ");
}

#[test]
fn every_reason_to_stop_has_its_consequence() {
    let reasons = [
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolCalls,
        FinishReason::ContentFilter,
        FinishReason::Error,
        FinishReason::Unknown,
    ];

    let told = reasons.map(|reason| {
        let mut bench = begun();
        bench.said(text_started("t1"));
        bench.said(text("t1", "hi"));
        bench.said(finished(reason));
        let error = bench.log.iter().find_map(|fact| match fact {
            Fact::StepEnded { error, .. } => error.as_ref().map(|error| serde_json::to_value(error).unwrap()),
            _ => None,
        });
        let name = error.as_ref().map_or("no error", |error| error["name"].as_str().unwrap()).to_owned();
        let then = if bench.state.is_idle() { "over" } else { "goes on" };
        format!("{}: {name}, {then}", reason.as_str())
    });

    assert_snapshot!(told.join("\n"), @r"
    stop: no error, over
    length: no error, over
    tool-calls: no error, goes on
    content-filter: ContentFilterError, over
    error: no error, over
    unknown: no error, goes on
    ");
}

#[test]
fn a_dismissed_question_ends_the_turn_and_a_refusal_with_words_does_not() {
    for (outcome, goes_on) in [
        (Outcome::Blocked { error: "The user dismissed this question".to_owned() }, false),
        (
            Outcome::Failed { error: "The user rejected permission: not there".to_owned(), metadata: None },
            true,
        ),
    ] {
        let mut bench = begun();
        bench.said(tool_call("c1", "bash"));
        bench.said(finished(FinishReason::ToolCalls));
        let part = bench.call();

        bench.feed(Input::Returned { part, outcome });

        assert_eq!(bench.effects.iter().any(|effect| matches!(effect, Effect::Prepare { .. })), goes_on);
        assert_eq!(bench.state.is_idle(), !goes_on);
    }
}

#[test]
fn an_answer_of_the_wrong_kind_is_refused() {
    let mut bench = begun();
    bench.said(tool_call("c1", "bash"));
    let part = bench.call();
    bench.feed(Input::Needs { part, ask: permission("per_1", "ls") });

    let dismissed = bench.feed(Input::Answered { ask: "per_1".to_owned(), answer: Answer::Dismissed });

    assert_snapshot!(dismissed, @"refuse no open request per_1");
}

#[test]
fn an_abort_takes_back_what_one_call_asked_while_another_runs() {
    let mut bench = begun();
    bench.said(tool_call("c1", "bash"));
    let asking = bench.call();
    bench.said(tool_call("c2", "bash"));
    bench.feed(Input::Needs { part: asking.clone(), ask: permission("per_1", "ls") });

    assert_snapshot!(bench.feed(Input::Abort), @r"
    fact   permission.replied Reject
    fact   turn.stopping
    effect StopTools
    ");
    assert_snapshot!(bench.feed(Input::Needs { part: asking, ask: permission("per_2", "ls") }), @"");
}

#[test]
fn the_switches_of_a_prompt_replace_the_rules_of_the_session() {
    let mut bench = Bench::new();
    let switches = serde_json::from_value::<Switches>(json!({ "bash": false, "read": true })).unwrap();
    let mut with = new_prompt("go");
    with.tools = Some(switches);

    bench.feed(Input::Prompt(Box::new(with)));

    let rules = serde_json::to_value(&bench.state.info().unwrap().permission).unwrap();
    assert_eq!(
        rules,
        json!([
            { "permission": "bash", "pattern": "*", "action": "deny" },
            { "permission": "read", "pattern": "*", "action": "allow" },
        ])
    );
}

#[test]
fn a_prompt_whose_switches_are_empty_changes_no_rules() {
    let mut bench = Bench::new();
    let mut with = new_prompt("go");
    with.tools = Some(serde_json::from_value::<Switches>(json!({})).unwrap());

    bench.feed(Input::Prompt(Box::new(with)));

    assert!(bench.state.info().unwrap().permission.is_none());
}

#[test]
fn a_prompt_that_is_being_taken_up_cannot_be_withdrawn() {
    let mut bench = Bench::new();
    bench.feed(prompt("go"));
    let message = bench.state.waiting().next().unwrap().clone();

    assert_snapshot!(bench.feed(Input::Withdraw { message }), @"refuse the session is busy");
}

#[test]
fn a_prompt_with_the_id_of_one_that_waits_is_refused() {
    let mut bench = Bench::talking();
    bench.feed(prompt("next"));
    let mut again = new_prompt("next");
    again.message = Some(bench.state.waiting().next().unwrap().clone());

    assert_snapshot!(bench.feed(Input::Prompt(Box::new(again))), @"refuse message MSG exists already");
}

#[test]
fn a_clock_that_is_set_back_does_not_turn_time_round() {
    let mut bench = Bench::new();
    bench.jump_to(START + 1_000_000);
    bench.feed(prompt("one"));
    bench.prepare();
    bench.said(text_started("t1"));
    bench.jump_to(START - 5_000_000);
    bench.said(text("t1", "hi"));
    bench.said(finished(FinishReason::Stop));
    bench.feed(prompt("two"));

    let times: Vec<u64> = bench
        .log
        .iter()
        .filter_map(|fact| match fact {
            Fact::PromptAdmitted { posted, .. } => Some(posted.info.time.created),
            Fact::StepStarted { created, .. } => Some(*created),
            Fact::StepEnded { completed, .. } => Some(*completed),
            _ => None,
        })
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(times[0] >= START + 1_000_000);
}

#[test]
fn a_clock_that_jumps_ahead_makes_a_retry_due_and_not_late() {
    let mut bench = Bench::talking();
    bench.failed(overloaded());
    let step = bench.step();
    bench.jump_to(START + 1_000_000_000_000);

    assert_snapshot!(bench.feed(Input::Timer { step, attempt: 1 }), @r"
    fact   step.retried
    effect CallModel attempt 1
    ");
}
