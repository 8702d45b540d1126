//! Each bound, with what happens when it is passed.

mod line;

use std::time::Duration;

use sturdy_capnweb::{
    Connection, Limits, Options, Value,
    batch::{self, Refused},
};

use crate::service::Service;

/// A session with one limit changed, fed with frames: how it ended.
fn ended_by(change: impl FnOnce(&mut Limits), frames: &[&str]) -> Option<String> {
    let mut limits = Limits::default();
    change(&mut limits);
    let mut connection = Connection::new(Some(Service::root()), Options::default().with_limits(limits));
    frames.iter().for_each(|frame| connection.receive(frame));
    connection.handle().ended().map(|ended| ended.reason.message())
}

#[test]
fn a_message_over_the_limit_ends_the_session() {
    let limits = Limits { message_bytes_max: 10, ..Limits::default() };
    let (said, connection) = said_after(limits, &["[\"push\",5]".to_owned(), "[\"push\",55]".to_owned()]);

    let ended = connection.handle().ended().expect("it ended");
    assert_eq!(ended.close_code, 3000);
    assert!(ended.close_reason.contains("maximum size of 10"), "{ended:?}");
    assert!(matches!(said.as_slice(), [abort] if abort.starts_with("[\"abort\",")), "{said:?}");
}

#[test]
fn brackets_over_the_limit_end_the_session_before_they_are_parsed() {
    let deep = format!("[\"push\",{}", "[".repeat(100_000));
    assert!(ended_by(|_| {}, &[&deep]).is_some_and(|reason| reason.contains("deeper than 530")));
}

#[test]
fn a_bigint_over_the_limit_ends_the_session() {
    let ended = ended_by(|limits| limits.bigint_digits_max = 3, &["[\"push\",[\"bigint\",\"-123\"]]"]);
    assert!(ended.is_some_and(|reason| reason.contains("3 digits")));
}

#[test]
fn a_full_table_ends_the_session_of_a_peer_that_fills_it() {
    assert_eq!(ended_by(|limits| limits.table_entries_max = 3, &["[\"push\",1]", "[\"push\",2]"]), None);
    let frames = ["[\"push\",1]", "[\"push\",2]", "[\"push\",3]"];
    assert!(
        ended_by(|limits| limits.table_entries_max = 3, &frames)
            .is_some_and(|reason| reason.contains("more than 3"))
    );
}

#[test]
fn a_full_table_refuses_our_own_call_and_the_session_lives() {
    let limits = Limits { table_entries_max: 3, ..Limits::default() };
    let connection = Connection::new(None, Options::default().with_limits(limits));
    let root = connection.remote();
    let first = root.call("a", []);
    let second = root.call("b", []);

    let refused = futures_util::FutureExt::now_or_never(root.call("c", []).into_future());

    assert!(refused.is_some_and(|outcome| outcome.is_err_and(|reason| reason.code() == Some("table_full"))));
    assert!(connection.handle().ended().is_none());
    drop((first, second));
}

#[test]
fn long_paths_and_large_maps_end_the_session() {
    let path = "[\"push\",[\"pipeline\",0,[\"a\",\"b\",\"c\"]]]";
    assert!(ended_by(|limits| limits.path_elements_max = 2, &[path]).is_some());
    let map = "[\"push\",[\"remap\",0,[],[[\"import\",0],[\"import\",0]],[1]]]";
    assert!(ended_by(|limits| limits.map_captures_max = 1, &[map]).is_some());
    let body = "[\"push\",[\"remap\",0,[],[],[1,2,3]]]";
    assert!(ended_by(|limits| limits.map_instructions_max = 2, &[body]).is_some());
}

#[tokio::test]
async fn a_map_with_too_many_evaluations_is_rejected_nested_ones_counted() {
    let limits = Limits { map_evaluations_max: 20, ..Limits::default() };
    let mut connection = Connection::new(Some(Service::root()), Options::default().with_limits(limits));
    connection.receive("[\"push\",[[[[1,2,3,4,5,6]],[[1,2,3,4,5,6]],[[1,2,3,4,5,6]]]]]");
    connection.receive("[\"push\",[\"remap\",1,[],[],[[\"remap\",0,[],[],[1,2]],[\"pipeline\",1]]]]");
    connection.receive("[\"pull\",2]");

    let mut said = Vec::new();
    while let Some(Some(text)) = futures_util::FutureExt::now_or_never(connection.message()) {
        said.push(text);
    }

    assert!(said.iter().any(|text| text.contains("map_too_large")), "{said:?}");
    assert!(connection.handle().ended().is_none());
}

