//! What happened in a session, in the words of the v2 API: by pages, as a tail, and on the stream of the whole server.

use crate::stream::{Frame, Stream};
use crate::world::{NO_SESSION, World};
use serde_json::{Value, json};

async fn answered(world: &World, session: &str, text: &str) -> Value {
    let path = format!("/api/session/{session}");
    let admitted =
        world.send("POST", &format!("{path}/prompt"), &json!({ "prompt": { "text": text } })).await;
    assert_eq!(admitted.status, 200, "{}", admitted.text);
    assert_eq!(world.call("POST", &format!("{path}/wait")).await.status, 204);
    admitted.json()["data"].clone()
}

fn kinds(events: &[Value]) -> Vec<String> {
    let kind = |event: &Value| event["type"].as_str().unwrap().trim_start_matches("session.next.").to_owned();
    events.iter().map(kind).collect()
}

fn seq(event: &Value) -> u64 {
    event["durable"]["seq"].as_u64().unwrap()
}

async fn page(world: &World, session: &str, query: &str) -> (Vec<Value>, bool) {
    let page = world.get(&format!("/api/session/{session}/history?{query}")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    (page.json()["data"].as_array().unwrap().clone(), page.json()["hasMore"].as_bool().unwrap())
}

#[tokio::test]
async fn a_history_tells_a_turn_in_order_and_pages_of_it_join_without_a_gap() {
    let world = World::new().await;
    let session = world.session().await;
    let admitted = answered(&world, &session, "hello").await;

    let (all, has_more) = page(&world, &session, "limit=100").await;

    assert!(!has_more);
    let first = &all[0];
    assert_eq!(first["type"], "session.next.prompt.admitted");
    assert_eq!(first["data"]["prompt"], json!({ "text": "hello" }));
    assert_eq!(
        first["durable"],
        json!({ "aggregateID": session, "seq": admitted["admittedSeq"], "version": 1 })
    );
    let told = kinds(&all);
    let order = ["prompt.admitted", "prompted", "step.started", "text.started", "text.ended", "step.ended"];
    let places: Vec<_> = order.iter().map(|kind| told.iter().position(|told| told == kind)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told:?}");
    assert_eq!(all.iter().map(seq).collect::<Vec<_>>(), (1..=all.len() as u64).collect::<Vec<_>>());
    let versions = all.iter().map(|event| event["durable"]["version"].as_u64().unwrap());
    let newer: Vec<_> = told.iter().zip(versions).filter(|(_, version)| *version == 2).collect();
    assert_eq!(newer, [(&"step.ended".to_owned(), 2)]);
    let ended = all.iter().find(|event| event["type"] == "session.next.text.ended").unwrap();
    assert_eq!(ended["data"]["text"], "hello");

    let mut joined = Vec::new();
    let mut after = 0;
    loop {
        let (events, has_more) = page(&world, &session, &format!("limit=2&after={after}")).await;
        after = events.last().map_or(after, seq);
        joined.extend(events);
        if !has_more {
            break;
        }
    }
    assert_eq!(joined, all);
}

#[tokio::test]
async fn a_tail_goes_on_where_it_was_and_says_what_the_history_says() {
    let world = World::new().await;
    let session = world.session().await;
    answered(&world, &session, "one").await;
    let (before, _) = page(&world, &session, "limit=100").await;
    let last = seq(before.last().unwrap());

    let mut tail = Stream::open(&world, &format!("/api/session/{session}/event?after={last}")).await;
    let mut whole = Stream::open(&world, &format!("/api/session/{session}/event")).await;
    answered(&world, &session, "two").await;
    let (all, _) = page(&world, &session, "limit=100").await;

    let mut told = Vec::new();
    for _ in 0..all.len() - before.len() {
        told.push(tail.next().await.unwrap().json());
    }
    assert_eq!(told, all[before.len()..]);
    for event in &all {
        assert_eq!(whole.next().await.unwrap().json(), *event);
    }

    let world = world.reopened().await;
    assert_eq!(page(&world, &session, "limit=100").await.0, all);
}

#[tokio::test]
async fn what_is_no_history_is_refused_in_the_words_of_v2() {
    let world = World::new().await;
    let session = world.session().await;
    for path in ["history", "event"] {
        let missing = world.get(&format!("/api/session/{NO_SESSION}/{path}")).await;
        assert_eq!(
            (missing.status, &missing.json()["_tag"]),
            (404, &json!("SessionNotFoundError")),
            "{path}"
        );
        let bad = world.get(&format!("/api/session/{session}/{path}?after=-1")).await;
        assert_eq!((bad.status, &bad.json()["_tag"]), (400, &json!("InvalidRequestError")), "{path}");
    }
}

#[tokio::test]
async fn another_agent_and_model_show_in_both_versions_and_count_for_the_next_prompt() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/api/session/{session}");

    assert_eq!(world.send("POST", &format!("{path}/agent"), &json!({ "agent": "plan" })).await.status, 204);
    let model = json!({ "providerID": "demo", "id": "echo", "variant": "default" });
    assert_eq!(world.send("POST", &format!("{path}/model"), &json!({ "model": model })).await.status, 204);
    answered(&world, &session, "hi").await;

    let first = world.get(&format!("/session/{session}")).await.json();
    assert_eq!(
        (&first["agent"], &first["model"]),
        (&json!("plan"), &json!({ "id": "echo", "providerID": "demo", "variant": "default" }))
    );
    assert_eq!(world.get(&path).await.json()["data"]["agent"], "plan");
    let messages = world.get(&format!("/session/{session}/message")).await.json();
    assert_eq!(messages[0]["info"]["agent"], "plan");
    let (all, _) = page(&world, &session, "").await;
    assert_eq!(&kinds(&all)[..2], ["agent.switched", "model.switched"]);

    let unknown = world.send("POST", &format!("{path}/agent"), &json!({ "agent": "nobody" })).await;
    assert_eq!((unknown.status, &unknown.json()["_tag"]), (400, &json!("InvalidRequestError")));
    let unknown = json!({ "model": { "providerID": "nobody", "id": "x" } });
    assert_eq!(world.send("POST", &format!("{path}/model"), &unknown).await.status, 400);
    assert_eq!(world.get(&path).await.json()["data"]["agent"], "plan");
}

