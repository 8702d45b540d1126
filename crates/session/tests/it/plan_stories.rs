//! A call plans, then acts: what it needs is judged, asked, remembered, and a fact before it acts.

use crate::bench::{Bench, done, finished, permission, permission_by, tool_call};
use insta::assert_snapshot;
use sturdy_session::id::QuestionId;
use sturdy_session::json::Map;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::{Answer, Ask, Input};
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::session::Action;

/// A step with one call, which plans.
fn planning() -> Bench {
    let mut bench = Bench::talking();
    bench.said(tool_call("c1", "bash"));
    bench
}

fn answer(ask: &str, reply: PermissionReply) -> Input {
    Input::Answered { ask: ask.to_owned(), answer: Answer::Permission { reply, message: None } }
}

#[test]
fn what_the_rules_allow_costs_no_fact_until_the_call_acts() {
    let mut bench = planning();
    let part = bench.call();

    let needs = Input::Needs { part: part.clone(), ask: permission_by("per_1", "ls", &[Action::Allow]) };
    assert_snapshot!(bench.feed(needs), @"effect AnswerTool allowed");
    assert_snapshot!(bench.feed(Input::Planned { part: part.clone() }), @r"
    fact   tool.allowed
    effect AnswerTool allowed
    ");
    assert_snapshot!(bench.feed(Input::Planned { part }), @"");
}

#[test]
fn a_rule_that_forbids_ends_the_call_where_it_is_judged() {
    let mut bench = planning();
    let part = bench.call();

    let needs = Input::Needs { part: part.clone(), ask: permission_by("per_1", "ls", &[Action::Deny]) };
    assert_snapshot!(bench.feed(needs), @r"
    fact   tool.ended failed
    effect AnswerTool denied
    ");
    assert_snapshot!(bench.feed(Input::Planned { part: part.clone() }), @"");
    assert_snapshot!(bench.feed(Input::Returned { part, outcome: done("ran") }), @"");
}

#[test]
fn a_call_that_waits_for_a_person_cannot_act_or_ask_for_something_else() {
    let mut bench = planning();
    let part = bench.call();
    bench.feed(Input::Needs { part: part.clone(), ask: permission("per_1", "ls") });

    assert_snapshot!(bench.feed(Input::Planned { part: part.clone() }), @"");
    let other = permission_by("per_2", "pwd", &[Action::Allow]);
    assert_snapshot!(bench.feed(Input::Needs { part, ask: other }), @"");
}

#[test]
fn a_call_that_acts_does_not_ask_any_more() {
    let mut bench = planning();
    let part = bench.call();
    bench.feed(Input::Planned { part: part.clone() });

    assert_snapshot!(bench.feed(Input::Needs { part, ask: permission("per_1", "ls") }), @"");
}

#[test]
fn what_a_person_allowed_is_not_asked_again_after_a_restart() {
    let mut bench = planning();
    let part = bench.call();
    bench.feed(Input::Needs { part: part.clone(), ask: permission("per_1", "cd /etc") });
    bench.said(finished(FinishReason::ToolCalls));
    bench.feed(answer("per_1", PermissionReply::Once));
    bench.feed(Input::Needs { part: part.clone(), ask: permission("per_2", "ls /etc") });
    bench.crash();
    bench.feed(Input::Restarted);

    assert_snapshot!(bench.feed(answer("per_2", PermissionReply::Once)), @r"
    fact   permission.replied Once
    effect ResumeTool allowed
    ");
    for (ask, pattern) in [("per_3", "cd /etc"), ("per_4", "ls /etc")] {
        let needs = Input::Needs { part: part.clone(), ask: permission(ask, pattern) };
        assert_eq!(bench.feed(needs), "effect AnswerTool allowed");
    }
    assert_snapshot!(bench.feed(Input::Planned { part }), @r"
    fact   tool.allowed
    effect AnswerTool allowed
    ");
}

#[test]
fn a_call_that_would_do_something_else_after_a_restart_is_asked_about_again() {
    let mut bench = planning();
    let part = bench.call();
    bench.feed(Input::Needs { part: part.clone(), ask: permission("per_1", "ls") });
    bench.said(finished(FinishReason::ToolCalls));
    bench.crash();
    bench.feed(Input::Restarted);
    bench.feed(answer("per_1", PermissionReply::Once));

    let Ask::Permission { id, wanted, rules, always, checkout, .. } = permission("per_2", "ls") else {
        panic!("a permission")
    };
    let metadata = Map::from_iter([("diff".to_owned(), "+ another line".into())]);
    let ask = Ask::Permission { id, wanted, rules, always, metadata, checkout };
    assert_snapshot!(bench.feed(Input::Needs { part, ask }), @"fact   permission.asked");
}

#[test]
fn a_restart_between_plan_and_act_never_acts() {
    let mut bench = planning();
    let part = bench.call();
    bench.feed(Input::Needs { part: part.clone(), ask: permission("per_1", "ls") });
    bench.said(finished(FinishReason::ToolCalls));
    bench.feed(answer("per_1", PermissionReply::Once));
    bench.feed(Input::Planned { part: part.clone() });
    bench.crash();

    let told = bench.feed(Input::Restarted);

    assert!(told.contains("tool.ended interrupted"), "{told}");
    assert_snapshot!(bench.feed(Input::Planned { part }), @"");
}

#[test]
fn an_answered_question_is_not_asked_again_after_a_restart() {
    let mut bench = planning();
    let part = bench.call();
    let question = |id: &str| Ask::Question { id: QuestionId::parse(id).unwrap(), questions: Vec::new() };
    bench.feed(Input::Needs { part: part.clone(), ask: question("que_1") });
    bench.said(finished(FinishReason::ToolCalls));
    bench.crash();
    bench.feed(Input::Restarted);

    let answers = Answer::Question { answers: vec![vec!["blue".to_owned()]] };
    let answered = Input::Answered { ask: "que_1".to_owned(), answer: answers };
    assert_snapshot!(bench.feed(answered), @r"
    fact   question.replied
    effect ResumeTool answers
    ");
    assert_snapshot!(bench.feed(Input::Needs { part, ask: question("que_2") }), @"effect AnswerTool answers");
}
