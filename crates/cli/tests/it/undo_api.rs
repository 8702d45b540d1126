//! Undo as clients of the v2 API ask for it, two sessions at once, and what `sturdy gc` makes of captured trees.

use crate::disk::Disk;
use crate::program::{Ended, Place, Server};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

const JSON: &str = "content-type: application/json\r\naccept-encoding: identity\r\n";

fn repository() -> Place {
    let place = Place::new();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(place.project()).status();
    assert!(made.unwrap().success());
    place
}

fn read(place: &Place, name: &str) -> Option<String> {
    fs::read_to_string(place.project().join(name)).ok()
}

/// A session of one turn, in which this command is run; its id and that of its prompt.
fn worked(server: &Server, command: &str) -> (String, String) {
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let call = json!({ "command": command, "description": "d" });
    let body = json!({
        "model": { "providerID": "demo", "modelID": "echo" },
        "parts": [{ "type": "text", "text": format!("/demo tool bash {call}") }],
    });
    let answer = server.json("POST", &format!("/session/{session}/message"), &body.to_string());
    let prompt = answer["info"]["parentID"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (session, prompt)
}

/// The status and the body of a refusal.
fn refused(server: &Server, path: &str, body: &str) -> (String, Value) {
    let answer = server.ask("POST", path, JSON, body);
    let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn the_v2_api_stages_clears_and_commits_an_undo_with_its_files() {
    let place = repository();
    fs::write(place.project().join("a.txt"), "0").unwrap();
    let server = place.serve(&["--trust-all"]);
    let (session, prompt) = worked(&server, "echo 1 > a.txt; echo 1 > new.txt");
    let stage = format!("/api/session/{session}/revert/stage");
    let cut = json!({ "messageID": prompt }).to_string();
    let files = || (read(&place, "a.txt"), read(&place, "new.txt"));
    let before = (Some("0".to_owned()), None);
    let after = (Some("1\n".to_owned()), Some("1\n".to_owned()));

    let staged = server.json("POST", &stage, &cut);
    assert_eq!(staged["data"]["messageID"], prompt.as_str(), "{staged}");
    assert!(staged["data"]["diff"].as_str().is_some_and(|diff| diff.contains("new.txt")), "{staged}");
    assert_eq!(files(), before);
    let cleared = server.ask("POST", &format!("/api/session/{session}/revert/clear"), JSON, "");
    assert!(cleared.starts_with("HTTP/1.1 204"), "{cleared}");
    assert_eq!(files(), after);

    let kept = server.json("POST", &stage, &json!({ "messageID": prompt, "files": false }).to_string());
    assert_eq!((&kept["data"]["messageID"], files()), (&json!(prompt), after));
    server.ask("POST", &format!("/api/session/{session}/revert/clear"), JSON, "");
    server.json("POST", &stage, &cut);
    let committed = server.ask("POST", &format!("/api/session/{session}/revert/commit"), JSON, "");
    assert!(committed.starts_with("HTTP/1.1 204"), "{committed}");
    assert_eq!(files(), before);
    assert_eq!(server.json("GET", &format!("/session/{session}/message"), ""), json!([]));
    assert!(server.json("GET", &format!("/session/{session}"), "")["revert"].is_null());
}

#[test]
fn the_v2_api_names_what_clearing_an_undo_left_alone() {
    let place = repository();
    let server = place.serve(&["--trust-all"]);
    let (session, prompt) = worked(&server, "echo 1 > a.txt; echo 1 > b.txt");
    let cut = json!({ "messageID": prompt }).to_string();
    server.json("POST", &format!("/api/session/{session}/revert/stage"), &cut);
    fs::write(place.project().join("a.txt"), "a person's").unwrap();

    let cleared = server.json("POST", &format!("/api/session/{session}/revert/clear"), "");

    let left = json!([{ "file": "a.txt", "why": "changed since the undo" }]);
    assert_eq!(cleared, json!({ "data": { "conflicts": left } }));
    assert_eq!(read(&place, "a.txt").as_deref(), Some("a person's"));
    assert_eq!(read(&place, "b.txt").as_deref(), Some("1\n"));
}

#[test]
fn the_v2_api_refuses_an_undo_in_its_own_words() {
    let place = repository();
    let server = place.serve(&["--trust-all"]);
    let (session, prompt) = worked(&server, "echo 1 > a.txt");
    let cut = json!({ "messageID": prompt }).to_string();
    let tag =
        |(status, body): (String, Value)| (status, body["_tag"].as_str().unwrap_or_default().to_owned());
    let said = |status: &str, tag: &str| (status.to_owned(), tag.to_owned());
    let stage = format!("/api/session/{session}/revert/stage");

    for what in ["stage", "clear", "commit"] {
        let path = format!("/api/session/ses_unknown/revert/{what}");
        assert_eq!(tag(refused(&server, &path, &cut)), said("404", "SessionNotFoundError"), "{what}");
    }
    let unknown = json!({ "messageID": "msg_unknown" }).to_string();
    assert_eq!(tag(refused(&server, &stage, &unknown)), said("404", "MessageNotFoundError"));
    assert_eq!(tag(refused(&server, &stage, "{}")), said("400", "InvalidRequestError"));
    let outside = json!({ "messageID": prompt, "force": ["../outside"] }).to_string();
    assert_eq!(tag(refused(&server, &stage, &outside)), said("400", "InvalidRequestError"));
    assert_eq!(read(&place, "a.txt").as_deref(), Some("1\n"));

    // Every tree is gone: an error, and no file is touched.
    let trees = place.data().join("trees");
    for project in fs::read_dir(&trees).unwrap() {
        for store in fs::read_dir(project.unwrap().path()).unwrap() {
            let objects = store.unwrap().path().join("objects");
            let _ = fs::remove_dir_all(&objects);
        }
    }
    drop(server);
    let server = place.serve(&["--trust-all"]);
    assert_eq!(tag(refused(&server, &stage, &cut)), said("409", "RevertError"));
    assert_eq!(read(&place, "a.txt").as_deref(), Some("1\n"));
}

#[test]
fn two_sessions_that_are_undone_at_once_each_get_their_own_files_back() {
    let place = repository();
    let server = place.serve(&["--trust-all"]);
    let make =
        |letter: &str| format!("mkdir -p {letter}; for n in $(seq 40); do echo $n > {letter}/$n; done");
    let sessions = ["x", "y"].map(|letter| worked(&server, &make(letter)));
    let count = |letter: &str| fs::read_dir(place.project().join(letter)).map_or(0, Iterator::count);
    assert_eq!((count("x"), count("y")), (40, 40));

    std::thread::scope(|scope| {
        for (session, prompt) in &sessions {
            let server = &server;
            scope.spawn(move || {
                let cut = json!({ "messageID": prompt }).to_string();
                let undone = server.json("POST", &format!("/session/{session}/revert"), &cut);
                assert_eq!(undone["revert"]["messageID"], prompt.as_str(), "{undone}");
                assert!(undone["revert"]["conflicts"].is_null(), "{undone}");
            });
        }
    });
    assert_eq!((count("x"), count("y")), (0, 0));

    let (second, _) = &sessions[1];
    server.json("POST", &format!("/session/{second}/unrevert"), "{}");
    assert_eq!((count("x"), count("y")), (0, 40));
}

#[test]
fn old_sessions_and_their_trees_go_on_the_second_word_only() {
    let disk = Disk::new();
    let place = &disk.place;
    let server = place.serve(&["--trust-all"]);
    worked(&server, "head -c 200000 /dev/urandom > a.bin");
    let list = || server.json("GET", "/session", "").as_array().unwrap().len();
    // For whoever asks it is two hours later.
    let run = |more: &[&str]| -> Ended {
        let mut arguments = vec!["gc", "--server", &server.url, "--older-than", "1h"];
        arguments.extend(more);
        place.command(&arguments).env("STURDY_TEST_AHEAD", "7200").output().unwrap().into()
    };

    let shown = run(&[]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("Would remove 1 session "), "{}", shown.stdout);
    assert!(shown.stdout.contains("Nothing has been removed"), "{}", shown.stdout);
    assert_eq!(list(), 1);

    let done = run(&["--yes", "--json"]);
    let done: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(done["sessions"].as_array().map(Vec::len), Some(1), "{done}");
    assert_eq!((&done["removed"], &done["trees"]["released"]), (&json!(true), &json!(1)), "{done}");
    assert_eq!(list(), 0);
    assert!(place.project().join("a.bin").exists(), "files of the worktree are nobody's to collect");
}