fn types(messages: &Value) -> Vec<String> {
    let messages = messages["data"].as_array().unwrap().iter();
    messages.map(|message| message["type"].as_str().unwrap().to_owned()).collect()
}

/// All pages of two from one end to the other.
async fn by_twos(world: &World, path: &str, order: &str) -> Vec<Value> {
    let mut page = world.get(&format!("{path}/message?limit=2&order={order}")).await.json();
    let mut all = Vec::new();
    while let Some(next) = page["cursor"]["next"].as_str() {
        all.extend(page["data"].as_array().unwrap().clone());
        page = world.get(&format!("{path}/message?limit=2&cursor={next}")).await.json();
    }
    all
}

#[tokio::test]
async fn a_choice_of_agent_or_model_stands_among_the_messages_of_v2_and_not_of_v1() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/api/session/{session}");
    let model = json!({ "model": { "providerID": "demo", "id": "echo" } });

    world.send("POST", &format!("{path}/agent"), &json!({ "agent": "plan" })).await;
    answered(&world, &session, "one").await;
    // The prompt has used this model already: nothing is chosen anew.
    assert_eq!(world.send("POST", &format!("{path}/model"), &model).await.status, 204);
    let other = json!({ "model": { "providerID": "demo", "id": "story" } });
    assert_eq!(world.send("POST", &format!("{path}/model"), &other).await.status, 204);

    let all = world.get(&format!("{path}/message?order=asc")).await.json();
    assert_eq!(types(&all), ["agent-switched", "user", "assistant", "model-switched"]);
    let chosen = &all["data"][0];
    assert_eq!(chosen["agent"], "plan");
    assert_eq!(all["data"][3]["model"], other["model"]);
    let one = world.get(&format!("{path}/message/{}", chosen["id"].as_str().unwrap())).await;
    assert_eq!((one.status, &one.json()["data"]), (200, chosen));
    assert_eq!(types(&world.get(&format!("{path}/context")).await.json()), types(&all));
    assert_eq!(by_twos(&world, &path, "asc").await, *all["data"].as_array().unwrap());
    let mut backwards = by_twos(&world, &path, "desc").await;
    backwards.reverse();
    assert_eq!(backwards, *all["data"].as_array().unwrap());
    assert_eq!(world.get(&format!("/session/{session}/message")).await.json().as_array().unwrap().len(), 2);
    let gone = world
        .get(&format!(
            "{path}/message?cursor={}",
            "eyJpZCI6Im1zZ19nb25lIiwib3JkZXIiOiJhc2MiLCJkaXJlY3Rpb24iOiJuZXh0In0"
        ))
        .await;
    assert_eq!(gone.json(), json!({ "data": [], "cursor": { "previous": null, "next": null } }));

    let world = world.reopened().await;
    assert_eq!(world.get(&format!("{path}/message?order=asc")).await.json(), all);
}

