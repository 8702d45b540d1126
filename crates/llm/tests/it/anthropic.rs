//! Anthropic Messages.

use crate::server::{
    Server, api, catalog, chunk, chunked_head, connect, fail, hear, hear_well, lines, prompt, sse, whole,
};
use serde_json::{Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, ToolSpec, Turn, UserItem,
};
use sturdy_session::types::failure::Failure;

const NPM: &str = "@ai-sdk/anthropic";

fn events(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

fn begin() -> Value {
    json!({ "type": "message_start", "message": { "id": "msg_1", "role": "assistant", "content": [], "usage": {
        "input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1 } } })
}

fn start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn end(reason: &str) -> Vec<Value> {
    vec![
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 42 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn text(words: &str) -> Vec<Value> {
    vec![
        start(0, json!({ "type": "text", "text": "" })),
        delta(0, json!({ "type": "text_delta", "text": words })),
        stop(0),
    ]
}

fn answer_of(blocks: Vec<Value>, reason: &str) -> String {
    events(&[vec![begin()], blocks, end(reason)].concat())
}

async fn answer(text: String) -> Vec<String> {
    let server = Server::start(vec![sse(text)]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));
    lines(&hear_well(model.as_ref(), prompt("hi")).await)
}

#[tokio::test]
async fn thinking_keeps_its_signature_and_cached_input_is_counted_within() {
    let blocks = vec![
        start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Hm." })),
        delta(0, json!({ "type": "signature_delta", "signature": "sig" })),
        delta(0, json!({ "type": "signature_delta", "signature": "ned" })),
        stop(0),
        json!({ "type": "ping" }),
        start(1, json!({ "type": "redacted_thinking", "data": "xyz" })),
        stop(1),
        start(2, json!({ "type": "text", "text": "" })),
        delta(2, json!({ "type": "text_delta", "text": "Hello" })),
        stop(2),
    ];

    assert_eq!(
        answer(answer_of(blocks, "end_turn")).await,
        [
            "started",
            "reason+ 0",
            "reason 0 \"Hm.\"",
            "reason- 0 {\"anthropic\":{\"signature\":\"signed\"}}",
            "reason+ 1 {\"anthropic\":{\"redactedData\":\"xyz\"}}",
            "reason- 1 {\"anthropic\":{\"redactedData\":\"xyz\"}}",
            "text+ 2",
            "text 2 \"Hello\"",
            "text- 2",
            "finished stop in 130 out 42 think - read 100 write 20 total 172",
        ]
    );
}

#[tokio::test]
async fn calls_stream_their_input_and_are_said_when_whole() {
    let call = |index: u64, id: &str| {
        start(index, json!({ "type": "tool_use", "id": id, "name": "read", "input": {} }))
    };
    let piece =
        |index: u64, json: &str| delta(index, json!({ "type": "input_json_delta", "partial_json": json }));
    let blocks = vec![
        call(0, "a"),
        piece(0, ""),
        piece(0, "{\"p\":"),
        piece(0, "1}"),
        stop(0),
        call(1, "b"),
        stop(1),
        call(2, "c"),
        piece(2, "{\"half"),
        stop(2),
    ];

    assert_eq!(
        answer(answer_of(blocks, "tool_use")).await[1..],
        [
            "call+ a read",
            "call a {\"p\":",
            "call a 1}",
            "call! a read {\"p\":1}",
            "call+ b read",
            "call! b read {}",
            "call+ c read",
            "call c {\"half",
            "call! c read malformed \"{\\\"half\"",
            "finished tool-calls in 130 out 42 think - read 100 write 20 total 172",
        ]
    );
}

#[tokio::test]
async fn a_tool_of_the_providers_is_told_with_its_result() {
    let blocks = vec![
        start(0, json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} })),
        delta(0, json!({ "type": "input_json_delta", "partial_json": "{\"q\":1}" })),
        stop(0),
        start(
            1,
            json!({ "type": "web_search_tool_result", "tool_use_id": "s", "content": [{ "url": "u" }] }),
        ),
        stop(1),
    ];

    let said = answer(answer_of(blocks, "end_turn")).await;

    assert_eq!(
        said[3..5],
        ["call! s web_search {\"q\":1} by provider", "returned s [{\"url\":\"u\"}] false"]
    );
}

#[tokio::test]
async fn every_stop_reason_has_its_word() {
    for (wire, ours) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("tool_use", "tool-calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content-filter"),
        ("new", "unknown"),
    ] {
        let said = answer(answer_of(text("x"), wire)).await;
        assert!(said.last().unwrap().starts_with(&format!("finished {ours} ")), "{wire}");
    }
}

#[tokio::test]
async fn errors_are_told_wherever_they_come() {
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let refused = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } });
    let mid = events(&[vec![begin()], text("x"), vec![overloaded.clone()]].concat());
    let server = Server::start(vec![
        sse(mid),
        sse(events(&[refused])),
        whole("529 Overloaded", "retry-after: 7\r\n", &overloaded.to_string()),
        whole("400 Bad Request", "", r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1 tokens > 0 maximum"}}"#),
    ])
    .await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    let (said, error) = hear(model.as_ref(), prompt("hi")).await;
    let mid = api(error.unwrap().into_failure());
    let refused = api(fail(model.as_ref(), prompt("hi")).await);
    let busy = api(fail(model.as_ref(), prompt("hi")).await);
    let overflow = fail(model.as_ref(), prompt("hi")).await;

    assert_eq!(said.len(), 4);
    assert_eq!((mid.message.as_str(), mid.is_retryable), ("Overloaded", true));
    assert!(!refused.is_retryable);
    assert_eq!((busy.status_code, busy.is_retryable), (Some(529), true));
    assert_eq!(busy.response_headers.unwrap()["retry-after"], "7");
    assert!(matches!(overflow, Failure::ContextOverflow { .. }));
}

