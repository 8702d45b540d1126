//! OpenAI Responses.

use crate::server::{Server, api, connect, data, fail, hear, hear_well, lines, prompt, sse, whole};
use serde_json::{Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, ToolSpec, Turn, UserItem,
};
use sturdy_session::types::failure::Failure;

const NPM: &str = "@ai-sdk/openai";

fn added(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn finished(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn message(words: &str) -> Vec<Value> {
    vec![
        added(0, json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] })),
        json!({ "type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": words }),
        finished(0, json!({ "type": "message", "id": "msg_1" })),
    ]
}

fn completed() -> Value {
    json!({ "type": "response.completed", "response": { "id": "resp_1", "usage": {
        "input_tokens": 20, "input_tokens_details": { "cached_tokens": 5 },
        "output_tokens": 9, "output_tokens_details": { "reasoning_tokens": 4 }, "total_tokens": 29 } } })
}

const USAGE: &str = "in 20 out 9 think 4 read 5 write - total 29 {\"openai\":{\"responseId\":\"resp_1\"}}";

async fn answer(events: &[Value]) -> Vec<String> {
    let server = Server::start(vec![sse(data(events))]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));
    lines(&hear_well(model.as_ref(), prompt("hi")).await)
}

#[tokio::test]
async fn thoughts_have_a_block_per_summary_and_keep_their_encrypted_content() {
    let summary = |part: u64, text: &str| {
        vec![
            json!({ "type": "response.reasoning_summary_part.added", "output_index": 0, "item_id": "rs_1", "summary_index": part }),
            json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "summary_index": part, "delta": text }),
            json!({ "type": "response.reasoning_summary_part.done", "output_index": 0, "item_id": "rs_1", "summary_index": part }),
        ]
    };
    let text = vec![
        added(1, json!({ "type": "message", "id": "msg_1" })),
        json!({ "type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "Hi" }),
        finished(1, json!({ "type": "message", "id": "msg_1" })),
    ];
    let events = [
        vec![
            json!({ "type": "response.created", "response": { "id": "resp_1" } }),
            added(0, json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": null })),
        ],
        summary(0, "One."),
        summary(1, "Two."),
        vec![finished(0, json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "enc" }))],
        text,
        vec![completed()],
    ]
    .concat();

    assert_eq!(
        answer(&events).await,
        [
            "started",
            "reason+ rs_1:0 {\"openai\":{\"itemId\":\"rs_1\"}}",
            "reason rs_1:0 \"One.\"",
            "reason- rs_1:0 {\"openai\":{\"itemId\":\"rs_1\"}}",
            "reason+ rs_1:1 {\"openai\":{\"itemId\":\"rs_1\"}}",
            "reason rs_1:1 \"Two.\"",
            "reason- rs_1:1 {\"openai\":{\"itemId\":\"rs_1\",\"reasoningEncryptedContent\":\"enc\"}}",
            "text+ msg_1 {\"openai\":{\"itemId\":\"msg_1\"}}",
            "text msg_1 \"Hi\"",
            "text- msg_1 {\"openai\":{\"itemId\":\"msg_1\"}}",
            &format!("finished stop {USAGE}"),
        ]
    );
}

#[tokio::test]
async fn parallel_calls_stream_and_a_silent_one_is_read_from_its_end() {
    let call = |index: u64, id: &str, name: &str| {
        added(
            index,
            json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": "" }),
        )
    };
    let piece = |index: u64, json: &str| json!({ "type": "response.function_call_arguments.delta", "output_index": index, "delta": json });
    let events = [
        call(0, "a", "read"),
        call(1, "b", "grep"),
        piece(0, "{\"p\""),
        piece(1, "{}"),
        piece(0, ":1}"),
        finished(0, json!({ "type": "function_call", "arguments": "{\"p\":1}" })),
        finished(1, json!({ "type": "function_call", "arguments": "{}" })),
        call(2, "c", "ls"),
        finished(2, json!({ "type": "function_call", "arguments": "{\"q\":2}" })),
        completed(),
    ];

    let said = answer(&events).await;

    let whole: Vec<_> = said.iter().filter(|line| line.starts_with("call!")).collect();
    assert_eq!(
        whole,
        [
            "call! b grep {} {\"openai\":{\"itemId\":\"fc_b\"}}",
            "call! a read {\"p\":1} {\"openai\":{\"itemId\":\"fc_a\"}}",
            "call! c ls {\"q\":2} {\"openai\":{\"itemId\":\"fc_c\"}}",
        ]
    );
    assert_eq!(said.last().unwrap(), &format!("finished tool-calls {USAGE}"));
}

#[tokio::test]
async fn an_incomplete_answer_says_why() {
    for (reason, ours) in
        [("max_output_tokens", "length"), ("content_filter", "content-filter"), ("other", "unknown")]
    {
        let end = json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": reason } } });
        let said = answer(&[message("x"), vec![end]].concat()).await;
        assert!(said.last().unwrap().starts_with(&format!("finished {ours} ")), "{reason}");
    }
}

#[tokio::test]
async fn a_tool_of_the_providers_is_told_with_its_result() {
    let item =
        json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "query": "x" } });
    let said = answer(
        &[
            vec![added(0, json!({ "type": "web_search_call", "id": "ws_1" })), finished(0, item)],
            vec![completed()],
        ]
        .concat(),
    )
    .await;

    assert_eq!(said[2], "call! ws_1 web_search {\"query\":\"x\"} by provider");
    assert!(said[3].starts_with("returned ws_1"));
    assert!(said[4].starts_with("finished stop"));
}

