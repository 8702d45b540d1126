//! What the wire has for several servers, as one server answers it; copies of projects; permissions that clients ask for.

use crate::world::{NO_SESSION, World, no_such_session};
use serde_json::{Value, json};
use std::process::Command;

fn named(name: &str, message: &str) -> (u16, Value) {
    (400, json!({ "name": name, "data": { "message": message } }))
}

#[tokio::test]
async fn workspaces_are_none_and_a_session_is_where_it_was_made() {
    let world = World::new().await;
    let session = world.session().await;
    let here = world.project().canonicalize().unwrap();

    let create =
        world.send("POST", "/experimental/workspace", &json!({ "type": "vm", "branch": null })).await;
    assert_eq!(create.both(), named("WorkspaceCreateError", "There is no workspace adapter of type \"vm\""));

    let warp = |id: Value, session: &str| json!({ "id": id, "sessionID": session });
    let back = world.send("POST", "/experimental/workspace/warp", &warp(Value::Null, &session)).await;
    assert_eq!(back.status, 204);
    let away = world.send("POST", "/experimental/workspace/warp", &warp(json!("wrk_x"), &session)).await;
    let missing = json!({ "name": "NotFoundError", "data": { "message": "Workspace not found: wrk_x" } });
    assert_eq!(away.both(), (404, missing));
    let nobody = world.send("POST", "/experimental/workspace/warp", &warp(Value::Null, NO_SESSION)).await;
    assert_eq!(nobody.both(), no_such_session());

    let destination =
        |directory: &str| json!({ "sessionID": session, "destination": { "directory": directory } });
    let path = "/experimental/control-plane/move-session";
    assert_eq!(world.send("POST", path, &destination(here.to_str().unwrap())).await.status, 204);
    let moved = world.send("POST", path, &destination("/nowhere")).await;
    assert_eq!((moved.status, &moved.json()["name"]), (400, &json!("MoveSessionError")));
    let nobody = json!({ "sessionID": NO_SESSION, "destination": { "directory": "/nowhere" } });
    let message = format!("Session not found: {NO_SESSION}");
    assert_eq!(world.send("POST", path, &nobody).await.both(), named("MoveSessionError", &message));
}

#[tokio::test]
async fn stored_events_are_read_from_where_one_knows_them() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "hello").await;

    let all = world.send("POST", "/sync/history", &json!({})).await.json();
    let rows = all.as_array().unwrap();
    assert_eq!(rows[0]["type"], "session.created.1");
    assert!(rows.iter().any(|row| row["type"] == "message.part.updated.1"), "{all}");
    assert!(rows.iter().all(|row| row["aggregate_id"] == session.as_str()));
    let seqs: Vec<u64> = rows.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted());

    let known = seqs[seqs.len() / 2];
    let rest = world.send("POST", "/sync/history", &json!({ &session: known })).await.json();
    let expected: Vec<&Value> = rows.iter().filter(|row| row["seq"].as_u64().unwrap() > known).collect();
    assert_eq!(rest.as_array().unwrap().iter().collect::<Vec<_>>(), expected);

    let events =
        json!([{ "id": "evt_x", "aggregateID": "ses_x", "seq": 1, "type": "session.created.1", "data": {} }]);
    let replay = world.send("POST", "/sync/replay", &json!({ "directory": "/", "events": events })).await;
    assert_eq!((replay.status, &replay.json()["name"]), (400, &json!("BadRequest")));
    let stolen = world.send("POST", "/sync/steal", &json!({ "sessionID": session })).await;
    assert_eq!(stolen.both(), (400, json!({ "_tag": "BadRequest" })));
}

// Was: a thousand rows were one answer, however large they were.
#[tokio::test]
async fn stored_events_that_are_large_are_read_a_few_at_a_time() {
    let world = World::new().await;
    let session = world.session().await;
    for _ in 0..6 {
        let text = "x".repeat(2 * 1024 * 1024);
        let prompt = json!({ "noReply": true, "parts": [{ "type": "text", "text": text }] });
        let sent = world.send("POST", &format!("/session/{session}/message"), &prompt).await;
        assert_eq!(sent.status, 200, "{}", sent.text);
    }

    let mut known = 0;
    let mut prompts = 0;
    let mut answers = 0;
    while prompts < 6 {
        let answer = world.send("POST", "/sync/history", &json!({ &session: known })).await;
        assert!(answer.text.len() < 9 * 1024 * 1024, "{} bytes", answer.text.len());
        let rows = answer.json();
        let rows = rows.as_array().unwrap();
        known = rows.last().unwrap()["seq"].as_u64().unwrap();
        prompts += rows.iter().filter(|row| row["type"] == "message.part.updated.1").count();
        answers += 1;
    }
    assert!(answers > 1, "all of it came at once");
}

fn git(directory: &std::path::Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments).current_dir(directory);
    assert!(command.output().unwrap().status.success(), "git {arguments:?}");
}