#[tokio::test]
async fn a_stream_that_stops_early_is_unknown_after_text_and_broken_otherwise() {
    let said = answer(events(&[vec![begin()], text("x")].concat())).await;
    assert!(said.last().unwrap().starts_with("finished unknown"));

    let half_call =
        events(&[begin(), start(0, json!({ "type": "tool_use", "id": "a", "name": "t", "input": {} }))]);
    let server = Server::start(vec![
        sse(half_call),
        sse(events(&[begin()])),
        vec![chunked_head(), chunk(&events(&[begin()]))],
    ])
    .await;
    let model = connect(&server.url, NPM, json!({}), json!({}));
    for _ in 0..3 {
        assert!(api(fail(model.as_ref(), prompt("hi")).await).is_retryable);
    }
}

fn conversation() -> Request {
    let file = |mime: &str, name: Option<&str>| Media {
        mime: mime.to_owned(),
        url: format!("data:{mime};base64,aGk="),
        filename: name.map(str::to_owned),
    };
    let thought = |text: &str, metadata: Value| AssistantItem::Reasoning {
        text: text.to_owned(),
        metadata: metadata.as_object().cloned(),
    };
    Request {
        system: vec!["Be brief.".to_owned(), "Be kind.".to_owned(), "Be quick.".to_owned()],
        messages: vec![
            Turn::User(vec![
                UserItem::Text("look".to_owned()),
                UserItem::File(file("image/png", None)),
                UserItem::File(file("application/pdf", Some("a.pdf"))),
            ]),
            Turn::Assistant(vec![
                thought("hm", json!({ "anthropic": { "signature": "sig" } })),
                thought("unsigned", json!({ "anthropic": {} })),
                thought("", json!({ "anthropic": { "redactedData": "xyz" } })),
                AssistantItem::Text { text: "I look".to_owned(), metadata: None },
                AssistantItem::Call {
                    id: "a".to_owned(),
                    name: "read".to_owned(),
                    input: json!({ "p": 1 }),
                    metadata: None,
                    executed: None,
                },
                AssistantItem::Call {
                    id: "b".to_owned(),
                    name: "read".to_owned(),
                    input: json!(7),
                    metadata: None,
                    executed: None,
                },
            ]),
            Turn::Tool(vec![
                ToolResult {
                    call: "a".to_owned(),
                    name: "read".to_owned(),
                    content: ResultContent::Mixed {
                        text: "see".to_owned(),
                        media: vec![file("image/png", None)],
                    },
                    is_error: false,
                },
                ToolResult {
                    call: "b".to_owned(),
                    name: "read".to_owned(),
                    content: ResultContent::Text("no".to_owned()),
                    is_error: true,
                },
            ]),
            Turn::User(vec![UserItem::Text("and?".to_owned())]),
        ],
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        tool_choice: ToolChoice::Auto,
        output_tokens_max: Some(1000),
        temperature: Some(0.5),
        ..prompt("")
    }
}

