//! Which messages a model sees, which are the latest, and which outputs may be pruned.

use crate::sample::{assistant, completed, names, request, summary, text, tool, user};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use sturdy_session::prompt::history::{Gather, TaskKind, drop_failed_compactions, latest, visible};
use sturdy_session::prompt::prune::prunable;
use sturdy_session::prompt::reminders::{last_step, remind, reminder, structured_output};
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::PartBody;

fn seen(messages: &[MessageWithParts]) -> String {
    names(&visible(messages.iter().rev().cloned()))
}

fn turn(number: u64) -> [MessageWithParts; 2] {
    let user_name = format!("u{number}");
    let answer = format!("a{number}");
    [
        user(&user_name, number * 10, vec![text("do it")]),
        assistant(&answer, &user_name, number * 10 + 1, json!({}), vec![text("done")]),
    ]
}

#[test]
fn without_a_compaction_everything_is_seen_oldest_first() {
    let messages = [turn(1), turn(2)].concat();

    assert_eq!(seen(&messages), "u1 a1 u2 a2");
}

#[test]
fn nothing_before_a_complete_compaction_is_read() {
    let mut messages = turn(1).to_vec();
    messages.extend([request("c", 20, None), summary("s", "c", 21)]);
    messages.extend(turn(3));
    let mut read = 0;

    let history = visible(messages.iter().rev().cloned().inspect(|_| read += 1));

    assert_eq!(names(&history), "c s u3 a3");
    assert_eq!(read, 4);
}

#[test]
fn a_kept_tail_stands_behind_the_summary() {
    let mut messages = [turn(1), turn(2), turn(3)].concat();
    messages.extend([request("c", 40, Some("a1")), summary("s", "c", 41)]);
    messages.extend(turn(5));

    assert_eq!(seen(&messages), "c s a1 u2 a2 u3 a3 u5 a5");
}

#[test]
fn reading_stops_at_the_start_of_the_tail() {
    let mut messages = [turn(1), turn(2), turn(3)].concat();
    messages.extend([request("c", 40, Some("u3")), summary("s", "c", 41)]);
    let mut gather = Gather::default();

    let flows: Vec<bool> =
        messages.iter().rev().take(4).map(|message| gather.push(message.clone()).is_break()).collect();

    assert_eq!(flows, [false, false, false, true]);
    assert_eq!(names(&gather.finish()), "c s u3 a3");
}

#[test]
fn a_tail_that_starts_at_the_request_itself_is_no_tail() {
    let mut messages = turn(1).to_vec();
    messages.extend([request("c", 20, Some("c")), summary("s", "c", 21)]);

    assert_eq!(seen(&messages), "c s");
}

#[test]
fn a_failed_unfinished_or_missing_summary_hides_nothing() {
    let error = json!({ "name": "MessageAbortedError", "data": { "message": "Aborted" } });
    let failed = assistant("s", "c", 21, json!({ "summary": true, "error": error }), vec![]);
    let unfinished = assistant("s", "c", 21, json!({ "summary": true, "finish": null }), vec![]);
    let ordinary = assistant("s", "c", 21, json!({}), vec![]);

    for answer in [failed, unfinished, ordinary] {
        let mut messages = turn(1).to_vec();
        messages.extend([request("c", 20, None), answer]);
        assert_eq!(seen(&messages), "u1 a1 c s");
    }
}

#[test]
fn a_pending_request_after_a_complete_one_leaves_the_older_boundary_in_force() {
    let mut messages = turn(1).to_vec();
    messages.extend([request("c", 20, None), summary("s", "c", 21)]);
    messages.extend(turn(3));
    messages.push(request("d", 40, None));

    assert_eq!(seen(&messages), "c s u3 a3 d");
}

#[test]
fn a_tail_whose_first_message_is_gone_is_no_tail() {
    let mut messages = turn(1).to_vec();
    messages.extend([request("c", 20, Some("removed")), summary("s", "c", 21)]);

    // Was: the compaction was undone by it, and the model saw more than fits.
    assert_eq!(seen(&messages), "c s");
}

#[test]
fn what_came_in_during_a_compaction_stands_behind_the_summary() {
    for (tail, expected) in [(None, "c s u4"), (Some("a1"), "c s a1 u4")] {
        let mut messages = turn(1).to_vec();
        messages.extend([request("c", 20, tail), user("u4", 21, vec![text("and this")])]);
        messages.push(summary("s", "c", 22));

        assert_eq!(seen(&messages), expected);
    }
}

#[test]
fn a_model_is_not_told_of_compactions_that_came_to_nothing() {
    let error = json!({ "name": "MessageAbortedError", "data": { "message": "Aborted" } });
    let mut messages = turn(1).to_vec();
    messages.extend([request("c", 20, None), summary("s", "c", 21), request("d", 22, None)]);
    messages.push(assistant("t", "d", 23, json!({ "summary": true, "error": error }), vec![]));
    let mut history = visible(messages.iter().rev().cloned());

    drop_failed_compactions(&mut history);

    assert_eq!(names(&history), "c s");
}

