//! Routes that take a body and are neither sessions nor prompts.

use crate::stream::Stream;
use crate::world::{Answer, World, no_such_session};
use serde_json::json;
use std::os::unix::fs::MetadataExt as _;

#[tokio::test]
async fn an_answer_to_a_request_that_is_not_open_is_404() {
    let world = World::new().await;
    let session = world.session().await;
    let per = "per_0123456789abABCDEFGHIJKLMN";
    let que = "que_0123456789abABCDEFGHIJKLMN";
    let missing = |what: &str, id: &str| {
        let message = format!("{what} request not found: {id}");
        (404, json!({ "_tag": format!("{what}NotFoundError"), "requestID": id, "message": message }))
    };
    let once = json!({ "reply": "once" });

    assert_eq!(
        world.send("POST", &format!("/permission/{per}/reply"), &once).await.both(),
        missing("Permission", per)
    );
    let older = format!("/session/{session}/permissions/{per}");
    assert_eq!(
        world.send("POST", &older, &json!({ "response": "once" })).await.both(),
        missing("Permission", per)
    );
    let unknown = format!("/session/{}/permissions/{per}", crate::world::NO_SESSION);
    assert_eq!(world.send("POST", &unknown, &json!({ "response": "once" })).await.both(), no_such_session());
    let answers = json!({ "answers": [["Red"]] });
    assert_eq!(
        world.send("POST", &format!("/question/{que}/reply"), &answers).await.both(),
        missing("Question", que)
    );
    assert_eq!(world.call("POST", &format!("/question/{que}/reject")).await.both(), missing("Question", que));
    let maybe = world.send("POST", &format!("/permission/{per}/reply"), &json!({ "reply": "maybe" })).await;
    let message = "Expected \"once\" | \"always\" | \"reject\", got \"maybe\"\n  at [\"reply\"]";
    assert_eq!(
        maybe.both(),
        (400, json!({ "name": "BadRequest", "data": { "message": message, "kind": "Payload" } }))
    );
}

#[tokio::test]
async fn a_project_is_named_and_keeps_its_name() {
    let world = World::new().await;
    world.get("/project/current").await;
    let mut global = Stream::open(&world, "/global/event").await;
    global.next().await;

    let named =
        world.send("PATCH", "/project/global", &json!({ "name": "Mine", "icon": { "color": "red" } })).await;

    let project = named.json();
    assert_eq!(
        (named.status, &project["name"], &project["icon"]),
        (200, &json!("Mine"), &json!({ "color": "red" }))
    );
    assert_eq!(world.get("/project/current").await.json(), project);
    let frame = global.next().await.unwrap().json();
    assert_eq!(
        (&frame["directory"], &frame["payload"]["type"]),
        (&json!("global"), &json!("project.updated"))
    );
    assert_eq!(frame["payload"]["properties"], project);
    let missing = world.send("PATCH", "/project/nope", &json!({})).await;
    let body =
        json!({ "_tag": "ProjectNotFoundError", "projectID": "nope", "message": "Project not found: nope" });
    assert_eq!(missing.both(), (404, body));
}

#[tokio::test]
async fn a_clients_line_goes_into_the_log() {
    let world = World::new().await;
    let line = json!({ "service": "tui", "level": "debug", "message": "hello", "extra": { "a": 1 } });
    assert_eq!(world.send("POST", "/log", &line).await.both(), (200, json!(true)));
    let wrong =
        world.send("POST", "/log", &json!({ "service": "tui", "level": "loud", "message": "" })).await;
    assert_eq!((wrong.status, &wrong.json()["data"]["kind"]), (400, &json!("Payload")));
}

#[tokio::test]
async fn a_changed_configuration_is_written_and_read_again() {
    let world = World::new().await;
    let patch = json!({ "model": "demo/story" });

    let changed = world.send("PATCH", "/config", &patch).await;

    assert_eq!(changed.both(), (200, patch));
    assert_eq!(world.get("/config").await.json()["model"], "demo/story");
    let global = world.send("PATCH", "/global/config", &json!({ "username": "eve" })).await;
    assert_eq!((global.status, &global.json()["username"]), (200, &json!("eve")));
    let wrong = world.send("PATCH", "/config", &json!({ "model": 5 })).await;
    assert_eq!((wrong.status, &wrong.json()["name"]), (400, &json!("ConfigInvalidError")));
    assert_eq!(world.get("/config").await.json()["model"], "demo/story");
}

// Was: it was written, and from then on every route of the directory answered 400, this one included.
#[tokio::test]
async fn a_change_that_would_not_load_is_refused_and_a_broken_file_can_be_mended() {
    let world = World::new().await;
    let file = world.project().join("opencode.json");
    let wrong = json!({ "agent": { "build": { "model": "sonnet" } } });
    assert_eq!(world.send("PATCH", "/config", &json!({ "model": "demo/story" })).await.status, 200);
    let before = std::fs::read_to_string(&file).unwrap();
    let number = std::fs::metadata(&file).unwrap().ino();

    let refused = world.send("PATCH", "/config", &wrong).await;

    assert_eq!((refused.status, &refused.json()["name"]), (400, &json!("ConfigInvalidError")));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    // Was: it was written, checked and put back, and a process that was killed in between left it there.
    assert_eq!(std::fs::metadata(&file).unwrap().ino(), number, "the file was not replaced");
    assert_eq!(world.get("/config").await.status, 200);

    // Broken by hand.
    std::fs::write(&file, wrong.to_string()).unwrap();
    world.call("POST", "/global/dispose").await;
    assert_eq!(world.get("/config").await.status, 400);
    let mended =
        world.send("PATCH", "/config", &json!({ "agent": { "build": { "model": "demo/story" } } })).await;
    assert_eq!(mended.status, 200, "{}", mended.text);
    assert_eq!(world.get("/config").await.json()["agent"]["build"]["model"], "demo/story");

    // A file that was not there is not there afterwards either.
    let other = format!("?directory={}", world.other().display());
    assert_eq!(world.send("PATCH", &format!("/config{other}"), &wrong).await.status, 400);
    assert!(!world.other().join("opencode.json").exists() && !world.other().join("opencode.jsonc").exists());
}

#[tokio::test]
async fn a_body_that_nests_too_deep_is_refused_and_changes_nothing() {
    let world = World::new().await;
    let with = |levels: usize| {
        let lists = "[".repeat(levels) + &"]".repeat(levels);
        format!(r#"{{"title":"Deep","metadata":{{"lists":{lists}}}}}"#)
    };
    let send = async |levels: usize| {
        let request = world.request("POST", "/session").header("content-type", "application/json");
        Answer::of(request.body(with(levels)).send().await.unwrap()).await
    };

    // Was: stored with 125 to 127 levels, and never readable again.
    for levels in [63, 120, 124, 125, 100_000] {
        assert_eq!(send(levels).await.both(), (400, json!({ "_tag": "BadRequest" })), "{levels} levels");
    }
    // Routes that say what is wrong say this too.
    let request = world.request("PATCH", "/config").header("content-type", "application/json");
    let refused = Answer::of(request.body(with(100)).send().await.unwrap()).await;
    let message = "The body nests lists and objects deeper than 64 levels";
    let body = json!({ "name": "BadRequest", "data": { "message": message, "kind": "Body" } });
    assert_eq!(refused.both(), (400, body));
    assert_eq!(world.get("/session").await.json(), json!([]));

    assert_eq!(send(62).await.status, 200);
    assert_eq!(world.get("/session").await.json().as_array().unwrap().len(), 1);
}
