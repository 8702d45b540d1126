//! A row that cannot be read takes nothing else with it, and its session can be looked at and removed.

use crate::world::{World, prompt};
use serde_json::{Value, json};
use sturdy_server::ServerOptions;
use sturdy_testkit::world::change_database;

const DAMAGED_PART: &str = "[This part is damaged and cannot be read.]";

/// The same world after something changed its database.
async fn damaged(world: World, statements: &[String]) -> World {
    let root = world.close().await;
    for statement in statements {
        change_database(&root.path().join("data"), statement);
    }
    World::open_again(root, ServerOptions::default()).await
}

fn ids(list: &Value) -> Vec<String> {
    let mut ids: Vec<String> =
        list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

async fn found(world: &World, path: &str) -> Value {
    let answer = world.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

#[tokio::test]
async fn a_session_whose_row_is_damaged_is_listed_and_removable_and_the_others_are_served() {
    let damages = ["data = ''", "data = '{}'", "data = x'ff00'", "machine = '{'"];
    for damage in damages {
        let world = World::new().await;
        let parent = world.session().await;
        let child = world.session_with(&json!({ "parentID": parent, "title": "Below" })).await;
        let child = child["id"].as_str().unwrap().to_owned();
        let other = world.session().await;
        world.ask(&other, "hello").await;
        let mut all = vec![parent.clone(), child.clone(), other.clone()];
        all.sort();

        let world = damaged(world, &[format!("UPDATE session SET {damage} WHERE id = '{child}'")]).await;

        // Was: one such row made every list invalid or a refusal.
        assert_eq!(ids(&found(&world, "/session").await), all, "{damage}");
        assert_eq!(ids(&found(&world, &format!("/session/{parent}/children")).await), [child.as_str()]);
        assert_eq!(ids(&found(&world, "/api/session").await["data"]), all, "{damage}");
        assert_eq!(ids(&found(&world, "/experimental/session").await), all, "{damage}");
        let overview = found(&world, "/sturdy/overview").await;
        let listed: Vec<Value> =
            overview["sessions"].as_array().unwrap().iter().map(|row| row["info"].clone()).collect();
        assert_eq!(ids(&Value::Array(listed)), all, "{damage}");
        let family = found(&world, &format!("/sturdy/session/{parent}")).await;
        assert_eq!(family["family"][0]["info"]["id"], child, "{damage}");
        let read = found(&world, &format!("/session/{child}")).await;
        assert_eq!((&read["id"], &read["title"]), (&json!(child), &json!("Below")), "{damage}");
        assert_eq!(read["parentID"], parent, "{damage}");
        found(&world, &format!("/api/session/{child}")).await;
        assert_eq!(found(&world, &format!("/session/{child}/message")).await, json!([]));
        let health = found(&world, "/global/health").await;
        assert_eq!(health["damaged"][0]["sessionID"], child, "{damage}: {health}");
        world.ask(&other, "still there?").await;

        // Was: a child whose record could not be read was passed over.
        assert_eq!(world.call("DELETE", &format!("/session/{parent}")).await.status, 200);
        assert_eq!(ids(&found(&world, "/session").await), [other], "{damage}");
        assert_eq!(found(&world, "/global/health").await.get("damaged"), None, "{damage}");
    }
}

#[tokio::test]
async fn a_message_or_part_that_is_damaged_is_shown_as_damaged_and_the_rest_is_read_and_exported() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "the first prompt").await;
    world.ask(&session, "the second prompt").await;
    let before = found(&world, &format!("/session/{session}/message")).await;
    let lost_part = before[0]["parts"][0]["id"].as_str().unwrap().to_owned();
    let lost_head = before[1]["info"]["id"].as_str().unwrap().to_owned();
    let statements = [
        format!("UPDATE part SET data = '' WHERE id = '{lost_part}'"),
        format!("UPDATE message SET data = '{{' WHERE id = '{lost_head}'"),
        format!("INSERT INTO todo (session_id, data, position) VALUES ('{session}', '[', 1)"),
    ];

    let world = damaged(world, &statements).await;

    // Was: the whole answer was no JSON.
    let path = format!("/session/{session}");
    for list in [format!("{path}/message"), format!("{path}/message?limit=50")] {
        let after = found(&world, &list).await;
        assert_eq!(after.as_array().unwrap().len(), 4, "{after}");
        assert_eq!(after[0]["info"], before[0]["info"]);
        assert_eq!(after[0]["parts"][0]["id"], lost_part);
        assert_eq!(after[0]["parts"][0]["text"], DAMAGED_PART);
        assert_eq!(after[1]["info"]["id"], lost_head);
        assert!(after[1]["info"]["error"].is_object(), "{after}");
        assert_eq!(after[1]["parts"], before[1]["parts"], "what can be read of it is");
        assert_eq!((&after[2], &after[3]), (&before[2], &before[3]));
    }
    found(&world, &format!("{path}/message/{lost_head}")).await;
    assert_eq!(found(&world, &format!("/api{path}/message")).await["data"].as_array().unwrap().len(), 4);
    assert_eq!(
        found(&world, &format!("/sturdy{path}/outline")).await["messages"].as_array().unwrap().len(),
        4
    );
    assert_eq!(found(&world, &format!("/sturdy{path}")).await["messages"].as_array().unwrap().len(), 4);
    assert_eq!(found(&world, &format!("{path}/todo")).await, json!([]));
    let export = world.get(&format!("/sturdy{path}/export.html")).await;
    assert_eq!(export.status, 200);
    assert!(export.text.contains("the second prompt") && export.text.contains(DAMAGED_PART));
    let health = found(&world, "/global/health").await;
    assert_eq!(health["damaged"][0]["sessionID"], session, "{health}");

    let answered = world.send("POST", &format!("{path}/message"), &prompt("a third prompt")).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(world.call("DELETE", &path).await.status, 200);
    assert_eq!(found(&world, "/session").await, json!([]));
}
