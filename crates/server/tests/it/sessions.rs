//! Sessions as a whole.

use crate::world::{NO_SESSION, World, no_such_session, prompt};
use serde_json::{Value, json};
use sturdy_session::types::session::Session;

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_session_is_created_without_a_body() {
    let world = World::new().await;

    let answer = world.call("POST", "/session").await;

    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let session = answer.json();
    let directory = world.project().display().to_string();
    insta::assert_json_snapshot!(session, {
        ".id" => "ses", ".slug" => "slug", ".directory" => "dir", ".path" => "path",
        ".title" => "title", ".time.created" => 0, ".time.updated" => 0,
    }, @r#"
    {
      "id": "ses",
      "slug": "slug",
      "projectID": "global",
      "directory": "dir",
      "path": "path",
      "cost": 0,
      "tokens": {
        "input": 0,
        "output": 0,
        "reasoning": 0,
        "cache": {
          "read": 0,
          "write": 0
        }
      },
      "title": "title",
      "version": "1.18.33",
      "time": {
        "created": 0,
        "updated": 0
      }
    }
    "#);
    assert_eq!(session["directory"], directory);
    assert_eq!(session["path"], directory.trim_start_matches('/'));
    assert!(session["title"].as_str().unwrap().starts_with("New session - "));
}

#[tokio::test]
async fn a_session_keeps_everything_it_was_created_with() {
    let world = World::new().await;
    let body = json!({
        "title": "All", "agent": "build", "model": { "id": "echo", "providerID": "demo", "variant": "high" },
        "metadata": { "a": 1, "b": { "c": [true, null] } },
        "permission": [{ "permission": "bash", "pattern": "*", "action": "ask" }],
    });

    let session = world.session_with(&body).await;

    for key in ["title", "agent", "model", "metadata", "permission"] {
        assert_eq!(session[key], body[key], "{key}");
    }
    let stored = world.get(&format!("/session/{}", session["id"].as_str().unwrap())).await.json();
    assert_eq!(stored, session);
}

#[tokio::test]
async fn a_child_knows_its_parent_and_the_parent_its_children() {
    let world = World::new().await;
    let parent = world.session().await;
    let child = world.session_with(&json!({ "parentID": parent })).await;

    let children = world.get(&format!("/session/{parent}/children")).await.json();

    assert_eq!(children, json!([child]));
    assert!(child["title"].as_str().unwrap().starts_with("Child session - "));
    assert_eq!(ids(&world.get("/session?roots=true").await.json()), [parent.as_str()]);
}

#[tokio::test]
async fn what_cannot_be_read_creates_nothing() {
    let world = World::new().await;
    for body in ["{bad", "{\"title\":5}", "[]", "{\"parentID\":\"abc\"}"] {
        let request = world.request("POST", "/session").header("content-type", "application/json").body(body);
        let answer = crate::world::Answer::of(request.send().await.unwrap()).await;
        assert_eq!(answer.both(), (400, json!({ "_tag": "BadRequest" })), "{body}");
    }
    assert_eq!(world.get("/session").await.json(), json!([]));
}

#[tokio::test]
async fn a_session_is_renamed_described_and_archived() {
    let world = World::new().await;
    let session = world.session_with(&json!({ "title": "Before" })).await;
    let path = format!("/session/{}", session["id"].as_str().unwrap());

    let renamed = world.send("PATCH", &path, &json!({ "title": "After" })).await.json();
    let rules = json!([{ "permission": "edit", "pattern": "*", "action": "deny" }]);
    world.send("PATCH", &path, &json!({ "permission": rules })).await;
    world.send("PATCH", &path, &json!({ "permission": rules, "metadata": { "k": "v" } })).await;
    let archived = world.send("PATCH", &path, &json!({ "time": { "archived": 5 } })).await.json();

    assert_eq!((&renamed["title"], &renamed["time"]), (&json!("After"), &session["time"]));
    assert_eq!(archived["permission"].as_array().unwrap().len(), 2);
    assert_eq!((&archived["metadata"], &archived["time"]["archived"]), (&json!({ "k": "v" }), &json!(5)));
    assert_eq!(world.get(&path).await.json(), archived);
    let back = world.send("PATCH", &path, &json!({ "time": { "archived": null } })).await.json();
    assert_eq!(back["time"].get("archived"), None);
    let unchanged = world.send("PATCH", &path, &json!({})).await.json();
    assert_eq!(unchanged, back);
}

#[tokio::test]
async fn a_removed_session_is_gone_with_its_children() {
    let world = World::new().await;
    let parent = world.session().await;
    let child = world.session_with(&json!({ "parentID": parent })).await;
    let path = format!("/session/{parent}");

    let removed = world.call("DELETE", &path).await;

    assert_eq!(removed.both(), (200, json!(true)));
    assert_eq!(world.get(&path).await.status, 404);
    assert_eq!(world.get(&format!("/session/{}", child["id"].as_str().unwrap())).await.status, 404);
    assert_eq!(world.call("DELETE", &path).await.status, 404);
}

#[tokio::test]
async fn a_list_obeys_every_filter() {
    let world = World::new().await;
    let one = world.session_with(&json!({ "title": "Fix the Feed" })).await;
    let two = world.session_with(&json!({ "title": "other" })).await;
    let one = one["id"].as_str().unwrap();
    let two = two["id"].as_str().unwrap();
    let other = world.other().display().to_string();
    let elsewhere = world.send("POST", &format!("/session?directory={other}"), &json!({})).await.json();
    let elsewhere = elsewhere["id"].as_str().unwrap();

    let list = |query: String| {
        let world = &world;
        async move {
            let list = world.get(&format!("/session{query}")).await.json();
            let mut found: Vec<String> = ids(&list).into_iter().map(str::to_owned).collect();
            found.sort();
            found
        }
    };
    let sorted = |mut wanted: Vec<&str>| {
        wanted.sort_unstable();
        wanted.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };

    assert_eq!(list(String::new()).await, sorted(vec![one, two, elsewhere]));
    assert_eq!(list(format!("?directory={other}")).await, [elsewhere]);
    assert_eq!(list(format!("?directory={other}&scope=project")).await, sorted(vec![one, two, elsewhere]));
    // Was: a word that means nothing was taken for none.
    assert_eq!(world.get("/session?scope=everything").await.status, 400);
    assert_eq!(list(format!("?directory={other}&path=")).await, sorted(vec![one, two, elsewhere]));
    let path = other.trim_start_matches('/');
    assert_eq!(list(format!("?path={path}")).await, [elsewhere]);
    assert_eq!(list("?search=the%20feed".to_owned()).await, [one]);
    assert_eq!(list("?limit=1".to_owned()).await.len(), 1);
    assert_eq!(list("?limit=0".to_owned()).await.len(), 0);
    assert_eq!(list("?start=99999999999999".to_owned()).await, Vec::<String>::new());
    assert_eq!(list("?start=0".to_owned()).await.len(), 3);
}

#[tokio::test]
async fn a_query_that_makes_no_sense_is_refused_with_its_place() {
    let world = World::new().await;
    let refused = |message: &str| {
        (400, json!({ "name": "BadRequest", "data": { "message": message, "kind": "Query" } }))
    };

    let roots = world.get("/session?roots=maybe").await.both();
    let limit = world.get("/session?limit=abc").await.both();

    assert_eq!(roots, refused("Expected \"true\" | \"false\", got \"maybe\"\n  at [\"roots\"]"));
    assert_eq!(limit, refused("Expected an integer, got NaN\n  at [\"limit\"]"));
    let negative = world.get("/session?limit=-1").await.both();
    assert_eq!(negative, refused("Expected a value greater than or equal to 0, got -1\n  at [\"limit\"]"));
    let many = world.get("/find/file?query=a&limit=300").await.both();
    assert_eq!(many, refused("Expected a value less than or equal to 200, got 300\n  at [\"limit\"]"));
}

#[tokio::test]
async fn the_newest_change_is_listed_first() {
    let world = World::new().await;
    let one = world.session().await;
    let two = world.session().await;
    world.ask(&one, "hello").await;

    let list = world.get("/session").await.json();

    assert_eq!(ids(&list), [one.as_str(), two.as_str()]);
    for record in list.as_array().unwrap() {
        serde_json::from_value::<Session>(record.clone()).unwrap();
    }
}

#[tokio::test]
async fn an_unknown_session_is_404_on_every_route_of_a_session() {
    let world = World::new().await;
    let path = format!("/session/{NO_SESSION}");
    for below in ["", "/message", "/children", "/todo"] {
        assert_eq!(world.get(&format!("{path}{below}")).await.both(), no_such_session(), "GET {below}");
    }
    assert_eq!(world.send("PATCH", &path, &json!({ "title": "x" })).await.both(), no_such_session());
    assert_eq!(world.call("DELETE", &path).await.both(), no_such_session());
    for below in ["/message", "/prompt_async"] {
        let answer = world.send("POST", &format!("{path}{below}"), &prompt("x")).await;
        assert_eq!(answer.both(), no_such_session(), "POST {below}");
    }
}

#[tokio::test]
async fn what_does_not_exist_has_no_diff_and_nothing_to_stop() {
    let world = World::new().await;
    let path = format!("/session/{NO_SESSION}");
    assert_eq!(world.get(&format!("{path}/diff")).await.both(), (200, json!([])));
    assert_eq!(world.get(&format!("{path}/diff?messageID=msg_x")).await.both(), (200, json!([])));
    assert_eq!(world.call("POST", &format!("{path}/abort")).await.both(), (200, json!(true)));
}

#[tokio::test]
async fn an_id_of_another_kind_is_refused_with_its_name() {
    let world = World::new().await;
    let session = world.session().await;
    let refused = |name: &str, prefix: &str| {
        let message = format!("Expected a string starting with \"{prefix}\", got \"abc\"\n  at [\"{name}\"]");
        (400, json!({ "name": "BadRequest", "data": { "message": message, "kind": "Params" } }))
    };

    assert_eq!(world.get("/session/abc").await.both(), refused("sessionID", "ses"));
    assert_eq!(world.get("/session/abc/message").await.both(), refused("sessionID", "ses"));
    let message = world.get(&format!("/session/{session}/message/abc")).await;
    assert_eq!(message.both(), refused("messageID", "msg"));
    let reply = world.send("POST", "/permission/abc/reply", &json!({ "reply": "once" })).await;
    assert_eq!(reply.both(), refused("requestID", "per"));
}

// Was: one read for each busy session of all directories, one after the other.
#[tokio::test]
async fn what_sessions_are_doing_is_one_read_however_many_are_busy() {
    let world = World::new().await;
    let there = format!("?directory={}", world.other().display());
    let mut busy = Vec::new();
    for place in ["", "", "", "", "", &there, &there, &there] {
        let session = world.send("POST", &format!("/session{place}"), &json!({})).await.json();
        let id = session["id"].as_str().unwrap().to_owned();
        let asked =
            world.send("POST", &format!("/session/{id}/prompt_async{place}"), &prompt("/demo hang")).await;
        assert_eq!(asked.status, 204, "{}", asked.text);
        busy.push(id);
    }
    while world.engine.statuses().len() < busy.len() {
        tokio::task::yield_now().await;
    }
    let reads = &world.engine.store().meters().reads;

    // The first look at a directory reads more, and so do sessions that are still being prepared: the cheapest look is
    // the one that reads for itself alone.
    let mut cheapest = u64::MAX;
    for _ in 0..20 {
        let before = reads.get();
        world.get("/session/status").await;
        cheapest = cheapest.min(reads.get() - before);
    }
    let status = world.get("/session/status").await.json();

    assert_eq!(cheapest, 1);
    let mut listed: Vec<_> = status.as_object().unwrap().keys().cloned().collect();
    listed.sort();
    let mut here = busy[..5].to_vec();
    here.sort();
    assert_eq!(listed, here, "those of the directory, and of no other");
}