#[tokio::test]
async fn a_copy_of_a_project_is_a_worktree_and_goes_only_by_force_if_it_has_changes() {
    let world = World::new().await;
    let top = world.project();
    git(&top, &["init", "--quiet"]);
    std::fs::write(top.join("a.txt"), "a\n").unwrap();
    git(&top, &["add", "."]);
    git(&top, &["commit", "--quiet", "-m", "first"]);
    world.call("POST", "/instance/dispose").await;
    let project = world.get("/project/current").await.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/experimental/project/{project}/copy");
    let place = world.other().canonicalize().unwrap();

    let name =
        world.send("POST", &format!("{path}/generate-name"), &json!({ "context": "Fix it now" })).await;
    assert_eq!(name.both(), (200, json!({ "name": "fix-it-now" })));
    let wanted = json!({ "strategy": "git_worktree", "directory": place, "name": "fix-it-now" });
    let made = world.send("POST", &path, &wanted).await;
    let copy = place.join("fix-it-now");
    assert_eq!(made.both(), (200, json!({ "directory": copy })));
    assert_eq!(std::fs::read_to_string(copy.join("a.txt")).unwrap(), "a\n");

    std::fs::write(copy.join("a.txt"), "changed\n").unwrap();
    let kept = world.send("DELETE", &path, &json!({ "directory": copy, "force": false })).await;
    assert_eq!((kept.status, &kept.json()["data"]["forceRequired"]), (400, &json!(true)));
    assert!(copy.exists());
    let gone = world.send("DELETE", &path, &json!({ "directory": copy, "force": true })).await;
    assert_eq!((gone.status, copy.exists()), (204, false));

    let strange = world.send("DELETE", &path, &json!({ "directory": "/nowhere", "force": true })).await;
    assert_eq!(strange.both(), named("ProjectCopyError", "/nowhere is not a copy of this project"));
    let inside = json!({ "strategy": "git_worktree", "directory": top.canonicalize().unwrap() });
    assert_eq!(world.send("POST", &path, &inside).await.status, 400);
    assert_eq!(world.call("POST", &format!("{path}/refresh")).await.status, 204);
}

/// What clients are told in the words that are documented for these routes.
#[tokio::test]
async fn a_copy_that_cannot_be_made_is_refused_in_the_words_of_its_route() {
    let world = World::new().await;
    let path = "/experimental/project/nope/copy";

    let unknown =
        world.send("POST", path, &json!({ "strategy": "git_worktree", "directory": "/elsewhere" })).await;
    let strange = world.send("DELETE", path, &json!({ "directory": "/elsewhere", "force": true })).await;
    let empty = world.send("POST", path, &json!({})).await;
    let refreshed = world.call("POST", &format!("{path}/refresh")).await;
    let wrong = world.send("POST", &format!("{path}/generate-name"), &json!({ "context": 7 })).await;

    assert_eq!(unknown.both(), named("ProjectCopyError", "Project not found: nope"));
    assert_eq!(strange.both(), named("ProjectCopyError", "Project not found: nope"));
    let message = "Missing key\n  at [\"strategy\"]";
    let body = json!({ "_tag": "InvalidRequestError", "message": message, "kind": "Payload" });
    assert_eq!(empty.both(), (400, body));
    assert_eq!(refreshed.status, 204);
    assert_eq!((wrong.status, &wrong.json()["name"]), (400, &json!("BadRequest")));
    let number = world.send("POST", "/experimental/worktree", &json!({ "name": 7 })).await;
    assert_eq!((number.status, &number.json()["data"]["kind"]), (400, &json!("Payload")));
}

#[tokio::test]
async fn accounts_and_upgrades_are_refused_after_their_body_was_read() {
    let world = World::new().await;
    let switch = "/experimental/console/switch";

    let nobody = world.send("POST", switch, &json!({ "accountID": "a", "orgID": "b" })).await;
    let nothing = world.send("POST", switch, &json!({})).await;
    let upgrade = world.call("POST", "/global/upgrade").await;
    let number = world.send("POST", "/global/upgrade", &json!({ "target": 7 })).await;

    assert_eq!(nobody.both(), (400, json!({ "_tag": "BadRequest" })));
    assert_eq!((nothing.status, &nothing.json()["name"]), (400, &json!("BadRequest")));
    assert_eq!((upgrade.status, &upgrade.json()["success"]), (200, &json!(false)));
    assert_eq!((number.status, &number.json()["name"]), (400, &json!("BadRequest")));
}

