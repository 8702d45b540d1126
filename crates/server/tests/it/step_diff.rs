//! What one step changed, also where others of its turn changed the same file.

use crate::protocols::{messages, titled, world};
use crate::world::{NO_MESSAGE, NO_SESSION, World, no_such_session};
use serde_json::{Value, json};
use sturdy_testkit::{Dialect, answer};

async fn diff(world: &World, session: &str, message: &Value) -> Value {
    let id = message["info"]["id"].as_str().unwrap();
    let found = world.get(&format!("/sturdy/session/{session}/message/{id}/diff")).await;
    assert_eq!(found.status, 200, "{}", found.text);
    found.json()
}

fn lines(diffs: &Value) -> Vec<(&str, Vec<&str>)> {
    let is_change = |line: &&str| {
        (line.starts_with('+') && !line.starts_with("+++"))
            || (line.starts_with('-') && !line.starts_with("---"))
    };
    let diffs = diffs.as_array().unwrap().iter();
    let changed = diffs.map(|diff| {
        let patch = diff["patch"].as_str().unwrap();
        (diff["file"].as_str().unwrap(), patch.lines().filter(is_change).collect())
    });
    changed.collect()
}

#[tokio::test]
async fn a_step_tells_its_own_difference_of_a_file_that_others_of_its_turn_changed_too() {
    let (world, provider) = world(Dialect::Chat).await;
    let path = world.project().join("a.txt");
    let write = |content: &str| json!({ "filePath": path, "content": content }).to_string();
    provider.will(answer().call(0, "c1", "write", &write("one\n")).finish("tool_calls"));
    provider.will(answer().call(0, "c2", "write", &write("one\ntwo\n")).finish("tool_calls"));
    provider.will(answer().text("Done.").finish("stop"));
    let session = titled(&world).await;
    world.ask(&session, "write it twice").await;
    let all = messages(&world, &session).await;

    let first = diff(&world, &session, &all[1]).await;
    let second = diff(&world, &session, &all[2]).await;

    assert_eq!(lines(&first), [("a.txt", vec!["+one"])]);
    assert_eq!(first[0]["status"], "added");
    assert_eq!(lines(&second), [("a.txt", vec!["+two"])]);
    assert_eq!((&second[0]["additions"], &second[0]["status"]), (&json!(1), &json!("modified")));
    assert_eq!(diff(&world, &session, &all[0]).await, json!([]), "a prompt changes nothing");
    assert_eq!(diff(&world, &session, &all[3]).await, json!([]), "nor does an answer in words");
}

#[tokio::test]
async fn a_step_that_is_not_there_is_said_to_be_so() {
    let world = World::new().await;
    let session = world.session().await;

    let unknown = world.get(&format!("/sturdy/session/{session}/message/{NO_MESSAGE}/diff")).await;
    let elsewhere = world.get(&format!("/sturdy/session/{NO_SESSION}/message/{NO_MESSAGE}/diff")).await;
    let no_id = world.get(&format!("/sturdy/session/{session}/message/x/diff")).await;

    let message = format!("Message not found: {NO_MESSAGE}");
    assert_eq!(unknown.both(), (404, json!({ "name": "NotFoundError", "data": { "message": message } })));
    assert_eq!(elsewhere.both(), no_such_session());
    assert_eq!(no_id.status, 400);
}

#[tokio::test]
async fn a_step_whose_trees_are_gone_says_so() {
    let (world, provider) = world(Dialect::Chat).await;
    let call = json!({ "filePath": world.project().join("a.txt"), "content": "one\n" }).to_string();
    provider.will(answer().call(0, "c1", "write", &call).finish("tool_calls"));
    provider.will(answer().text("Done.").finish("stop"));
    let session = titled(&world).await;
    world.ask(&session, "write it").await;
    let all = messages(&world, &session).await;
    let step = all[1]["info"]["id"].as_str().unwrap();
    let root = world.close().await;
    std::fs::remove_dir_all(root.path().join("data/trees")).unwrap();
    let world = World::open_again(root, sturdy_server::ServerOptions::default()).await;

    let gone = world.get(&format!("/sturdy/session/{session}/message/{step}/diff")).await;

    assert_eq!((gone.status, gone.json()["name"].clone()), (409, json!("RevertError")), "{}", gone.text);
}
