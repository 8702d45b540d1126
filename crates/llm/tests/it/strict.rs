//! What servers refuse that take no field, no sampling and no thinking they do not know.

use crate::server::{Server, connect, data, hear_well, prompt, sse};
use serde_json::{Value, json};
use sturdy_session::json::Map;
use sturdy_session::talk::{AssistantItem, Request, ResultContent, Said, ToolResult, Turn};

const COMPATIBLE: &str = "@ai-sdk/openai-compatible";
const OPENROUTER: &str = "@openrouter/ai-sdk-provider";

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn short(npm: &str) -> String {
    if npm.contains("anthropic") {
        data(&[
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "x" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
            json!({ "type": "message_stop" }),
        ])
    } else {
        data(&[delta(json!({ "content": "x" })), finish("stop")])
    }
}

/// The body of a request to a model of this package and name.
async fn body(npm: &str, id: &str, request: Request) -> Value {
    let server = Server::start(vec![sse(short(npm))]).await;
    let model = connect(&server.url, npm, json!({}), json!({ "id": id }));

    hear_well(model.as_ref(), request).await;

    server.received().remove(0).body
}

fn call(metadata: Option<Map>) -> AssistantItem {
    let input = json!({ "pattern": "*" });
    AssistantItem::Call { id: "a".to_owned(), name: "glob".to_owned(), input, metadata, executed: None }
}

/// A thought, a call and its result.
fn thoughtful(thought: Option<Map>, called: Option<Map>) -> Request {
    let mut request = prompt("look");
    request.messages.push(Turn::Assistant(vec![
        AssistantItem::Reasoning { text: "hm".to_owned(), metadata: thought },
        call(called),
    ]));
    let content = ResultContent::Text("none".to_owned());
    request.messages.push(Turn::Tool(vec![ToolResult {
        call: "a".to_owned(),
        name: "glob".to_owned(),
        content,
        is_error: false,
    }]));
    request
}

#[tokio::test]
async fn a_claude_model_gets_the_sampling_it_takes() {
    let sampled = || Request { temperature: Some(0.3), top_p: Some(0.8), top_k: Some(5), ..prompt("hi") };
    let table = [
        ("claude-3-5-sonnet-20241022", Some(0.3), Some(0.8), Some(5)),
        // Was: both were sent, which these models refuse.
        ("claude-opus-4-1", Some(0.3), None, Some(5)),
        ("claude-sonnet-4-5-20250929", Some(0.3), None, Some(5)),
        ("claude-opus-4.6", Some(0.3), None, Some(5)),
        // Was: sent, and every request was refused.
        ("claude-opus-4-7", None, None, None),
        ("claude-opus-4-8", None, None, None),
        ("claude-sonnet-5", None, None, None),
        ("claude-mythos-preview", None, None, None),
        ("minimax-m2", Some(0.3), Some(0.8), Some(5)),
    ];
    for (id, temperature, top_p, top_k) in table {
        let body = body("@ai-sdk/anthropic", id, sampled()).await;
        let sent = (body["temperature"].as_f64(), body["top_p"].as_f64(), body["top_k"].as_u64());
        assert_eq!(sent, (temperature, top_p, top_k), "{id}");
    }
    let behind = body(COMPATIBLE, "anthropic/claude-opus-4.7", sampled()).await;
    assert_eq!((behind.get("temperature"), behind.get("top_p")), (None, None));
    let alone = Request { top_p: Some(0.8), ..prompt("hi") };
    assert_eq!(body("@ai-sdk/anthropic", "claude-sonnet-4-5", alone).await["top_p"], 0.8);
}

#[tokio::test]
async fn a_thought_that_is_to_be_shown_is_asked_for() {
    let thinking = json!({ "thinking": { "type": "adaptive", "display": "summarized" } });
    let request = Request { options: thinking.as_object().unwrap().clone(), ..prompt("hi") };

    let body = body("@ai-sdk/anthropic", "claude-opus-4-7", request).await;

    // Was: without `display`, so that nothing of the thought was told.
    assert_eq!(body["thinking"], json!({ "type": "adaptive", "display": "summarized" }));
}

#[tokio::test]
async fn a_thought_comes_back_in_the_field_its_server_knows() {
    let table = [
        (COMPATIBLE, Some("reasoning_content")),
        // Was: `reasoning_content`, and the step behind a call was refused.
        ("@ai-sdk/groq", Some("reasoning")),
        ("@ai-sdk/cerebras", Some("reasoning")),
        ("@ai-sdk/mistral", None),
        ("@ai-sdk/perplexity", None),
        ("@ai-sdk/xai", None),
    ];
    for (npm, field) in table {
        let body = body(npm, "m", thoughtful(None, None)).await;
        let message = body["messages"][1].as_object().unwrap();
        let known = ["role", "content", "tool_calls"];
        let others: Vec<&str> =
            message.keys().map(String::as_str).filter(|name| !known.contains(name)).collect();
        assert_eq!(others, Vec::from_iter(field), "{npm}");
    }
}

