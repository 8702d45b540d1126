//! T-DSK-01: the store of a sender, or of a share service, becomes read only while it runs and can be written again later;
//! and one that is read only from the beginning.

use super::pair::Pair;
use super::relay::{Stage, Then, Trap};
use super::until;
use crate::program::Place;
use serde_json::json;
use std::process::Command;

const JSON: &str = "content-type: application/json\r\naccept-encoding: identity\r\n";

#[test]
fn a_service_that_cannot_be_written_says_so_shows_what_it_has_and_goes_on_later() {
    let mut pair = Pair::new();
    let share = pair.share();
    pair.agree(&share);
    let owner = pair.owner();
    let shown = pair.share_shown(&share);

    pair.service.disk.tell("read-only");
    pair.say("while the service cannot be written");
    let link =
        until("the sender is told", || Some(pair.link()).filter(|link| link["failures"].as_u64() > Some(2)));
    let rotate = format!("/api/share/{share}/rotate");
    let right = format!("authorization: Bearer {owner}\r\n{JSON}");
    let refused = pair.service.server().ask("POST", &rotate, &right, "");
    let unmade = pair.service.server().ask("POST", "/api/share", JSON, r#"{"sessionID":"ses_of_another"}"#);

    assert_eq!(
        (&link["state"], &link["error"]),
        (&json!("active"), &json!("the store cannot be written now"))
    );
    for answer in [&refused, &unmade] {
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("retry-after: "), "{answer}");
        assert!(
            answer.contains(r#""code":"overloaded""#) && answer.contains(r#""retryable":true"#),
            "{answer}"
        );
    }
    assert_eq!(pair.share_shown(&share), shown, "it still shows what it has, and nothing of what it refused");

    pair.service.disk.take_back("read-only");
    pair.agree(&share);
    pair.unshare(&share);
    assert_eq!(pair.deaths(), 0);
    pair.end();
}

#[test]
fn a_sender_that_cannot_be_written_says_so_and_sends_what_it_has_sealed_once() {
    let mut pair = Pair::new();
    let share = pair.share();
    pair.agree(&share);
    let told = pair.sender.disk.teller("read-only");
    let happens = Box::new(told);
    pair.relay.catch(Trap { request: "POST /rpc/share ", stage: Stage::Answer, happens, then: Then::GoOn });

    // The service has applied the batch; the sender hears that and cannot write it down.
    pair.say("the last that could be stored");
    until("the batch is under way", || pair.relay.has_caught().then_some(()));
    let path = format!("/session/{}", pair.session);
    let before = pair.sender.server().json("GET", &path, "");
    let renamed = pair.sender.server().ask("PATCH", &path, JSON, r#"{"title":"refused"}"#);
    let unshared = pair.sender.server().ask("DELETE", &format!("{path}/share"), JSON, "");

    for answer in [&renamed, &unshared] {
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("The store cannot be written. Nothing was changed."), "{answer}");
    }
    assert_eq!(pair.sender.server().json("GET", &path, ""), before);

    pair.sender.disk.take_back("read-only");
    pair.agree(&share);
    pair.say("after it could be written again");
    pair.agree(&share);
    pair.unshare(&share);
    assert_eq!(pair.deaths(), 0);
    pair.end();
}

/// Runs the program where its data directory is mounted read only.
fn run_read_only(place: &Place, verb: &[&str]) -> std::process::Output {
    let data = place.data().display().to_string();
    let mut arguments = verb.to_vec();
    arguments.extend(["--port", "0", "--data-dir", &data]);
    let inside = place.command(&arguments);
    let script = format!("mount --bind {data} {data} && mount -o remount,bind,ro {data} && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(crate::disk::namespace()).args(["sh", "-c", &script, "sh"]);
    command.arg(inside.get_program()).args(inside.get_args()).current_dir(place.project()).env_clear();
    command.envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

#[test]
fn a_store_that_is_read_only_from_the_beginning_is_named_and_left_alone() {
    for verb in [&["serve"][..], &["share", "serve"]] {
        let place = Place::new();
        let server = if verb == ["serve"] { place.serve(&[]) } else { place.serve_shares(&[]) };
        server.signal("TERM");
        server.ended();
        let database = place.data().join("sturdy.db");
        let before = std::fs::read(&database).unwrap();

        let ended = run_read_only(&place, verb);

        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains("cannot be written"), "{said}");
        assert!(said.contains(&place.data().display().to_string()), "{said}");
        assert_eq!(std::fs::read(&database).unwrap(), before);
        let server = if verb == ["serve"] { place.serve(&[]) } else { place.serve_shares(&[]) };
        server.signal("TERM");
        assert_eq!(server.ended().0, Some(0));
    }
}