#[tokio::test]
async fn the_body_has_the_shape_of_messages() {
    let server = Server::start(vec![sse(answer_of(text("x"), "end_turn"))]).await;
    let all = json!({ "modalities": { "input": ["text", "image", "pdf"] } });
    let model = connect(&server.url, NPM, json!({}), all);

    hear_well(model.as_ref(), conversation()).await;

    let received = server.received().remove(0);
    let marked = json!({ "type": "ephemeral" });
    let image =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } });
    assert_eq!(received.path, "/messages");
    assert!(
        received.head.contains("x-api-key: sk-secret-123456")
            && received.head.contains("anthropic-version: 2023-06-01")
    );
    assert!(!received.head.contains("anthropic-beta"));
    assert_eq!(
        received.body,
        json!({
            "model": "main",
            "max_tokens": 1000,
            "temperature": 0.5,
            "system": [
                { "type": "text", "text": "Be brief.", "cache_control": marked },
                { "type": "text", "text": "Be kind.", "cache_control": marked },
                { "type": "text", "text": "Be quick." },
            ],
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "look" },
                    image,
                    { "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "aGk=" }, "title": "a.pdf" },
                ] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "hm", "signature": "sig" },
                    { "type": "redacted_thinking", "data": "xyz" },
                    { "type": "text", "text": "I look" },
                    { "type": "tool_use", "id": "a", "name": "read", "input": { "p": 1 } },
                    { "type": "tool_use", "id": "b", "name": "read", "input": { "value": 7 } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "see" }, image] },
                    { "type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": true, "cache_control": marked },
                    { "type": "text", "text": "and?", "cache_control": marked },
                ] },
            ],
            "tools": [{ "name": "read", "description": "Reads.", "input_schema": { "type": "object" } }],
            "tool_choice": { "type": "auto" },
            "stream": true,
        })
    );
}

#[tokio::test]
async fn thinking_adds_to_the_limit_and_takes_the_sampling_away() {
    let server = Server::start(vec![sse(answer_of(text("x"), "end_turn"))]).await;
    let model = json!({ "limit": { "context": 0, "output": 4000 } });
    let model = connect(&server.url, NPM, json!({}), model);
    let with = |options: Value| Request {
        options: options.as_object().unwrap().clone(),
        output_tokens_max: Some(1000),
        temperature: Some(0.5),
        ..prompt("hi")
    };

    hear_well(model.as_ref(), with(json!({ "thinking": { "type": "enabled", "budgetTokens": 2000 } }))).await;
    hear_well(model.as_ref(), with(json!({ "thinking": { "type": "enabled", "budgetTokens": 9000 } }))).await;
    hear_well(model.as_ref(), with(json!({ "thinking": { "type": "adaptive" }, "effort": "low" }))).await;

    let bodies: Vec<Value> = server.received().into_iter().map(|received| received.body).collect();
    assert_eq!(
        (&bodies[0]["thinking"], &bodies[0]["max_tokens"]),
        (&json!({ "type": "enabled", "budget_tokens": 2000 }), &json!(3000))
    );
    assert_eq!(bodies[1]["max_tokens"], 4000);
    assert_eq!(
        (&bodies[2]["thinking"], &bodies[2]["output_config"]),
        (&json!({ "type": "adaptive" }), &json!({ "effort": "low" }))
    );
    assert!(bodies.iter().all(|body| body.get("temperature").is_none()));
}

#[tokio::test]
async fn the_key_in_an_answer_is_not_shown() {
    let body = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-secret-123456"}}"#;
    let server = Server::start(vec![whole("401 Unauthorized", "", body)]).await;
    let catalog = catalog(&server.url, NPM, json!({}), json!({}));
    let model = catalog.model("acme", "main").unwrap().connect().unwrap();

    let failure = api(fail(model.as_ref(), prompt("hi")).await);

    assert_eq!(failure.message, "invalid x-api-key ***");
    assert!(!failure.is_retryable);
    assert!(!format!("{failure:?}").contains("sk-secret"));
}
