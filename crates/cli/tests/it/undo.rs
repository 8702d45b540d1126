//! `sturdy session undo` and `redo`, `sturdy du` and `gc`, and a server that is killed while files change.

use crate::program::{Place, Server};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

fn repository() -> Place {
    let place = Place::new();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(place.project()).status();
    assert!(made.unwrap().success());
    place
}

/// A turn of the demo provider in which this command is run; the id of the session.
fn turn(place: &Place, session: Option<&str>, command: &str) -> String {
    let call = json!({ "command": command, "description": "d" });
    let prompt = format!("/demo tool bash {call}");
    let mut arguments = vec!["run", "--permission", "allow"];
    arguments.extend(session.iter().flat_map(|session| ["--session", session]));
    arguments.push(&prompt);
    let ended = place.run(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let list: Value = serde_json::from_str(&place.run(&["session", "list", "--json"]).stdout).unwrap();
    list[0]["id"].as_str().unwrap().to_owned()
}

fn read(place: &Place, name: &str) -> Option<String> {
    fs::read_to_string(place.project().join(name)).ok()
}

#[test]
fn an_undo_is_shown_done_forced_and_taken_back() {
    let place = repository();
    fs::write(place.project().join("a.txt"), "0").unwrap();
    fs::write(place.project().join("mine.txt"), "0").unwrap();
    let session = turn(&place, None, "echo 1 > a.txt; echo 1 > mine.txt; echo 1 > new.txt");
    fs::write(place.project().join("mine.txt"), "a person's").unwrap();

    let shown = place.run(&["session", "undo", &session, "--dry-run"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let rows: Vec<Vec<&str>> = shown
        .stdout
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        rows[1..],
        [
            vec!["a.txt", "goes back"],
            vec!["mine.txt", "is left alone", "changed since the agent left it"],
            vec!["new.txt", "is removed"],
        ]
    );
    assert!(shown.stderr.contains("Nothing has been changed"), "{}", shown.stderr);
    assert_eq!(read(&place, "a.txt").as_deref(), Some("1\n"));

    let undone = place.run(&["session", "undo", &session]);
    assert_eq!(undone.code, Some(1), "a file was left alone");
    assert!(
        undone.stderr.contains("Left alone: mine.txt") && undone.stderr.contains("with 2 files"),
        "{}",
        undone.stderr
    );
    assert_eq!((read(&place, "a.txt").as_deref(), read(&place, "new.txt")), (Some("0"), None));
    assert_eq!(read(&place, "mine.txt").as_deref(), Some("a person's"));

    let to = place.run(&["session", "show", &session, "--json"]);
    let to: Value = serde_json::from_str(&to.stdout).unwrap();
    let to = to["messages"][0]["info"]["id"].as_str().unwrap();
    let forced = place.run(&["session", "undo", &session, "--to", to, "--force", "mine.txt", "--json"]);
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert_eq!(serde_json::from_str::<Value>(&forced.stdout).unwrap()["revert"]["messageID"], to);
    assert_eq!(read(&place, "mine.txt").as_deref(), Some("0"));

    let nothing = place.run(&["session", "undo", &session]);
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("nothing left to undo"), "{}", nothing.stderr);
    assert_eq!(place.run(&["session", "redo", &session]).code, Some(0));
    assert_eq!(read(&place, "mine.txt").as_deref(), Some("a person's"));
    assert_eq!(read(&place, "a.txt").as_deref(), Some("1\n"));
    assert_eq!(place.run(&["session", "redo", &session]).code, Some(1), "nothing is undone any more");
    let unknown = place.run(&["session", "undo", &session, "--to", "msg_unknown"]);
    assert!(unknown.stderr.contains("no such message"), "{}", unknown.stderr);
}

#[test]
fn a_redo_is_shown_and_says_what_it_left_alone() {
    let place = repository();
    fs::write(place.project().join("a.txt"), "0").unwrap();
    let session = turn(&place, None, "echo 1 > a.txt; echo 1 > b.txt");
    assert_eq!(place.run(&["session", "undo", &session]).code, Some(0));
    fs::write(place.project().join("a.txt"), "a person's").unwrap();

    let shown = place.run(&["session", "redo", &session, "--dry-run"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let says = |words: &str| shown.stdout.contains(words) || shown.stderr.contains(words);
    assert!(says("is left alone") && says("changed since the undo") && says("comes back"), "{shown:?}");
    assert!(says("Run again without --dry-run to redo"), "{}", shown.stderr);
    assert_eq!(read(&place, "b.txt"), None, "a plan changes nothing");

    let redone = place.run(&["session", "redo", &session]);

    assert_eq!(redone.code, Some(1), "a file was left alone");
    assert!(redone.stderr.contains("Left alone: a.txt (changed since the undo)."), "{}", redone.stderr);
    assert!(redone.stderr.contains("its other files are as they were"), "{}", redone.stderr);
    assert_eq!(read(&place, "a.txt").as_deref(), Some("a person's"));
    assert_eq!(read(&place, "b.txt").as_deref(), Some("1\n"));
}

#[test]
fn disk_use_is_shown_and_gc_frees_it_only_with_yes() {
    let place = repository();
    let kept = turn(&place, None, "echo kept > a.txt");
    let gone = turn(&place, None, "head -c 300000 /dev/urandom > b.bin");
    assert_ne!(kept, gone);
    fs::remove_file(place.project().join("b.bin")).unwrap();
    let taken = || -> Value { serde_json::from_str(&place.run(&["du", "--json"]).stdout).unwrap() };
    assert_eq!(taken()["trees"][0]["sessions"], 2);
    assert!(place.run(&["du"]).stdout.contains("trees of "));
    assert_eq!(place.run(&["session", "rm", &gone, "--yes"]).code, Some(0));

    let shown = place.run(&["gc"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("release the trees of 1 that are gone already"), "{}", shown.stdout);
    assert!(shown.stdout.contains("Nothing has been removed") && shown.stderr.contains("--yes"), "{shown:?}");
    assert_eq!(taken()["trees"][0]["sessions"], 2);

    let collected = place.run(&["gc", "--yes", "--json"]);
    // Of stages that are counted; nothing was old enough to be removed.
    assert_eq!(collected.stderr, "");
    let done: Value = serde_json::from_str(&collected.stdout).unwrap();
    assert_eq!((&done["removed"], &done["trees"]["released"]), (&json!(true), &json!(1)));
    assert_eq!(taken()["trees"][0]["sessions"], 1);
    assert_eq!(place.run(&["session", "undo", &kept]).code, Some(0));
    assert_eq!(read(&place, "a.txt"), None);

    let old = place.run(&["gc", "--older-than", "1h"]);
    assert!(old.stdout.contains("Would remove 0 sessions"), "{}", old.stdout);
    assert_eq!(place.run(&["gc", "--older-than", "soon"]).code, Some(2));
}

fn start(server: &Server, command: &str) -> (String, String) {
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let call = json!({ "command": command, "description": "d" });
    let body = json!({
        "model": { "providerID": "demo", "modelID": "echo" },
        "parts": [{ "type": "text", "text": format!("/demo tool bash {call}") }],
    });
    server.ask(
        "POST",
        &format!("/session/{session}/prompt_async"),
        "content-type: application/json\r\n",
        &body.to_string(),
    );
    let path = format!("/session/{session}/message");
    loop {
        let messages = server.json("GET", &path, "");
        if let Some(id) = messages[0]["info"]["id"].as_str() {
            return (session, id.to_owned());
        }
    }
}

fn wait_for(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::yield_now();
    }
}

#[test]
fn a_command_that_was_killed_with_the_server_is_undone_by_the_next() {
    let place = repository();
    fs::write(place.project().join("a.txt"), "0").unwrap();
    let server = place.serve(&["--trust-all"]);
    let (session, prompt) = start(&server, "echo 1 > made.txt; echo 1 > a.txt; sleep 600");
    wait_for(|| read(&place, "a.txt").as_deref() == Some("1\n"));

    server.signal("KILL");
    server.ended();
    let server = place.serve(&[]);
    let path = format!("/session/{session}/revert");
    let undone = server.json("POST", &path, &json!({ "messageID": prompt }).to_string());

    assert_eq!(undone["revert"]["messageID"], prompt, "{undone}");
    assert_eq!((read(&place, "a.txt").as_deref(), read(&place, "made.txt")), (Some("0"), None));
}

#[test]
fn files_and_conversation_agree_when_the_server_is_killed_in_the_middle_of_an_undo() {
    const FILES: usize = 300;
    let place = repository();
    let server = place.serve(&["--trust-all"]);
    let many = format!("mkdir many; for n in $(seq {FILES}); do echo $n > many/$n; done; sleep 0.1");
    let (session, prompt) = start(&server, &many);
    let info = format!("/session/{session}");
    wait_for(|| server.json("GET", "/session/status", "")[&session].is_null());
    let there = || fs::read_dir(place.project().join("many")).map_or(0, Iterator::count);
    assert_eq!(there(), FILES);

    let url = server.url.clone();
    let address = url.trim_start_matches("http://").to_owned();
    let body = json!({ "messageID": prompt }).to_string();
    let request = format!(
        "POST {info}/revert HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut socket = std::net::TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(&mut socket, request.as_bytes()).unwrap();
    wait_for(|| there() < FILES);
    server.signal("KILL");
    server.ended();

    let server = place.serve(&[]);
    let revert = server.json("GET", &info, "")["revert"].clone();
    let expected = if revert.is_null() { FILES } else { 0 };
    assert_eq!(there(), expected, "{revert}");
    server.json("POST", &format!("{info}/revert"), &body);
    assert_eq!(there(), 0);
    server.json("POST", &format!("{info}/unrevert"), "{}");
    assert_eq!(there(), FILES);
}
