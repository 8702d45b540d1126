//! Google Gemini.

use crate::server::{Server, api, connect, data, fail, hear, hear_well, lines, prompt, sse, whole};
use serde_json::{Value, json};
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, Said, ToolChoice, ToolResult, ToolSpec, Turn, UserItem,
};
use sturdy_session::types::failure::Failure;

const NPM: &str = "@ai-sdk/google";

fn parts(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] })
}

fn last(reason: &str) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": [] }, "finishReason": reason }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "cachedContentTokenCount": 4, "totalTokenCount": 18 },
    })
}

const USAGE: &str = "in 10 out 8 think 3 read 4 write - total 18";

async fn answer(events: &[Value]) -> Vec<String> {
    let server = Server::start(vec![sse(data(events))]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));
    lines(&hear_well(model.as_ref(), prompt("hi")).await)
}

#[tokio::test]
async fn thoughts_and_text_are_blocks_and_signatures_end_them() {
    let said = answer(&[
        parts(json!([{ "text": "Hm", "thought": true }])),
        parts(json!([{ "text": ".", "thought": true }, { "text": "Hel" }])),
        parts(json!([{ "text": "lo", "thoughtSignature": "s1" }])),
        parts(json!([{ "text": "", "thoughtSignature": "s2" }])),
        last("STOP"),
    ])
    .await;

    assert_eq!(
        said,
        [
            "started",
            "reason+ 0",
            "reason 0 \"Hm\"",
            "reason 0 \".\"",
            "reason- 0",
            "text+ 1",
            "text 1 \"Hel\"",
            "text 1 \"lo\"",
            "text- 1 {\"google\":{\"thoughtSignature\":\"s2\"}}",
            &format!("finished stop {USAGE}"),
        ]
    );
}

#[tokio::test]
async fn parallel_calls_come_whole_and_get_ids_of_their_own() {
    let server = Server::start(vec![sse(data(&[
        parts(json!([{ "functionCall": { "name": "read", "args": { "p": 1 } }, "thoughtSignature": "s" }])),
        parts(json!([{ "functionCall": { "id": "given", "name": "grep" } }])),
        last("STOP"),
    ]))])
    .await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    let said = hear_well(model.as_ref(), prompt("hi")).await;

    let Said::ToolCalled { call, .. } = &said[3] else { panic!("{said:?}") };
    assert!(call.starts_with("call_"));
    assert_eq!(
        lines(&said)[1..],
        [
            format!("call+ {call} read"),
            format!("call {call} {{\"p\":1}}"),
            format!("call! {call} read {{\"p\":1}} {{\"google\":{{\"thoughtSignature\":\"s\"}}}}"),
            "call+ given grep".to_owned(),
            "call given {}".to_owned(),
            "call! given grep {}".to_owned(),
            format!("finished tool-calls {USAGE}"),
        ]
    );
}

