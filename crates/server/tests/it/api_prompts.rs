//! Prompts of the v2 API: how they join a session that is at work, that they wait, and that sending one twice is sending it once.

use crate::stream::Stream;
use crate::world::{Answer, World};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn sent(world: &World, session: &str, body: &Value) -> Answer {
    world.send("POST", &format!("/api/session/{session}/prompt"), body).await
}

fn queued(text: &str) -> Value {
    json!({ "prompt": { "text": text }, "delivery": "queue" })
}

/// Stops what runs; nothing runs behind it.
async fn interrupt(world: &World, session: &str) {
    let stopped = world.call("POST", &format!("/api/session/{session}/interrupt")).await;
    assert_eq!(stopped.status, 204, "{}", stopped.text);
}

async fn wait(world: &World, session: &str) {
    assert_eq!(world.call("POST", &format!("/api/session/{session}/wait")).await.status, 204);
}

async fn waiting(world: &World, session: &str) -> Vec<Value> {
    let listed = world.get(&format!("/api/session/{session}/prompt")).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.json()["data"].as_array().unwrap().clone()
}

/// Who spoke and what, oldest first.
async fn conversation(world: &World, session: &str) -> Vec<String> {
    let page = world.get(&format!("/api/session/{session}/message?order=asc")).await.json();
    let words = |message: &Value| {
        let own = message["text"].as_str().map(str::to_owned);
        let of_model = message["content"].as_array().into_iter().flatten();
        let said = of_model.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
        format!("{}: {}", message["type"].as_str().unwrap(), own.unwrap_or_else(|| said.collect()))
    };
    page["data"].as_array().unwrap().iter().map(words).collect()
}

/// A session whose model has begun to speak and does not end.
async fn hanging(world: &World) -> String {
    let session = world.session().await;
    let mut events = Stream::open(world, &format!("/api/session/{session}/event")).await;
    assert_eq!(sent(world, &session, &json!({ "prompt": { "text": "/demo hang 1" } })).await.status, 200);
    while events.next().await.unwrap().json()["type"] != "session.next.text.started" {}
    session
}

#[tokio::test]
async fn a_queued_prompt_waits_is_listed_and_is_answered_behind_the_turn() {
    let world = World::new().await;
    let session = hanging(&world).await;

    let admitted = sent(&world, &session, &queued("later")).await.json()["data"].clone();
    let listed = waiting(&world, &session).await;
    interrupt(&world, &session).await;
    let left = waiting(&world, &session).await;
    assert_eq!(world.call("POST", &format!("/sturdy/session/{session}/resume")).await.status, 200);
    wait(&world, &session).await;

    assert_eq!((&admitted["delivery"], &admitted["prompt"]), (&json!("queue"), &json!({ "text": "later" })));
    assert_eq!(left, listed);
    assert_eq!(listed, [admitted]);
    assert!(waiting(&world, &session).await.is_empty());
    let told = conversation(&world, &session).await;
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(
        [told[0].as_str(), &told[2], &told[3]],
        ["user: /demo hang 1", "user: later", "assistant: later"]
    );
}

#[tokio::test]
async fn queued_prompts_have_a_turn_each_and_one_that_steers_goes_before_them() {
    let world = World::new().await;
    let session = hanging(&world).await;
    sent(&world, &session, &queued("second")).await;
    sent(&world, &session, &queued("third")).await;
    sent(&world, &session, &json!({ "prompt": { "text": "first" }, "delivery": "steer" })).await;

    interrupt(&world, &session).await;
    assert_eq!(world.call("POST", &format!("/sturdy/session/{session}/resume")).await.status, 200);
    wait(&world, &session).await;

    let told = conversation(&world, &session).await;
    let order = ["user: first", "assistant: first", "user: second", "assistant: second", "user: third"];
    assert_eq!(told[2..7], order);
    let history = world.get(&format!("/api/session/{session}/history?limit=100")).await.json();
    let taken = history["data"].as_array().unwrap().iter();
    let taken = taken.filter(|event| event["type"] == "session.next.prompted");
    let deliveries: Vec<_> = taken.map(|event| event["data"]["delivery"].as_str().unwrap()).collect();
    assert_eq!(deliveries, ["steer", "steer", "queue", "queue"]);
}

