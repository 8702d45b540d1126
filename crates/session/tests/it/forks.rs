//! Copies of a conversation: fresh ids, the same words, nothing open.

use crate::bench::*;
use serde_json::json;
use std::collections::HashSet;
use sturdy_session::fact::Fact;
use sturdy_session::fork::{Copied, Copier, usage_of};
use sturdy_session::id::SessionId;
use sturdy_session::oracle;
use sturdy_session::rows::fold;
use sturdy_session::stamp::Stamp;
use sturdy_session::talk::FinishReason;
use sturdy_session::turn::{Input, Refusal, SessionPatch, State, decide};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::part::{CompactionPart, PartBody};
use sturdy_session::types::tool::ToolState;

/// The messages of a bench, from its rows.
fn messages(bench: &Bench) -> Vec<MessageWithParts> {
    use sturdy_session::row::RowChange;
    let folded = fold(&mut State::default(), bench.log.iter().cloned(), 0, 0);
    let mut messages: Vec<MessageWithParts> = Vec::new();
    for write in folded.rows {
        match write.change {
            RowChange::Message(row) => {
                messages.push(MessageWithParts {
                    info: serde_json::from_str(&row.data).unwrap(),
                    parts: Vec::new(),
                });
            }
            RowChange::Part(row) => {
                let owner = messages.iter_mut().find(|message| *message.info.id() == row.message_id);
                owner.unwrap().parts.push(serde_json::from_str(&row.data).unwrap());
            }
            _ => {}
        }
    }
    messages
}

fn target() -> SessionId {
    SessionId::parse("ses_copy").unwrap()
}

/// All of them, copied at this time.
fn copy(messages: Vec<MessageWithParts>, now: u64) -> Vec<Copied> {
    let ids: Vec<_> = messages.iter().map(|message| message.info.id().clone()).collect();
    let mut copier = Copier::new(&ids, target(), Stamp::fixed(now));
    messages.into_iter().map(|message| copier.copy(message)).collect()
}

#[test]
fn a_copy_has_fresh_ids_and_answers_point_at_copied_questions() {
    let mut bench = Bench::talking();
    bench.said(text_started("t"));
    bench.said(text("t", "Hello"));
    bench.said(finished(FinishReason::Stop));
    let originals = messages(&bench);

    let copies = copy(originals.clone(), START + 50_000);

    assert_eq!(copies.len(), 2);
    let Message::Assistant(answer) = &copies[1].info else { panic!("not an answer") };
    assert_eq!(answer.parent_id, *copies[0].info.id());
    assert_eq!((copies[1].cost.0, copies[1].tokens.input.0), (0.000114, 100.0));
    let old: HashSet<String> = originals.iter().map(|message| message.info.id().to_string()).collect();
    for copied in &copies {
        assert!(!old.contains(copied.info.id().as_str()));
        assert_eq!(*copied.info.session_id(), target());
        assert!(
            copied
                .parts
                .iter()
                .all(|part| part.session_id == target() && part.message_id == *copied.info.id())
        );
    }
    assert_eq!(copies[0].info.created(), originals[0].info.created());
}

#[test]
fn an_answer_outside_the_copy_keeps_its_parent_and_a_tail_outside_is_dropped() {
    let mut bench = Bench::talking();
    bench.said(finished(FinishReason::Stop));
    let mut originals = messages(&bench);
    let question = originals[0].info.id().clone();
    let mut request = originals[0].clone();
    request.parts[0].body = PartBody::Compaction(CompactionPart {
        auto: false,
        overflow: None,
        tail_start_id: Some(question.clone()),
    });
    originals.remove(0);

    let copies = copy([originals, vec![request]].concat(), START);

    let Message::Assistant(answer) = &copies[0].info else { panic!("not an answer") };
    // The request above carries the question's id, so its copy is what both point at.
    assert_eq!(answer.parent_id, *copies[1].info.id());
    let PartBody::Compaction(compaction) = &copies[1].parts[0].body else { panic!("not a compaction") };
    assert_eq!(compaction.tail_start_id.as_ref(), Some(copies[1].info.id()));

    let alone = copy(vec![messages(&bench).remove(1)], START);
    let Message::Assistant(answer) = &alone[0].info else { panic!("not an answer") };
    assert_eq!(answer.parent_id, question);
}

#[test]
fn what_was_open_is_closed_in_the_copy() {
    let mut bench = Bench::talking();
    bench.said(text_started("t"));
    bench.said(text("t", "Hel"));
    bench.said(tool_call("c1", "bash"));
    let part = bench.call();
    let metadata = json!({ "output": "so far" }).as_object().cloned();
    bench.feed(Input::Progressed { part, title: None, metadata });

    let copies = copy(messages(&bench), START + 50_000);

    let Message::Assistant(answer) = &copies[1].info else { panic!("not an answer") };
    assert!(answer.time.completed.is_some() && answer.error.as_ref().is_some_and(Failure::is_aborted));
    let call = copies[1].parts.iter().find_map(|part| match &part.body {
        PartBody::Tool(tool) => Some(&tool.state),
        _ => None,
    });
    let Some(ToolState::Error { metadata: Some(metadata), .. }) = call else { panic!("{call:?}") };
    assert_eq!(metadata["output"], "so far");
    assert_eq!(metadata["interrupted"], true);
}

#[test]
fn a_session_of_copies_counts_what_they_used() {
    let mut bench = Bench::talking();
    bench.said(finished(FinishReason::Stop));
    let copies = copy(messages(&bench), START);
    let mut other = Bench::new();

    for copied in copies {
        other.feed(Input::CopyMessage(Box::new(copied)));
    }

    let info = other.state.info().unwrap();
    assert_eq!((info.cost.0, info.tokens.input.0), (0.000114, 100.0));
    assert!(other.state.is_at_rest());
    let bodies: Vec<PartBody> =
        messages(&other).into_iter().flat_map(|message| message.parts).map(|part| part.body).collect();
    assert_eq!(usage_of(&bodies).0.0, 0.000114);
}

#[test]
fn a_copy_that_takes_several_commits_is_removed_by_a_restart_and_counts_once_it_is_finished() {
    let mut bench = Bench::talking();
    bench.said(finished(FinishReason::Stop));
    let copies = copy(messages(&bench), START);
    let mut other = Bench::new();
    other.feed(Input::StartCopy);
    for copied in copies {
        other.feed(Input::CopyMessage(Box::new(copied)));
    }

    let meanwhile = decide(&other.state, Input::Edit(SessionPatch::default()), &mut Stamp::fixed(START));
    let died = decide(&other.state, Input::Restarted, &mut Stamp::fixed(START));

    assert_eq!(meanwhile.refusal, Some(Refusal::Busy));
    assert!(matches!(died.facts[..], [Fact::SessionRemoved { .. }]), "{died:?}");
    assert!(!other.state.is_idle() && !other.state.machine_text().is_empty());
    other.feed(Input::FinishCopy);
    assert!(other.state.is_at_rest());
    assert_eq!(decide(&other.state, Input::Restarted, &mut Stamp::fixed(START)).facts, []);
    oracle::check(&other.log).unwrap();
}

#[test]
fn nothing_but_the_copy_is_said_before_it_is_finished() {
    let mut log = Bench::new().log;
    log.push(Fact::CopyStarted);
    log.push(Fact::TodoSet { todos: Vec::new() });

    let broken = oracle::check(&log).unwrap_err();

    assert_eq!(broken.what, "it comes before the copy is finished");
}
