//! Pages of messages.

use crate::world::{NO_MESSAGE, World};
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
    }
    assert_eq!(world.get(&format!("/session/{session}/todo")).await.both(), (200, json!([])));
}

#[tokio::test]
async fn a_list_without_a_limit_has_the_newest_two_thousand_and_a_link_to_the_rest() {
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

    assert_eq!(list.json().as_array().unwrap().len(), 2000);
    assert_eq!(list.json()[0]["parts"][0]["text"], "1");
    assert!(list.header("link").is_some_and(|link| link.contains("rel=\"next\"")), "{:?}", list.headers);
}