#[test]
fn results_that_are_kept_are_bounded_in_bytes() {
    let large = format!("[\"push\",\"{}\"]", "x".repeat(400));
    let copy = "[\"push\",[\"pipeline\",0,[\"echo\"],[[\"pipeline\",1]]]]";
    let ended = ended_by(|limits| limits.retained_bytes_max = 1000, &[&large, copy, copy]);
    assert!(ended.is_some_and(|reason| reason.contains("more than 1000 bytes")));
    let released = [large.as_str(), "[\"release\",1,1]", &large, "[\"release\",2,1]", &large];
    assert_eq!(ended_by(|limits| limits.retained_bytes_max = 1000, &released), None);
}

#[test]
fn a_result_that_another_keeps_still_counts() {
    let large = format!("[\"push\",\"{}\"]", "x".repeat(400));
    let mut frames = Vec::new();
    for round in 0..4 {
        let id = round * 2 + 1;
        frames.extend([
            large.clone(),
            format!("[\"push\",{{\"x\":[\"pipeline\",{id}]}}]"),
            format!("[\"release\",{id},1]"),
        ]);
    }
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    assert!(ended_by(|limits| limits.retained_bytes_max = 1000, &frames).is_some());
}

#[test]
fn a_chain_of_results_is_dropped_on_a_small_stack() {
    let mut connection = Connection::new(Some(Service::root()), Options::default());
    connection.receive("[\"push\",{\"x\":1}]");
    let last = 15_000;
    for id in 2..=last {
        connection.receive(&format!("[\"push\",{{\"x\":[\"pipeline\",{}]}}]", id - 1));
        connection.receive(&format!("[\"release\",{},1]", id - 1));
    }
    // Filling it all in would be as deep as the chain is long: refused, not attempted.
    connection.receive(&format!("[\"push\",[\"pipeline\",0,[\"echo\"],[[\"pipeline\",{last}]]]]"));
    connection.receive(&format!("[\"pull\",{}]", last + 1));
    let answer = futures_util::FutureExt::now_or_never(connection.message()).flatten();
    assert!(answer.is_some_and(|text| text.contains("too_deep")));

    connection.receive(&format!("[\"release\",{last},1]"));
    connection.receive(&format!("[\"release\",{},1]", last + 1));

    assert_eq!(connection.handle().stats().exports, 1);
}

#[test]
fn values_do_not_grow_deeper_call_by_call() {
    let mut connection = Connection::new(Some(Service::root()), Options::default());
    connection.receive("[\"push\",1]");
    for id in 1..=2000 {
        let open = "[[".repeat(200);
        let close = "]]".repeat(200);
        connection
            .receive(&format!("[\"push\",[\"pipeline\",0,[\"echo\"],[{open}[\"pipeline\",{id}]{close}]]]"));
    }
    connection.receive("[\"pull\",2001]");
    let answer = futures_util::FutureExt::now_or_never(connection.message()).flatten();
    assert!(answer.is_some_and(|text| text.contains("too_deep")));
    assert!(connection.handle().ended().is_none());
}

#[test]
fn one_message_cannot_ask_for_answers_without_end() {
    let large = format!("[\"push\",[[{}]]]", vec!["1"; 50].join(","));
    let capture = "[\"push\",[\"remap\",1,[],[[\"import\",2]],[[\"pipeline\",-1]]]]";
    let text = format!("[\"push\",\"{}\"]", "x".repeat(1000));
    let frames = [large.as_str(), &text, capture, "[\"pull\",3]"];
    let ended = ended_by(|limits| limits.outbox_bytes_max = 2000, &frames);
    assert_eq!(ended.as_deref(), Some("the peer asked for more than it reads"));
}

#[test]
fn too_many_pipes_end_the_session() {
    let ended = ended_by(|limits| limits.pipes_max = 2, &["[\"pipe\"]", "[\"pipe\"]", "[\"pipe\"]"]);
    assert!(ended.is_some_and(|reason| reason.contains("more than 2 pipes")));
}

