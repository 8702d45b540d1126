//! Our server, fed with the frames a client sent.

use std::time::Duration;

use sturdy_capnweb::{Connection, ErrorValue, Options};

use super::{Frame, Vector, all};
use crate::service::Service;

/// Feeds the client's frames as they were recorded: those that came before an answer before it.
async fn replay(vector: &Vector) -> (Vec<String>, Connection) {
    let root = (vector.name != "no-main").then(Service::root);
    let mut connection = Connection::new(root, options(&vector.name));
    let mut said = Vec::new();
    let mut fed = true;
    for (direction, frame) in &vector.frames {
        match (direction.as_str(), frame) {
            ("c2s", Frame::Text(text)) => {
                connection.receive(text);
                fed = true;
            }
            ("c2s", Frame::Binary) => connection.handle().abort(ErrorValue::named("SyntaxError", "binary")),
            _ if fed => {
                listen(&mut connection, &mut said).await;
                fed = false;
            }
            _ => {}
        }
    }
    listen(&mut connection, &mut said).await;
    (said, connection)
}

/// Takes what the session says until it has nothing more to say.
pub(super) async fn listen(connection: &mut Connection, said: &mut Vec<String>) {
    const QUIET: Duration = Duration::from_secs(5);
    while let Ok(Some(text)) = tokio::time::timeout(QUIET, connection.message()).await {
        said.push(text);
    }
}

fn options(name: &str) -> Options {
    let rewritten = |extra: bool| {
        Options::default().with_error_hook(move |_| {
            let mut error = ErrorValue::range_error("rewritten");
            error.stack = Some("STACK".to_owned());
            if extra { error.with("extra", 1) } else { error }
        })
    };
    match name {
        "error-rewritten-with-stack" => rewritten(true),
        "error-rewritten-stack-only" => rewritten(false),
        _ => Options::default(),
    }
}

/// Where we differ on purpose: the name, why, and what we say instead.
const OURS: [(&str, &str, &[&str]); 13] = [
    ("release-before-resolve", "nobody waits for the answer any more, so none is sent", &[]),
    ("dispose-main", "nothing is sent into a socket that closes", &["[\"resolve\",1,4]"]),
    (
        "error-returnUnsupported",
        "Rust has no Map; a member that would be lost is what cannot be sent",
        &[
            "[\"reject\",1,[\"error\",\"TypeError\",\"a member named 'toString' would be lost at a JavaScript peer\",null,{\"code\":\"member_would_be_lost\"}]]",
        ],
    ),
    (
        "error-instance-field",
        "our own words",
        &["[\"reject\",1,[\"error\",\"TypeError\",\"'instanceField' is private.\"]]"],
    ),
    (
        "map-captures-local-stub",
        "the results of calls are shared, not duplicated by a push each",
        &[
            "[\"push\",[\"pipeline\",-1,[\"increment\"],[[\"promise\",-1]]]]",
            "[\"resolve\",-1,0]",
            "[\"push\",[\"pipeline\",-1,[\"increment\"],[[\"promise\",-2]]]]",
            "[\"resolve\",-2,1]",
            "[\"push\",[\"pipeline\",-1,[\"increment\"],[[\"promise\",-3]]]]",
            "[\"resolve\",-3,1]",
            "[\"release\",-1,1]",
            "[\"resolve\",2,[[[\"pipeline\",1],[\"pipeline\",2],[\"pipeline\",3]]]]",
            "[\"release\",1,1]",
            "[\"release\",2,1]",
            "[\"release\",3,1]",
        ],
    ),
    (
        "release-zero",
        "a release gives something back",
        &["[\"abort\",[\"error\",\"Error\",\"a release of 0 is none\"]]"],
    ),
    ("release-negative", "defect D2", &["[\"abort\",[\"error\",\"Error\",\"a release of -3 is none\"]]"]),
    (
        "resolve-main-import",
        "defect D3",
        &["[\"abort\",[\"error\",\"Error\",\"the main object cannot be resolved\"]]"],
    ),
    (
        "same-export-id-introduced-twice",
        "defect D1: both introductions are given back",
        &["[\"release\",-1,2]", "[\"resolve\",1,\"ignored\"]"],
    ),
    (
        "message-not-json",
        "the parser's own words",
        &["[\"abort\",[\"error\",\"SyntaxError\",\"not JSON: expected ident at line 1 column 2\"]]"],
    ),
    (
        "message-empty",
        "the parser's own words",
        &[
            "[\"abort\",[\"error\",\"SyntaxError\",\"not JSON: EOF while parsing a value at line 1 column 0\"]]",
        ],
    ),
    ("binary-frame", "our own words", &["[\"abort\",[\"error\",\"SyntaxError\",\"binary\"]]"]),
    (
        "share-subscribe",
        "a promise nobody keeps is released",
        &[
            "[\"push\",[\"pipeline\",-1,[\"event\"],[{\"cursor\":3,\"key\":\"session\",\"kind\":\"session\",\"payload_json\":\"{}\"}]]]",
            "[\"release\",1,1]",
            "[\"resolve\",2,{\"cursor\":3}]",
        ],
    ),
];

/// An answer to a write after the end of a stream is some error; which one is the platform's.
pub(super) fn normal(mut frames: Vec<String>) -> Vec<String> {
    for frame in &mut frames {
        if frame.contains("ERR_INVALID_STATE") {
            let id: String = frame.chars().skip(10).take_while(|letter| *letter != ',').collect();
            *frame = format!("[\"reject\",{id},*]");
        }
    }
    frames
}

/// Equal in order; or equal as a set, where the order between independent answers is free.
pub(super) fn same(wanted: &[String], found: &[String]) -> bool {
    let matches = |wanted: &String, found: &String| match wanted.strip_suffix("*]") {
        Some(start) => found.starts_with(start),
        None => wanted == found,
    };
    let in_order = wanted.len() == found.len() && wanted.iter().zip(found).all(|(a, b)| matches(a, b));
    let mut left: Vec<&String> = found.iter().collect();
    let as_set = wanted.len() == found.len()
        && wanted.iter().all(|wanted| match left.iter().position(|found| matches(wanted, found)) {
            Some(at) => {
                left.remove(at);
                true
            }
            None => false,
        });
    in_order || as_set
}

#[tokio::test(start_paused = true)]
async fn every_recorded_websocket_client_gets_the_recorded_answers() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for vector in
        all().iter().filter(|vector| vector.via == "ws" && vector.from != "npm-client-to-raw-server")
    {
        seen += 1;
        let (said, connection) = replay(vector).await;
        let ours = OURS.iter().find(|(name, ..)| *name == vector.name);
        let expected = match ours {
            Some((_, _, frames)) => frames.iter().map(ToString::to_string).collect(),
            None => normal(vector.texts("s2c")),
        };
        if !same(&expected, &said) || (ours.is_some() && expected != said) {
            wrong.push(format!("{}\n  want {expected:#?}\n  got  {said:#?}", vector.name));
        }
        if let (Some(reason), Some(ended)) =
            (vector.raw["close"]["reason"].as_str(), connection.handle().ended())
        {
            assert_eq!(ended.close_code, 3000, "{}", vector.name);
            if ours.is_none() {
                assert_eq!(ended.close_reason, reason, "{}", vector.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {seen} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(seen, 130);
}
