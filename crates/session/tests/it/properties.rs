//! Random inputs, stale inputs, restarts anywhere.
//!
//! A history is a list of wishes. Each becomes the input that fits the state at that moment, or a stale input
//! for something that is over. Whatever comes out, the log keeps the promises of the oracle.

use crate::bench::*;
use crate::compaction::{compaction_ready, small, summarize, too_long};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use sturdy_session::fact::{Fact, Outcome};
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::oracle;
use sturdy_session::row::{RowChange, RowWrite};
use sturdy_session::rows::{Folder, fold};
use sturdy_session::show::Replay;
use sturdy_session::talk::{FinishReason, Said};
use sturdy_session::turn::{
    Answer, Effect, Input, NewPrompt, OpenStep, PromptStart, Ready, SessionPatch, State,
};
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::delivery::Delivery;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::{Part, PartBody};
use sturdy_session::types::session::{Action, Session};
use sturdy_session::types::status::Status;

#[derive(Clone, Debug)]
enum Wish {
    Prompt(String),
    Queue(PromptStart),
    Hold,
    Quiet,
    Subtasks(u8),
    PrepareSubtask(bool),
    Shell,
    WritePart,
    RemovePart,
    RemoveWaiting,
    Prepare,
    NotPrepared,
    Begin,
    Open(u8),
    Think(u8),
    Grow(u8, String),
    Close(u8),
    Announce(u8),
    Call(u8),
    Progress,
    Ask(u8),
    Plan,
    Answer(u8, bool),
    Settle,
    Return(bool),
    Refuse,
    Finish(FinishReason),
    Fail(bool),
    Timer,
    Abort,
    Crash,
    Resume,
    Withdraw,
    Rename,
    Summarize,
    Compact,
    NotCompacted,
    TooLong,
    Late(u8, u8),
    Remove,
}

fn wish() -> impl Strategy<Value = Wish> {
    let reason = prop_oneof![
        Just(FinishReason::Stop),
        Just(FinishReason::ToolCalls),
        Just(FinishReason::Unknown),
        Just(FinishReason::ContentFilter),
    ];
    prop_oneof![
        3 => "[a-z]{0,6}".prop_map(Wish::Prompt),
        2 => prop_oneof![Just(PromptStart::AtOnce), Just(PromptStart::WhenResumed)].prop_map(Wish::Queue),
        1 => Just(Wish::Hold),
        1 => Just(Wish::Quiet),
        1 => (1..3u8).prop_map(Wish::Subtasks),
        4 => any::<bool>().prop_map(Wish::PrepareSubtask),
        2 => Just(Wish::Shell),
        1 => Just(Wish::WritePart),
        1 => Just(Wish::RemovePart),
        1 => Just(Wish::RemoveWaiting),
        6 => Just(Wish::Prepare),
        1 => Just(Wish::NotPrepared),
        2 => Just(Wish::Begin),
        3 => (0..3u8).prop_map(Wish::Open),
        2 => (3..5u8).prop_map(Wish::Think),
        6 => (0..5u8, "\\PC{0,5}").prop_map(|(block, text)| Wish::Grow(block, text)),
        2 => (0..5u8).prop_map(Wish::Close),
        1 => (0..4u8).prop_map(Wish::Announce),
        3 => (0..4u8).prop_map(Wish::Call),
        1 => Just(Wish::Progress),
        2 => (0..3u8).prop_map(Wish::Ask),
        2 => Just(Wish::Plan),
        2 => (0..3u8, any::<bool>()).prop_map(|(ask, yes)| Wish::Answer(ask, yes)),
        1 => Just(Wish::Settle),
        4 => any::<bool>().prop_map(Wish::Return),
        1 => Just(Wish::Refuse),
        4 => reason.prop_map(Wish::Finish),
        2 => any::<bool>().prop_map(Wish::Fail),
        2 => Just(Wish::Timer),
        1 => Just(Wish::Abort),
        1 => Just(Wish::Crash),
        1 => Just(Wish::Resume),
        1 => Just(Wish::Withdraw),
        1 => Just(Wish::Rename),
        2 => Just(Wish::Summarize),
        6 => Just(Wish::Compact),
        1 => Just(Wish::NotCompacted),
        1 => Just(Wish::TooLong),
        4 => any::<(u8, u8)>().prop_map(|(kind, which)| Wish::Late(kind, which)),
        1 => Just(Wish::Remove),
    ]
}