/// What a session says after these frames, without waiting for anything.
fn said_after(limits: Limits, frames: &[String]) -> (Vec<String>, Connection) {
    let mut connection = Connection::new(Some(Service::root()), Options::default().with_limits(limits));
    frames.iter().for_each(|frame| connection.receive(frame));
    let mut said = Vec::new();
    while let Some(Some(text)) = futures_util::FutureExt::now_or_never(connection.message()) {
        said.push(text);
    }
    (said, connection)
}

/// A write of so many letters into a pipe.
fn write(pipe: usize, letters: usize) -> String {
    format!("[\"stream\",[\"pipeline\",{pipe},[\"write\"],[\"{}\"]]]", "x".repeat(letters))
}

#[test]
fn writes_into_a_full_pipe_are_rejected() {
    let limits = Limits { pipe_bytes_max: 100, ..Limits::default() };
    let frames = ["[\"pipe\"]".to_owned(), write(1, 60), write(1, 60)];

    let (said, connection) = said_after(limits, &frames);

    // The first write waits for a reader; the second found no room.
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("[\"reject\",3,") && said[0].contains("pipe_full"), "{said:?}");
    assert!(!connection.has_ended());
}

#[test]
fn the_pipes_of_a_session_are_bounded_together() {
    let limits = Limits { pipe_bytes_max: 1000, session_pipe_bytes_max: 200, ..Limits::default() };
    let pipe = "[\"pipe\"]".to_owned();
    let full = [pipe.clone(), pipe, write(1, 100), write(2, 100)];
    // What is read, or let go with its pipe, makes room again.
    let again = [full.as_slice(), &["[\"release\",1,1]".to_owned(), write(2, 100)]].concat();

    let (refused, connection) = said_after(limits.clone(), &full);
    let (let_go, _) = said_after(limits, &again);

    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("[\"reject\",4,") && refused[0].contains("pipe_full"), "{refused:?}");
    assert!(!connection.has_ended());
    assert!(!let_go.iter().any(|text| text.starts_with("[\"reject\",5,")), "{let_go:?}");
}

#[test]
fn a_blob_over_the_limit_fails_the_call_it_was_for() {
    let blob = |bytes: &str| {
        vec![
            "[\"pipe\"]".to_owned(),
            "[\"push\",[\"pipeline\",0,[\"blobInfo\"],[[\"blob\",\"text/plain\",[\"readable\",1]]]]]"
                .to_owned(),
            "[\"pull\",2]".to_owned(),
            format!("[\"stream\",[\"pipeline\",1,[\"write\"],[[\"bytes\",\"{bytes}\"]]]]"),
            "[\"stream\",[\"pipeline\",1,[\"close\"],[]]]".to_owned(),
        ]
    };
    let limits = Limits { blob_bytes_max: 3, ..Limits::default() };

    let (fits, _) = said_after(limits.clone(), &blob("YWJj"));
    let (refused, connection) = said_after(limits, &blob("YWJjZA"));

    assert!(fits.iter().any(|text| text.starts_with("[\"resolve\",2,") && text.contains("abc")), "{fits:?}");
    let wanted = |text: &String| text.starts_with("[\"reject\",2,") && text.contains("blob_too_large");
    assert!(refused.iter().any(wanted), "{refused:?}");
    assert!(!connection.has_ended());
}

#[test]
fn a_session_whose_answers_are_not_read_wants_no_more() {
    let limits = Limits { outbox_bytes_max: 1000, ..Limits::default() };
    let mut connection = Connection::new(Some(Service::root()), Options::default().with_limits(limits));
    let ask = |connection: &mut Connection, id: usize| {
        connection.receive(&format!("[\"push\",\"{}\"]", "x".repeat(400)));
        connection.receive(&format!("[\"pull\",{id}]"));
    };
    ask(&mut connection, 1);
    ask(&mut connection, 2);
    assert!(connection.wants_input());
    ask(&mut connection, 3);
    assert!(!connection.wants_input());

    let read = futures_util::FutureExt::now_or_never(connection.message()).flatten();

    assert!(read.is_some_and(|text| text.starts_with("[\"resolve\",1,")));
    assert!(connection.wants_input());
}

