//! Our client, fed with the frames a server sent.
//!
//! `scripts` does in Rust what the recorded JavaScript did. What it sends is compared with
//! what the npm client sent.

use std::time::Duration;

use sturdy_capnweb::{Connection, ErrorValue, Options, Thrown};

use super::{
    Frame, Vector, all, scripts,
    server::{normal, same},
};

/// Where we differ on purpose: the name, why, and what we send instead.
const OURS: [(&str, &str, &[&str]); 3] = [
    (
        "raw-server-same-export-twice",
        "defect D1: both introductions are given back",
        &[
            "[\"push\",[\"pipeline\",0,[\"foo\"],[]]]",
            "[\"pull\",1]",
            "[\"release\",1,1]",
            "[\"release\",-1,2]",
        ],
    ),
    (
        "raw-server-same-export-in-two-results",
        "defect D1",
        &[
            "[\"push\",[\"pipeline\",0,[\"foo\"],[]]]",
            "[\"pull\",1]",
            "[\"release\",1,1]",
            "[\"push\",[\"pipeline\",0,[\"bar\"],[]]]",
            "[\"pull\",2]",
            "[\"release\",2,1]",
            "[\"release\",-1,2]",
        ],
    ),
    (
        "map-nested",
        "one capture serves both uses",
        &[
            "[\"push\",[\"pipeline\",0,[\"fib\"],[4]]]",
            "[\"push\",[\"remap\",1,[],[[\"import\",0]],[[\"pipeline\",-1,[\"fib\"],[[\"pipeline\",0]]],[\"remap\",1,[],[[\"import\",-1]],[[\"pipeline\",-1,[\"fib\"],[[\"pipeline\",0]]],[\"pipeline\",1]]],[\"pipeline\",2]]]]",
            "[\"release\",1,1]",
            "[\"pull\",2]",
            "[\"release\",2,1]",
            "[\"release\",-1,1]",
            "[\"release\",-2,1]",
            "[\"release\",-3,1]",
            "[\"release\",-4,1]",
            "[\"release\",-5,1]",
            "[\"release\",-6,1]",
            "[\"release\",-7,1]",
            "[\"release\",-8,1]",
        ],
    ),
];

/// Runs the script beside the connection. A server frame is fed when the client has said what
/// came before it.
async fn replay(vector: &Vector) -> (Vec<String>, Result<(), Thrown>) {
    let mut connection = Connection::new(None, Options::default());
    let handle = connection.handle();
    let script = tokio::spawn(scripts::run(vector.name.clone(), connection.remote()));
    let mut said = Vec::new();
    let mut expected = 0;
    for (direction, frame) in &vector.frames {
        match (direction.as_str(), frame) {
            ("c2s", _) => expected += 1,
            (_, Frame::Text(text)) => {
                listen(&mut connection, &mut said, expected).await;
                connection.receive(text);
            }
            _ => {}
        }
    }
    listen(&mut connection, &mut said, usize::MAX).await;
    match vector.name.as_str() {
        "raw-server-closes-1000" => handle.lost(ErrorValue::new("Peer closed WebSocket: 1000 bye")),
        "raw-server-drops" => handle.lost(ErrorValue::new("Peer closed WebSocket: 1006 ")),
        _ => {}
    }
    // The value is dropped before the last look: stubs in it are released.
    let outcome = match tokio::time::timeout(Duration::from_secs(5), script).await {
        Ok(ended) => ended.expect("the script does not panic").map(drop),
        Err(_) => Err(ErrorValue::new("the script did not end").into()),
    };
    listen(&mut connection, &mut said, usize::MAX).await;
    (said, outcome)
}

async fn listen(connection: &mut Connection, said: &mut Vec<String>, enough: usize) {
    const QUIET: Duration = Duration::from_millis(200);
    while said.len() < enough {
        match tokio::time::timeout(QUIET, connection.message()).await {
            Ok(Some(text)) => said.push(text),
            Ok(None) | Err(_) => return,
        }
    }
}

/// A result nobody keeps in Rust is released; in JavaScript it stays. Calls left behind on
/// purpose are not part of the comparison.
fn without_extra_releases(said: Vec<String>, expected: &[String]) -> Vec<String> {
    said.into_iter().filter(|text| !text.starts_with("[\"release\",") || expected.contains(text)).collect()
}

#[tokio::test(start_paused = true)]
async fn every_recorded_websocket_server_hears_what_it_heard() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    let vectors = all();
    let live = vectors.iter().filter(|vector| vector.via == "ws" && vector.from.starts_with("npm-client"));
    for vector in live {
        seen += 1;
        let (said, outcome) = replay(vector).await;
        let ours = OURS.iter().find(|(name, ..)| *name == vector.name);
        let expected = match ours {
            Some((_, _, frames)) => frames.iter().map(ToString::to_string).collect(),
            None => normal(vector.texts("c2s")),
        };
        let said = without_extra_releases(said, &expected);
        if !same(&expected, &said) {
            wrong.push(format!("{}\n  want {expected:#?}\n  got  {said:#?}", vector.name));
        }
        if let Some(problem) = compare_outcome(vector, &outcome) {
            wrong.push(problem);
        }
    }
    assert!(wrong.is_empty(), "{} of {seen} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(seen, 83);
}

fn compare_outcome(vector: &Vector, outcome: &Result<(), Thrown>) -> Option<String> {
    // The script did not end because its writer waits at the window, as it should.
    if matches!(vector.name.as_str(), "flow-control-initial-window" | "client-target-returned-at-root") {
        return None;
    }
    let wanted = vector.raw["client_error"]["message"].as_str();
    match (outcome, wanted) {
        (Err(reason), Some(text)) if reason.message() == text || text.starts_with('[') => None,
        (Ok(_), None) => None,
        (Err(_), None) if vector.name.starts_with("error-") => None,
        _ => Some(format!("{}: {outcome:?} instead of {wanted:?}", vector.name)),
    }
}

#[test]
fn answers_to_raw_clients_do_not_make_a_client_panic() {
    for vector in
        all().iter().filter(|vector| vector.via == "ws" && vector.from == "raw-client-to-npm-server")
    {
        let mut connection = Connection::new(None, Options::default());
        vector.texts("s2c").iter().for_each(|text| connection.receive(text));
        drop(connection);
    }
}
