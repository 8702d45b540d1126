//! Prompts: waited for, handed in, refused, stopped.

use crate::stream::Stream;
use crate::world::{Answer, World, prompt};
use serde_json::{Value, json};

fn refused(message: &str, kind: &str) -> (u16, Value) {
    (400, json!({ "name": "BadRequest", "data": { "message": message, "kind": kind } }))
}

#[tokio::test]
async fn a_prompt_is_answered_with_the_last_message_of_its_turn() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}/message");

    let answer = world.send("POST", &path, &prompt("hello there")).await;

    assert_eq!((answer.status, answer.header("transfer-encoding")), (200, Some("chunked")));
    let message = answer.json();
    assert_eq!((&message["info"]["role"], &message["info"]["finish"]), (&json!("assistant"), &json!("stop")));
    assert_eq!(message["info"]["sessionID"], session);
    let kinds: Vec<_> =
        message["parts"].as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step-start", "reasoning", "text", "step-finish"]);
    assert_eq!(message["parts"][2]["text"], "hello there");
    let stored = world.get(&path).await.json();
    assert_eq!(stored[1], message);
}

#[tokio::test]
async fn chosen_ids_are_kept_and_cannot_be_used_twice() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}");
    let body = json!({
        "messageID": "msg_chosen", "agent": "build", "model": { "providerID": "demo", "modelID": "echo" },
        "parts": [{ "id": "prt_chosen", "type": "text", "text": "hi" }],
    });

    let first = world.send("POST", &format!("{path}/message"), &body).await;
    let second = world.send("POST", &format!("{path}/prompt_async"), &body).await;

    assert_eq!(first.json()["info"]["parentID"], "msg_chosen");
    let stored = world.get(&format!("{path}/message/msg_chosen")).await.json();
    assert_eq!(
        (&stored["info"]["id"], &stored["parts"][0]["id"]),
        (&json!("msg_chosen"), &json!("prt_chosen"))
    );
    let message = "Prompt message ID conflicts with an existing durable record: msg_chosen";
    let conflict = json!({ "_tag": "ConflictError", "message": message, "resource": "msg_chosen" });
    assert_eq!(second.both(), (409, conflict));
    assert_eq!(world.get(&format!("{path}/message")).await.json().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_prompt_that_is_handed_in_is_stored_when_it_is_acknowledged() {
    let world = World::new().await;
    let session = world.session().await;
    let mut events = Stream::open(&world, "/event").await;

    let answer = world.send("POST", &format!("/session/{session}/prompt_async"), &prompt("later")).await;

    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    let stored = world.get(&format!("/session/{session}/message")).await.json();
    assert_eq!(stored[0]["parts"][0]["text"], "later");
    events.until(crate::stream::Frame::is_idle).await;
}

#[tokio::test]
async fn a_prompt_that_wants_no_reply_is_answered_with_itself() {
    let world = World::new().await;
    let session = world.session().await;
    let body = json!({ "noReply": true, "parts": [{ "type": "text", "text": "for later" }] });

    let message = world.send("POST", &format!("/session/{session}/message"), &body).await.json();

    assert_eq!(
        (&message["info"]["role"], &message["parts"][0]["text"]),
        (&json!("user"), &json!("for later"))
    );
    let stored = world.get(&format!("/session/{session}/message")).await.json();
    assert_eq!(stored.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_unknown_agent_or_model_is_refused_and_nothing_has_changed() {
    let world = World::new().await;
    let session = world.session().await;
    let before = world.get(&format!("/session/{session}")).await.text;
    let with = |extra: Value| {
        let mut body = prompt("x");
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    let agent = with(json!({ "agent": "nobody" }));
    let model = with(json!({ "model": { "providerID": "demo", "modelID": "ecko" } }));
    let provider = with(json!({ "model": { "providerID": "nope", "modelID": "echo" } }));

    for below in ["message", "prompt_async"] {
        let path = format!("/session/{session}/{below}");
        for (body, word) in
            [(&agent, "Agent not found"), (&model, "Model not found: demo/ecko"), (&provider, "nope/echo")]
        {
            let (status, answer) = world.send("POST", &path, body).await.both();
            let message = answer["data"]["message"].as_str().unwrap();
            assert_eq!(
                (status, &answer["name"], &answer["data"]["kind"]),
                (400, &json!("BadRequest"), &json!("Payload"))
            );
            assert!(message.contains(word), "{message}");
        }
    }

    assert_eq!(world.get(&format!("/session/{session}")).await.text, before);
    assert_eq!(world.get(&format!("/session/{session}/message")).await.json(), json!([]));
}

#[tokio::test]
async fn a_body_that_does_not_fit_is_refused_with_its_place() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}/message");
    let cases = [
        (json!({}), "Missing key\n  at [\"parts\"]"),
        (json!({ "parts": [{ "type": "text" }] }), "Missing key\n  at [\"parts\"][0][\"text\"]"),
        (
            json!({ "parts": [{ "type": "nope" }] }),
            "Expected \"text\" | \"file\" | \"agent\" | \"subtask\", got \"nope\"\n  at [\"parts\"][0]",
        ),
        (
            json!({ "messageID": "abc", "parts": [] }),
            "Expected a string starting with \"msg\", got \"abc\"\n  at [\"messageID\"]",
        ),
        (json!({ "parts": "x" }), "Expected array, got \"x\"\n  at [\"parts\"]"),
        (json!({ "agent": 5, "parts": [] }), "Expected string, got 5\n  at [\"agent\"]"),
        (json!([]), "Expected object, got []"),
        (
            json!({ "model": { "providerID": "demo" }, "parts": [] }),
            "Missing key\n  at [\"model\"][\"modelID\"]",
        ),
    ];
    for (body, message) in cases {
        assert_eq!(world.send("POST", &path, &body).await.both(), refused(message, "Payload"), "{body}");
    }
    assert_eq!(world.get(&path).await.json(), json!([]));
}

#[tokio::test]
async fn a_body_that_is_no_json_is_refused() {
    let world = World::new().await;
    let session = world.session().await;
    let send = |body: &'static [u8], kind: &'static str| {
        let request = world.request("POST", &format!("/session/{session}/message"));
        let request = request.header("content-type", kind).body(body);
        async move { Answer::of(request.send().await.unwrap()).await }
    };

    let syntax = send(b"{bad", "application/json").await;
    let empty = send(b"", "application/json").await;
    let bytes = send(b"{\"parts\":\"\xff\"}", "application/json").await;
    let trailing = send(b"{\"parts\":[]} x", "application/json; charset=utf-8").await;
    let wrong = send(b"{}", "text/plain").await;

    assert_eq!(empty.both(), refused("Expected object, got undefined", "Payload"));
    for answer in [&syntax, &bytes, &trailing] {
        let (status, body) = answer.both();
        assert_eq!(
            (status, &body["name"], &body["data"]["kind"]),
            (400, &json!("BadRequest"), &json!("Body")),
            "{body}"
        );
    }
    assert_eq!((wrong.status, wrong.text.as_str()), (415, "Unsupported content-type: text/plain"));
    assert_eq!(wrong.header("content-type"), Some("text/plain"));
}

#[tokio::test]
async fn half_a_character_does_not_make_a_prompt_unreadable() {
    let world = World::new().await;
    let session = world.session().await;
    let request = world.request("POST", &format!("/session/{session}/message"));
    let body = r#"{"noReply":true,"parts":[{"type":"text","text":"cut \ud83d here"}]}"#;

    let answer =
        Answer::of(request.header("content-type", "application/json").body(body).send().await.unwrap()).await;

    assert_eq!((answer.status, &answer.json()["parts"][0]["text"]), (200, &json!("cut \u{fffd} here")));
}

#[tokio::test]
async fn whoever_sends_a_body_that_is_too_large_reads_why() {
    let world = World::new().await;
    let session = world.session().await;
    let large = json!({ "title": "x".repeat(2 * 1024 * 1024) });

    let edit = world.send("PATCH", &format!("/session/{session}"), &large).await;
    let prompt = world
        .send(
            "POST",
            &format!("/session/{session}/message"),
            &json!({
                "noReply": true, "parts": [{ "type": "text", "text": "y".repeat(2 * 1024) }],
            }),
        )
        .await;

    assert_eq!((edit.status, &edit.json()["name"]), (413, &json!("PayloadTooLargeError")));
    assert_eq!(prompt.status, 200);
}

#[tokio::test]
async fn an_abort_ends_the_turn_and_answers_whoever_waits() {
    let world = World::new().await;
    let session = world.session().await;
    let mut events = Stream::open(&world, "/event").await;
    let waiting = world.request("POST", &format!("/session/{session}/message")).json(&prompt("/demo hang 3"));
    let waiting =
        world.engine.tasks().spawn("waiting", async move { Answer::of(waiting.send().await.unwrap()).await });
    events.until(|frame| frame.kind() == "message.part.delta").await;

    let status = world.get("/session/status").await.json();
    let active = world.get("/api/session/active").await.json();
    let aborted = world.call("POST", &format!("/session/{session}/abort")).await;
    let answer = waiting.await.unwrap();

    assert_eq!(status, json!({ &session: { "type": "busy" } }));
    assert_eq!(active, json!({ "data": { &session: { "type": "running" } } }));
    assert_eq!(aborted.both(), (200, json!(true)));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["info"]["error"]["name"], "MessageAbortedError");
    assert_eq!(world.get("/session/status").await.json(), json!({}));
}

#[tokio::test]
async fn a_model_that_fails_is_no_http_error() {
    let world = World::new().await;
    let session = world.session().await;

    let message = world.ask(&session, "/demo error 401 no such key").await;

    assert_eq!(message["info"]["error"]["name"], "APIError", "{message}");
}

#[tokio::test]
async fn a_prompt_that_finds_no_place_to_wait_is_told_to_come_back() {
    let world = World::new().await;
    let session = world.session().await;
    let path = format!("/session/{session}/prompt_async");
    assert_eq!(world.send("POST", &path, &prompt("/demo hang")).await.status, 204);
    // What is sent before the step has begun is taken up with it.
    let messages = format!("/session/{session}/message");
    while world.get(&messages).await.json().as_array().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }

    let mut refused = None;
    for number in 0..=64 {
        let answer = world.send("POST", &path, &prompt(&number.to_string())).await;
        if answer.status != 204 {
            refused = Some(answer);
            break;
        }
    }

    let refused = refused.expect("65 prompts wait");
    assert_eq!((refused.status, &refused.json()["name"]), (429, &json!("QueueFullError")));
    assert!(refused.header("retry-after").is_some());
}
