//! Compaction and pruning: when they begin, what they leave behind, and that they end.

use crate::bench::*;
use insta::assert_snapshot;
use serde_json::{Value, json};
use sturdy_session::fact::Fact;
use sturdy_session::id::PartId;
use sturdy_session::oracle;
use sturdy_session::prompt::history::visible;
use sturdy_session::row::RowChange;
use sturdy_session::rows::fold;
use sturdy_session::talk::{FinishReason, Said};
use sturdy_session::turn::{Compaction, Effect, FollowUp, Input, NewSummary, Ready, State, StepKind, Words};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::{Part, PartBody, TextPart};
use sturdy_session::types::usage::Usage;

/// The steps of `Bench::full` use up this much.
const USABLE: u64 = 100;

pub(crate) fn summarize() -> Input {
    let model = new_prompt("").model;
    Input::Summarize(Box::new(NewSummary { agent: "build".to_owned(), model, auto: false }))
}

pub(crate) fn too_long() -> Failure {
    Failure::ContextOverflow { message: "prompt is too long".to_owned(), response_body: None }
}

/// A model with a window that `finished` fills.
pub(crate) fn small() -> Ready {
    Ready { usable: Some(USABLE), auto_compact: true, prune: true, ..ready() }
}

/// What is needed for the compaction that this effect wants.
pub(crate) fn compaction_ready(bench: &Bench, effect: &Effect) -> Option<Input> {
    let Effect::PrepareCompaction { request, first_waiting, goes_on } = effect else { return None };
    let (part, body) = bench.log.iter().find_map(|fact| match fact {
        Fact::CompactionWanted { posted, .. } if posted.info.id == *request => match &posted.parts[0].body {
            PartBody::Compaction(body) => Some((posted.parts[0].id.clone(), body.clone())),
            _ => None,
        },
        _ => None,
    })?;
    let words = match body.overflow {
        Some(true) => {
            let text = TextPart { text: "said again".to_owned(), ..TextPart::default() };
            Words::Again(vec![PartBody::Text(text)])
        }
        _ => Words::GoOn { overflow: false, request: None },
    };
    let follow = FollowUp {
        agent: "build".to_owned(),
        model: new_prompt("").model,
        format: None,
        system: None,
        tools: None,
        words,
    };
    let compaction = Compaction {
        part,
        auto: body.auto,
        overflow: body.overflow,
        goes_on: *goes_on,
        tail: first_waiting.clone(),
        text: "Summarise.".into(),
        follow: Some(Box::new(follow)),
    };
    let kind = StepKind::Compact(Box::new(compaction));
    let ready = Ready { kind, agent: "compaction".to_owned(), prune: true, ..ready() };
    Some(Input::Prepared { user: request.clone(), ready: Box::new(ready) })
}

impl Bench {
    /// With a prompt that is answered by a model with a small window.
    fn tight() -> Self {
        let mut bench = Self::new();
        bench.feed(prompt("hi"));
        bench.prepare_with(small());
        bench
    }

    fn prepare_with(&mut self, ready: Ready) -> String {
        let user = self.effects.iter().find_map(|effect| match effect {
            Effect::Prepare { user } => Some(user.clone()),
            _ => None,
        });
        self.feed(Input::Prepared { user: user.expect("nothing is to be prepared"), ready: Box::new(ready) })
    }

    /// Begins the compaction that is wanted.
    fn compact(&mut self) -> String {
        let ready = self.effects.iter().find_map(|effect| compaction_ready(self, effect));
        self.feed(ready.expect("no compaction is to be prepared"))
    }

    /// The model writes a summary.
    fn summarise(&mut self) -> String {
        self.said(text_started("s"));
        self.said(text("s", "Long story."));
        self.said(finished(FinishReason::Stop))
    }

    fn last_error(&self) -> Value {
        let error = self.log.iter().rev().find_map(|fact| match fact {
            Fact::StepEnded { error, finish, .. } => Some(json!({ "error": error, "finish": finish })),
            _ => None,
        });
        error.expect("no step has ended")
    }
}