/// A removed session ends the story, so it may only come at the end.
fn wish_before_the_end() -> impl Strategy<Value = Wish> {
    wish().prop_filter("not yet", |wish| !matches!(wish, Wish::Remove))
}

/// Histories without any plan, and histories of turns that are disturbed.
fn wishes(most: usize) -> impl Strategy<Value = Vec<Wish>> {
    let wild = prop::collection::vec(wish_before_the_end(), 0..most);
    prop_oneof![wild, disturbed(most)]
}

/// Turns as they usually go, with something else in between every now and then. Chance alone hardly ever
/// comes as far as a call that returns twice.
fn disturbed(most: usize) -> impl Strategy<Value = Vec<Wish>> {
    let turns = prop::collection::vec(prop::sample::select(usual_turns()), 1..8);
    let noise = prop::collection::vec((0..4u8, wish_before_the_end()), most);
    (turns, noise).prop_map(move |(turns, noise)| {
        let mut wishes = Vec::new();
        for (usual, (weight, other)) in turns.into_iter().flatten().zip(noise) {
            wishes.push(usual);
            if weight == 0 {
                wishes.push(other);
            }
        }
        wishes.truncate(most);
        wishes
    })
}

fn usual_turns() -> Vec<Vec<Wish>> {
    use Wish::*;
    let words = || "hm".to_owned();
    let stop = FinishReason::Stop;
    let calls = FinishReason::ToolCalls;
    vec![
        vec![Prompt(words()), Prepare, Begin, Open(0), Grow(0, words()), Close(0), Finish(stop)],
        vec![Prompt(words()), Prepare, Think(3), Think(4), Grow(3, words()), Grow(4, words()), Finish(stop)],
        vec![
            Prompt(words()),
            Prepare,
            Announce(0),
            Call(0),
            Call(1),
            Finish(calls),
            Return(true),
            Return(true),
            Prepare,
        ],
        vec![Prompt(words()), Prepare, Call(0), Ask(0), Finish(calls), Answer(0, true), Plan, Return(true)],
        vec![Prompt(words()), Prepare, Call(0), Ask(2), Plan, Plan, Ask(0), Finish(calls), Return(true)],
        vec![Prompt(words()), Prepare, Open(0), Grow(0, words()), Fail(true), Timer, Begin, Finish(stop)],
        vec![Subtasks(2), Prepare, PrepareSubtask(false), Return(true), PrepareSubtask(true), Return(true)],
        vec![Prompt(words()), Prepare, TooLong, Compact, Open(0), Grow(0, words()), Finish(stop), Prepare],
        vec![Summarize, Compact, Open(0), Grow(0, words()), Finish(stop)],
        vec![Prompt(words()), Prepare, Call(0), Call(1), Ask(0), Abort, Return(true), Settle],
        vec![Prompt(words()), Prepare, Call(0), Ask(0), Finish(calls), Crash, Answer(0, true), Return(true)],
        vec![Shell, Progress, Return(true)],
        vec![
            Prompt(words()),
            Prepare,
            Queue(PromptStart::AtOnce),
            Call(0),
            Finish(calls),
            Return(true),
            Prepare,
        ],
        vec![Hold, Queue(PromptStart::WhenResumed), Resume, Prepare, Finish(stop), Prepare, Finish(stop)],
        vec![Prompt(words()), Prepare, Call(0), Call(1), Return(true), Late(8, 0), Late(9, 0), Finish(calls)],
        vec![Prompt(words()), Prepare, Finish(stop), Late(6, 0), Prompt(words()), Prepare, Late(6, 0)],
    ]
}