#[test]
fn a_second_compaction_replaces_the_first_with_its_tail() {
    let mut messages = [turn(1), turn(2)].concat();
    messages.extend([request("c", 30, Some("u2")), summary("s", "c", 31)]);
    messages.extend(turn(4));
    messages.extend([request("d", 50, Some("u4")), summary("t", "d", 51)]);

    assert_eq!(seen(&messages), "d t u4 a4");
}

#[test]
fn the_latest_are_found_by_time_and_not_by_place() {
    let mut messages = [turn(1), turn(2)].concat();
    messages.extend([request("c", 30, Some("u2")), summary("s", "c", 31)]);
    let history = visible(messages.into_iter().rev());
    assert_eq!(names(&history), "c s u2 a2");

    let latest = latest(&history);

    assert_eq!(latest.user.unwrap().info.id.as_str(), "msg_c");
    assert_eq!(latest.assistant.unwrap().info.id.as_str(), "msg_s");
    assert_eq!(latest.finished.unwrap().info.id.as_str(), "msg_s");
    assert!(latest.tasks.is_empty());
}

#[test]
fn of_two_messages_of_the_same_time_the_larger_id_is_later() {
    let messages = [user("b", 5, vec![text("second")]), user("a", 5, vec![text("first")])];

    assert_eq!(latest(&messages).user.unwrap().info.id.as_str(), "msg_b");
}

#[test]
fn tasks_are_what_was_asked_since_the_last_finished_answer() {
    let subtask = json!({ "type": "subtask", "prompt": "p", "description": "d", "agent": "general" });
    let mut messages = vec![user("old", 1, vec![subtask.clone()])];
    messages.extend(turn(1));
    messages.push(user("x", 20, vec![text("and"), subtask]));
    messages.push(assistant("open", "x", 21, json!({ "finish": null }), vec![]));
    messages.push(request("c", 22, None));

    let latest = latest(&messages);

    assert_eq!(latest.finished.unwrap().info.id.as_str(), "msg_a1");
    assert_eq!(latest.assistant.unwrap().info.id.as_str(), "msg_open");
    let places: Vec<&str> = latest.tasks.iter().map(|task| task.part.id.as_str()).collect();
    assert_eq!(places, ["prt_x_1", "prt_c_0"]);
    assert!(matches!(latest.tasks[0].kind, TaskKind::Subtask(part) if part.agent == "general"));
    assert!(matches!(latest.tasks[1].kind, TaskKind::Compaction(part) if part.auto));
}

#[test]
fn a_prompt_is_answered_by_a_final_finish_without_calls_of_ours() {
    let interrupted = json!({
        "status": "error", "input": {}, "error": "x", "metadata": { "interrupted": true },
        "time": { "start": 1, "end": 2 },
    });
    let mut provided = completed("c2", "search", "found");
    provided["metadata"] = json!({ "providerExecuted": true });
    let answered = |extra, parts| {
        latest(&[user("u", 1, vec![text("?")]), assistant("a", "u", 2, extra, parts)]).is_answered()
    };

    assert!(answered(json!({}), vec![text("!")]));
    assert!(answered(json!({ "finish": "length" }), vec![]));
    assert!(answered(json!({}), vec![tool("c1", "bash", interrupted), provided]));
    assert!(!answered(json!({}), vec![completed("c1", "bash", "out")]));
    assert!(!answered(json!({ "finish": "tool-calls" }), vec![]));
    assert!(!answered(json!({ "finish": "unknown" }), vec![]));
    assert!(!answered(json!({ "finish": null }), vec![]));
    assert!(!answered(json!({ "parentID": "msg_other" }), vec![]));
    assert!(!latest(&[]).is_answered());
}

/// `tokens` tokens of output.
fn output(call: &str, name: &str, tokens: usize) -> serde_json::Value {
    completed(call, name, &"1234".repeat(tokens))
}

fn working(name: &str, at: u64, tokens: &[usize]) -> Vec<MessageWithParts> {
    let user_name = format!("u{name}");
    let parts = tokens.iter().enumerate().map(|(at, tokens)| output(&format!("c{at}"), "bash", *tokens));
    vec![
        user(&user_name, at, vec![text("go")]),
        assistant(&format!("a{name}"), &user_name, at + 1, json!({}), parts.collect()),
    ]
}

fn pruned(messages: &[MessageWithParts]) -> Vec<String> {
    prunable(messages.iter().rev()).iter().map(ToString::to_string).collect()
}

#[test]
fn outputs_beyond_the_protected_ones_are_pruned_if_they_are_many() {
    let work = [
        working("1", 1, &[15_000, 5001, 30_000, 10_000]),
        working("2", 10, &[90_000]),
        working("3", 20, &[]),
    ];

    assert_eq!(pruned(&work.concat()), ["prt_a1_1", "prt_a1_0"]);
}

#[test]
fn too_little_to_prune_is_not_pruned() {
    let work = [working("1", 1, &[20_000, 40_000]), working("2", 10, &[]), working("3", 20, &[])];

    assert!(pruned(&work.concat()).is_empty());
}

