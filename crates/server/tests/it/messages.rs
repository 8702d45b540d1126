//! Pages of messages.

use crate::world::{NO_MESSAGE, NO_SESSION, World};
use serde_json::{Value, json};
use sturdy_engine::PromptRequest;
use sturdy_session::types::part::{PartBody, TextPart};

async fn world_with_turns(count: usize) -> (World, String) {
    let world = World::new().await;
    let session = world.session().await;
    for number in 0..count {
        world.ask(&session, &format!("turn {number}")).await;
    }
    (world, session)
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry["info"]["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn all_messages_come_oldest_first_with_their_parts() {
    let (world, session) = world_with_turns(2).await;

    let answer = world.get(&format!("/session/{session}/message")).await;

    let list = answer.json();
    let roles: Vec<_> =
        list.as_array().unwrap().iter().map(|entry| entry["info"]["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(list[0]["parts"][0]["text"], "turn 0");
    assert_eq!(list[2]["parts"][0]["text"], "turn 1");
    assert_eq!((answer.header("x-next-cursor"), answer.header("link")), (None, None));
    let zero = world.get(&format!("/session/{session}/message?limit=0")).await;
    assert_eq!(zero.text, answer.text);
}

#[tokio::test]
async fn pages_are_followed_to_the_first_message() {
    let (world, session) = world_with_turns(3).await;
    let all = ids(&world.get(&format!("/session/{session}/message")).await.json());

    let mut found: Vec<String> = Vec::new();
    let mut path = format!("/session/{session}/message?directory=x&limit=2");
    let mut pages = 0;
    loop {
        let page = world.get(&path).await;
        found.splice(0..0, ids(&page.json()));
        pages += 1;
        let Some(cursor) = page.header("x-next-cursor") else { break };
        assert_eq!(page.header("access-control-expose-headers"), Some("Link, X-Next-Cursor"));
        let url = format!("{}/session/{session}/message?directory=x&limit=2&before={cursor}", world.url);
        assert_eq!(page.header("link"), Some(format!("<{url}>; rel=\"next\"").as_str()));
        path = url.strip_prefix(&world.url).unwrap().to_owned();
    }

    assert_eq!((found, pages), (all, 3));
}

#[tokio::test]
async fn a_page_around_a_message_and_the_pages_before_and_after_it_join_without_a_gap() {
    let (world, session) = world_with_turns(5).await;
    let path = format!("/session/{session}/message");
    let all = ids(&world.get(&path).await.json());

    let middle = world.get(&format!("{path}?limit=4&around={}", all[5])).await;
    let first = world.get(&format!("{path}?limit=4&around={}", all[0])).await;
    let last = world.get(&format!("{path}?limit=4&around={}", all[9])).await;
    let behind = world.get(&format!("{path}?limit=3&after={}", all[5])).await;
    let rest = world.get(&format!("{path}?limit=50&after={}", all[7])).await;
    let none = world.get(&format!("{path}?limit=2&after={}", all[9])).await;

    assert_eq!(ids(&middle.json()), all[4..8]);
    assert_eq!(ids(&first.json()), all[0..3]);
    assert_eq!(ids(&last.json()), all[6..10]);
    assert_eq!(ids(&behind.json()), all[6..9]);
    assert_eq!(ids(&rest.json()), all[8..10]);
    assert_eq!(none.text, "[]");
    assert!(middle.header("x-sturdy-position").is_some());
    let cursor = middle.header("x-next-cursor").unwrap();
    let link = format!("<{}{path}?limit=4&before={cursor}>; rel=\"next\"", world.url);
    assert_eq!(middle.header("link"), Some(link.as_str()));
    let older = world.get(&format!("{path}?limit=4&before={cursor}")).await;
    assert_eq!(ids(&older.json()), all[0..4]);
}

#[tokio::test]
async fn a_place_without_a_limit_of_no_message_or_beside_another_is_refused() {
    let (world, session) = world_with_turns(1).await;
    let bad = (400, json!({ "_tag": "BadRequest" }));
    let path = format!("/session/{session}/message");
    let known = ids(&world.get(&path).await.json()).remove(0);

    assert_eq!(world.get(&format!("{path}?around={known}")).await.both(), bad);
    assert_eq!(world.get(&format!("{path}?limit=0&after={known}")).await.both(), bad);
    assert_eq!(world.get(&format!("{path}?limit=2&around=nonsense")).await.both(), bad);
    assert_eq!(world.get(&format!("{path}?limit=2&around={known}&after={known}")).await.both(), bad);
    assert_eq!(world.get(&format!("{path}?limit=2&around={NO_MESSAGE}")).await.status, 404);
    assert_eq!(world.get(&format!("{path}?limit=2&after={NO_MESSAGE}")).await.status, 404);
}

#[tokio::test]
async fn a_cursor_without_a_limit_or_of_another_kind_is_refused() {
    let (world, session) = world_with_turns(1).await;
    let bad = (400, json!({ "_tag": "BadRequest" }));
    let path = format!("/session/{session}/message");
    let page = world.get(&format!("{path}?limit=1")).await;
    let cursor = page.header("x-next-cursor").unwrap();

    assert_eq!(world.get(&format!("{path}?before={cursor}")).await.both(), bad);
    assert_eq!(world.get(&format!("{path}?limit=1&before=nonsense")).await.both(), bad);
    let negative = world.get(&format!("{path}?limit=-1")).await;
    assert_eq!((negative.status, &negative.json()["data"]["kind"]), (400, &json!("Query")));
    assert_eq!(world.get(&format!("{path}?limit=1.5")).await.status, 400);
}

#[tokio::test]
async fn a_list_that_is_read_in_slices_is_that_of_its_pages() {
    let world = World::new().await;
    let session = world.session().await;
    // More than a slice in number, and two that are one each by their size.
    for number in 0..130 {
        let words = if number % 60 == 5 { "long ".repeat(60_000) } else { format!("message {number}") };
        let body = json!({ "noReply": true, "parts": [{ "type": "text", "text": words }] });
        assert_eq!(world.send("POST", &format!("/session/{session}/message"), &body).await.status, 200);
    }

    let list = world.get(&format!("/session/{session}/message")).await.json();

    let newest = world.get(&format!("/session/{session}/message?limit=100")).await;
    let cursor = newest.header("x-next-cursor").unwrap();
    let older = world.get(&format!("/session/{session}/message?limit=100&before={cursor}")).await.json();
    let pages = [older.as_array().unwrap().as_slice(), newest.json().as_array().unwrap()].concat();
    assert_eq!(pages.len(), 130);
    assert!(list.as_array().unwrap() == &pages, "they differ");
}

#[tokio::test]
async fn messages_of_a_session_that_does_not_exist_are_not_found() {
    let world = World::new().await;
    let path = format!("/session/{NO_SESSION}/message");

    for path in [path.clone(), format!("{path}?limit=10"), format!("{path}?limit=10&after={NO_MESSAGE}")] {
        let message = format!("Session not found: {NO_SESSION}");
        let missing = (404, json!({ "name": "NotFoundError", "data": { "message": message } }));
        assert_eq!(world.get(&path).await.both(), missing, "{path}");
    }
    // Was: the session was named; clients know it the other way.
    let one = world.get(&format!("{path}/{NO_MESSAGE}")).await;
    let message = format!("Message not found: {NO_MESSAGE}");
    assert_eq!(one.both(), (404, json!({ "name": "NotFoundError", "data": { "message": message } })));
}

#[tokio::test]
async fn one_message_is_what_the_list_shows_of_it() {
    let (world, session) = world_with_turns(1).await;
    let list = world.get(&format!("/session/{session}/message")).await.json();
    let id = list[1]["info"]["id"].as_str().unwrap();

    let one = world.get(&format!("/session/{session}/message/{id}")).await;

    assert_eq!(one.both(), (200, list[1].clone()));
}

#[tokio::test]
async fn a_message_of_another_session_is_not_found() {
    let (world, session) = world_with_turns(1).await;
    let other = world.session().await;
    let id = ids(&world.get(&format!("/session/{session}/message")).await.json()).remove(0);
    let missing = |id: &str| {
        (404, json!({ "name": "NotFoundError", "data": { "message": format!("Message not found: {id}") } }))
    };

    assert_eq!(world.get(&format!("/session/{other}/message/{id}")).await.both(), missing(&id));
    assert_eq!(
        world.get(&format!("/session/{session}/message/{NO_MESSAGE}")).await.both(),
        missing(NO_MESSAGE)
    );
}

#[tokio::test]
async fn a_turn_that_changed_nothing_has_an_empty_diff() {
    let (world, session) = world_with_turns(1).await;
    for id in ids(&world.get(&format!("/session/{session}/message")).await.json()) {
        let diff = world.get(&format!("/session/{session}/diff?messageID={id}")).await;
        assert_eq!(diff.both(), (200, json!([])));
        for last in [id.as_str(), NO_MESSAGE] {
            let path = format!("/session/{session}/diff?messageID={id}&toMessageID={last}");
            assert_eq!(world.get(&path).await.both(), (200, json!([])), "{last}");
        }
        let wrong = world.get(&format!("/session/{session}/diff?messageID={id}&toMessageID=no_id")).await;
        assert_eq!((wrong.status, wrong.json()["data"]["kind"].clone()), (400, json!("Query")));
    }
    assert_eq!(world.get(&format!("/session/{session}/todo")).await.both(), (200, json!([])));
}

// Was: "(no output)", which is what a model is told.
#[tokio::test]
async fn a_command_of_a_person_that_prints_nothing_shows_nothing() {
    let world = World::new().await;
    let session = world.session().await;
    let shell = json!({ "agent": "build", "command": "true" });

    let ran = world.send("POST", &format!("/session/{session}/shell"), &shell).await.json();

    let state = &ran["parts"][0]["state"];
    assert_eq!((&state["output"], &state["metadata"]), (&json!(""), &json!({ "output": "" })));
}

/// Held against the document, as every answer here is.
#[tokio::test]
async fn a_redo_names_what_it_left_alone_as_the_document_says() {
    let world = World::new().await;
    let session = world.session().await;
    let shell = json!({ "agent": "build", "command": "true" });
    world.send("POST", &format!("/session/{session}/shell"), &shell).await;
    let first = ids(&world.get(&format!("/session/{session}/message")).await.json()).remove(0);
    let cut = json!({ "messageID": first });
    assert_eq!(world.send("POST", &format!("/session/{session}/revert"), &cut).await.status, 200);

    let redone = world.send("POST", &format!("/session/{session}/unrevert"), &json!({})).await;

    assert_eq!((redone.status, &redone.json()["id"]), (200, &json!(session)));
    let document = sturdy_server::document();
    let answer = &document["paths"]["/session/{sessionID}/unrevert"]["post"]["responses"]["200"];
    assert_eq!(
        answer["content"]["application/json"]["schema"]["$ref"],
        "#/components/schemas/UnrevertedSession"
    );
    let fields = &document["components"]["schemas"]["UnrevertedSession"]["properties"];
    // Was: the document said nothing of it.
    assert_eq!(fields["conflicts"]["items"]["$ref"], "#/components/schemas/RevertConflict");
}

// Was: the newest 2,000, and a client that did not look at the link did not know that something was missing.
#[tokio::test]
async fn a_list_without_a_limit_has_every_message_of_a_long_session() {
    let world = World::new().await;
    let session = world.session().await;
    let id = sturdy_session::id::SessionId::parse(&session).unwrap();
    for number in 0..2001 {
        let part = TextPart { text: number.to_string(), ..TextPart::default() };
        let parts = vec![(None, PartBody::Text(part))];
        let silent = PromptRequest { parts, no_reply: true, ..PromptRequest::default() };
        world.engine.prompt(&id, silent).await.unwrap();
    }

    let list = world.get(&format!("/session/{session}/message")).await;

    let messages = list.json();
    let told: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["parts"][0]["text"].as_str())
        .collect();
    let all: Vec<String> = (0..2001).map(|number| number.to_string()).collect();
    assert_eq!(told, all);
    assert_eq!(list.header("link"), None);
}