/// The input a wish means now.
fn input(bench: &Bench, wish: &Wish, pending: &mut Vec<Effect>) -> Option<Input> {
    let step = bench.state.open_step();
    let say = |said| step.map(|step| Input::Said { step: step.message.clone(), attempt: step.attempt, said });
    let block = |number: &u8| format!("b{number}");
    let running = || step?.calls.iter().find(|call| call.body.is_some()).map(|call| call.part.clone());
    Some(match wish {
        Wish::Prompt(text) => prompt(text),
        Wish::Queue(start) => {
            let delivery = Delivery::Queue;
            Input::Prompt(Box::new(NewPrompt { delivery, start: *start, ..new_prompt("queued") }))
        }
        Wish::Hold => {
            let start = PromptStart::WhenResumed;
            Input::Prompt(Box::new(NewPrompt { start, ..new_prompt("held") }))
        }
        Wish::Quiet => {
            let mut quiet = new_prompt("quiet");
            quiet.wants_reply = false;
            Input::Prompt(Box::new(quiet))
        }
        Wish::Subtasks(count) => subtasks(&["one", "two", "three"][..usize::from(*count)]),
        Wish::PrepareSubtask(by_command) => {
            let is_subtask = |effect: &Effect| matches!(effect, Effect::PrepareSubtask { .. });
            let at = pending.iter().position(is_subtask)?;
            let Effect::PrepareSubtask { part, .. } = pending.remove(at) else { return None };
            subtask_ready(part, by_command.then_some("look"))
        }
        Wish::Shell => shell("ls"),
        Wish::WritePart => Input::WritePart { part: Box::new(some_part(bench)?) },
        Wish::RemoveWaiting => {
            let message = bench.state.waiting().next()?.clone();
            let (cost, tokens) = Default::default();
            Input::RemoveMessage { message, cost, tokens }
        }
        Wish::RemovePart => {
            let part = some_part(bench)?;
            let (cost, tokens) = Default::default();
            Input::RemovePart { message: part.message_id, part: part.id, cost, tokens }
        }
        Wish::Prepare | Wish::NotPrepared => {
            let at = pending.iter().position(|effect| matches!(effect, Effect::Prepare { .. }))?;
            let Effect::Prepare { user } = pending.remove(at) else { return None };
            match wish {
                Wish::Prepare => Input::Prepared { user, ready: Box::new(either(bench)) },
                _ => Input::NotPrepared { user, failure: refused() },
            }
        }
        Wish::Summarize => summarize(),
        Wish::Compact | Wish::NotCompacted => {
            let wanted = |effect: &Effect| matches!(effect, Effect::PrepareCompaction { .. });
            let at = pending.iter().position(wanted)?;
            let effect = pending.remove(at);
            match (wish, &effect) {
                (Wish::NotCompacted, Effect::PrepareCompaction { request, .. }) => {
                    Input::NotPrepared { user: request.clone(), failure: refused() }
                }
                _ => compaction_ready(bench, &effect)?,
            }
        }
        Wish::TooLong => {
            Input::Failed { step: step?.message.clone(), attempt: step?.attempt, failure: too_long() }
        }
        Wish::Begin => say(Said::Started)?,
        Wish::Open(number) => say(text_started(&block(number)))?,
        Wish::Think(number) => say(Said::ReasoningStarted { block: block(number), metadata: None })?,
        Wish::Grow(number, words) => say(text(&block(number), words))?,
        Wish::Close(number) => say(text_ended(&block(number)))?,
        Wish::Announce(number) => {
            let call = format!("c{number}");
            // What is announced already says more of its arguments.
            let is_known = step.is_some_and(|step| step.calls.iter().any(|open| open.call == call));
            say(if is_known {
                Said::ToolInputGrew { call, json: "{\"command\": ".to_owned() }
            } else {
                Said::ToolInputStarted { call, name: "bash".to_owned() }
            })?
        }
        Wish::Call(number) => say(tool_call(&format!("c{number}"), "bash"))?,
        Wish::Progress => Input::Progressed { part: running()?, title: None, metadata: None },
        Wish::Ask(number) => {
            let id = format!("per_{}{number}", bench.log.len());
            let rules: &[Action] = match number {
                0 => &[],
                1 => &[Action::Deny],
                _ => &[Action::Allow],
            };
            Input::Needs { part: running()?, ask: permission_by(&id, "ls -l", rules) }
        }
        Wish::Plan => Input::Planned { part: running()? },
        Wish::Answer(number, yes) => {
            let open: Vec<_> = step?.calls.iter().flat_map(|call| &call.asks).collect();
            let ask = open.get(usize::from(*number) % open.len().max(1))?.id.clone();
            let reply = if *yes { PermissionReply::Always } else { PermissionReply::Reject };
            Input::Answered { ask, answer: Answer::Permission { reply, message: None } }
        }
        Wish::Settle => Input::Settle { step: step?.message.clone() },
        Wish::Return(true) => Input::Returned { part: running()?, outcome: done("ok") },
        Wish::Return(false) => {
            let outcome = Outcome::Failed { error: "no".to_owned(), metadata: None };
            Input::Returned { part: running()?, outcome }
        }
        Wish::Refuse => {
            let outcome = Outcome::Blocked { error: "refused".to_owned() };
            Input::Returned { part: running()?, outcome }
        }
        Wish::Finish(reason) => say(finished(*reason))?,
        Wish::Fail(passes) => {
            let failure = if *passes { overloaded() } else { refused() };
            Input::Failed { step: step?.message.clone(), attempt: step?.attempt, failure }
        }
        Wish::Timer => Input::Timer { step: step?.message.clone(), attempt: step?.attempt },
        Wish::Abort => Input::Abort,
        Wish::Crash => Input::Restarted,
        Wish::Resume => Input::Resume,
        Wish::Withdraw => Input::Withdraw { message: bench.state.waiting().next()?.clone() },
        Wish::Rename => {
            Input::Edit(SessionPatch { title: Some("renamed".to_owned()), ..SessionPatch::default() })
        }
        Wish::Late(kind, which) => late(bench, *kind, *which)?,
        Wish::Remove => Input::Remove,
    })
}

