//! What a session asks a person, and the answers.

use crate::stream::{Frame, Stream};
use crate::world::{World, prompt};
use serde_json::{Value, json};

/// A session whose model wants to run a command that has to be asked for.
async fn asked(tool: &str) -> (World, String, Stream, Value) {
    let world = World::new().await;
    let config = json!({ "permission": { "bash": "ask" } }).to_string();
    std::fs::write(world.project().join("opencode.json"), config).unwrap();
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    world.send("POST", &format!("/session/{session}/prompt_async"), &prompt(tool)).await;
    let frames = stream.until(|frame| frame.kind().ends_with(".asked")).await;
    let request = frames.last().unwrap().json()["properties"].clone();
    (world, session, stream, request)
}

const BASH: &str = r#"/demo tool bash {"command":"echo done","description":"Prints a marker"}"#;
const QUESTION: &str = r#"/demo tool question {"questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"Warm"},{"label":"Blue","description":"Cold"}]}]}"#;

async fn tool_state(world: &World, session: &str) -> Value {
    let list = world.get(&format!("/session/{session}/message")).await.json();
    let parts = list[1]["parts"].as_array().unwrap();
    parts.iter().find(|part| part["type"] == "tool").unwrap()["state"].clone()
}

#[tokio::test]
async fn a_permission_is_asked_for_and_given_once() {
    let (world, session, mut stream, request) = asked(BASH).await;
    let id = request["id"].as_str().unwrap();

    let open = world.get("/permission").await.json();
    let second = world.get("/api/permission/request").await.json();
    let status = world.get("/session/status").await.json();
    let answered = world.send("POST", &format!("/permission/{id}/reply"), &json!({ "reply": "once" })).await;
    let frames = stream.until(Frame::is_idle).await;

    assert_eq!((&request["permission"], &request["patterns"]), (&json!("bash"), &json!(["echo done"])));
    // What "always" would allow, where clients show it.
    assert_eq!(
        (&request["always"], &request["metadata"]["always"]),
        (&json!(["echo *"]), &json!(["echo *"]))
    );
    assert_eq!(open, json!([request]));
    assert_eq!((&second["data"][0]["id"], &second["data"][0]["action"]), (&request["id"], &json!("bash")));
    assert_eq!(second["data"][0]["resources"], request["patterns"]);
    assert_eq!(status[&session]["type"], "busy");
    assert_eq!(answered.both(), (200, json!(true)));
    let replied = frames.iter().find(|frame| frame.kind() == "permission.replied").unwrap().json();
    assert_eq!(replied["properties"], json!({ "sessionID": session, "requestID": id, "reply": "once" }));
    assert_eq!(tool_state(&world, &session).await["output"], "done\n");
    assert_eq!(world.get("/permission").await.json(), json!([]));
    let again = world.send("POST", &format!("/permission/{id}/reply"), &json!({ "reply": "once" })).await;
    assert_eq!((again.status, &again.json()["_tag"]), (404, &json!("PermissionNotFoundError")));
}

#[tokio::test]
async fn a_permission_is_refused_in_the_older_form() {
    let (world, session, mut stream, request) = asked(BASH).await;
    let path = format!("/session/{session}/permissions/{}", request["id"].as_str().unwrap());

    let answered = world.send("POST", &path, &json!({ "response": "reject" })).await;
    stream.until(Frame::is_idle).await;

    assert_eq!(answered.both(), (200, json!(true)));
    assert_eq!(tool_state(&world, &session).await["status"], "error");
}

#[tokio::test]
async fn a_question_is_answered_or_dismissed() {
    for (below, body) in [("reply", json!({ "answers": [["Red"]] })), ("reject", json!({}))] {
        let (world, session, mut stream, request) = asked(QUESTION).await;
        let id = request["id"].as_str().unwrap();

        let open = world.get("/question").await.json();
        let second = world.get("/api/question/request").await.json();
        let answered = world.send("POST", &format!("/question/{id}/{below}"), &body).await;
        let frames = stream.until(Frame::is_idle).await;

        assert_eq!((&open, &second["data"]), (&json!([request]), &json!([request])));
        assert_eq!(answered.both(), (200, json!(true)));
        let kind = if below == "reply" { "question.replied" } else { "question.rejected" };
        let shown = frames.iter().find(|frame| frame.kind() == kind).unwrap().json();
        assert_eq!(
            (&shown["properties"]["requestID"], &shown["properties"]["sessionID"]),
            (&json!(id), &json!(session))
        );
        let status = tool_state(&world, &session).await["status"].clone();
        assert_eq!(status, if below == "reply" { "completed" } else { "error" });
    }
}

#[tokio::test]
async fn a_request_is_still_open_after_a_restart() {
    let (world, session, stream, request) = asked(BASH).await;
    drop(stream);

    let world = world.reopened().await;

    assert_eq!(world.get("/permission").await.json(), json!([request]));
    let mut stream = Stream::open(&world, "/event").await;
    let path = format!("/permission/{}/reply", request["id"].as_str().unwrap());
    assert_eq!(world.send("POST", &path, &json!({ "reply": "once" })).await.both(), (200, json!(true)));
    stream.until(Frame::is_idle).await;
    assert_eq!(world.get(&format!("/session/{session}")).await.status, 200);
}

#[tokio::test]
async fn what_is_allowed_for_good_is_listed_kept_and_taken_back() {
    let (world, session, mut stream, request) = asked(BASH).await;
    let path = format!("/permission/{}/reply", request["id"].as_str().unwrap());
    world.send("POST", &path, &json!({ "reply": "always" })).await;
    stream.until(Frame::is_idle).await;
    drop(stream);

    let world = world.reopened().await;
    let kept = world.get("/api/permission/saved").await.json();
    let id = kept["data"][0]["id"].as_str().unwrap().to_owned();
    let expected = json!([{ "id": id, "projectID": "global", "action": "bash", "resource": "echo *" }]);
    assert_eq!(kept["data"], expected);
    assert_eq!(world.get("/api/permission/saved?projectID=global").await.json()["data"], expected);
    assert_eq!(world.get("/api/permission/saved?projectID=other").await.json()["data"], json!([]));
    let answer = world.ask(&session, BASH).await;
    assert_eq!(answer["info"]["role"], "assistant");

    for _ in 0..2 {
        assert_eq!(world.call("DELETE", &format!("/api/permission/saved/{id}")).await.status, 204);
    }
    assert_eq!(world.get("/api/permission/saved").await.json()["data"], json!([]));
    let mut stream = Stream::open(&world, "/event").await;
    world.send("POST", &format!("/session/{session}/prompt_async"), &prompt(BASH)).await;
    stream.until(|frame| frame.kind() == "permission.asked").await;
}
