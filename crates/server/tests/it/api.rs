//! The v2 API: sessions in its own spelling.

use crate::world::{NO_SESSION, World};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_session_is_the_same_in_both_spellings() {
    let world = World::new().await;
    let body = json!({ "model": { "providerID": "demo", "id": "echo" }, "location": { "directory": world.other() } });

    let created = world.send("POST", "/api/session", &body).await.json()["data"].clone();
    let id = created["id"].as_str().unwrap();
    let first = world.get(&format!("/session/{id}")).await.json();

    assert_eq!(world.get(&format!("/api/session/{id}")).await.json()["data"], created);
    for key in ["id", "projectID", "title", "cost", "tokens", "time"] {
        assert_eq!(created[key], first[key], "{key}");
    }
    // Where the v1 API leaves it out, the v2 API names the usual variant.
    assert_eq!(first["model"], body["model"]);
    assert_eq!(created["model"], json!({ "providerID": "demo", "id": "echo", "variant": "default" }));
    assert_eq!(
        (&created["location"]["directory"], &created["subpath"]),
        (&first["directory"], &first["path"])
    );
}

#[tokio::test]
async fn pages_are_by_creation_and_lead_both_ways() {
    let world = World::new().await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(world.session().await);
    }
    world.ask(&sessions[0], "touched last").await;
    sessions.reverse();

    let first = world.get("/api/session?limit=2").await.json();
    let next = first["cursor"]["next"].as_str().unwrap();
    let second = world.get(&format!("/api/session?limit=2&cursor={next}")).await.json();
    let next = second["cursor"]["next"].as_str().unwrap();
    let third = world.get(&format!("/api/session?limit=2&cursor={next}")).await.json();
    let previous = second["cursor"]["previous"].as_str().unwrap();
    let back = world.get(&format!("/api/session?limit=2&cursor={previous}")).await.json();

    assert_eq!([ids(&first), ids(&second), ids(&third)].concat(), sessions);
    assert_eq!(ids(&back), ids(&first));
    // A cursor has an order of its own; another one beside it says nothing.
    let other = world.get(&format!("/api/session?limit=2&cursor={previous}&order=asc")).await.json();
    assert_eq!(other, back);
    let ascending = ids(&world.get("/api/session?order=asc").await.json());
    assert!(ascending.iter().eq(sessions.iter().rev()));
    let none = world.get("/api/session?search=nothing").await.json();
    assert_eq!(none, json!({ "data": [], "cursor": { "previous": null, "next": null } }));
}

#[tokio::test]
async fn invalid_requests_have_the_error_bodies_of_the_v2_api() {
    let world = World::new().await;
    let invalid = json!({ "_tag": "InvalidCursorError", "message": "Invalid cursor" });
    assert_eq!(world.get("/api/session?cursor=x").await.both(), (400, invalid));
    let id = json!({ "_tag": "InvalidRequestError", "message": "Invalid session ID", "field": "sessionID" });
    assert_eq!(world.get("/api/session/abc").await.both(), (400, id));
    let message = format!("Session not found: {NO_SESSION}");
    let missing = json!({ "_tag": "SessionNotFoundError", "sessionID": NO_SESSION, "message": message });
    assert_eq!(world.get(&format!("/api/session/{NO_SESSION}")).await.both(), (404, missing.clone()));
    assert_eq!(
        world.call("POST", &format!("/api/session/{NO_SESSION}/interrupt")).await.both(),
        (404, missing)
    );
    let limit = world.get("/api/session?limit=x").await;
    assert_eq!((limit.status, &limit.json()["_tag"]), (400, &json!("InvalidRequestError")));
    let order = world.get("/api/session?order=up").await;
    assert_eq!((order.status, &order.json()["kind"]), (400, &json!("Query")));
    let provider = world.get("/api/provider/nope").await;
    assert_eq!((provider.status, &provider.json()["_tag"]), (404, &json!("ProviderNotFoundError")));
    let payload = world.send("POST", "/api/session", &json!({ "agent": 5 })).await;
    assert_eq!((payload.status, &payload.json()["_tag"]), (400, &json!("InvalidRequestError")));
}

#[tokio::test]
async fn lists_say_which_location_they_are_of() {
    let world = World::new().await;
    let location = world.get("/api/location").await.json();
    for path in
        ["agent", "model", "provider", "provider/demo", "command", "skill", "reference", "integration"]
    {
        let answer = world.get(&format!("/api/{path}")).await.json();
        assert_eq!(answer["location"], location, "{path}");
        assert!(answer.get("data").is_some(), "{path}");
    }
    let models = world.get("/api/model").await.json();
    assert!(
        models["data"]
            .as_array()
            .unwrap()
            .iter()
            .any(|model| model["id"] == "echo" && model["providerID"] == "demo")
    );
}

#[tokio::test]
async fn an_interrupted_session_is_idle() {
    let world = World::new().await;
    let session = world.session().await;
    let answer = world.call("POST", &format!("/api/session/{session}/interrupt")).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    assert_eq!(world.get("/api/session/active").await.json(), json!({ "data": {} }));
}