/// A part of a person, as it was written last.
fn some_part(bench: &Bench) -> Option<Part> {
    bench.log.iter().rev().find_map(|fact| match fact {
        Fact::PromptAdmitted { posted, .. } | Fact::MessageAdded { posted } => {
            let is_theirs = |part: &&Part| matches!(part.body, PartBody::Text(_) | PartBody::Subtask(_));
            posted.parts.iter().find(is_theirs).cloned()
        }
        _ => None,
    })
}

/// Every other prompt goes to a model with a small window.
fn either(bench: &Bench) -> Ready {
    if bench.log.len().is_multiple_of(2) { ready() } else { small() }
}

/// An input for something that is over, or that was sent before.
fn late(bench: &Bench, kind: u8, which: u8) -> Option<Input> {
    // 0 is the newest.
    let some = |count: usize| count.checked_sub(1 + usize::from(which) % count.max(1));
    let pick = |ids: Vec<MessageId>| some(ids.len()).map(|at| ids[at].clone());
    let steps = || {
        let over = bench.log.iter().filter_map(|fact| match fact {
            Fact::StepEnded { message, .. } => Some(message.clone()),
            _ => None,
        });
        pick(over.collect())
    };
    let prompts = || {
        let known = bench.log.iter().filter_map(|fact| match fact {
            Fact::PromptAdmitted { posted, .. } => Some(posted.info.id.clone()),
            _ => None,
        });
        pick(known.collect())
    };
    let calls = || {
        let ended = bench.log.iter().filter_map(|fact| match fact {
            Fact::ToolEnded { part, .. } => Some(part.clone()),
            _ => None,
        });
        let ended: Vec<PartId> = ended.collect();
        some(ended.len()).map(|at| ended[at].clone())
    };
    let attempt = u32::from(which % 3);
    Some(match kind % 13 {
        0 => Input::Said { step: steps()?, attempt, said: text_started("late") },
        1 => Input::Said { step: steps()?, attempt, said: tool_call("c9", "bash") },
        2 => Input::Said { step: steps()?, attempt, said: finished(FinishReason::Stop) },
        3 => Input::Failed { step: steps()?, attempt, failure: overloaded() },
        4 => Input::Timer { step: steps()?, attempt },
        5 => Input::Settle { step: steps()? },
        6 => Input::Prepared { user: prompts()?, ready: Box::new(ready()) },
        7 => Input::NotPrepared { user: prompts()?, failure: refused() },
        8 => Input::Returned { part: calls()?, outcome: done("again") },
        9 => Input::Progressed { part: calls()?, title: None, metadata: None },
        10 => Input::Needs {
            part: calls()?,
            ask: permission_by(&format!("per_late{}", bench.log.len()), "ls", &[]),
        },
        11 => Input::Planned { part: calls()? },
        // An attempt of the step that is open, before the one that runs.
        _ => {
            let step = bench.state.open_step().filter(|step| step.attempt > 0)?;
            let attempt = step.attempt - 1;
            let step = step.message.clone();
            Input::Said { step, attempt, said: text_started("late") }
        }
    })
}

/// Plays a history. Effects that were asked for are remembered until a wish answers them.
fn play(wishes: &[Wish]) -> Bench {
    let mut bench = Bench::new();
    let mut pending = Vec::new();
    for wish in wishes {
        let Some(input) = input(&bench, wish, &mut pending) else { continue };
        if matches!(wish, Wish::Crash) {
            bench.crash();
            pending.clear();
        }
        bench.feed(input);
        pending.append(&mut bench.effects);
    }
    bench
}