#[tokio::test]
async fn a_queued_prompt_and_its_delivery_outlive_a_kill() {
    let world = World::new().await;
    let session = hanging(&world).await;
    let mut body = queued("later");
    body["id"] = json!("msg_0123456789abQUEUEDQUEUEDQU");
    let mut admitted = sent(&world, &session, &body).await.json();

    let world = world.reopened().await;

    assert_eq!(waiting(&world, &session).await, [admitted["data"].clone()]);
    assert_eq!(sent(&world, &session, &body).await.both(), (200, admitted.clone()));
    // The next prompt starts it too, behind its own turn.
    sent(&world, &session, &json!({ "prompt": { "text": "now" } })).await;
    wait(&world, &session).await;
    let told = conversation(&world, &session).await;
    assert_eq!(told[2..], ["user: now", "assistant: now", "user: later", "assistant: later"]);
    // Also when it has been answered, it is the same prompt with the same number, and says when it was taken up.
    let history = world.get(&format!("/api/session/{session}/history?limit=100")).await.json();
    let is_taken =
        |event: &&Value| event["type"] == "session.next.prompted" && event["data"]["messageID"] == body["id"];
    let taken = history["data"].as_array().unwrap().iter().find(is_taken).unwrap();
    admitted["data"]["promotedSeq"] = taken["durable"]["seq"].clone();
    assert_eq!(sent(&world, &session, &body).await.both(), (200, admitted));
}

#[tokio::test]
async fn a_prompt_that_is_not_to_start_waits_until_the_session_is_resumed() {
    let world = World::new().await;
    let session = world.session().await;

    let held = json!({ "prompt": { "text": "not yet" }, "resume": false });
    let admitted = sent(&world, &session, &held).await.json()["data"].clone();
    wait(&world, &session).await;

    assert_eq!(waiting(&world, &session).await, [admitted]);
    assert_eq!(conversation(&world, &session).await, ["user: not yet"]);
    assert_eq!(world.get("/api/session/active").await.json(), json!({ "data": {} }));
    assert_eq!(world.call("POST", &format!("/sturdy/session/{session}/resume")).await.status, 200);
    wait(&world, &session).await;
    assert_eq!(conversation(&world, &session).await, ["user: not yet", "assistant: not yet"]);
}

#[tokio::test]
async fn the_same_id_is_the_same_prompt_only_with_the_same_words_files_agents_and_delivery() {
    let world = World::new().await;
    let session = world.session().await;
    let id = "msg_0123456789abTHESAMETHESAME";
    let file = json!({ "uri": "data:text/plain,one", "name": "one.txt" });
    let agent = json!({ "name": "plan", "source": { "start": 0.0, "end": 5.0, "text": "@plan" } });
    let prompt = json!({ "text": "read this", "files": [file], "agents": [agent] });
    // Not there when it is sent: nothing of it is stored, and it is the same prompt all the same.
    let missing = json!({ "text": "read this", "files": [{ "uri": "file:///not/there.txt" }] });

    let body = json!({ "id": id, "prompt": prompt, "resume": false });
    let first = sent(&world, &session, &body).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(sent(&world, &session, &body).await.both(), first.both());

    let message = format!("Prompt message ID conflicts with an existing durable record: {id}");
    let conflict = json!({ "_tag": "ConflictError", "message": message, "resource": id });
    let mut others = Vec::new();
    for (key, value) in [("text", json!("else")), ("files", json!([])), ("agents", json!([]))] {
        let mut other = body.clone();
        other["prompt"][key] = value;
        others.push(other);
    }
    let mut other = body.clone();
    other["delivery"] = json!("queue");
    others.push(other);
    for other in others {
        assert_eq!(sent(&world, &session, &other).await.both(), (409, conflict.clone()), "{other}");
    }

    let body = json!({ "id": "msg_0123456789abMISSINGMISSING", "prompt": missing, "resume": false });
    let first = sent(&world, &session, &body).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(sent(&world, &session, &body).await.both(), first.both());
}