/// Chooses another agent and gives back how it stands among the messages.
async fn chosen(world: &World, session: &str, agent: &str) -> Value {
    let path = format!("/api/session/{session}");
    let chosen = world.send("POST", &format!("{path}/agent"), &json!({ "agent": agent })).await;
    assert_eq!(chosen.status, 204, "{}", chosen.text);
    world.get(&format!("{path}/message?limit=1")).await.json()["data"][0].clone()
}

#[tokio::test]
async fn a_choice_behind_an_undo_that_was_made_final_is_listed_no_more() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/api/session/{session}");
    let before = chosen(&world, &session, "plan").await;
    let first = world.ask(&session, "one").await;
    let undone = chosen(&world, &session, "build").await;
    world.ask(&session, "two").await;
    let cut = json!({ "messageID": first["info"]["parentID"] });
    let staged = world.send("POST", &format!("{path}/revert/stage"), &cut).await;
    assert_eq!(staged.status, 200, "{}", staged.text);
    // For what comes next, and so not undone.
    let after = chosen(&world, &session, "plan").await;

    let marked = world.get(&format!("{path}/message?order=asc")).await.json();
    assert_eq!(
        types(&marked),
        ["agent-switched", "user", "assistant", "agent-switched", "user", "assistant", "agent-switched"]
    );
    assert_eq!(world.get(&format!("{path}/context")).await.json()["data"], json!([before, after]));
    assert_eq!(world.call("POST", &format!("{path}/revert/commit")).await.status, 204);

    // Was: the choice between the messages that are gone stayed.
    let left = world.get(&format!("{path}/message?order=asc")).await.json();
    assert_eq!(left["data"], json!([before, after]));
    let one = world.get(&format!("{path}/message/{}", undone["id"].as_str().unwrap())).await;
    assert_eq!((one.status, &one.json()["_tag"]), (404, &json!("MessageNotFoundError")));
    let world = world.reopened().await;
    assert_eq!(world.get(&format!("{path}/message?order=asc")).await.json(), left);
    let (all, _) = page(&world, &session, "").await;
    let told = all.last().unwrap();
    assert_eq!(told["type"], "session.next.revert.committed");
    assert_eq!(told["data"]["messageID"], cut["messageID"]);
}

#[tokio::test]
async fn an_undo_that_is_taken_back_brings_its_choices_back_and_is_told_as_such() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/api/session/{session}");
    let first = world.ask(&session, "one").await;
    chosen(&world, &session, "plan").await;
    let whole = world.get(&format!("{path}/context")).await.json();
    let cut = json!({ "messageID": first["info"]["parentID"] });
    world.send("POST", &format!("{path}/revert/stage"), &cut).await;
    assert_eq!(world.get(&format!("{path}/context")).await.json()["data"], json!([]));

    assert_eq!(world.call("POST", &format!("{path}/revert/clear")).await.status, 204);

    assert_eq!(world.get(&format!("{path}/context")).await.json(), whole);
    let (all, _) = page(&world, &session, "").await;
    assert_eq!(all.last().unwrap()["type"], "session.next.revert.cleared");
}

#[tokio::test]
async fn the_stream_of_v2_tells_growth_too_and_nothing_twice() {
    let world = World::new().await;
    let session = world.session().await;
    let mut stream = Stream::open(&world, "/api/event").await;
    answered(&world, &session, "hello there").await;

    let connected = stream.next().await.unwrap().json();
    assert_eq!((&connected["type"], &connected["data"]), (&json!("server.connected"), &json!({})));
    let mut told: Vec<Value> = Vec::new();
    while told.last().is_none_or(|event| event["type"] != "session.next.step.ended") {
        let frame = stream.next().await.unwrap();
        if frame.raw.starts_with("data: ") {
            told.push(frame.json());
        }
    }

    let of = |kind: &str| told.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    let grown: String =
        of("session.next.text.delta").iter().map(|event| event["data"]["delta"].as_str().unwrap()).collect();
    assert_eq!(grown, "hello there");
    assert!(of("session.next.text.delta").iter().all(|event| event.get("durable").is_none()));
    assert_eq!(of("session.next.prompted").len(), 1);
    assert!(!of("message.updated").is_empty() && of("message.part.delta").is_empty());
    let place = json!({ "directory": world.project().canonicalize().unwrap() });
    assert!(told.iter().all(|event| event["location"] == place), "{told:?}");
    let mut ids: Vec<_> = told.iter().map(|event| event["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), told.len());
}

/// Frames up to the end of the turn of this session.
async fn until_idle(stream: &mut Stream, session: &str) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let frame = stream.next().await.unwrap();
        let is_end = frame.is_idle() && frame.event()["properties"]["sessionID"] == session;
        frames.push(frame);
        if is_end {
            return frames;
        }
    }
}