#[test]
fn the_defaults_are_those_of_the_protocol_document() {
    const MIB: usize = 1 << 20;
    let Limits {
        message_bytes_max,
        depth_max,
        bracket_depth_max,
        bigint_digits_max,
        table_entries_max,
        running_calls_max,
        path_elements_max,
        map_captures_max,
        map_instructions_max,
        map_evaluations_max,
        pipes_max,
        pipe_bytes_max,
        session_pipe_bytes_max,
        blob_bytes_max,
        batch_bytes_max,
        batch_messages_max,
        batch_deadline,
        ping_every,
        silence_max,
        // Ours alone.
        retained_bytes_max: _,
        outbox_bytes_max: _,
    } = Limits::default();

    assert_eq!((message_bytes_max, batch_bytes_max, batch_messages_max), (32 * MIB, 32 * MIB, 10_000));
    assert_eq!((depth_max, bracket_depth_max, bigint_digits_max), (256, 530, 16_384));
    assert_eq!((table_entries_max, running_calls_max, path_elements_max), (20_000, 1024, 64));
    assert_eq!((map_captures_max, map_instructions_max, map_evaluations_max), (256, 1024, 100_000));
    assert_eq!((pipes_max, pipe_bytes_max, session_pipe_bytes_max), (64, 16 * MIB, 64 * MIB));
    assert_eq!(blob_bytes_max, 64 * MIB);
    let seconds = [batch_deadline, ping_every, silence_max].map(|time| time.as_secs());
    assert_eq!(seconds, [30, 30, 90]);
}

#[tokio::test(start_paused = true)]
async fn a_session_with_too_many_running_calls_wants_no_more() {
    let limits = Limits { running_calls_max: 2, ..Limits::default() };
    let mut connection = Connection::new(Some(Service::root()), Options::default().with_limits(limits));
    connection.receive("[\"push\",[\"pipeline\",0,[\"slow\"],[1000]]]");
    assert!(connection.wants_input());
    connection.receive("[\"push\",[\"pipeline\",0,[\"slow\"],[1000]]]");
    assert!(!connection.wants_input());

    let _ = tokio::time::timeout(Duration::from_secs(2), connection.message()).await;

    assert!(connection.wants_input());
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_bounded_in_bytes_messages_and_time() {
    let limits = Limits { batch_bytes_max: 200, batch_messages_max: 3, ..Limits::default() };
    let options = Options::default().with_limits(limits);
    let serve = |body: String| batch::serve(Service::root(), body.leak().as_bytes(), options.clone());

    assert_eq!(serve("x".repeat(201)).await, Err(Refused::TooLarge));
    assert_eq!(serve("1\n2\n3\n4".to_owned()).await, Err(Refused::TooMany));
    assert_eq!(batch::serve(Service::root(), &[0xff], options.clone()).await, Err(Refused::NotText));

    let slow = "[\"push\",[\"pipeline\",0,[\"slow\"],[60000]]]\n[\"push\",5]\n[\"pull\",1]".to_owned();
    let answer = String::from_utf8(serve(slow).await.expect("admitted")).expect("text");
    assert!(answer.starts_with("[\"reject\",1") && answer.contains("batch_deadline"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_with_more_calls_than_may_run_at_once_is_served_in_turns() {
    let limits = Limits { running_calls_max: 2, ..Limits::default() };
    let lines: Vec<String> = (1..=9)
        .flat_map(|id| {
            ["[\"push\",[\"pipeline\",0,[\"slow\"],[10,1]]]".to_owned(), format!("[\"pull\",{id}]")]
        })
        .collect();

    let answer =
        batch::serve(Service::root(), lines.join("\n").as_bytes(), Options::default().with_limits(limits))
            .await;

    assert_eq!(answer.map(|body| body.split(|byte| *byte == b'\n').count()), Ok(9));
}

#[test]
fn a_lone_surrogate_is_counted() {
    let mut connection = Connection::new(Some(Service::root()), Options::default());
    connection.receive("[\"push\",\"\\ud800 \\ud83d\\ude00 \\udc00\"]");
    assert_eq!(connection.handle().stats().replaced_surrogates, 2);
    assert_eq!(sturdy_capnweb::codec::decode("\"\\ud800x\""), Ok(Value::from("\u{fffd}x")));
}
