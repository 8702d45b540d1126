//! Steps in which no model speaks: a person's own command, subtasks, copies, edits.

use crate::bench::*;
use insta::assert_snapshot;
use sturdy_session::fact::{Fact, Outcome};
use sturdy_session::oracle;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::{Effect, Input, NewPrompt, SHELL_STOPPED};
use sturdy_session::types::failure::Failure;

fn printed(output: &str) -> Outcome {
    let metadata = serde_json::Map::from_iter([("output".to_owned(), output.into())]);
    Outcome::Done { output: output.to_owned(), title: String::new(), metadata, attachments: Vec::new() }
}

/// How the last call ended.
fn last_outcome(bench: &Bench) -> &Outcome {
    let ended = bench.log.iter().rev().find_map(|fact| match fact {
        Fact::ToolEnded { outcome, .. } => Some(outcome),
        _ => None,
    });
    ended.expect("no call has ended")
}

#[test]
fn a_shell_command_runs_without_a_model_and_chooses_nothing() {
    let mut bench = Bench::new();

    assert_snapshot!(bench.feed(shell("ls")), @r#"
    fact   shell.started text "The user ran this command in a shell."
    fact   tool.called ULID bash
    effect RunTool bash by the user
    "#);
    let part = bench.call();
    assert_snapshot!(bench.feed(Input::Returned { part, outcome: printed("a\n") }), @r"
    fact   tool.ended done
    fact   step.ended
    fact   session.idled shell
    ");
    assert!(bench.state.info().is_some_and(|info| info.agent.is_none() && info.model.is_none()));
    oracle::check(&bench.log).expect("the log keeps its promises");
}

#[test]
fn a_shell_command_is_refused_while_something_runs() {
    let mut bench = Bench::talking();

    assert_snapshot!(bench.feed(shell("ls")), @"refuse the session is busy");
}

#[test]
fn a_prompt_that_comes_during_a_command_is_answered_after_it() {
    let mut bench = Bench::new();
    bench.feed(shell("ls"));
    bench.feed(prompt("meanwhile"));
    let part = bench.call();

    assert_snapshot!(bench.feed(Input::Returned { part, outcome: printed("") }), @r"
    fact   tool.ended done
    fact   step.ended
    fact   turn.continued
    effect Prepare
    ");
}

#[test]
fn a_prompt_that_an_abort_left_behind_goes_on_waiting_after_a_command() {
    let mut bench = Bench::talking();
    bench.feed(prompt("second"));
    bench.feed(Input::Abort);
    bench.feed(shell("ls"));
    let part = bench.call();

    bench.feed(Input::Returned { part, outcome: printed("") });

    assert!(bench.state.is_idle() && bench.effects.is_empty());
    assert_eq!(bench.state.waiting().len(), 1);
}

#[test]
fn a_stopped_command_keeps_its_output_and_is_no_error() {
    let mut bench = Bench::new();
    bench.feed(shell("sleep 100"));
    let part = bench.call();
    let step = bench.step();
    let metadata = serde_json::Map::from_iter([("output".to_owned(), "begin\n".into())]);
    bench.feed(Input::Progressed { part, title: None, metadata: Some(metadata) });

    assert_snapshot!(bench.feed(Input::Abort), @r"
    fact   turn.stopping
    effect StopTools
    ");
    assert_snapshot!(bench.feed(Input::Settle { step }), @r"
    fact   tool.ended done
    fact   step.ended
    fact   session.idled stopped
    effect StopAll
    ");
    assert_eq!(*last_outcome(&bench), printed(&format!("begin\n{SHELL_STOPPED}")));
}

#[test]
fn a_command_that_ran_when_the_process_died_is_interrupted() {
    let mut bench = Bench::new();
    bench.feed(shell("sleep 100"));

    bench.crash();

    assert_snapshot!(bench.feed(Input::Restarted), @r"
    fact   tool.ended interrupted
    fact   session.failed MessageAbortedError
    fact   step.ended MessageAbortedError
    fact   session.idled interrupted
    ");
    assert!(bench.effects.is_empty());
}

#[test]
fn subtasks_run_one_after_another_before_the_model_is_asked() {
    let mut bench = Bench::new();
    bench.feed(subtasks(&["first", "second"]));

    assert_snapshot!(bench.prepare(), @"effect PrepareSubtask");
    assert_snapshot!(bench.prepare_subtask(None), @r"
    fact   step.started takes 1
    fact   tool.called ULID task
    effect RunTool task by the user
    ");
    let part = bench.call();
    assert_snapshot!(bench.feed(Input::Returned { part, outcome: done("one") }), @r"
    fact   tool.ended done
    fact   step.ended
    fact   turn.continued
    effect Prepare
    ");
    bench.prepare();
    bench.prepare_subtask(None);
    let part = bench.call();
    let failed = Outcome::Failed { error: "no".to_owned(), metadata: None };
    bench.feed(Input::Returned { part, outcome: failed });

    assert_snapshot!(bench.prepare(), @r"
    fact   step.started
    effect CallModel attempt 0
    ");
    bench.said(finished(FinishReason::Stop));
    assert!(bench.state.is_at_rest());
    let calls = bench.log.iter().filter(|fact| matches!(fact, Fact::ToolCalled { .. })).count();
    assert_eq!(calls, 2);
    let finishes = bench.log.iter().filter_map(|fact| match fact {
        Fact::StepEnded { finish, .. } => Some(finish.map(FinishReason::as_str)),
        _ => None,
    });
    let finishes: Vec<_> = finishes.collect();
    assert_eq!(finishes, [Some("tool-calls"), Some("tool-calls"), None]);
    oracle::check(&bench.log).expect("the log keeps its promises");
}

#[test]
fn the_subtask_of_a_command_is_followed_by_a_request_to_go_on() {
    let mut bench = Bench::new();
    bench.feed(subtasks(&["look"]));
    bench.prepare();
    bench.prepare_subtask(Some("review"));
    let part = bench.call();

    assert_snapshot!(bench.feed(Input::Returned { part, outcome: done("found") }), @r#"
    fact   tool.ended done
    fact   step.ended
    fact   prompt.admitted text "Say in short what the task above found, then go on with what the user asked for."
    fact   turn.continued
    effect Prepare
    "#);
    bench.prepare();
    assert_eq!(bench.state.waiting().len(), 0);
    assert!(bench.state.open_step().is_some());
}

#[test]
fn a_stopped_subtask_reads_as_cancelled_and_is_not_run_again() {
    let mut bench = Bench::new();
    bench.feed(subtasks(&["one", "two"]));
    bench.prepare();
    bench.prepare_subtask(None);
    let part = bench.call();
    bench.feed(Input::Abort);

    let outcome = Outcome::Interrupted { error: "Tool execution aborted".to_owned(), raw: None };
    assert_snapshot!(bench.feed(Input::Returned { part, outcome }), @r"
    fact   tool.ended interrupted
    fact   step.ended
    fact   session.idled stopped
    effect StopAll
    ");
    assert_eq!(*last_outcome(&bench), Outcome::Interrupted { error: "Cancelled".to_owned(), raw: None });
    bench.feed(prompt("next"));
    assert_snapshot!(bench.prepare(), @r"
    fact   step.started takes 1
    effect CallModel attempt 0
    ");
}

#[test]
fn a_subtask_that_waits_survives_a_restart_and_then_runs_once() {
    let mut bench = Bench::talking();
    bench.feed(subtasks(&["later"]));
    bench.crash();
    bench.feed(Input::Restarted);
    assert_eq!(bench.state.waiting().len(), 1);

    bench.feed(Input::Resume);
    bench.prepare();
    bench.prepare_subtask(None);
    bench.crash();
    bench.feed(Input::Restarted);

    bench.feed(prompt("next"));
    bench.prepare();
    assert!(matches!(bench.effects[0], Effect::CallModel { .. }), "{:?}", bench.effects);
}

#[test]
fn a_subtask_that_was_removed_is_passed_over() {
    let mut bench = Bench::new();
    bench.feed(subtasks(&["gone"]));
    bench.prepare();
    let Some(Effect::PrepareSubtask { part, .. }) = bench.effects.first().cloned() else {
        panic!("no subtask")
    };
    let message = bench.state.waiting().next().unwrap().clone();
    let (cost, tokens) = Default::default();
    bench.feed(Input::RemovePart { message, part: part.clone(), cost, tokens });

    assert_snapshot!(bench.feed(subtask_ready(part, None)), @"effect Prepare");
    bench.prepare();
    assert!(matches!(bench.effects[0], Effect::CallModel { .. }));
}

#[test]
fn what_could_not_be_read_is_told_before_the_message() {
    let mut bench = Bench::new();
    let failures = vec![Failure::unknown("notes.txt could not be read")];
    let asked = NewPrompt { failures, ..new_prompt("see @notes.txt") };

    assert_snapshot!(bench.feed(Input::Prompt(Box::new(asked))), @r#"
    fact   prompt.admitted text "see @notes.txt", a turn begins
    effect Prepare
    "#);
}

#[test]
fn an_open_part_is_not_for_others_to_write() {
    let mut bench = Bench::talking();
    bench.said(text_started("t0"));
    bench.said(text("t0", "Hel"));
    let open = bench.state.open_step().and_then(|step| step.texts[0].body.clone()).expect("a text is open");

    assert_snapshot!(bench.feed(Input::WritePart { part: open.clone() }), @"refuse the session is busy");
    let (cost, tokens) = Default::default();
    let removal = Input::RemovePart { message: open.message_id.clone(), part: open.id.clone(), cost, tokens };
    assert_snapshot!(bench.feed(removal), @"refuse the session is busy");

    bench.said(text_ended("t0"));
    assert_snapshot!(bench.feed(Input::WritePart { part: open }), @r#"fact   part.written text "Hel""#);
}

#[test]
fn a_call_of_the_server_runs_from_the_first_moment() {
    let mut bench = Bench::new();
    bench.feed(shell("ls"));

    let called = bench.log.iter().find_map(|fact| match fact {
        Fact::ToolCalled { running, .. } => Some(running),
        _ => None,
    });
    assert!(called.expect("a call").is_some());
}

#[test]
fn a_waiting_prompt_whose_message_is_removed_waits_no_more() {
    let mut bench = Bench::talking();
    bench.feed(prompt("second"));
    bench.feed(Input::Abort);
    let message = bench.state.waiting().next().unwrap().clone();
    let (cost, tokens) = Default::default();

    assert_snapshot!(bench.feed(Input::RemoveMessage { message, cost, tokens }), @"fact   prompt.withdrawn");
    bench.feed(prompt("third"));
    bench.prepare();
    // Was: the log spoke of a prompt that was promoted before its turn.
    oracle::check(&bench.log).expect("the log keeps its promises");
}
