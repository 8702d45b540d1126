//! Undo over HTTP on a disk that is full, written to by an editor, or loses its server at any moment.

use crate::disk::Disk;
use crate::program::Server;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

const JSON: &str = "content-type: application/json\r\naccept-encoding: identity\r\n";

/// The names of all files that turns here change.
const NAMES: [&str; 4] = ["a.txt", "b.txt", "c.txt", "new.txt"];

type Files = BTreeMap<&'static str, Option<String>>;

fn repository() -> Disk {
    let disk = Disk::new().impatient();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(disk.place.project()).status();
    assert!(made.unwrap().success());
    for name in &NAMES[..3] {
        fs::write(disk.place.project().join(name), "0").unwrap();
    }
    disk
}

fn files(disk: &Disk) -> Files {
    let read = |name| fs::read_to_string(disk.place.project().join(name)).ok();
    NAMES.iter().map(|name| (*name, read(name))).collect()
}

fn before() -> Files {
    NAMES.iter().map(|name| (*name, (*name != "new.txt").then(|| "0".to_owned()))).collect()
}

fn after() -> Files {
    NAMES.iter().map(|name| (*name, Some("1\n".to_owned()))).collect()
}

/// What was said, as a prompt.
fn prompt(text: &str) -> String {
    let model = json!({ "providerID": "demo", "modelID": "echo" });
    json!({ "model": model, "parts": [{ "type": "text", "text": text }] }).to_string()
}

fn changes_everything() -> String {
    let command = format!("for n in {}; do echo 1 > $n; done", NAMES.join(" "));
    prompt(&format!("/demo tool bash {}", json!({ "command": command, "description": "d" })))
}

/// A session whose one turn changed all files; its id and that of its prompt.
fn worked(server: &Server) -> (String, String) {
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let answer = server.json("POST", &format!("/session/{session}/message"), &changes_everything());
    let prompt = answer["info"]["parentID"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (session, prompt)
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// Undoes the turn, and says how that was answered.
fn undo(server: &Server, session: &str, prompt: &str) -> String {
    let body = json!({ "messageID": prompt }).to_string();
    server.ask("POST", &format!("/session/{session}/revert"), JSON, &body)
}

fn pending(disk: &Disk) -> usize {
    disk.place.data().join("trees/pending").read_dir().map_or(0, Iterator::count)
}

fn revert_of(server: &Server, session: &str) -> Value {
    server.json("GET", &format!("/session/{session}"), "")["revert"].clone()
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_an_undo_is_507_and_everything_is_taken_back() {
    let disk = repository();
    let server = disk.place.serve(&["--trust-all"]);
    let (session, prompt) = worked(&server);
    assert_eq!(files(&disk), after());

    disk.tell_with("full-work", "1 2");
    let refused = undo(&server, &session, &prompt);
    disk.take_back("full-work");

    assert_eq!(status(&refused), "507", "{refused}");
    assert!(refused.contains("RevertError") && refused.contains("No space is left"), "{refused}");
    assert_eq!(files(&disk), after(), "not everything was taken back");
    assert_eq!((revert_of(&server, &session), pending(&disk)), (Value::Null, 0));
    assert_eq!(status(&undo(&server, &session, &prompt)), "200");
    assert_eq!(files(&disk), before());
}

/// An undo that stopped in the middle and could not be taken back: the disk stays full.
fn half_done(disk: &Disk, server: &Server) -> String {
    let (session, prompt) = worked(server);
    disk.tell_with("full-work", "1 1000000");
    let refused = undo(server, &session, &prompt);
    assert_eq!(status(&refused), "507", "{refused}");
    assert!(refused.contains("could not be restored"), "{refused}");
    assert!(files(disk) != after() && files(disk) != before(), "it is not half done: {:?}", files(disk));
    assert_eq!((revert_of(server, &session), pending(disk)), (Value::Null, 1));
    session
}

#[test]
fn a_prompt_after_a_half_done_undo_settles_it_and_does_not_make_it_final() {
    let disk = repository();
    let server = disk.place.serve(&["--trust-all"]);
    let session = half_done(&disk, &server);
    let path = format!("/session/{session}/message");
    let half = files(&disk);

    // Was: the prompt was taken, and the files stayed half undone for ever.
    let refused = server.ask("POST", &path, JSON, &prompt("go on"));
    assert_eq!(status(&refused), "507", "{refused}");
    assert_eq!((files(&disk), pending(&disk)), (half, 1));
    assert_eq!(server.json("GET", &path, "").as_array().unwrap().len(), 3, "the prompt was not stored");

    disk.take_back("full-work");
    let answered = server.json("POST", &path, &prompt("go on"));
    assert_eq!(answered["info"]["role"], "assistant", "{answered}");
    assert_eq!((files(&disk), pending(&disk)), (after(), 0));
    assert_eq!(server.json("GET", &path, "").as_array().unwrap().len(), 5, "nothing was removed");
}

#[test]
fn a_half_done_undo_is_settled_by_the_next_undo_and_by_the_next_start() {
    let disk = repository();
    let server = disk.place.serve(&["--trust-all"]);
    let session = half_done(&disk, &server);
    disk.take_back("full-work");
    let unreverted = server.json("POST", &format!("/session/{session}/unrevert"), "{}");
    assert!(unreverted["revert"].is_null(), "{unreverted}");
    assert_eq!((files(&disk), pending(&disk)), (after(), 0));

    for name in NAMES {
        let _ = fs::remove_file(disk.place.project().join(name));
    }
    for name in &NAMES[..3] {
        fs::write(disk.place.project().join(name), "0").unwrap();
    }
    let session = half_done(&disk, &server);
    server.signal("KILL");
    server.ended();
    disk.take_back("full-work");
    let server = disk.place.serve(&[]);
    assert_eq!((files(&disk), pending(&disk)), (after(), 0));
    assert!(revert_of(&server, &session).is_null());
}

#[test]
fn an_editor_that_writes_while_an_undo_runs_keeps_its_text() {
    let disk = repository();
    let server = disk.place.serve(&["--trust-all"]);
    let (session, prompt) = worked(&server);

    let edited = disk.place.project().join("b.txt");
    disk.tell_with("edit", &edited.display().to_string());
    let undone = undo(&server, &session, &prompt);

    assert_eq!(status(&undone), "200", "{undone}");
    let mut expected = before();
    expected.insert("b.txt", Some("editor".to_owned()));
    assert_eq!(files(&disk), expected);
    let conflicts = revert_of(&server, &session)["conflicts"].clone();
    assert_eq!(conflicts, json!([{ "file": "b.txt", "why": "changed since the agent left it" }]));

    let redone = server.json("POST", &format!("/session/{session}/unrevert"), "{}");
    assert!(redone["revert"].is_null());
    assert_eq!(redone["conflicts"], json!([{ "file": "b.txt", "why": "changed since the undo" }]));
    let mut expected = after();
    expected.insert("b.txt", Some("editor".to_owned()));
    assert_eq!(files(&disk), expected);
}

#[test]
fn an_undo_whose_record_cannot_be_stored_is_taken_back_at_once() {
    let disk = repository();
    let server = disk.place.serve(&["--trust-all"]);
    let (session, prompt) = worked(&server);

    disk.tell("full");
    let refused = undo(&server, &session, &prompt);
    assert_eq!(status(&refused), "507", "{refused}");
    assert_eq!((files(&disk), pending(&disk)), (after(), 0));
    disk.take_back("full");

    assert_eq!(status(&undo(&server, &session, &prompt)), "200");
    assert_eq!(files(&disk), before());
}
