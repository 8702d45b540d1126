//! Either program is killed (`kill -9`) at every point that has a name, and then at one change of a file after the other,
//! while a session is shared, narrowed, sent, taken back and tidied away. Both go on from what is stored, and agree.
//!
//! A point is a line of the program's log at the level trace; the disk of these tests kills the program while it writes
//! the line (`disk.c`). Points on the network are those of the relay in between.

use super::pair::{Pair, Side};
use super::relay::{Stage, Then, Trap};
use super::until;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// A round costs two starts; with this many, places are skipped.
const ROUNDS_MAX: usize = 12;

/// Where a sender is killed by its own disk, and at which pass.
const SENDER: [(&str, u32); 10] = [
    ("create.stored", 1),
    ("enqueue.mid", 1),
    ("enqueue.mid", 2),
    ("seal.mid", 1),
    ("seal.post", 2),
    ("send.pre", 1),
    ("ack.mid", 1),
    ("purge.mid", 2),
    ("ack.post", 1),
    ("delete.stored", 1),
];

/// Where it is killed while a request is under way: the name, the request, how far that has come.
const UNDER_WAY: [(&str, &str, Stage); 5] = [
    ("create.sent", "POST /api/share ", Stage::Answer),
    ("send.headers", "POST /rpc/share ", Stage::Head),
    ("send.body", "POST /rpc/share ", Stage::Body),
    ("recv.pre", "POST /rpc/share ", Stage::Answer),
    ("delete.sent", "DELETE /api/share/", Stage::Answer),
];

/// Where a service is killed, and at which pass.
const SERVICE: [(&str, u32); 12] = [
    ("srv.create.mid", 1),
    ("srv.locked", 1),
    ("srv.op", 1),
    ("srv.op", 2),
    ("srv.watermark", 1),
    ("srv.commit.pre", 1),
    ("srv.commit.post", 2),
    ("srv.notify", 1),
    ("srv.attenuate.mid", 1),
    ("srv.revoke.mid", 1),
    ("srv.rotate.mid", 1),
    ("srv.delete.mid", 1),
];

/// What a service does now and then.
const UPKEEP: [&str; 2] = ["srv.gc.mid", "srv.compact.mid"];

/// And while its store is opened (`migrate.rs`).
const OPENING: &str = "migrate.mid";

/// A session is shared, its right narrowed, taken back and rotated, more is said, and it is taken back.
fn life_of_a_share(pair: &mut Pair) {
    let share = pair.share();
    pair.agree(&share);
    let owner = pair.owner();
    let at = format!("/api/share/{share}");
    // With a secret of its own it is the same wish when its answer is lost.
    let reader = "secret-of-a-reader-0123456789abcdefghijkl";
    let wish = json!({ "scope": ["read"], "label": "reader", "secret": reader });
    let (status, made) = pair.insist_as(&owner, "POST", &format!("{at}/capabilities"), &wish);
    assert_eq!(status, 201, "{made}");
    let reference = made["sturdy_ref"].as_str().unwrap();
    let data = format!("{at}/data");
    assert_eq!(pair.insist_as(reference, "GET", &data, &Value::Null).0, 200);
    let capability = format!("{at}/capabilities/{}", made["cap_id"].as_str().unwrap());
    assert_eq!(pair.insist_as(&owner, "DELETE", &capability, &Value::Null).0, 200);
    assert_eq!(pair.insist_as(reference, "GET", &data, &Value::Null).0, 403);
    assert_eq!(pair.insist_as(&owner, "POST", &format!("{at}/rotate"), &Value::Null).0, 200);
    pair.say("while it is shared");
    pair.agree(&share);
    pair.unshare(&share);
}

/// T-OUT-06, T-OUT-07, T-CRT-01, T-CRT-02
#[test]
fn a_sender_that_is_killed_at_any_point_goes_on_and_both_agree() {
    let mut pair = Pair::new();
    for (name, pass) in SENDER {
        pair.another_session();
        let before = pair.sender.deaths;
        pair.sender.disk.tell_with("kill-at", &format!("{name} {pass}"));

        life_of_a_share(&mut pair);

        assert_eq!(pair.sender.deaths, before + 1, "deaths at {name}, pass {pass}");
    }
    pair.end();
}

/// T-OUT-06, T-CRT-01, T-CRT-02
#[test]
fn a_sender_that_is_killed_while_a_request_is_under_way_goes_on_and_both_agree() {
    let mut pair = Pair::new();
    for (name, request, stage) in UNDER_WAY {
        pair.another_session();
        let before = pair.sender.deaths;
        let happens = Box::new(pair.sender.kill_command());
        pair.relay.catch(Trap { request, stage, happens, then: Then::Cut });

        life_of_a_share(&mut pair);

        assert!(pair.relay.has_caught(), "{name} was not passed");
        assert_eq!(pair.sender.deaths, before + 1, "deaths at {name}");
    }
    pair.end();
}