/// Stops what runs; calls that do not end by themselves are settled.
fn abort(bench: &mut Bench) {
    bench.feed(Input::Abort);
    if let Some(step) = bench.state.open_step().map(|step| step.message.clone()) {
        bench.feed(Input::Settle { step });
    }
}

/// Answers everything that is open, well, until nothing is.
fn play_out(bench: &mut Bench) {
    for _ in 0..200 {
        let pending = std::mem::take(&mut bench.effects);
        if bench.state.is_idle() {
            return;
        }
        let Some(step) = bench.state.open_step() else {
            let subtask = pending.iter().find_map(|effect| match effect {
                Effect::PrepareSubtask { part, .. } => Some(part.clone()),
                _ => None,
            });
            if let Some(part) = subtask {
                bench.feed(subtask_ready(part, None));
                continue;
            }
            if let Some(input) = pending.iter().find_map(|effect| compaction_ready(bench, effect)) {
                bench.feed(input);
                continue;
            }
            let user = pending.iter().find_map(|effect| match effect {
                Effect::Prepare { user } => Some(user.clone()),
                _ => None,
            });
            let waiting = bench.state.waiting().last().cloned();
            let turn = bench.state.open_turn().and_then(|turn| turn.user.clone());
            let user = user.or(waiting).or(turn).expect("busy, and nobody is waited for");
            bench.feed(Input::Prepared { user, ready: Box::new(ready()) });
            continue;
        };
        if let Some(call) = step.calls.iter().find(|call| call.body.is_some()) {
            let part = call.part.clone();
            bench.feed(Input::Returned { part, outcome: done("ok") });
        } else if let Status::Retry { .. } = bench.state.status() {
            let attempt = step.attempt;
            let step = step.message.clone();
            bench.feed(Input::Timer { step, attempt });
        } else {
            if step.ready.kind.is_compaction() {
                bench.said(text_started("summary"));
                bench.said(text("summary", "A summary."));
            }
            bench.said(finished(FinishReason::Stop));
        }
    }
    panic!("the session does not come to rest");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Invariants I5 to I9.
    #[test]
    fn whatever_happens_the_log_keeps_its_promises(wishes in wishes(80)) {
        let bench = play(&wishes);
        if let Err(broken) = oracle::check(&bench.log) {
            return Err(TestCaseError::fail(broken.to_string()));
        }
    }

    /// Invariant I3: what is stored gives the state that is alive.
    #[test]
    fn replaying_the_log_gives_the_live_state(wishes in wishes(60)) {
        let bench = play(&wishes);
        let mut replayed = State::default();
        for fact in &bench.log {
            replayed.apply(fact);
        }
        prop_assert_eq!(replayed.machine_text(), bench.state.machine_text());
        prop_assert_eq!(replayed.info(), bench.state.info());
    }

    #[test]
    fn an_abort_ends_everything(wishes in wishes(60)) {
        let mut bench = play(&wishes);
        abort(&mut bench);
        prop_assert!(bench.state.is_idle());
        prop_assert!(bench.state.open_step().is_none());
    }

    /// Invariant I7 over a crash: nothing acknowledged is lost, nothing is started.
    #[test]
    fn a_restart_settles_keeps_who_waits_and_starts_nothing(wishes in wishes(60)) {
        let mut bench = play(&wishes);
        let waiting = bench.state.waiting().len();
        bench.crash();
        bench.feed(Input::Restarted);
        let waits = |step: &OpenStep| step.calls.iter().any(|call| !call.asks.is_empty());
        prop_assert!(bench.state.is_idle() || bench.state.open_step().is_some_and(waits));
        prop_assert_eq!(bench.state.waiting().len(), waiting);
        prop_assert!(bench.effects.is_empty());
        if let Err(broken) = oracle::check(&bench.log) {
            return Err(TestCaseError::fail(broken.to_string()));
        }
    }

    /// Invariant I8: with a model and tools that answer, every session comes to rest, and behind a
    /// normal end nobody waits.
    #[test]
    fn a_session_whose_world_answers_comes_to_rest(wishes in wishes(60)) {
        let mut bench = play(&wishes);
        abort(&mut bench);
        bench.feed(prompt("one more"));
        play_out(&mut bench);
        prop_assert!((bench.state.waiting().len() == 0));
    }

    #[test]
    fn news_for_a_removed_session_changes_nothing(wishes in wishes(40), after in prop::collection::vec(wish(), 0..10)) {
        let mut bench = play(&wishes);
        bench.feed(Input::Remove);
        let length = bench.log.len();
        let mut pending = Vec::new();
        for wish in &after {
            if let Some(input) = input(&bench, wish, &mut pending) {
                bench.feed(input);
            }
        }
        prop_assert_eq!(bench.log.len(), length);
    }

    /// Invariant I10: mail that waits becomes one commit, however it falls; the rows are the same.
    #[test]
    fn one_commit_of_many_decisions_leaves_the_rows_of_many_commits(wishes in wishes(60), size in 1..40_usize) {
        let bench = play(&wishes);
        let (one_by_one, state) = rows_of(&bench.log, 1);
        let (gathered, gathered_state) = rows_of(&bench.log, size);
        prop_assert_eq!(gathered, one_by_one);
        prop_assert_eq!(gathered_state.machine_text(), state.machine_text());
    }

    /// A reader that was away is shown each fact as it was shown live, to the byte: from the beginning, and from
    /// a keyframe anywhere.
    #[test]
    fn what_a_fact_showed_can_be_shown_again(wishes in wishes(60), from in any::<prop::sample::Index>()) {
        let bench = play(&wishes);
        let from = from.index(bench.log.len());
        let mut replay = Replay::from_start();
        let mut later: Option<Replay> = None;
        let mut state = State::default();
        for (place, (fact, (at, live))) in bench.log.iter().zip(&bench.shown).enumerate() {
            if place == from && state.info().is_some() {
                let keyframe = serde_json::to_string(&state.keyframe()).unwrap();
                later = Some(Replay::from_keyframe(&keyframe).unwrap());
            }
            let stored = Fact::parse(fact.kind(), &fact.data()).unwrap();
            let live = serde_json::to_string(live).unwrap();
            prop_assert_eq!(&serde_json::to_string(&replay.show(&stored, *at)).unwrap(), &live, "{}", fact.kind());
            if let Some(later) = &mut later {
                let again = serde_json::to_string(&later.show(&stored, *at)).unwrap();
                prop_assert_eq!(&again, &live, "{} after a keyframe", fact.kind());
            }
            state.apply(&stored);
        }
    }

    /// The numbers of v2 events are given when a fact is stored and counted again when it is read, from anywhere.
    #[test]
    fn a_fact_tells_as_many_durable_events_when_it_is_read_as_when_it_was_stored(
        wishes in wishes(60), from in any::<prop::sample::Index>()
    ) {
        let bench = play(&wishes);
        let from = from.index(bench.log.len());
        let mut replay = Replay::from_start();
        let mut state = State::default();
        for (place, (fact, (at, _))) in bench.log.iter().zip(&bench.shown).enumerate() {
            if place == from && state.info().is_some() {
                let keyframe = serde_json::to_string(&state.keyframe()).unwrap();
                replay = Replay::from_keyframe(&keyframe).unwrap();
            }
            let stored = fold(&mut state, [fact.clone()], place as u64, *at);
            let read = Fact::parse(fact.kind(), &fact.data()).unwrap();
            let told = replay.show_next(&read, *at).iter().filter(|event| event.is_durable).count() as u64;
            prop_assert_eq!(stored.entries[0].tells, told, "{}", fact.kind());
        }
    }

    /// Invariant I3 over a restart: what the rows give back is what the log leads to, after every entry.
    #[test]
    fn a_state_restored_from_rows_is_the_state_folded_from_the_log(wishes in wishes(60)) {
        let bench = play(&wishes);
        let mut folded = State::default();
        let mut rows = Stored::default();
        for (place, fact) in bench.log.iter().enumerate() {
            let stored = Fact::parse(fact.kind(), &fact.data()).unwrap();
            let mut folder = Folder::new(&folded, place as u64, place as u64);
            folder.push(&mut folded, stored, 0);
            rows.take(folder.finish(&folded).rows, fact);
            if folded.info().is_some() {
                prop_assert_eq!(&rows.restore(), &folded.without_edits(), "{}", fact.kind());
            }
        }
    }
}