#[tokio::test]
async fn a_stream_of_one_session_has_its_events_and_those_below_it_only() {
    let world = World::new().await;
    let parent = world.session().await;
    let other = world.session().await;
    let mut alone = Stream::open(&world, &format!("/event?session={parent}")).await;
    let mut tree = Stream::open(&world, &format!("/global/event?session={parent}&tree=1")).await;
    let mut outline = Stream::open(&world, &format!("/global/event?session={parent}&outline=1")).await;

    world.ask(&other, "elsewhere").await;
    let child = world.session_with(&json!({ "parentID": parent })).await["id"].as_str().unwrap().to_owned();
    world.ask(&child, "below").await;
    world.ask(&parent, "here").await;

    let told = |frames: &[Frame]| -> Vec<(String, String)> {
        let place = |event: &Value| event["properties"]["sessionID"].as_str().unwrap_or_default().to_owned();
        frames.iter().skip(1).map(|frame| (frame.kind(), place(&frame.event()))).collect()
    };
    let alone = told(&until_idle(&mut alone, &parent).await);
    assert!(alone.iter().all(|(_, session)| *session == parent), "{alone:?}");
    let tree = told(&until_idle(&mut tree, &parent).await);
    assert!(tree.iter().all(|(_, session)| *session == parent || *session == child), "{tree:?}");
    assert!(tree.contains(&("message.part.delta".to_owned(), child.clone())));
    let outline = told(&until_idle(&mut outline, &parent).await);
    assert!(outline.contains(&("session.idle".to_owned(), other.clone())));
    assert!(
        !outline.iter().any(|(kind, session)| kind.starts_with("message.") && *session != parent),
        "{outline:?}"
    );

    let bad = world.get("/event?session=nonsense").await;
    assert_eq!((bad.status, &bad.json()["name"]), (400, &json!("BadRequest")));
}

#[tokio::test]
async fn a_client_of_ours_is_told_where_it_stands_and_goes_on_from_there() {
    let heartbeat = std::time::Duration::from_millis(20);
    let options = sturdy_server::ServerOptions { heartbeat, ..sturdy_server::ServerOptions::default() };
    let world = World::with(options).await;
    let watched = world.session().await;
    let other = world.session().await;
    let path = format!("/global/event?sturdy=1&session={watched}");
    let mut stream = Stream::open(&world, &path).await;

    let hello = stream.next().await.unwrap();
    let said = hello.event()["properties"].clone();
    assert_eq!((hello.kind().as_str(), &said["resumable"]), ("sturdy.hello", &json!(true)));
    assert_eq!(said["head"], json!(world.engine.store().head()));
    assert_eq!(said["store"], json!(world.engine.store().epoch().as_ref()));
    assert_eq!(stream.next().await.unwrap().kind(), "server.connected");

    // Nothing of this is for the stream, and yet it gets on.
    world.ask(&other, "elsewhere").await;
    let head = world.engine.store().head();
    let wanted = format!("{}.{head}", world.engine.store().epoch());
    loop {
        let beat = stream.next().await.unwrap();
        assert_eq!(beat.kind(), "server.heartbeat");
        if beat.id().as_deref() == Some(&wanted) {
            break;
        }
    }

    let mut again = Stream::open(&world, &format!("{path}&after={wanted}")).await;
    assert_eq!(again.next().await.unwrap().event()["properties"]["resumable"], true);
    let mut lost = Stream::open(&world, &format!("{path}&after=elsewhere.1")).await;
    assert_eq!(lost.next().await.unwrap().event()["properties"]["resumable"], false);
}