#[tokio::test]
async fn a_session_that_is_created_by_many_at_once_is_one_session_for_all_of_them() {
    let world = World::new().await;
    let body = json!({ "id": "ses_0123456789abATONCEATONCEAT" });

    // Was: who came second was told of a conflict with a session without a name.
    let answers = join_all((0..8).map(|_| world.send("POST", "/api/session", &body))).await;

    let first = answers[0].both();
    assert_eq!((first.0, &first.1["data"]["id"]), (200, &body["id"]));
    assert!(answers.iter().all(|answer| answer.both() == first), "{answers:#?}");
}

#[tokio::test]
async fn the_context_is_what_the_model_would_see_and_not_what_is_undone_or_waits() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "The words \"summary\":true are not a summary").await;
    let second = world.ask(&session, "two").await;
    let held = json!({ "prompt": { "text": "not yet" }, "resume": false });
    let context = format!("/api/session/{session}/context");

    let all = world.get(&context).await.json();
    assert_eq!(all["data"].as_array().unwrap().len(), 4);
    let cut = json!({ "messageID": second["info"]["parentID"] });
    let staged = world.send("POST", &format!("/api/session/{session}/revert/stage"), &cut).await;
    assert_eq!(staged.status, 200, "{}", staged.text);
    let undone = world.get(&context).await.json();
    assert_eq!(undone["data"].as_array().unwrap(), &all["data"].as_array().unwrap()[..2]);

    sent(&world, &session, &held).await;
    assert_eq!(world.get(&context).await.json(), undone);
}

#[tokio::test]
async fn a_summary_says_who_asked_for_it() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "one").await;
    let compacted = world.call("POST", &format!("/api/session/{session}/compact")).await;
    assert_eq!(compacted.status, 204, "{}", compacted.text);

    let messages = world.get(&format!("/api/session/{session}/message?order=asc")).await.json();

    let summary =
        messages["data"].as_array().unwrap().iter().find(|one| one["type"] == "compaction").unwrap();
    assert_eq!((&summary["reason"], &summary["recent"]), (&json!("manual"), &json!("")));
    let context = world.get(&format!("/api/session/{session}/context")).await.json();
    assert_eq!(context["data"][0], *summary);
}

#[tokio::test]
async fn a_provider_that_is_listed_can_be_looked_at_and_shows_its_key_once_it_has_one() {
    let world = World::new().await;
    let listed = world.get("/api/integration").await.json();
    let listed = listed["data"].as_array().unwrap().clone();
    assert!(!listed.is_empty());

    for integration in &listed {
        let one = world.get(&format!("/api/integration/{}", integration["id"].as_str().unwrap())).await;
        assert_eq!((one.status, &one.json()["data"]), (200, integration));
        assert_eq!(integration["connections"], json!([]));
    }
    let key = json!({ "key": "sk-very-secret" });
    let kept = world.send("POST", "/api/integration/anthropic/connect/key", &key).await;
    assert_eq!(kept.status, 204, "{}", kept.text);
    let one = world.get("/api/integration/anthropic").await;
    let connection = json!([{ "type": "credential", "id": "anthropic", "label": "Anthropic" }]);
    assert_eq!(one.json()["data"]["connections"], connection);
    assert!(!one.text.contains("sk-very-secret"));
    let nobody = world.get("/api/integration/nobody").await;
    assert_eq!((nobody.status, &nobody.json()["data"]), (200, &Value::Null));
}