#[tokio::test]
async fn every_finish_reason_has_its_word() {
    for (wire, ours) in [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content-filter"),
        ("RECITATION", "content-filter"),
        ("PROHIBITED_CONTENT", "content-filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("OTHER", "unknown"),
    ] {
        let said = answer(&[parts(json!([{ "text": "x" }])), last(wire)]).await;
        assert!(said.last().unwrap().starts_with(&format!("finished {ours} ")), "{wire}");
    }
    let blocked = answer(&[json!({ "promptFeedback": { "blockReason": "SAFETY" } })]).await;
    assert!(blocked.last().unwrap().starts_with("finished content-filter"));
}

#[tokio::test]
async fn errors_are_told_wherever_they_come() {
    let error =
        |code: u16, message: &str| json!({ "error": { "code": code, "message": message, "status": "X" } });
    let server = Server::start(vec![
        sse(data(&[parts(json!([{ "text": "x" }])), error(503, "The model is overloaded.")])),
        whole(
            "400 Bad Request",
            "",
            &json!([error(
                400,
                "The input token count (9) exceeds the maximum number of tokens allowed (1)."
            )])
            .to_string(),
        ),
        whole("429 Too Many Requests", "retry-after: 2\r\n", &error(429, "Quota").to_string()),
        sse(""),
        sse(data(&[parts(json!([{ "text": "x" }]))])),
    ])
    .await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    let (said, mid) = hear(model.as_ref(), prompt("hi")).await;
    let mid = api(mid.unwrap().into_failure());
    assert_eq!((said.len(), mid.status_code, mid.is_retryable), (3, Some(503), true));
    assert!(matches!(fail(model.as_ref(), prompt("hi")).await, Failure::ContextOverflow { .. }));
    assert_eq!(api(fail(model.as_ref(), prompt("hi")).await).response_headers.unwrap()["retry-after"], "2");
    assert!(api(fail(model.as_ref(), prompt("hi")).await).is_retryable);
    assert!(
        lines(&hear_well(model.as_ref(), prompt("hi")).await).last().unwrap().starts_with("finished unknown")
    );
}

#[tokio::test]
async fn the_body_has_the_shape_of_generate_content() {
    let server = Server::start(vec![sse(data(&[parts(json!([{ "text": "x" }])), last("STOP")]))]).await;
    let model = connect(&server.url, NPM, json!({}), json!({ "modalities": { "input": ["text", "image"] } }));
    let image =
        Media { mime: "image/png".to_owned(), url: "data:image/png;base64,aGk=".to_owned(), filename: None };
    let signed =
        |signature: &str| json!({ "google": { "thoughtSignature": signature } }).as_object().cloned();
    let result = |content: ResultContent, is_error: bool| ToolResult {
        call: "a".to_owned(),
        name: "read".to_owned(),
        content,
        is_error,
    };
    let request = Request {
        system: vec!["Be brief.".to_owned()],
        messages: vec![
            Turn::User(vec![UserItem::Text("look".to_owned()), UserItem::File(image.clone())]),
            Turn::Assistant(vec![
                AssistantItem::Reasoning { text: "hm".to_owned(), metadata: signed("s0") },
                AssistantItem::Text { text: "I look".to_owned(), metadata: None },
                AssistantItem::Call {
                    id: "a".to_owned(),
                    name: "read".to_owned(),
                    input: json!({ "p": 1 }),
                    metadata: signed("s1"),
                    executed: None,
                },
            ]),
            Turn::Tool(vec![
                result(ResultContent::Mixed { text: "see".to_owned(), media: vec![image] }, false),
                result(ResultContent::Text("no".to_owned()), true),
            ]),
        ],
        tools: vec![
            ToolSpec {
                name: "now".to_owned(),
                description: "Time.".to_owned(),
                parameters: json!({ "type": "object", "properties": {} }),
            },
            ToolSpec {
                name: "read".to_owned(),
                description: "Reads.".to_owned(),
                parameters: json!({ "$schema": "x", "type": "object", "properties": { "p": { "enum": [1] } } }),
            },
        ],
        tool_choice: ToolChoice::Required,
        output_tokens_max: Some(1000),
        temperature: Some(1.0),
        top_p: Some(0.95),
        top_k: Some(64),
        options: json!({ "thinkingConfig": { "includeThoughts": true } }).as_object().unwrap().clone(),
        ..prompt("")
    };

    hear_well(model.as_ref(), request).await;

    let received = server.received().remove(0);
    let inline = json!({ "inlineData": { "mimeType": "image/png", "data": "aGk=" } });
    assert_eq!(received.path, "/models/main:streamGenerateContent?alt=sse");
    assert!(received.head.contains("x-goog-api-key: sk-secret-123456"));
    assert_eq!(
        received.body,
        json!({
            "generationConfig": { "maxOutputTokens": 1000, "temperature": 1.0, "topP": 0.95, "topK": 64, "thinkingConfig": { "includeThoughts": true } },
            "contents": [
                { "role": "user", "parts": [{ "text": "look" }, inline] },
                { "role": "model", "parts": [
                    { "text": "hm", "thought": true, "thoughtSignature": "s0" },
                    { "text": "I look" },
                    { "functionCall": { "name": "read", "args": { "p": 1 } }, "thoughtSignature": "s1" },
                ] },
                { "role": "user", "parts": [
                    { "functionResponse": { "name": "read", "response": { "name": "read", "content": "see" }, "parts": [inline] } },
                    { "functionResponse": { "name": "read", "response": { "name": "read", "error": "no" } } },
                ] },
            ],
            "systemInstruction": { "parts": [{ "text": "Be brief." }] },
            "tools": [{ "functionDeclarations": [
                { "name": "now", "description": "Time." },
                { "name": "read", "description": "Reads.", "parameters": { "type": "object", "properties": { "p": { "enum": ["1"], "type": "string" } } } },
            ] }],
            "toolConfig": { "functionCallingConfig": { "mode": "ANY" } },
        })
    );
}