#[test]
fn a_person_asks_for_a_summary_and_nothing_follows_it() {
    let mut bench = Bench::talking();
    bench.said(finished(FinishReason::Stop));

    assert_snapshot!(bench.feed(summarize()), @r"
    fact   compaction.wanted Compaction(CompactionPart { auto: false, overflow: None, tail_start_id: None })
    effect PrepareCompaction
    ");
    assert_snapshot!(bench.compact(), @r"
    fact   step.started
    effect Summarise
    ");
    let step = bench.state.open_step().unwrap().info.clone().unwrap();
    assert_eq!(
        (step.summary, step.agent.as_str(), step.mode.as_str()),
        (Some(true), "compaction", "compaction")
    );
    assert_snapshot!(bench.summarise(), @r#"
    fact   text.ended "Long story."
    fact   step.finished stop cost 0.000114
    fact   step.ended
    fact   session.compacted
    fact   session.idled done
    effect Prune
    "#);
    oracle::check(&bench.log).unwrap();
}

#[test]
fn a_summary_asked_for_while_busy_waits_for_the_step_and_the_work_goes_on_behind_it() {
    let mut bench = Bench::talking();
    bench.said(tool_call("c1", "bash"));

    assert_snapshot!(bench.feed(summarize()), @"fact   compaction.wanted Compaction(CompactionPart { auto: false, overflow: None, tail_start_id: None })");
    assert_snapshot!(bench.feed(summarize()), @"");
    bench.said(finished(FinishReason::ToolCalls));
    let part = bench.call();
    bench.feed(Input::Returned { part, outcome: done("ok") });
    bench.compact();
    assert_snapshot!(bench.summarise(), @r#"
    fact   text.ended "Long story."
    fact   step.finished stop cost 0.000114
    fact   step.ended
    fact   prompt.admitted text "Go on with the next step if it is clear what it is. If it is not, say what you need to know."
    fact   session.compacted
    fact   turn.continued
    effect Prepare
    "#);
    bench.prepare();
    assert_eq!(bench.state.open_turn().unwrap().steps, 2, "it is the same work");
    oracle::check(&bench.log).unwrap();
}

#[test]
fn a_summary_asked_for_while_a_step_is_prepared_comes_first() {
    let mut bench = Bench::new();
    bench.feed(prompt("hi"));
    let prepare = bench.effects.clone();
    bench.feed(summarize());
    bench.effects = prepare;

    assert_snapshot!(bench.prepare(), @"effect PrepareCompaction");
    bench.compact();
    bench.summarise();
    assert_snapshot!(bench.prepare(), @r"
    fact   step.started takes 1
    effect CallModel attempt 0
    ");
}

#[test]
fn a_step_that_fills_the_window_is_followed_by_a_compaction_and_the_work_goes_on() {
    let mut bench = Bench::tight();

    assert_snapshot!(bench.said(finished(FinishReason::Stop)), @r"
    fact   step.began
    fact   step.finished stop cost 0.000114
    fact   step.ended
    fact   compaction.wanted Compaction(CompactionPart { auto: true, overflow: Some(false), tail_start_id: None })
    fact   turn.continued
    effect PrepareCompaction
    ");
    bench.compact();
    bench.summarise();
    bench.prepare_with(Ready { usable: Some(1000), ..small() });
    bench.said(finished(FinishReason::Stop));
    assert!(bench.state.is_idle());
    oracle::check(&bench.log).unwrap();
}

#[test]
fn a_request_that_is_too_long_is_summarised_and_the_prompt_said_again() {
    let mut bench = Bench::tight();

    assert_snapshot!(bench.failed(too_long()), @r"
    fact   session.failed ContextOverflowError
    fact   step.ended
    fact   compaction.wanted Compaction(CompactionPart { auto: true, overflow: Some(true), tail_start_id: None })
    fact   turn.continued
    effect PrepareCompaction
    ");
    assert_eq!(bench.last_error(), json!({ "error": null, "finish": null }));
    bench.compact();
    bench.summarise();
    let said = bench.log.iter().rev().find_map(|fact| match fact {
        Fact::PromptAdmitted { posted, .. } => Some(posted.parts[0].body.clone()),
        _ => None,
    });
    assert!(matches!(said, Some(PartBody::Text(text)) if text.text == "said again"));
}

#[test]
fn without_automatic_compaction_a_request_that_is_too_long_fails_on_its_message() {
    let mut bench = Bench::talking();

    assert_snapshot!(bench.failed(too_long()), @r"
    fact   session.failed ContextOverflowError
    fact   step.ended ContextOverflowError
    fact   session.idled failed
    ");
    assert_eq!(bench.last_error()["finish"], "error");
}

#[test]
fn summaries_that_make_no_room_end_the_turn_and_say_what_to_do() {
    let mut bench = Bench::tight();
    for _ in 0..3 {
        bench.said(finished(FinishReason::ToolCalls));
        // Counted on, also over a restart of the count's owner.
        bench.compact();
        bench.summarise();
        bench.prepare_with(small());
    }

    assert_snapshot!(bench.failed(too_long()), @r"
    fact   session.failed ContextOverflowError
    fact   step.ended ContextOverflowError
    fact   session.idled failed
    effect Prune
    ");
    let error = bench.last_error();
    assert!(error["error"]["data"]["message"].as_str().unwrap().contains("new session"), "{error}");
}

#[test]
fn a_step_that_leaves_room_begins_the_count_again() {
    let mut bench = Bench::tight();
    for _ in 0..5 {
        bench.said(finished(FinishReason::ToolCalls));
        bench.compact();
        bench.summarise();
        bench.prepare_with(small());
        let usage = Usage { input: Some(5), total: Some(9), ..Usage::default() };
        bench.said(Said::Finished { reason: FinishReason::ToolCalls, usage, metadata: None });
        bench.prepare_with(small());
    }

    assert!(bench.state.open_step().is_some());
    assert_eq!(bench.state.open_turn().unwrap().compactions, 0);
}

#[test]
fn a_compaction_does_not_give_an_agent_more_steps() {
    let limited = || Ready { steps_max: Some(2), ..small() };
    let mut bench = Bench::new();
    bench.feed(prompt("hi"));
    bench.prepare_with(limited());
    bench.said(finished(FinishReason::ToolCalls));
    bench.compact();
    bench.summarise();

    assert_snapshot!(bench.prepare_with(limited()), @r"
    fact   step.started takes 1
    effect CallModel attempt 0, no tools
    ");
}

#[test]
fn a_summary_that_fails_stands_there_with_its_error_and_ends_the_turn() {
    for (failure, finish) in [(too_long(), json!("error")), (refused(), Value::Null)] {
        let mut bench = Bench::tight();
        bench.said(finished(FinishReason::Stop));
        bench.compact();

        bench.failed(failure);

        assert!(bench.state.is_idle());
        assert_eq!(bench.last_error()["finish"], finish);
        assert!(!bench.last_error()["error"].is_null());
    }
}

#[test]
fn a_failure_that_passes_is_tried_again_with_the_same_request() {
    let mut bench = Bench::tight();
    bench.said(finished(FinishReason::Stop));
    bench.compact();
    bench.failed(overloaded());
    let step = bench.step();
    let attempt = bench.state.open_step().unwrap().attempt;

    bench.feed(Input::Timer { step, attempt });

    assert!(
        matches!(&bench.effects[..], [Effect::Summarise { attempt: 1, text, .. }] if &**text == "Summarise.")
    );
}

#[test]
fn a_model_that_writes_no_summary_has_not_summarised() {
    let mut bench = Bench::tight();
    bench.said(finished(FinishReason::Stop));
    bench.compact();
    assert_snapshot!(bench.said(tool_call("c1", "bash")), @"fact   step.began");

    bench.said(finished(FinishReason::ToolCalls));

    assert_eq!(bench.last_error()["error"]["name"], "UnknownError");
    assert!(!bench.log.contains(&Fact::SessionCompacted));
}

#[test]
fn prompts_that_wait_stay_in_view_and_are_answered_behind_the_compaction() {
    let mut bench = Bench::tight();
    bench.feed(prompt("and this"));
    let waiting = bench.state.waiting().next().unwrap().clone();
    bench.said(finished(FinishReason::Stop));
    bench.compact();
    bench.feed(prompt("this too"));
    bench.summarise();

    assert_snapshot!(bench.prepare(), @r"
    fact   step.started takes 3
    effect CallModel attempt 0
    ");
    let folded = fold(&mut State::default(), bench.log.clone(), 0, 0);
    let tail = folded.rows.iter().find_map(|write| match &write.change {
        RowChange::Part(row) => {
            serde_json::from_str::<Value>(&row.data).unwrap()["tail_start_id"].as_str().map(str::to_owned)
        }
        _ => None,
    });
    assert_eq!(tail.as_deref(), Some(waiting.as_str()));
    oracle::check(&bench.log).unwrap();
}

#[test]
fn a_compaction_that_cannot_begin_leaves_the_waiting_prompts_to_be_answered() {
    let mut bench = Bench::tight();
    bench.feed(prompt("and this"));
    bench.said(finished(FinishReason::Stop));
    let Some(Effect::PrepareCompaction { request, .. }) = bench.effects.first().cloned() else { panic!() };

    assert_snapshot!(bench.feed(Input::NotPrepared { user: request, failure: refused() }), @r"
    fact   session.failed APIError
    fact   session.idled failed
    fact   turn.continued
    effect Prepare
    ");
}

#[test]
fn an_abort_drops_a_compaction_that_is_wanted_or_begun() {
    let mut bench = Bench::tight();
    bench.feed(summarize());
    bench.feed(Input::Abort);
    assert!(bench.state.is_at_rest());

    bench.feed(summarize());
    bench.compact();
    bench.feed(Input::Abort);
    assert!(bench.state.is_at_rest());
    assert_eq!(bench.last_error()["error"]["name"], "MessageAbortedError");
    oracle::check(&bench.log).unwrap();
}

#[test]
fn a_restart_in_the_middle_of_a_compaction_settles_it_and_the_conversation_is_whole() {
    let mut bench = Bench::tight();
    bench.said(finished(FinishReason::Stop));
    bench.compact();
    bench.said(text_started("s"));

    bench.crash();
    bench.feed(Input::Restarted);

    assert!(bench.state.is_idle());
    assert_eq!(messages(&bench).len(), visible(messages(&bench).into_iter().rev()).len());
    oracle::check(&bench.log).unwrap();
}

#[test]
fn a_compaction_is_undone_by_removing_its_request() {
    let mut bench = Bench::tight();
    bench.said(finished(FinishReason::Stop));
    bench.compact();
    let request = bench.state.open_step().unwrap().user.clone();
    bench.summarise();
    let before = visible(messages(&bench).into_iter().rev()).len();
    bench.feed(Input::Abort);
    let (cost, tokens) = Default::default();

    bench.feed(Input::RemoveMessage { message: request, cost, tokens });

    assert_eq!(before, 3, "request, summary and what follows");
    assert_eq!(
        visible(messages(&bench).into_iter().rev()).len(),
        4,
        "prompt, answer, summary and what follows"
    );
}

/// What the store would show.
fn messages(bench: &Bench) -> Vec<MessageWithParts> {
    let folded = fold(&mut State::default(), bench.log.clone(), 0, 0);
    let removed = |id: &str| {
        bench
            .log
            .iter()
            .any(|fact| matches!(fact, Fact::MessageRemoved { message, .. } if message.as_str() == id))
    };
    let rows = |wanted: &str| {
        let parts = folded.rows.iter().filter_map(|write| match &write.change {
            RowChange::Part(row) if row.message_id.as_str() == wanted => Some(row.data.clone()),
            _ => None,
        });
        parts.map(|data| serde_json::from_str(&data).unwrap()).collect::<Vec<Part>>()
    };
    let infos = folded.rows.iter().filter_map(|write| match &write.change {
        RowChange::Message(row) if !removed(row.id.as_str()) => Some(row),
        _ => None,
    });
    infos
        .map(|row| MessageWithParts {
            info: serde_json::from_str(&row.data).unwrap(),
            parts: rows(row.id.as_str()),
        })
        .collect()
}

/// A turn with one finished call, and its part.
fn after_a_call() -> (Bench, Part) {
    let mut bench = Bench::talking();
    bench.said(tool_call("c1", "bash"));
    let part = bench.call();
    bench.feed(Input::Returned { part: part.clone(), outcome: done("a long output") });
    bench.said(finished(FinishReason::Stop));
    bench.prepare();
    bench.said(finished(FinishReason::Stop));
    let part = messages(&bench).into_iter().flat_map(|message| message.parts).find(|other| other.id == part);
    (bench, part.unwrap())
}

fn compacted_at(bench: &Bench, id: &PartId) -> Option<u64> {
    let part = messages(bench).into_iter().flat_map(|message| message.parts).find(|part| part.id == *id)?;
    serde_json::to_value(&part).unwrap()["state"]["time"]["compacted"].as_u64()
}

#[test]
fn an_output_that_is_pruned_keeps_its_text_and_is_marked_once() {
    let (mut bench, part) = after_a_call();

    assert_snapshot!(bench.feed(Input::Pruned { edits: 0, parts: vec![part.clone()] }), @"fact   tool.compacted");
    let at = compacted_at(&bench, &part.id);
    assert!(at.is_some());
    let marked =
        messages(&bench).into_iter().flat_map(|message| message.parts).find(|other| other.id == part.id);

    assert_snapshot!(bench.feed(Input::Pruned { edits: 0, parts: marked.into_iter().collect() }), @"");
    assert_eq!(compacted_at(&bench, &part.id), at);
    assert!(serde_json::to_string(&messages(&bench)).unwrap().contains("a long output"));
}

#[test]
fn what_was_changed_since_somebody_looked_is_not_pruned() {
    let (mut bench, part) = after_a_call();
    let (cost, tokens) = Default::default();
    bench.feed(Input::RemoveMessage { message: part.message_id.clone(), cost, tokens });

    assert_snapshot!(bench.feed(Input::Pruned { edits: 0, parts: vec![part] }), @"");
}