/// What a store holds of one session.
#[derive(Default)]
struct Stored {
    session: Option<Session>,
    machine: String,
    messages: HashMap<MessageId, Message>,
    parts: HashMap<PartId, Part>,
}

impl Stored {
    fn take(&mut self, rows: Vec<RowWrite>, fact: &Fact) {
        for RowWrite { change, .. } in rows {
            match change {
                RowChange::Session(row) => {
                    self.session = Some(serde_json::from_str(&row.data).unwrap());
                    self.machine = row.machine;
                }
                RowChange::Machine { machine, .. } => self.machine = machine,
                RowChange::RemoveSession(_) => *self = Self::default(),
                RowChange::Message(row) => {
                    self.messages.insert(row.id, serde_json::from_str(&row.data).unwrap());
                }
                RowChange::PlaceMessage { id, .. } => assert!(self.messages.contains_key(&id)),
                RowChange::RemoveMessage(id) => {
                    self.messages.remove(&id);
                    self.parts.retain(|_, part| part.message_id != id);
                }
                RowChange::Part(row) => {
                    self.parts.insert(row.id, serde_json::from_str(&row.data).unwrap());
                }
                RowChange::RemovePart(id) => {
                    self.parts.remove(&id);
                }
                RowChange::Ask(_)
                | RowChange::RemoveAsk { .. }
                | RowChange::Approval(_)
                | RowChange::Keyframe { .. }
                | RowChange::Todos { .. } => {}
            }
        }
        if let Fact::TextGrew { part, delta } = fact {
            let grown = serde_json::to_string(&self.parts[part]).unwrap();
            let grown = sturdy_session::growth::add(&grown, delta).unwrap();
            self.parts.insert(part.clone(), serde_json::from_str(&grown).unwrap());
        }
    }

