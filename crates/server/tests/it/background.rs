//! Processes that commands left in the background, over HTTP.

use crate::stream::Stream;
use crate::world::World;
use serde_json::{Value, json};

/// Writes its number where the test finds it, and stays.
const LEAVES: &str = r#"/demo tool bash {"command":"sleep 1000 & echo $! > pid; echo started","description":"Starts a server"}"#;

fn pid(world: &World) -> u32 {
    std::fs::read_to_string(world.project().join("pid")).unwrap().trim().parse().unwrap()
}

fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    !matches!(state, None | Some('Z' | 'X'))
}

async fn listed(world: &World, session: &str) -> Value {
    world.get(&format!("/sturdy/session/{session}/process")).await.json()
}

fn allowing_everything(world: &World) {
    let config = json!({ "permission": "allow" }).to_string();
    std::fs::write(world.project().join("opencode.json"), config).unwrap();
}

#[tokio::test]
async fn a_server_that_a_command_started_lives_on_is_listed_and_can_be_stopped() {
    let world = World::new().await;
    allowing_everything(&world);
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;

    let answer = world.ask(&session, LEAVES).await;
    let told = stream.until(|frame| frame.kind() == "sturdy.processes").await;
    let pid = pid(&world);
    let list = listed(&world, &session).await;
    let id = list[0]["id"].as_str().unwrap().to_owned();

    assert!(is_alive(pid));
    assert_eq!(list[0]["pids"], json!([pid]));
    assert_eq!((&list[0]["sessionID"], &list[0]["user"]), (&json!(session), &json!(false)));
    assert!(list[0]["command"].as_str().unwrap().starts_with("sleep 1000 &"));
    assert_eq!(told.last().unwrap().json()["properties"], json!({ "sessionID": session, "processes": list }));
    assert_eq!(world.get("/sturdy/process").await.json(), list);
    let messages = world.get(&format!("/session/{session}/message")).await.json();
    let parts = messages[1]["parts"].as_array().unwrap();
    let state = &parts.iter().find(|part| part["type"] == "tool").unwrap()["state"];
    assert_eq!(state["metadata"]["background"], json!(id));
    assert!(state["output"].as_str().unwrap().contains("Still running in the background"), "{state}");
    assert_eq!(answer["info"]["error"], Value::Null);

    let path = format!("/sturdy/session/{session}/process/{id}");
    let shown = world.get(&path).await.json();
    assert_eq!((&shown["id"], &shown["output"]), (&json!(id), &json!("")));
    assert_eq!(world.call("DELETE", &path).await.both(), (200, json!(true)));
    assert!(!is_alive(pid));
    assert_eq!(listed(&world, &session).await, json!([]));
    assert_eq!(world.call("DELETE", &path).await.status, 404);
    let told = stream.until(|frame| frame.kind() == "sturdy.processes").await;
    assert_eq!(told.last().unwrap().json()["properties"]["processes"], json!([]));
}

#[tokio::test]
async fn a_background_process_ends_with_its_session() {
    for end in ["archived", "removed", "closed"] {
        let world = World::new().await;
        allowing_everything(&world);
        let session = world.session().await;
        world.ask(&session, LEAVES).await;
        let pid = pid(&world);
        assert!(is_alive(pid));

        match end {
            "archived" => {
                let body = json!({ "time": { "archived": 1 } });
                world.send("PATCH", &format!("/session/{session}"), &body).await;
            }
            "removed" => {
                world.call("DELETE", &format!("/session/{session}")).await;
            }
            _ => drop(world.close().await),
        }

        assert!(!is_alive(pid), "{end}");
    }
}

#[tokio::test]
async fn what_a_persons_own_command_left_is_not_ended_with_the_session() {
    let world = World::new().await;
    let session = world.session().await;
    let body = json!({ "agent": "build", "command": "sleep 1000 & echo $! > pid" });

    let answer = world.send("POST", &format!("/session/{session}/shell"), &body).await;
    let list = listed(&world, &session).await;
    let pid = pid(&world);
    world.call("DELETE", &format!("/session/{session}")).await;

    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!((&list[0]["user"], &list[0]["pids"]), (&json!(true), &json!([pid])));
    assert!(is_alive(pid));
    let path = format!("/sturdy/session/{session}/process/{}", list[0]["id"].as_str().unwrap());
    assert_eq!(world.call("DELETE", &path).await.status, 200);
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_session_that_does_not_exist_has_no_processes_to_list() {
    let world = World::new().await;

    let list = world.get(&format!("/sturdy/session/{}/process", crate::world::NO_SESSION)).await;

    assert_eq!(list.both(), crate::world::no_such_session());
}