#[tokio::test]
async fn usage_is_not_asked_for_where_the_question_is_refused() {
    let asks = async |npm| body(npm, "m", prompt("hi")).await.get("stream_options").is_some();

    assert!(asks(COMPATIBLE).await);
    // Was: asked for, and Mistral refused every request.
    assert!(!asks("@ai-sdk/mistral").await);
    assert!(!asks("@ai-sdk/perplexity").await);
}

#[tokio::test]
async fn top_k_is_sent_to_a_chat_server_that_takes_it() {
    let sampled = || Request { top_k: Some(64), ..prompt("hi") };

    assert_eq!(body(OPENROUTER, "google/gemini-3-pro", sampled()).await["top_k"], 64);
    assert_eq!(body(COMPATIBLE, "gemini-3-pro", sampled()).await.get("top_k"), None);
}

fn openrouter_details() -> Value {
    json!([
        { "type": "reasoning.text", "text": "Let me look.", "signature": "SIG", "format": "anthropic-claude-v1", "index": 0 },
        { "type": "reasoning.encrypted", "data": "ENC", "id": "a", "format": "google-gemini-v1", "index": 1 },
    ])
}

fn own(provider: &str, name: &str, value: Value) -> Map {
    json!({ provider: { name: value } }).as_object().unwrap().clone()
}

#[tokio::test]
async fn what_openrouter_tells_of_a_thought_is_kept_in_whole_pieces() {
    let piece = |detail: Value| delta(json!({ "content": "", "reasoning_details": [detail] }));
    let server = Server::start(vec![sse(data(&[
        piece(json!({ "type": "reasoning.text", "text": "Let me ", "index": 0, "format": "anthropic-claude-v1" })),
        piece(json!({ "type": "reasoning.text", "text": "look.", "index": 0, "format": "anthropic-claude-v1" })),
        piece(json!({ "type": "reasoning.text", "signature": "SIG", "index": 0, "format": "anthropic-claude-v1" })),
        delta(json!({
            "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "glob", "arguments": "{\"pattern\":\"*\"}" } }],
            "reasoning_details": [{ "type": "reasoning.encrypted", "data": "ENC", "id": "a", "index": 1, "format": "google-gemini-v1" }],
        })),
        finish("tool_calls"),
    ]))])
    .await;
    let model = connect(&server.url, OPENROUTER, json!({}), json!({}));

    let said = hear_well(model.as_ref(), prompt("hi")).await;

    let called = said.iter().find_map(|said| match said {
        Said::ToolCalled { metadata, .. } => Some(metadata.clone()),
        _ => None,
    });
    assert_eq!(called, Some(Some(own("openrouter", "reasoning_details", openrouter_details()))));
    let thought = said.iter().find_map(|said| match said {
        Said::ReasoningEnded { metadata, .. } => metadata.clone(),
        _ => None,
    });
    let kept = thought.map(|told| told["openrouter"]["reasoning_details"][0].clone());
    assert_eq!(kept.as_ref(), Some(&openrouter_details()[0]));
}

#[tokio::test]
async fn what_openrouter_told_of_a_thought_comes_back_with_its_call() {
    let first = own("openrouter", "reasoning_details", json!([openrouter_details()[0]]));
    let all = own("openrouter", "reasoning_details", openrouter_details());

    let body = body(OPENROUTER, "google/gemini-3-pro", thoughtful(Some(first), Some(all))).await;

    let message = &body["messages"][1];
    assert_eq!((&message["reasoning"], &message["reasoning_details"]), (&json!("hm"), &openrouter_details()));
    // A thought without its seal is refused, so it is not sent.
    let unsealed = body_of_unsealed().await;
    assert_eq!((unsealed.get("reasoning"), unsealed.get("reasoning_details")), (None, None));
}

async fn body_of_unsealed() -> Value {
    body(OPENROUTER, "google/gemini-3-pro", thoughtful(None, None)).await["messages"][1].clone()
}

#[tokio::test]
async fn the_seal_of_a_call_behind_a_compatible_server_comes_back_with_it() {
    let server = Server::start(vec![sse(data(&[
        delta(json!({ "tool_calls": [{
            "index": 0, "id": "a", "function": { "name": "glob", "arguments": "{}" },
            "extra_content": { "google": { "thought_signature": "SEAL" } },
        }] })),
        finish("tool_calls"),
    ]))])
    .await;
    let model = connect(&server.url, COMPATIBLE, json!({}), json!({}));

    let said = hear_well(model.as_ref(), prompt("hi")).await;

    let sealed = own("google", "thoughtSignature", json!("SEAL"));
    let called =
        |said: &Said| matches!(said, Said::ToolCalled { metadata: Some(told), .. } if *told == sealed);
    assert!(said.iter().any(called), "{said:?}");
    let body = body(COMPATIBLE, "gemini-3-pro", thoughtful(None, Some(sealed))).await;
    assert_eq!(
        body["messages"][1]["tool_calls"][0]["extra_content"],
        json!({ "google": { "thought_signature": "SEAL" } })
    );
}
