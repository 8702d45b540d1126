//! The server is killed (`kill -9`) before a change of a file, at one place after the other, while it captures and while
//! it undoes. Nothing that was there is lost, and the next start says how things are.

use crate::disk::Disk;
use crate::program::Server;
use serde_json::json;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

/// A round costs a start of the server; with this many, places are skipped.
const ROUNDS_MAX: usize = 14;

fn repository() -> Disk {
    let disk = Disk::new();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(disk.place.project()).status();
    assert!(made.unwrap().success());
    disk
}

fn put(disk: &Disk, name: &str, text: Option<&str>) {
    let place = disk.place.project().join(name);
    match text {
        Some(text) => fs::write(place, text).unwrap(),
        None => drop(fs::remove_file(place)),
    }
}

fn files(disk: &Disk) -> [Option<String>; 3] {
    ["a.txt", "b.txt", "new.txt"].map(|name| fs::read_to_string(disk.place.project().join(name)).ok())
}

fn before() -> [Option<String>; 3] {
    [Some("0".to_owned()), Some("0".to_owned()), None]
}

fn after() -> [Option<String>; 3] {
    ["1\n"; 3].map(|text| Some(text.to_owned()))
}

/// A request whose answer may never come. None when the server died.
fn ask(server: &Server, path: &str, body: &str) -> Option<String> {
    let mut socket = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).ok()?;
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    (!answer.is_empty()).then_some(answer)
}

fn prompt(command: &str) -> String {
    let call = json!({ "command": command, "description": "d" });
    let model = json!({ "providerID": "demo", "modelID": "echo" });
    json!({ "model": model, "parts": [{ "type": "text", "text": format!("/demo tool bash {call}") }] })
        .to_string()
}

const COMMAND: &str = "echo 1 > a.txt; echo 1 > b.txt; echo 1 > new.txt";

/// Asks with the server told to die after so many changes of files. The server that is there afterwards, and whether
/// the other one died.
fn dying(disk: &Disk, server: Server, changes: usize, path: &str, body: &str) -> (Server, bool) {
    disk.tell_with("kill", &changes.to_string());
    let answer = ask(&server, path, body);
    disk.take_back("kill");
    if let Some(answer) = answer {
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        return (server, false);
    }
    server.ended();
    (disk.place.serve(&["--trust-all"]), true)
}

/// Every place is tried in a growing step, so that all of a long way is seen.
fn next(changes: usize, rounds: usize) -> usize {
    changes + 1 + rounds / 6
}

#[test]
fn a_server_that_is_killed_anywhere_in_an_undo_or_a_redo_leaves_files_that_fit_the_session() {
    let disk = repository();
    put(&disk, "a.txt", Some("0"));
    put(&disk, "b.txt", Some("0"));
    let mut server = disk.place.serve(&["--trust-all"]);
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let answer = server.json("POST", &format!("/session/{session}/message"), &prompt(COMMAND));
    let cut = json!({ "messageID": answer["info"]["parentID"] }).to_string();
    assert_eq!(files(&disk), after());
    let revert = format!("/session/{session}/revert");
    let unrevert = format!("/session/{session}/unrevert");
    let check = |server: &Server, at: usize| {
        let mark = server.json("GET", &format!("/session/{session}"), "")["revert"].clone();
        let expected = if mark.is_null() { after() } else { before() };
        assert_eq!(files(&disk), expected, "killed after {at} changes of files: {mark}");
        assert_eq!(mark["conflicts"], serde_json::Value::Null);
    };

    let mut changes = 0;
    let mut deaths = 0;
    for rounds in 0..ROUNDS_MAX {
        let (next_server, died) = dying(&disk, server, changes, &revert, &cut);
        check(&next_server, changes);
        next_server.json("POST", &revert, &cut);
        assert_eq!(files(&disk), before());
        let (next_server, died_again) = dying(&disk, next_server, changes, &unrevert, "{}");
        check(&next_server, changes);
        next_server.json("POST", &unrevert, "{}");
        assert_eq!(files(&disk), after());
        server = next_server;
        deaths += usize::from(died) + usize::from(died_again);
        if !died && !died_again {
            break;
        }
        changes = next(changes, rounds);
    }
    assert!(deaths >= 6, "the server died only {deaths} times");
    let pending = disk.place.data().join("trees/pending");
    assert_eq!(pending.read_dir().map_or(0, Iterator::count), 0);
}

#[test]
fn a_server_that_is_killed_anywhere_in_a_capture_can_undo_what_the_command_had_done() {
    let disk = repository();
    let mut server = disk.place.serve(&["--trust-all"]);
    let mut changes = 0;
    let mut deaths = 0;
    for rounds in 0..ROUNDS_MAX {
        put(&disk, "a.txt", Some("0"));
        put(&disk, "b.txt", Some("0"));
        put(&disk, "new.txt", None);
        let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
        let path = format!("/session/{session}/message");
        let (next_server, died) = dying(&disk, server, changes, &path, &prompt(COMMAND));
        server = next_server;
        let prompt = server.json("GET", &path, "")[0]["info"]["id"].clone();
        if prompt.is_null() {
            assert_eq!(files(&disk), before(), "nothing was asked, and something was done");
        } else {
            let cut = json!({ "messageID": prompt }).to_string();
            let undone = server.json("POST", &format!("/session/{session}/revert"), &cut);
            assert_eq!(files(&disk), before(), "killed after {changes} changes of files: {undone}");
        }
        deaths += usize::from(died);
        if !died {
            break;
        }
        // The way of a turn is long: most of it are commits.
        changes = next(changes, rounds) + rounds;
    }
    assert!(deaths >= 6, "the server died only {deaths} times");
    let data = disk.place.data().display().to_string();
    server.signal("TERM");
    server.ended();
    assert_eq!(disk.place.run(&["verify", "--data-dir", &data]).code, Some(0));
}
