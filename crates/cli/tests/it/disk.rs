//! The disk under the built program, watched and broken by a library that stands between it and libc (`disk.c`).
//!
//! Every write and fsync of the store's files goes through code of ours, and everything else is as it is. One test has
//! a small file system of its own, in a mount namespace.

use crate::preload::library;
use crate::program::{Place, Server};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A place whose store is on a disk that can be told things.
pub(crate) struct Disk {
    pub(crate) place: Place,
    told: PathBuf,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        let told = place.home().join("disk");
        fs::create_dir(&told).unwrap();
        let work = place.project().canonicalize().unwrap().display().to_string();
        let place = place
            .with("LD_PRELOAD", &library("disk.c"))
            .with("STURDY_TEST_DISK", &told.display().to_string());
        let place = place.with("STURDY_TEST_WORK", &work);
        Self { place, told }
    }

    pub(crate) fn with(self, variable: &'static str, value: &str) -> Self {
        Self { place: self.place.with(variable, value), told: self.told }
    }

    /// Refused at once, and not after half a minute.
    pub(crate) fn impatient(self) -> Self {
        self.with("STURDY_DISK_PATIENCE_MS", "0")
    }

    pub(crate) fn tell(&self, what: &str) {
        self.tell_with(what, "");
    }

    /// Tells it something that needs a number or a path. What was counted for it begins at zero.
    pub(crate) fn tell_with(&self, what: &str, text: &str) {
        for counted in ["work", "points", "passes"] {
            let _ = fs::remove_file(self.told.join(counted));
        }
        let beside = self.told.join("new");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.told.join(what)).unwrap();
    }

    /// Tells it something later, from another thread.
    pub(crate) fn teller(&self, what: &str) -> impl FnOnce() + Send + 'static {
        let told = self.told.join(what);
        move || fs::write(told, "").unwrap()
    }

    pub(crate) fn take_back(&self, what: &str) {
        fs::remove_file(self.told.join(what)).unwrap();
    }

    /// The same, if it was told.
    pub(crate) fn forget(&self, what: &str) {
        let _ = fs::remove_file(self.told.join(what));
    }

    /// Fsyncs of the store that the disk has done.
    fn synced(&self) -> u64 {
        fs::metadata(self.told.join("synced")).map_or(0, |file| file.len())
    }

    /// Writes to the store that the disk has refused.
    pub(crate) fn refused(&self) -> u64 {
        fs::metadata(self.told.join("refused")).map_or(0, |file| file.len())
    }
}

const JSON: &str = "content-type: application/json\r\naccept-encoding: identity\r\n";

fn new_session(server: &Server) -> String {
    server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned()
}

fn prompt(text: &str) -> String {
    json!({ "parts": [{ "type": "text", "text": text }] }).to_string()
}