#[test]
fn pruning_spares_skills_and_does_not_count_them() {
    let mut work =
        [working("1", 1, &[30_000, 40_000]), working("2", 10, &[]), working("3", 20, &[])].concat();
    let PartBody::Tool(tool) = &mut work[1].parts[1].body else { panic!() };
    tool.tool = "skill".to_owned();

    assert!(pruned(&work).is_empty());
}

#[test]
fn pruning_stops_at_what_was_pruned_before_and_at_a_summary() {
    let mut done = working("1", 1, &[30_000, 1, 50_000]);
    let marked = json!({
        "status": "completed", "input": {}, "output": "x", "title": "", "metadata": {},
        "time": { "start": 1, "end": 2, "compacted": 3 },
    });
    let marked = assistant("m", "u1", 3, json!({}), vec![tool("c", "bash", marked)]);
    let recent = [working("2", 10, &[]), working("3", 20, &[])].concat();
    assert_eq!(pruned(&[done.clone(), recent.clone()].concat()).len(), 3);

    done.push(marked);
    assert!(pruned(&[done.clone(), recent.clone()].concat()).is_empty());

    done.pop();
    done.push(summary("s", "c", 5));
    assert!(pruned(&[done, recent].concat()).is_empty());
}

#[test]
fn the_plan_agent_is_reminded_and_build_only_after_a_plan() {
    let mut history = turn(1).to_vec();
    assert_eq!(reminder(&history, "build"), None);
    assert_eq!(reminder(&history, "general"), None);
    assert!(reminder(&history, "plan").unwrap().contains("change nothing"));

    history.push(assistant("p", "u1", 12, json!({ "agent": "plan" }), vec![text("a plan")]));
    assert!(reminder(&history, "build").unwrap().contains("build mode now"));
}

#[test]
fn a_reminder_is_added_to_the_newest_user_message_only() {
    let messages = [turn(2), turn(1)].concat();
    let mut history: Vec<Arc<MessageWithParts>> = messages.into_iter().map(Arc::new).collect();

    remind(&mut history, "plan");

    let counts: Vec<usize> = history.iter().map(|message| message.parts.len()).collect();
    assert_eq!(counts, [2, 1, 1, 1]);
    let PartBody::Text(added) = &history[0].parts[1].body else { panic!() };
    assert_eq!(added.synthetic, Some(true));
    assert!(added.text.starts_with("<system-reminder>"));
}

#[test]
fn the_last_step_and_the_structured_answer_have_their_words() {
    assert!(last_step().contains("tools are no longer available"));
    assert!(structured_output().contains("StructuredOutput"));
}

fn any_history() -> impl Strategy<Value = Vec<MessageWithParts>> {
    prop::collection::vec((0..6_u8, any::<prop::sample::Index>()), 0..30).prop_map(|kinds| {
        let mut messages: Vec<MessageWithParts> = Vec::new();
        for (at, (kind, pick)) in kinds.into_iter().enumerate() {
            let name = format!("m{at:02}");
            let time = at as u64;
            let other = if messages.is_empty() {
                "m00".to_owned()
            } else {
                pick.get(&messages).info.id().as_str()[4..].to_owned()
            };
            messages.push(match kind {
                0 => user(&name, time, vec![text("x")]),
                1 => assistant(&name, &other, time, json!({}), vec![text("y")]),
                2 => request(&name, time, None),
                3 => request(&name, time, Some(&other)),
                4 => summary(&name, &other, time),
                _ => assistant(&name, &other, time, json!({ "summary": true, "finish": null }), vec![]),
            });
        }
        messages
    })
}

proptest! {
    /// Reordering loses and repeats nothing: what is seen is a newest piece of what there is.
    #[test]
    fn what_is_seen_is_a_newest_piece_of_the_session(messages in any_history()) {
        let seen = visible(messages.iter().rev().cloned());

        let mut ids: Vec<_> = seen.iter().map(|message| message.info.id().clone()).collect();
        ids.sort();
        let piece: Vec<_> =
            messages[messages.len() - seen.len()..].iter().map(|message| message.info.id().clone()).collect();
        prop_assert_eq!(ids, piece);
    }

    /// The latest do not depend on the order they are given in.
    #[test]
    fn the_latest_are_the_same_in_any_order(messages in any_history().prop_shuffle()) {
        let mut sorted = messages.clone();
        sorted.sort_by_key(|message| message.info.created());

        let one = latest(&messages);
        let other = latest(&sorted);

        prop_assert_eq!(one.user.map(|entry| &entry.info.id), other.user.map(|entry| &entry.info.id));
        prop_assert_eq!(one.finished.map(|entry| &entry.info.id), other.finished.map(|entry| &entry.info.id));
        let ids = |tasks: &[sturdy_session::prompt::history::Task<'_>]| {
            tasks.iter().map(|task| task.part.id.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(ids(&one.tasks), ids(&other.tasks));
        prop_assert_eq!(one.is_answered(), other.is_answered());
    }
}
