//! `sturdy verify`, on sound stores and on others.

use crate::program::Place;
use serde_json::{Value, json};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

/// A store with one session and one answered prompt.
fn filled() -> (Place, String) {
    let place = Place::new();
    let server = place.serve(&[]);
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    server.json(
        "POST",
        &format!("/session/{session}/message"),
        r#"{"parts":[{"type":"text","text":"hello"}]}"#,
    );
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
    (place, session)
}

fn verify(place: &Place, more: &[&str]) -> crate::program::Ended {
    let data = place.data().display().to_string();
    let mut arguments = vec!["verify", "--data-dir", &data];
    arguments.extend(more);
    place.run(&arguments)
}

/// Without its numbers.
fn stages(stderr: &str) -> Vec<&str> {
    stderr
        .lines()
        .map(|line| line.trim_end_matches(|c: char| c.is_ascii_digit() || c == '/').trim_end())
        .collect()
}

#[test]
fn in_a_pipe_a_line_tells_of_each_finished_stage() {
    let (place, _) = filled();

    let verified = verify(&place, &[]);

    let told = ["Checking file", "Checking log", "Checking rows", "Checking sessions"];
    assert_eq!(stages(&verified.stderr), told, "{}", verified.stderr);
    assert!(verified.stderr.ends_with("Checking sessions 1/1\n"), "{}", verified.stderr);
}

#[test]
fn a_sound_store_keeps_every_promise() {
    let (place, session) = filled();

    let text = verify(&place, &[]);
    let json: Value = serde_json::from_str(&verify(&place, &["--json"]).stdout).unwrap();
    let one = verify(&place, &[&session]);

    assert_eq!(text.code, Some(0));
    assert!(text.stdout.ends_with("Every promise is kept. Nothing was changed.\n"), "{}", text.stdout);
    assert_eq!((&json["sessions"], &json["findings"]), (&json!(1), &json!([])));
    assert!(json["entries"].as_u64().unwrap() > 10);
    assert_eq!(
        (one.code, one.stdout.as_str()),
        (Some(0), "Read 1 sessions. Every promise is kept. Nothing was changed.\n")
    );
}

#[test]
fn a_damaged_page_is_found_and_told_as_a_broken_promise() {
    let (place, _) = filled();
    let path = place.data().join("sturdy.db");
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    // One letter of a stored fact becomes another: still a database, no longer JSON of ours.
    let place_of = |needle: &[u8]| bytes.windows(needle.len()).position(|window| window == needle);
    let at = place_of(b"\"finish\":\"stop\"").expect("a stored fact");
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(b"\"finish\":\"st\x00p\"").unwrap();
    drop(file);

    let found = verify(&place, &["--json"]);

    assert_eq!(found.code, Some(4), "{found:?}");
    let findings = serde_json::from_str::<Value>(&found.stdout).unwrap()["findings"].clone();
    assert!(!findings.as_array().unwrap().is_empty());
}

#[test]
fn a_session_that_is_not_there_cannot_be_verified() {
    let (place, _) = filled();
    let found = verify(&place, &["ses_0123456789abABCDEFGHIJKLMN"]);
    assert_eq!((found.code, found.stdout.as_str()), (Some(1), ""));
    assert!(
        found.stderr.starts_with("error: no such session\n  session ses_0123456789abABCDEFGHIJKLMN\n"),
        "{}",
        found.stderr
    );
}

#[test]
fn what_cannot_be_verified_says_why() {
    let (place, _) = filled();
    let bad_id = verify(&place, &["abc"]);
    assert_eq!((bad_id.code, bad_id.stdout.as_str()), (Some(2), ""));

    let nowhere = place.run(&["verify", "--data-dir", "/nonexistent/sturdy"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(
        nowhere.stderr.starts_with("error: there is no store\n  path    /nonexistent/sturdy\n"),
        "{}",
        nowhere.stderr
    );

    let _server = place.serve(&[]);
    let served = verify(&place, &[]);
    assert_eq!(served.code, Some(1));
    assert!(served.stderr.starts_with("error: this store is served by another process"), "{}", served.stderr);
}