fn titles(server: &Server) -> Vec<String> {
    let Value::Array(list) = server.json("GET", "/session", "") else { panic!("not a list") };
    list.iter().map(|session| session["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_acknowledgement_comes_after_an_fsync_of_its_own() {
    let disk = Disk::new();
    let server = disk.place.serve(&[]);

    for _ in 0..5 {
        let before = disk.synced();
        let session = new_session(&server);
        let created = disk.synced();
        let body = r#"{"noReply":true,"parts":[{"type":"text","text":"keep this"}]}"#;
        let answer = server.ask("POST", &format!("/session/{session}/message"), JSON, body);
        let prompted = disk.synced();
        let renamed = server.ask("PATCH", &format!("/session/{session}"), JSON, r#"{"title":"other"}"#);

        assert!(
            answer.starts_with("HTTP/1.1 200") && renamed.starts_with("HTTP/1.1 200"),
            "{answer} {renamed}"
        );
        assert!(before < created, "a session was acknowledged and not synced");
        assert!(created < prompted, "a prompt was acknowledged and not synced");
        assert!(prompted < disk.synced(), "a title was acknowledged and not synced");
    }
}

/// The request about a command that waits for a person.
fn asking(server: &Server) -> String {
    let session = new_session(server);
    let call = prompt(r#"/demo tool bash {"command":"echo done","description":"Prints a word"}"#);
    let asked = server.ask("POST", &format!("/session/{session}/prompt_async"), JSON, &call);
    assert!(asked.starts_with("HTTP/1.1 204"), "{asked}");
    loop {
        let open = server.json("GET", "/permission", "");
        if let Some(request) = open[0]["id"].as_str() {
            return request.to_owned();
        }
    }
}

// Other commits are synced meanwhile, so fsyncs are not counted here: without one there is no acknowledgement.
#[test]
fn nothing_is_acknowledged_while_no_fsync_succeeds() {
    let disk = Disk::new().impatient();
    fs::write(disk.place.project().join("opencode.json"), r#"{"permission":{"bash":"ask"}}"#).unwrap();
    let disk = disk.with("STURDY_TRUST_ALL", "1");
    let server = disk.place.serve(&[]);
    let request = asking(&server);
    let prompted = new_session(&server);
    let removed = new_session(&server);
    let forked = new_session(&server);
    let patched = new_session(&server);
    let note = r#"{"noReply":true,"parts":[{"type":"text","text":"a note"}]}"#;
    let note = server.json("POST", &format!("/session/{patched}/message"), note);
    let part = &note["parts"][0];
    let part_path = format!(
        "/session/{patched}/message/{}/part/{}",
        note["info"]["id"].as_str().unwrap(),
        part["id"].as_str().unwrap()
    );
    let granted = json!({ "sessionID": patched, "rights": ["read"] }).to_string();
    let grant = server.json("POST", "/sturdy/grant", &granted)["id"].as_str().unwrap().to_owned();
    let message = note["info"]["id"].as_str().unwrap();
    let second = r#"{"prompt":{"text":"go"}}"#.to_owned();
    let changes = [
        ("POST", format!("/permission/{request}/reply"), r#"{"reply":"once"}"#.to_owned()),
        ("POST", "/session".to_owned(), "{}".to_owned()),
        ("POST", "/api/session".to_owned(), "{}".to_owned()),
        ("POST", format!("/session/{prompted}/prompt_async"), prompt("go")),
        ("POST", format!("/api/session/{prompted}/prompt"), second),
        ("POST", format!("/session/{prompted}/shell"), r#"{"agent":"build","command":"true"}"#.to_owned()),
        ("POST", format!("/session/{patched}/revert"), json!({ "messageID": message }).to_string()),
        ("PATCH", format!("/session/{patched}"), r#"{"title":"other"}"#.to_owned()),
        ("DELETE", format!("/session/{removed}"), String::new()),
        ("POST", format!("/session/{forked}/fork"), "{}".to_owned()),
        ("PATCH", part_path, part.to_string()),
        ("DELETE", format!("/session/{patched}/message/{message}"), String::new()),
        ("POST", "/sturdy/grant".to_owned(), granted),
        ("DELETE", format!("/sturdy/grant/{grant}"), String::new()),
    ];

    for (method, path, body) in changes {
        disk.tell("fail-sync");
        let answer = server.ask(method, &path, JSON, &body);
        disk.take_back("fail-sync");
        assert!(answer.starts_with("HTTP/1.1 503"), "{method} {path}: {answer}");
        new_session(&server);
    }
}

/// What the tests above would see if commits were not synced: it can tell the difference.
#[test]
fn normal_durability_acknowledges_without_an_fsync() {
    let disk = Disk::new();
    let server = disk.place.serve(&["--durability", "normal"]);
    new_session(&server);

    let before = disk.synced();
    let created: Vec<String> = (0..5).map(|_| new_session(&server)).collect();

    assert_eq!(created.len(), 5);
    assert!(disk.synced() < before + 5, "an fsync for every commit");
}

#[test]
fn a_full_disk_is_507_and_what_was_asked_can_be_asked_again() {
    let disk = Disk::new().impatient();
    let server = disk.place.serve(&[]);
    let session = new_session(&server);
    let path = format!("/session/{session}/message");

    disk.tell("full");
    let refused = server.ask("POST", &path, JSON, &prompt("first"));
    let unmade = server.ask("POST", "/session", JSON, "{}");
    let read = server.json("GET", &path, "");
    disk.take_back("full");
    let answered = server.json("POST", &path, &prompt("second"));

    assert!(refused.starts_with("HTTP/1.1 507"), "{refused}");
    assert!(unmade.starts_with("HTTP/1.1 507"), "{unmade}");
    assert_eq!(read, json!([]), "nothing of what was refused is stored");
    assert_eq!(answered["info"]["role"], "assistant");
    assert!(answered["info"]["error"].is_null(), "{answered}");
    assert_eq!(server.json("GET", "/session/status", ""), json!({}));
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
    let data = disk.place.data().display().to_string();
    assert_eq!(disk.place.run(&["verify", "--data-dir", &data]).code, Some(0));
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_turn_and_then_is_not_costs_nothing() {
    let disk = Disk::new();
    let server = disk.place.serve(&[]);
    let session = new_session(&server);
    let path = format!("/session/{session}/message");

    disk.tell("full");
    let answered = std::thread::scope(|scope| {
        let asking = scope.spawn(|| server.json("POST", &path, &prompt("go")));
        // The server has noticed: it syncs nothing and says so.
        while !asking.is_finished() && disk.refused() < 3 {
            std::thread::yield_now();
        }
        disk.take_back("full");
        asking.join().unwrap()
    });

    assert_eq!(answered["info"]["role"], "assistant");
    assert!(answered["info"]["error"].is_null(), "{answered}");
}

#[test]
fn a_start_settles_many_open_sessions_in_few_commits() {
    const OPEN: u64 = 200;
    let disk = Disk::new();
    let server = disk.place.serve(&[]);
    for _ in 0..OPEN {
        let path = format!("/session/{}/prompt_async", new_session(&server));
        let asked = server.ask("POST", &path, JSON, &prompt("/demo hang 1"));
        assert!(asked.starts_with("HTTP/1.1 204"), "{asked}");
    }
    server.signal("KILL");
    server.ended();

    // All of them come to wait behind the first, which finds no room.
    disk.tell("full");
    let (server, before) = std::thread::scope(|scope| {
        let starting = scope.spawn(|| disk.place.serve(&[]));
        while !starting.is_finished() && disk.refused() < 10 {
            std::thread::yield_now();
        }
        let before = disk.synced();
        disk.take_back("full");
        (starting.join().unwrap(), before)
    });
    let synced = disk.synced() - before;

    assert_eq!(server.json("GET", "/session/status", ""), json!({}));
    let Value::Array(sessions) = server.json("GET", "/session?limit=1000", "") else { panic!("not a list") };
    assert_eq!(sessions.len() as u64, OPEN);
    assert!(synced < OPEN / 4, "{synced} fsyncs for {OPEN} sessions");
}

#[test]
fn a_commit_that_was_refused_because_its_fsync_failed_does_not_come_back_after_a_kill() {
    let disk = Disk::new().impatient();
    let server = disk.place.serve(&[]);
    server.json("POST", "/session", r#"{"title":"kept"}"#);

    disk.tell("fail-sync-once");
    let refused = server.ask("POST", "/session", JSON, r#"{"title":"ghost"}"#);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("Nothing was changed"), "{refused}");
    server.signal("KILL");
    assert_eq!(server.ended().0, None);

    // Was: the frames stood complete in the write-ahead log, and the next start counted them.
    let server = disk.place.serve(&[]);
    assert_eq!(titles(&server), ["kept"]);
}

#[test]
fn a_commit_that_may_be_stored_is_not_reported_as_refused() {
    let disk = Disk::new().impatient();
    let server = disk.place.serve(&[]);

    disk.tell("fail-sync");
    let unknown = server.ask("POST", "/session", JSON, r#"{"title":"perhaps"}"#);
    disk.take_back("fail-sync");

    assert!(unknown.starts_with("HTTP/1.1 503"), "{unknown}");
    assert!(unknown.contains("Look whether it is there"), "{unknown}");
    assert!(!unknown.contains("Nothing was changed"), "{unknown}");
    new_session(&server);
    server.signal("KILL");
    assert_eq!(server.ended().0, None);
    let server = disk.place.serve(&[]);
    assert_eq!(titles(&server).len(), 1, "what stands in its place has overwritten it");
}

/// The namespace in which this test may mount something: with the rights it has, or with those of a user namespace.
pub(crate) fn namespace() -> &'static [&'static str] {
    const WAYS: [&[&str]; 2] = [&["--mount"], &["--map-root-user", "--mount"]];
    let works = |way: &&&[&str]| {
        let tried =
            Command::new("unshare").args(**way).args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    WAYS.iter()
        .find(works)
        .expect("a mount namespace: neither this user nor a user namespace may mount a tmpfs")
}

/// A server whose data is on a file system of a few megabytes, and a process beside it through which that can be seen.
fn on_a_small_disk(place: &Place, megabytes: usize) -> (Server, PathBuf) {
    let data = place.data();
    fs::create_dir(&data).unwrap();
    let beside = place.home().join("beside");
    let script = format!(
        "mount -t tmpfs -o size={megabytes}m tmpfs {0} && {{ sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > {1}; }} && exec \"$@\"",
        data.display(),
        beside.display(),
    );
    let program = env!("CARGO_BIN_EXE_sturdy");
    let data_dir = data.display().to_string();
    let inside = place.command(&["serve", "--port", "0", "--data-dir", &data_dir]);
    let mut command = Command::new("unshare");
    command.args(namespace()).args(["sh", "-c", &script, "sh", program]).args(inside.get_args());
    command.current_dir(place.project()).env_clear();
    command.envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let server = Server::start(command);
    let pid = fs::read_to_string(&beside).unwrap();
    // The server itself cannot be looked into.
    let seen_from_here = format!("/proc/{}/root{}", pid.trim(), data.display());
    (server, PathBuf::from(seen_from_here))
}

#[test]
fn a_file_system_that_is_really_full_is_507_for_whole_turns_and_then_they_go_on() {
    let place = Place::new().with("STURDY_DISK_PATIENCE_MS", "0");
    let (server, disk) = on_a_small_disk(&place, 8);
    let session = new_session(&server);
    let path = format!("/session/{session}/message");
    assert!(server.json("POST", &path, &prompt("before"))["info"]["error"].is_null());

    let ballast = disk.join("ballast");
    let filled = fs::write(&ballast, vec![1; 16 * 1024 * 1024]);
    let large = prompt(&"x".repeat(512 * 1024));
    let refused = server.ask("POST", &path, JSON, &large);
    let read = server.json("GET", &path, "");
    fs::remove_file(&ballast).unwrap();
    let answered = server.json("POST", &path, &prompt("after"));

    assert_eq!(filled.unwrap_err().raw_os_error(), Some(28), "the file system has room for everything");
    assert!(refused.starts_with("HTTP/1.1 507"), "{refused}");
    assert_eq!(read.as_array().unwrap().len(), 2, "nothing of what was refused is stored");
    assert_eq!(answered["info"]["role"], "assistant");
    assert!(answered["info"]["error"].is_null(), "{answered}");
    assert_eq!(server.json("GET", "/session/status", ""), json!({}));
    let beside = fs::read_to_string(place.home().join("beside")).unwrap();
    assert!(Command::new("kill").arg(beside.trim()).status().unwrap().success());
}

// Was: the log said *done* of a file that a power cut could take back.
#[test]
fn files_that_tools_write_are_synced_with_their_directory_before_the_call_is_done() {
    let disk = Disk::new();
    let project = fs::canonicalize(disk.place.project()).unwrap();
    fs::write(project.join("opencode.json"), r#"{"permission":"allow"}"#).unwrap();
    let disk = disk.with("STURDY_TRUST_ALL", "1");
    let server = disk.place.serve(&[]);
    let session = new_session(&server);
    let told = disk.told.join("synced-files");
    let file = project.join("new/note.txt");
    let calls = [
        ("write", json!({ "filePath": file, "content": "one\n" })),
        ("edit", json!({ "filePath": file, "oldString": "one", "newString": "two" })),
    ];
    for (tool, input) in calls {
        let _ = fs::remove_file(&told);

        let path = format!("/session/{session}/message");
        let answer = server.json("POST", &path, &prompt(&format!("/demo tool {tool} {input}")));

        assert!(answer["info"]["error"].is_null(), "{answer}");
        let synced = fs::read_to_string(&told).unwrap();
        let synced: HashSet<&Path> = synced.lines().map(Path::new).collect();
        let directory = project.join("new");
        assert!(synced.contains(&*directory), "{tool}: the name is not synced: {synced:?}");
        // It has no name yet when it is written.
        let is_content = |path: &&&Path| path.parent() == Some(&directory);
        assert!(synced.iter().any(|path| is_content(&path)), "{tool}: the content is not synced: {synced:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
}