#[tokio::test]
async fn a_client_asks_for_permission_and_a_person_answers_like_any_other() {
    let world = World::new().await;
    let session = world
        .session_with(&json!({ "permission": [
            { "permission": "deploy", "pattern": "*", "action": "ask" },
            { "permission": "deploy", "pattern": "staging", "action": "allow" },
            { "permission": "deploy", "pattern": "production", "action": "deny" },
        ] }))
        .await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/session/{session}/permission");
    let ask =
        |place: &str| json!({ "action": "deploy", "resources": [place], "metadata": { "why": "release" } });

    for (place, effect) in [("staging", "allow"), ("production", "deny")] {
        let judged = world.send("POST", &path, &ask(place)).await.json();
        assert_eq!(judged["data"]["effect"], effect);
    }
    let asked = world.send("POST", &path, &ask("elsewhere")).await.json();
    assert_eq!(asked["data"]["effect"], "ask");

    let id = asked["data"]["id"].as_str().unwrap();
    let open = world.get("/permission").await.json();
    assert_eq!((&open[0]["id"], &open[0]["patterns"]), (&json!(id), &json!(["elsewhere"])));
    let reply = world.send("POST", &format!("/permission/{id}/reply"), &json!({ "reply": "once" })).await;
    assert_eq!(reply.both(), (200, json!(true)));
    assert_eq!(world.get("/permission").await.json(), json!([]));

    let stranger =
        world.send("POST", &path, &json!({ "action": "x", "resources": [], "agent": "nobody" })).await;
    assert_eq!((stranger.status, &stranger.json()["_tag"]), (400, &json!("InvalidRequestError")));
}

// Was: the id was replaced by another, so that a client could not answer or find its own request, and "always" was
// forgotten at once.
#[tokio::test]
async fn a_client_names_its_own_permission_request_and_always_is_kept() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/api/session/{session}/permission");
    let id = "per_0123456789abcdefghijklmnop";
    let source = json!({ "type": "tool", "messageID": "msg_0123456789abcdefghijklmnop", "callID": "call_1" });
    let ask = json!({ "id": id, "action": "external_directory", "resources": ["/elsewhere/a"], "save": ["/elsewhere/*"],
        "metadata": { "why": "a test" }, "source": source });

    let asked = world.send("POST", &path, &ask).await;
    let again = world.send("POST", &path, &ask).await;
    let open = world.get(&format!("{path}/{id}")).await.json();
    let first = world.get("/permission").await.json();
    let answered = world.send("POST", &format!("{path}/{id}/reply"), &json!({ "reply": "always" })).await;
    let body = json!({ "action": "external_directory", "resources": ["/elsewhere/b"] });
    let later = world.send("POST", &path, &body);
    let later = later.await.json();

    assert_eq!(asked.both(), (200, json!({ "data": { "id": id, "effect": "ask" } })));
    assert_eq!((again.status, &again.json()["_tag"]), (400, &json!("InvalidRequestError")));
    let request = json!({ "id": id, "sessionID": session, "action": "external_directory", "resources": ["/elsewhere/a"],
        "save": ["/elsewhere/*"], "metadata": { "why": "a test" }, "source": source });
    assert_eq!(open, json!({ "data": request }));
    let call = json!({ "messageID": "msg_0123456789abcdefghijklmnop", "callID": "call_1" });
    assert_eq!((&first[0]["id"], &first[0]["tool"]), (&json!(id), &call));
    assert_eq!(answered.status, 204);
    assert_eq!(later["data"]["effect"], "allow");
    let kept = world.get("/api/permission/saved").await.json();
    let kept: Vec<_> =
        kept["data"].as_array().unwrap().iter().map(|row| (&row["action"], &row["resource"])).collect();
    assert_eq!(kept, [(&json!("external_directory"), &json!("/elsewhere/*"))]);
}

#[tokio::test]
async fn a_program_that_embeds_a_terminal_is_told_what_terminals_are_told() {
    let world = World::new().await;
    let mut waiting = Box::pin(world.request("GET", "/tui/control/next").send());
    // Nothing is kept until somebody waits; telling it more than once finds the moment.
    let told = loop {
        let text = json!({ "text": "x" });
        tokio::select! {
            told = &mut waiting => break told,
            _ = world.send("POST", "/tui/append-prompt", &text) => {}
        }
    };

    let request: Value = told.unwrap().json().await.unwrap();
    let event = json!({ "type": "tui.prompt.append", "properties": { "text": "x" } });
    assert_eq!(request, json!({ "path": "/tui/publish", "body": event }));
    let heard = world.send("POST", "/tui/control/response", &json!({ "done": true })).await;
    assert_eq!(heard.both(), (200, json!(true)));
}

#[tokio::test]
async fn a_login_by_browser_at_a_provider_is_not_there() {
    let world = World::new().await;
    for path in ["authorize", "callback"] {
        let answer =
            world.send("POST", &format!("/provider/demo/oauth/{path}"), &json!({ "method": 0 })).await;
        let data = json!({ "providerID": "demo", "message": "There is no login by browser for demo" });
        assert_eq!(answer.both(), (400, json!({ "name": "ProviderAuthOauthMissing", "data": data })));
    }
}