/// T-SRV-12, T-CRT-01, T-CRT-02
#[test]
fn a_service_that_is_killed_at_any_point_goes_on_and_both_agree() {
    let mut pair = Pair::new();
    for (name, pass) in SERVICE {
        pair.another_session();
        let before = pair.service.deaths;
        pair.service.disk.tell_with("kill-at", &format!("{name} {pass}"));

        life_of_a_share(&mut pair);

        assert_eq!(pair.service.deaths, before + 1, "deaths at {name}, pass {pass}");
    }
    pair.end();
}

/// T-SRV-12: srv.gc and srv.compact. The service's clock is set a hundred days forward, so that all it has is old.
#[test]
fn a_service_that_is_killed_while_it_tidies_goes_on_and_both_agree() {
    let mut pair = Pair::new();
    let share = pair.share();
    pair.agree(&share);
    let empty = json!({ "sessionID": "ses_of_somebody_else" }).to_string();
    let (_, made) = pair.service.server().try_json("POST", "/api/share", "", &empty).unwrap();
    let empty = format!("/api/share/{}/data", made["id"].as_str().unwrap());
    let hundred_days = (100 * 24 * 60 * 60).to_string();
    pair.restart_service(&[("STURDY_TEST_AHEAD", &hundred_days), ("STURDY_TEST_LATER", "1")]);

    for name in UPKEEP {
        let before = pair.service.deaths;
        pair.service.disk.tell_with("kill-at", &format!("{name} 1"));
        tidy(&mut pair, |pair| pair.service.deaths > before);
        let (_, ops) =
            pair.service.server().try_json("GET", &format!("/api/share/{share}/ops"), "", "").unwrap();
        assert_ne!(ops["ops"], json!([]), "{name}: nothing is cut, or all of it");
        // Empty shares are deleted first, in a transaction of their own.
        let expected = if name == "srv.gc.mid" { 200 } else { 410 };
        assert_eq!(pair.service.server().try_json("GET", &empty, "", "").unwrap().0, expected, "{name}");
    }

    let share_path = format!("/api/share/{share}/ops");
    tidy(&mut pair, |pair| {
        let ops = pair.service.server().try_json("GET", &share_path, "", "");
        ops.is_some_and(|(_, ops)| ops["reset"] == true)
    });
    assert_eq!(pair.service.server().try_json("GET", &empty, "", "").unwrap().0, 410);
    pair.say("after the log was cut");
    pair.agree(&share);
    pair.end();
}

/// Lets a minute of the service pass, and another one whenever a while has passed for us: a timer that begins after the
/// first was let pass does not notice it. Waits for what the service does then.
fn tidy(pair: &mut Pair, is_done: impl Fn(&Pair) -> bool) {
    const A_WHILE: Duration = Duration::from_secs(3);
    let mut last: Option<Instant> = None;
    until("the service tidies", || {
        if last.is_none_or(|last| last.elapsed() > A_WHILE) {
            pair.let_a_minute_pass();
            last = Some(Instant::now());
        }
        // A timer that has run out is noticed when something else happens.
        let _ = pair.service.server().try_json("GET", "/api/share/nothing/data", "", "");
        pair.revive();
        is_done(pair).then_some(())
    });
}

fn kill_at_one_change_after_another(side: fn(&mut Pair) -> &mut Side) {
    let mut pair = Pair::new();
    let mut changes = 0;
    for round in 0..ROUNDS_MAX {
        pair.another_session();
        let before = pair.deaths();
        side(&mut pair).disk.tell_with("kill", &changes.to_string());
        life_of_a_share(&mut pair);
        side(&mut pair).disk.forget("kill");
        if pair.deaths() == before {
            break;
        }
        // The way is long: every commit is several changes of files.
        changes += 1 + 2 * round;
    }
    assert!(pair.deaths() >= 6, "it died only {} times", pair.deaths());
    pair.end();
}

/// T-OUT-06, T-OUT-07: between two writes of a commit, and before its fsync.
#[test]
fn a_sender_that_is_killed_at_any_change_of_a_file_goes_on_and_both_agree() {
    kill_at_one_change_after_another(|pair| &mut pair.sender);
}

/// T-SRV-12: the same of a service.
#[test]
fn a_service_that_is_killed_at_any_change_of_a_file_goes_on_and_both_agree() {
    kill_at_one_change_after_another(|pair| &mut pair.service);
}

/// Names of points in the program text below a directory.
fn points_below(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            points_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let named = text.split("trace!(\"point ").skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(named.map(str::to_owned));
        }
    }
}

/// A point that nobody is killed at is forgotten, and one that is gone is not noticed otherwise.
#[test]
fn every_point_of_the_program_has_a_kill() {
    let mut written = BTreeSet::new();
    for name in ["store", "engine", "server"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        points_below(&source, &mut written);
    }

    let killed = SENDER.iter().chain(&SERVICE).map(|(name, _)| *name).chain(UPKEEP).chain([OPENING]);
    assert_eq!(written, killed.map(str::to_owned).collect());
}
