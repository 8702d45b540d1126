//! Answers that must fit a schema: given, handed back, given up.

use crate::bench::*;
use insta::assert_snapshot;
use serde_json::{Value, json};
use sturdy_session::fact::{Fact, Outcome};
use sturdy_session::oracle;
use sturdy_session::talk::{CallInput, FinishReason, Said};
use sturdy_session::turn::{Effect, Input, Ready, STRUCTURED_TOOL};

fn wants_object(retries: u32) -> Ready {
    let tools = vec!["bash".to_owned(), STRUCTURED_TOOL.to_owned()];
    Ready { structured: Some(retries), tools, ..ready() }
}

fn object(call: &str, answer: Value) -> Said {
    Said::ToolCalled {
        call: call.to_owned(),
        name: STRUCTURED_TOOL.to_owned(),
        input: CallInput::Json(json!({ "answer": answer })),
        metadata: None,
        by_provider: false,
    }
}

fn misfit() -> Outcome {
    Outcome::Failed { error: "/answer: not a number".to_owned(), metadata: None }
}

/// A session whose prompt wants an object.
struct Asked {
    bench: Bench,
    retries: u32,
}

impl Asked {
    fn new(retries: u32) -> Self {
        let mut bench = Bench::new();
        bench.feed(prompt("an object, please"));
        let mut asked = Self { bench, retries };
        asked.next();
        asked
    }

    fn next(&mut self) {
        let user = self.bench.effects.iter().find_map(|effect| match effect {
            Effect::Prepare { user } => Some(user.clone()),
            _ => None,
        });
        let ready = Box::new(wants_object(self.retries));
        self.bench.feed(Input::Prepared { user: user.expect("nothing is to be prepared"), ready });
    }

    /// The model gives an object, and it is judged.
    fn gives(&mut self, outcome: Outcome) -> String {
        self.bench.said(object("o1", json!(42)));
        let part = self.bench.call();
        self.bench.feed(Input::Returned { part, outcome });
        self.bench.said(finished(FinishReason::ToolCalls))
    }

    /// What the last step ended with.
    fn end(&self) -> Value {
        let end = self.bench.log.iter().rev().find_map(|fact| match fact {
            Fact::StepEnded { error, structured, .. } => {
                Some(json!({ "error": error, "structured": structured }))
            }
            _ => None,
        });
        end.expect("no step has ended")
    }
}

fn given_up(retries: u32) -> Value {
    json!({
        "name": "StructuredOutputError",
        "data": { "message": "Model did not produce structured output", "retries": retries },
    })
}

#[test]
fn an_object_that_fits_is_the_answer_and_the_turn_is_over() {
    let mut asked = Asked::new(2);

    assert_snapshot!(asked.gives(done("ok")), @r"
    fact   step.finished tool-calls cost 0.000114
    fact   step.ended
    fact   session.idled given
    ");
    assert_eq!(asked.end(), json!({ "error": null, "structured": { "answer": 42 } }));
}

#[test]
fn an_object_that_comes_back_after_the_last_word_counts_as_well() {
    let mut asked = Asked::new(0);
    asked.bench.said(object("o1", json!(1)));
    asked.bench.said(finished(FinishReason::Stop));
    let part = asked.bench.call();

    asked.bench.feed(Input::Returned { part, outcome: done("ok") });

    assert_eq!(asked.end()["structured"], json!({ "answer": 1 }));
    assert!(asked.bench.state.is_idle());
}

#[test]
fn an_object_that_does_not_fit_is_handed_back() {
    let mut asked = Asked::new(2);

    assert_snapshot!(asked.gives(misfit()), @r"
    fact   step.finished tool-calls cost 0.000114
    fact   step.ended
    fact   turn.continued
    effect Prepare
    ");
    asked.next();
    asked.gives(done("ok"));

    assert_eq!(asked.end()["structured"], json!({ "answer": 42 }));
}

#[test]
fn a_model_that_never_fits_is_given_up_after_its_retries_without_an_error_of_the_session() {
    for retries in [0, 1, 2] {
        let mut asked = Asked::new(retries);
        for _ in 0..retries {
            asked.gives(misfit());
            asked.next();
        }

        asked.gives(misfit());

        assert!(asked.bench.state.is_idle());
        assert_eq!(asked.end()["error"], given_up(retries));
        assert!(!asked.bench.log.iter().any(|fact| matches!(fact, Fact::SessionFailed { .. })));
        oracle::check(&asked.bench.log).unwrap();
    }
}

#[test]
fn words_and_garbled_arguments_are_failed_tries() {
    let mut asked = Asked::new(2);
    asked.bench.said(finished(FinishReason::Stop));
    asked.next();
    let input = CallInput::Malformed { text: "{".to_owned(), error: "ends early".to_owned() };
    let call = "o1".to_owned();
    let name = STRUCTURED_TOOL.to_owned();
    asked.bench.said(Said::ToolCalled { call, name, input, metadata: None, by_provider: false });
    let part = asked.bench.call();
    asked.bench.feed(Input::Returned { part, outcome: done("told so") });
    asked.bench.said(finished(FinishReason::ToolCalls));
    asked.next();

    asked.bench.said(finished(FinishReason::Stop));

    assert_eq!(asked.end()["error"], given_up(2));
}

#[test]
fn calls_of_other_tools_are_no_tries() {
    let mut asked = Asked::new(0);
    for call in ["c1", "c2", "c3"] {
        asked.bench.said(tool_call(call, "bash"));
        let part = asked.bench.call();
        asked.bench.feed(Input::Returned { part, outcome: done("ok") });
        asked.bench.said(finished(FinishReason::ToolCalls));
        asked.next();
    }

    asked.gives(done("ok"));

    assert_eq!(asked.end()["structured"], json!({ "answer": 42 }));
}

#[test]
fn an_agent_that_runs_out_of_steps_without_an_object_is_given_up() {
    let mut bench = Bench::new();
    bench.feed(prompt("an object, please"));
    let Some(Effect::Prepare { user }) = bench.effects.first().cloned() else { panic!() };
    let ready = Ready { steps_max: Some(1), ..wants_object(5) };
    bench.feed(Input::Prepared { user, ready: Box::new(ready) });
    let mut asked = Asked { bench, retries: 5 };

    asked.gives(misfit());

    assert!(asked.bench.state.is_idle());
    assert_eq!(asked.end()["error"], given_up(0));
}

#[test]
fn an_object_survives_a_restart_of_the_count() {
    let mut asked = Asked::new(1);
    asked.gives(misfit());
    let machine = asked.bench.state.machine_text();

    assert!(machine.contains(r#""tries":1"#), "{machine}");
}
