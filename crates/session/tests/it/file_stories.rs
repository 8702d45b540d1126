//! What a step changed on the disk, and how readers hear of it.

use crate::bench::{Bench, done, finished, prompt, tool_call};
use insta::assert_snapshot;
use sturdy_session::fact::Fact;
use sturdy_session::oracle;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::{Diffed, Input, NewRevert, RevertTotals, StepFiles};
use sturdy_session::types::event::Event;
use sturdy_session::types::message::{Message, TurnSummary, UserMessage};
use sturdy_session::types::part::PartBody;
use sturdy_session::types::session::{Revert, SessionSummary};

fn files() -> StepFiles {
    StepFiles {
        before: "aaa".to_owned(),
        after: "bbb".to_owned(),
        files: vec!["/p/a".to_owned()],
        shared: Vec::new(),
    }
}

fn totals(files: u64) -> SessionSummary {
    serde_json::from_value(serde_json::json!({ "additions": files, "deletions": 0, "files": files })).unwrap()
}

/// A step with one call that is running.
fn running() -> Bench {
    let mut bench = Bench::new();
    bench.feed(prompt("write it"));
    bench.prepare();
    bench.said(tool_call("c1", "write"));
    bench
}

fn asked(bench: &Bench) -> UserMessage {
    let shown = bench.shown.iter().flat_map(|(_, events)| events);
    let mut user = shown.filter_map(|event| match event {
        Event::MessageUpdated { info: Message::User(info), .. } => Some((**info).clone()),
        _ => None,
    });
    user.next_back().expect("a prompt was shown")
}

fn diffed(bench: &Bench) -> Input {
    let told = TurnSummary { title: Some("told".to_owned()), body: None, diffs: Vec::new() };
    let prompt = UserMessage { summary: Some(told), ..asked(bench) };
    let summary = totals(1);
    let session = Vec::new();
    Input::Diffed(Box::new(Diffed { prompt, summary, session }))
}

#[test]
fn what_a_step_changed_stands_behind_its_end() {
    let mut bench = running();
    let step = bench.step();
    assert_snapshot!(bench.feed(Input::FilesChanged { step: step.clone(), files: files() }), @"fact   files.changed");
    assert_snapshot!(bench.feed(Input::FilesChanged { step, files: files() }), @"");
    bench.feed(Input::Returned { part: bench.call(), outcome: done("ok") });
    bench.said(finished(FinishReason::ToolCalls));

    let parts = bench.shown.iter().flat_map(|(_, events)| events).filter_map(|event| match event {
        Event::PartUpdated { part, .. } => Some(&part.body),
        _ => None,
    });
    let ends: Vec<_> =
        parts.filter(|body| matches!(body, PartBody::StepFinish(_) | PartBody::Patch(_))).collect();
    let [PartBody::StepFinish(finish), PartBody::Patch(patch)] = ends[..] else { panic!("{ends:?}") };
    assert_eq!(
        (finish.snapshot.as_deref(), &*patch.hash, &patch.files),
        (Some("bbb"), "aaa", &files().files)
    );
}

#[test]
fn a_turn_that_changed_files_is_never_summarised_as_nothing() {
    let mut bench = running();
    let before = bench.shown.len();
    bench.feed(Input::FilesChanged { step: bench.step(), files: files() });
    bench.feed(diffed(&bench));
    bench.feed(Input::Returned { part: bench.call(), outcome: done("ok") });
    bench.said(finished(FinishReason::ToolCalls));
    bench.prepare();
    bench.said(finished(FinishReason::Stop));

    let later = bench.shown[before..].iter().flat_map(|(_, events)| events);
    let diffs = later.filter(|event| matches!(event, Event::SessionDiff { .. })).count();
    assert_eq!(diffs, 1, "only the one that was worked out");
    assert_eq!(asked(&bench).summary.and_then(|told| told.title).as_deref(), Some("told"), "and it stays");
    assert_eq!(bench.state.info().and_then(|info| info.summary.clone()), Some(totals(1)));
}

#[test]
fn what_a_step_changed_is_kept_when_it_is_cut_short() {
    let mut bench = running();
    bench.feed(Input::FilesChanged { step: bench.step(), files: files() });

    bench.feed(Input::Restarted);

    let written: Vec<_> = bench
        .log
        .iter()
        .filter_map(|fact| if let Fact::PartWritten { part } = fact { Some(&part.body) } else { None })
        .collect();
    assert!(matches!(written[..], [PartBody::Snapshot(_), PartBody::Patch(_)]), "{written:?}");
}

#[test]
fn what_comes_too_late_for_its_step_changes_nothing() {
    let mut bench = running();
    let step = bench.step();
    let late = diffed(&bench);
    bench.feed(Input::Restarted);

    assert_snapshot!(bench.feed(Input::FilesChanged { step, files: files() }), @"");
    assert_snapshot!(bench.feed(late), @"");
}

#[test]
fn a_cut_is_noted_with_what_lies_behind_it_and_taken_back() {
    let mut bench = running();
    let cut = || {
        let message_id = asked(&running()).id;
        let revert = Revert {
            message_id,
            part_id: None,
            snapshot: None,
            diff: None,
            conflicts: Vec::new(),
            uncaptured: Vec::new(),
            forced: Vec::new(),
            files_from: None,
        };
        let totals = RevertTotals { summary: totals(0), session: Vec::new() };
        Input::Revert(Box::new(NewRevert { revert: Some(revert), totals: Some(totals), committed: None }))
    };
    assert_snapshot!(bench.feed(cut()), @"refuse the session is busy");
    bench.feed(Input::Restarted);

    assert_snapshot!(bench.feed(cut()), @"fact   session.reverted");
    let events = &bench.shown.last().unwrap().1;
    assert!(matches!(events[..], [Event::SessionDiff { .. }, Event::SessionUpdated(_)]), "{events:?}");
    assert!(bench.state.info().is_some_and(|info| info.revert.is_some()));
    bench.feed(Input::Revert(Box::default()));
    assert!(bench.state.info().is_some_and(|info| info.revert.is_none()));
}

#[test]
fn the_oracle_wants_the_tree_after_a_step_named_before_its_patch() {
    let mut bench = running();
    let step = bench.step();
    bench.feed(Input::FilesChanged { step, files: files() });
    bench.feed(Input::Restarted);
    let mut log = bench.log.clone();
    oracle::check(&log).unwrap();

    log.retain(
        |fact| !matches!(fact, Fact::PartWritten { part } if matches!(part.body, PartBody::Snapshot(_))),
    );

    let broken = oracle::check(&log).unwrap_err();
    assert!(broken.to_string().contains("a patch comes before"), "{broken}");
}
