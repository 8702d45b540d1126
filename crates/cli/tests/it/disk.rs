//! The disk under the built program, watched and broken by a library that stands between it and libc (`disk.c`).
//!
//! A mount would need rights that tests do not have; here every write and fsync of the store's files goes through code
//! of ours, and everything else is as it is.

use crate::program::{Place, Server};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A place whose store is on a disk that can be told things.
struct Disk {
    place: Place,
    told: PathBuf,
}

impl Disk {
    fn new() -> Self {
        static LIBRARY: OnceLock<tempfile::TempDir> = OnceLock::new();
        let library = LIBRARY.get_or_init(|| {
            let directory = tempfile::tempdir().unwrap();
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/disk.c");
            let built = Command::new("cc")
                .args(["-shared", "-fPIC", "-o"])
                .arg(directory.path().join("libdisk.so"))
                .arg(source)
                .arg("-ldl")
                .status();
            assert!(built.unwrap().success(), "the C compiler refuses disk.c");
            directory
        });
        let place = Place::new();
        let told = place.home().join("disk");
        fs::create_dir(&told).unwrap();
        let library = library.path().join("libdisk.so").display().to_string();
        let place = place.with("LD_PRELOAD", &library).with("STURDY_TEST_DISK", &told.display().to_string());
        Self { place, told }
    }

    /// Refused at once, and not after half a minute.
    fn impatient(self) -> Self {
        Self { place: self.place.with("STURDY_DISK_PATIENCE_MS", "0"), told: self.told }
    }

    fn tell(&self, what: &str) {
        fs::write(self.told.join(what), "").unwrap();
    }

    fn take_back(&self, what: &str) {
        fs::remove_file(self.told.join(what)).unwrap();
    }

    /// Fsyncs of the store that the disk has done.
    fn synced(&self) -> u64 {
        fs::metadata(self.told.join("synced")).map_or(0, |file| file.len())
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

/// What the test above would see if commits were not synced: it can tell the difference.
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
        while !asking.is_finished()
            && fs::metadata(disk.told.join("refused")).map_or(0, |file| file.len()) < 3
        {
            std::thread::yield_now();
        }
        disk.take_back("full");
        asking.join().unwrap()
    });

    assert_eq!(answered["info"]["role"], "assistant");
    assert!(answered["info"]["error"].is_null(), "{answered}");
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
fn what_cannot_be_known_is_not_called_refused() {
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
