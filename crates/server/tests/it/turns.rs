//! Commands, the user's shell, summaries, copies, and edits of messages and parts.

use crate::world::{NO_SESSION, World};
use serde_json::{Value, json};

#[tokio::test]
async fn a_command_is_expanded_and_answered() {
    let world = World::new().await;
    let session = world.session().await;
    std::fs::create_dir_all(world.project().join(".opencode/command")).unwrap();
    std::fs::write(world.project().join(".opencode/command/greet.md"), "Say hi to $ARGUMENTS").unwrap();
    world.call("POST", "/instance/dispose").await;
    let path = format!("/session/{session}/command");

    let answer = world.send("POST", &path, &json!({ "command": "greet", "arguments": "Ada" })).await;
    let unknown = world.send("POST", &path, &json!({ "command": "gret", "arguments": "" })).await;

    assert_eq!(answer.status, 200);
    assert!(answer.json()["parts"].to_string().contains("Say hi to Ada"), "{}", answer.text);
    assert_eq!(unknown.status, 400);
    assert!(unknown.text.contains("greet"), "{}", unknown.text);
}

#[tokio::test]
async fn a_line_of_the_users_shell_runs_without_a_model() {
    let world = World::new().await;
    let session = world.session().await;
    let body = json!({ "agent": "build", "command": "echo shell-ok" });

    let answer = world.send("POST", &format!("/session/{session}/shell"), &body).await;

    assert_eq!(answer.status, 200);
    let part = &answer.json()["parts"][0];
    assert_eq!((&part["tool"], &part["state"]["status"]), (&json!("bash"), &json!("completed")));
    assert_eq!(part["state"]["output"], "shell-ok\n");
}

#[tokio::test]
async fn a_summary_is_made_when_it_is_asked_for() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "remember the river").await;
    let body = json!({ "providerID": "demo", "modelID": "echo" });

    let answer = world.send("POST", &format!("/session/{session}/summarize"), &body).await;

    assert_eq!(answer.both(), (200, json!(true)));
    let messages = world.get(&format!("/session/{session}/message")).await.json();
    let last = messages.as_array().unwrap().last().unwrap();
    assert_eq!((&last["info"]["summary"], &last["info"]["agent"]), (&json!(true), &json!("compaction")));
}

#[tokio::test]
async fn a_copy_has_the_messages_before_one_under_new_ids() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "one").await;
    world.ask(&session, "two").await;
    let messages = world.get(&format!("/session/{session}/message")).await.json();

    let copy = world
        .send("POST", &format!("/session/{session}/fork"), &json!({ "messageID": messages[2]["info"]["id"] }))
        .await;
    let whole = world.call("POST", &format!("/session/{session}/fork")).await.json();

    let count = async |id: &Value| {
        let path = format!("/session/{}/message", id.as_str().unwrap());
        world.get(&path).await.json().as_array().unwrap().len()
    };
    assert_eq!(copy.status, 200);
    assert_eq!((count(&copy.json()["id"]).await, count(&whole["id"]).await), (2, 4));
    assert!(whole["title"].as_str().unwrap().ends_with(" (fork #1)"));
}

#[tokio::test]
async fn messages_and_parts_can_be_changed_and_removed() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "one").await;
    let messages = world.get(&format!("/session/{session}/message")).await.json();
    let message = messages[0]["info"]["id"].as_str().unwrap();
    let mut part = messages[0]["parts"][0].clone();
    let path = format!("/session/{session}/message/{message}");
    let part_path = format!("{path}/part/{}", part["id"].as_str().unwrap());
    part["text"] = json!("rewritten");

    let written = world.send("PATCH", &part_path, &part).await;
    let elsewhere = world.send("PATCH", &format!("{path}/part/prt_other"), &part).await;
    let removed = world.call("DELETE", &part_path).await;
    let gone = world.call("DELETE", &path).await;
    let again = world.call("DELETE", &path).await;

    assert_eq!(written.both(), (200, part));
    assert_eq!(elsewhere.both(), (400, json!({ "_tag": "BadRequest" })));
    assert_eq!((removed.both(), gone.both()), ((200, json!(true)), (200, json!(true))));
    assert_eq!(again.both(), (200, json!(true)));
    assert_eq!(world.get(&format!("/session/{session}/message")).await.json().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn none_of_it_is_done_to_a_session_that_is_not_there() {
    let world = World::new().await;
    let model = json!({ "providerID": "demo", "modelID": "echo" });
    for (route, body) in [
        ("command", json!({ "command": "init", "arguments": "" })),
        ("shell", json!({ "command": "true", "agent": "build" })),
        ("summarize", model.clone()),
        ("init", json!({ "providerID": "demo", "modelID": "echo", "messageID": "msg_1" })),
        ("fork", json!({})),
    ] {
        let answer = world.send("POST", &format!("/session/{NO_SESSION}/{route}"), &body).await;
        assert_eq!(answer.status, 404, "{route}: {}", answer.text);
    }
}