    fn restore(&self) -> State {
        let wanted = State::open_messages(&self.machine).unwrap();
        let step = wanted.step.iter().map(|id| MessageWithParts {
            info: self.messages[id].clone(),
            parts: self.parts.values().filter(|part| part.message_id == *id).cloned().collect(),
        });
        let prompt = |id| MessageWithParts { info: self.messages[id].clone(), parts: Vec::new() };
        let open = step.chain(wanted.prompts.iter().map(prompt)).collect();
        State::restore(self.session.clone().unwrap(), &self.machine, open).unwrap()
    }
}

/// What a store holds after these facts came in commits of this size: each row, and the growth behind it.
fn rows_of(log: &[Fact], size: usize) -> (BTreeMap<String, String>, State) {
    let mut state = State::default();
    let mut rows = BTreeMap::new();
    let mut growth = HashMap::new();
    for commit in log.chunks(size) {
        let folded = fold(&mut state, commit.iter().cloned(), 0, 0);
        for entry in &folded.entries {
            if let Fact::TextGrew { part, delta } = &entry.fact {
                growth.entry(part.to_string()).or_insert_with(String::new).push_str(delta);
            }
        }
        for RowWrite { change, .. } in folded.rows {
            match change {
                RowChange::Session(row) => {
                    rows.insert(format!("session {}", row.id), row.data);
                    rows.insert(format!("machine {}", row.id), row.machine);
                }
                RowChange::Machine { session, machine } => {
                    rows.insert(format!("machine {session}"), machine);
                }
                RowChange::Message(row) => {
                    rows.insert(format!("message {}", row.id), row.data);
                }
                RowChange::Part(row) => {
                    rows.insert(format!("part {} {}", row.message_id, row.id), row.data);
                }
                RowChange::Ask(row) => {
                    rows.insert(format!("ask {}", row.id), row.data);
                }
                RowChange::Todos { session, data } => {
                    rows.insert(format!("todos {session}"), data);
                }
                RowChange::Keyframe { .. } => {}
                RowChange::Approval(row) => {
                    rows.insert(format!("approval {}", row.id), row.pattern);
                }
                RowChange::RemoveSession(_) => rows.retain(|key, _| key.starts_with("approval ")),
                // Places depend on how long the log was; see queue_stories.rs for them.
                RowChange::PlaceMessage { .. } => {}
                RowChange::RemoveMessage(id) => rows.retain(|key, _| {
                    *key != format!("message {id}") && !key.starts_with(&format!("part {id} "))
                }),
                RowChange::RemovePart(id) => rows.retain(|key, _| !key.ends_with(&format!(" {id}"))),
                RowChange::RemoveAsk { id } => rows.retain(|key, _| *key != format!("ask {id}")),
            }
        }
    }
    rows.extend(growth.into_iter().map(|(part, text)| (format!("growth {part}"), text)));
    (rows, state)
}