#[tokio::test]
async fn errors_are_told_wherever_they_come() {
    let failed = json!({ "type": "response.failed", "response": { "error": { "code": "server_error", "message": "boom" } } });
    let flat = json!({ "type": "error", "code": "insufficient_quota", "message": "pay" });
    let nested = json!({ "type": "error", "error": { "type": "invalid_request_error", "code": "context_length_exceeded", "message": "long" } });
    let server = Server::start(vec![
        sse(data(&[message("x"), vec![failed]].concat())),
        sse(data(&[flat])),
        sse(data(&[nested])),
        whole(
            "429 Too Many Requests",
            "retry-after-ms: 20\r\n",
            r#"{"error":{"message":"slow","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ),
        sse(data(&message("x")[..1])),
        sse(""),
    ])
    .await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    let (said, error) = hear(model.as_ref(), prompt("hi")).await;
    let failed = api(error.unwrap().into_failure());
    assert_eq!((said.len(), failed.message.as_str(), failed.is_retryable), (4, "boom", true));
    assert!(!api(fail(model.as_ref(), prompt("hi")).await).is_retryable);
    assert!(matches!(fail(model.as_ref(), prompt("hi")).await, Failure::ContextOverflow { .. }));
    let busy = api(fail(model.as_ref(), prompt("hi")).await);
    assert_eq!(
        (busy.message.as_str(), busy.response_headers.unwrap()["retry-after-ms"].as_str()),
        ("slow", "20")
    );
    let cut = lines(&hear_well(model.as_ref(), prompt("hi")).await);
    assert!(cut.last().unwrap().starts_with("finished unknown"));
    assert!(api(fail(model.as_ref(), prompt("hi")).await).is_retryable);
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
        system: vec!["Be brief.".to_owned()],
        messages: vec![
            Turn::User(vec![
                UserItem::Text("look".to_owned()),
                UserItem::File(file("image/png", None)),
                UserItem::File(file("application/pdf", Some("a.pdf"))),
            ]),
            Turn::Assistant(vec![
                thought("One.", json!({ "openai": { "itemId": "rs_1" } })),
                thought("Two.", json!({ "openai": { "itemId": "rs_1", "reasoningEncryptedContent": "enc" } })),
                thought("lost", json!({ "openai": { "itemId": "rs_2" } })),
                AssistantItem::Text { text: "I look".to_owned(), metadata: json!({ "openai": { "itemId": "msg_1" } }).as_object().cloned() },
                AssistantItem::Call { id: "a".to_owned(), name: "read".to_owned(), input: json!({ "p": 1 }), metadata: None, executed: None },
            ]),
            Turn::Tool(vec![
                ToolResult { call: "a".to_owned(), name: "read".to_owned(), content: ResultContent::Mixed { text: "see".to_owned(), media: vec![file("image/png", None)] }, is_error: false },
                ToolResult { call: "b".to_owned(), name: "read".to_owned(), content: ResultContent::Text("no".to_owned()), is_error: true },
            ]),
        ],
        tools: vec![ToolSpec { name: "read".to_owned(), description: "Reads.".to_owned(), parameters: json!({ "type": "object" }) }],
        tool_choice: ToolChoice::Required,
        output_tokens_max: Some(1000),
        temperature: Some(0.5),
        options: json!({ "store": false, "promptCacheKey": "ses_1", "reasoningEffort": "low", "reasoningSummary": "auto", "textVerbosity": "low", "user": "u" }).as_object().unwrap().clone(),
        ..prompt("")
    }
}

#[tokio::test]
async fn the_body_has_the_shape_of_responses() {
    let server = Server::start(vec![sse(data(&[message("x"), vec![completed()]].concat()))]).await;
    let all = json!({ "reasoning": true, "modalities": { "input": ["text", "image", "pdf"] } });
    let model = connect(&server.url, NPM, json!({}), all);

    hear_well(model.as_ref(), conversation()).await;

    let received = server.received().remove(0);
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,aGk=" });
    assert_eq!(received.path, "/responses");
    assert!(received.head.contains("authorization: bearer sk-secret-123456"));
    assert_eq!(
        received.body,
        json!({
            "model": "main",
            "input": [
                { "role": "developer", "content": "Be brief." },
                { "role": "user", "content": [
                    { "type": "input_text", "text": "look" },
                    image,
                    { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk=" },
                ] },
                { "type": "reasoning", "encrypted_content": "enc", "summary": [
                    { "type": "summary_text", "text": "One." }, { "type": "summary_text", "text": "Two." },
                ] },
                { "role": "assistant", "content": [{ "type": "output_text", "text": "I look" }] },
                { "type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"p\":1}" },
                { "type": "function_call_output", "call_id": "a", "output": [{ "type": "input_text", "text": "see" }, image] },
                { "type": "function_call_output", "call_id": "b", "output": "no" },
            ],
            "max_output_tokens": 1000,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "ses_1",
            "reasoning": { "effort": "low", "summary": "auto" },
            "text": { "verbosity": "low" },
            "user": "u",
            "tools": [{ "type": "function", "name": "read", "description": "Reads.", "parameters": { "type": "object" }, "strict": false }],
            "tool_choice": "required",
            "stream": true,
        })
    );
}

#[tokio::test]
async fn a_model_that_does_not_think_gets_a_system_message_and_its_temperature() {
    let server = Server::start(vec![sse(data(&[message("x"), vec![completed()]].concat()))]).await;
    let model = connect(&server.url, NPM, json!({}), json!({ "id": "gpt-4.1" }));
    let request = Request {
        system: vec!["s".to_owned()],
        temperature: Some(0.5),
        model: "gpt-4.1".to_owned(),
        ..prompt("hi")
    };

    hear_well(model.as_ref(), request).await;

    let body = server.received().remove(0).body;
    assert_eq!((&body["input"][0]["role"], &body["temperature"]), (&json!("system"), &json!(0.5)));
    assert_eq!(body.get("include"), None);
}
