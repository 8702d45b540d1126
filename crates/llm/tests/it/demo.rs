//! The provider without a network.

use crate::server::{hear, lines, prompt};
use serde_json::{Value, json};
use std::sync::Arc;
use sturdy_llm::auth::Credentials;
use sturdy_llm::catalog::Sources;
use sturdy_llm::{Catalog, Http, Model};
use sturdy_session::talk::{AssistantItem, ResultContent, ToolResult, Turn};
use sturdy_session::types::failure::Failure;

fn demo(model: &str, pace: Option<&str>) -> Arc<dyn Model> {
    let catalog = Catalog::build(&Sources {
        redirected: &[],
        cached: &Value::Null,
        config: &Value::Null,
        enabled: None,
        disabled: &[],
        env: &|name| pace.filter(|_| name == "STURDY_DEMO_PACE_MS").map(str::to_owned),
        credentials: &Credentials::default(),
        http: Http::new(),
    });
    catalog.model("demo", model).unwrap().connect().unwrap()
}

async fn said(model: &str, text: &str) -> Vec<String> {
    lines(&hear(demo(model, Some("0")).as_ref(), prompt(text)).await.0)
}

#[tokio::test]
async fn echo_thinks_and_repeats() {
    let said = said("echo", "hello there, world").await;

    assert_eq!(said[0..2], ["started", "reason+ reasoning-0"]);
    let text: Vec<_> = said.iter().filter(|line| line.starts_with("text text-0")).collect();
    assert_eq!(text, ["text text-0 \"hello there,\"", "text text-0 \" world\""]);
    assert!(said.last().unwrap().starts_with("finished stop in 5 out "), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn it_speaks_at_its_pace_and_says_the_same_every_time() {
    let begun = tokio::time::Instant::now();
    let first = hear(demo("story", None).as_ref(), prompt("tell")).await.0;
    let took = begun.elapsed();
    let second = hear(demo("story", Some("0")).as_ref(), prompt("tell")).await.0;

    let chunks = lines(&first)
        .iter()
        .filter(|line| line.starts_with("text text") || line.starts_with("reason r"))
        .count();
    assert_eq!(took.as_millis(), 15 * chunks as u128);
    assert_eq!(first, second);
}

#[tokio::test(start_paused = true)]
async fn options_of_the_request_set_pace_and_size() {
    let mut request = prompt("abcdef");
    request.options = json!({ "paceMs": 0, "chunkChars": 2 }).as_object().unwrap().clone();
    let begun = tokio::time::Instant::now();

    let said = lines(&hear(demo("echo", None).as_ref(), request).await.0);

    assert_eq!(begun.elapsed().as_millis(), 0);
    assert!(said.contains(&"text text-0 \"ef\"".to_owned()));
}

#[tokio::test]
async fn a_prompt_can_ask_for_a_call_and_hear_of_its_result() {
    let called = said("echo", "/demo tool read {\"path\":\"x\"}").await;
    assert_eq!(
        called[1..4],
        [
            "call+ call_demo_1 read",
            "call call_demo_1 {\"path\":\"x\"}",
            "call! call_demo_1 read {\"path\":\"x\"}"
        ]
    );
    assert!(called[4].starts_with("finished tool-calls"));

    let mut request = prompt("/demo tool read {}");
    let call = AssistantItem::Call {
        id: "call_demo_1".to_owned(),
        name: "read".to_owned(),
        input: json!({}),
        metadata: None,
        executed: None,
    };
    request.messages.push(Turn::Assistant(vec![call]));
    let result = ToolResult {
        call: "call_demo_1".to_owned(),
        name: "read".to_owned(),
        content: ResultContent::Text("42".to_owned()),
        is_error: false,
    };
    request.messages.push(Turn::Tool(vec![result]));
    let answered = lines(&hear(demo("echo", Some("0")).as_ref(), request).await.0).join("\n");
    assert!(answered.contains("finished stop"), "{answered}");
}

#[tokio::test]
async fn a_prompt_can_ask_for_trouble() {
    let model = demo("echo", Some("0"));

    let (_, refused) = hear(model.as_ref(), prompt("/demo error 503 Busy")).await;
    let (_, later) = hear(model.as_ref(), prompt("/demo error 429 after=20 Slow down")).await;
    let (chunks, broken) = hear(model.as_ref(), prompt("/demo break 3")).await;
    let long = said("echo", "/demo long 100").await;

    assert!(
        matches!(refused.unwrap().into_failure(), Failure::Api(api) if api.status_code == Some(503) && api.is_retryable && api.message == "Busy")
    );
    let later = crate::server::api(later.unwrap().into_failure());
    assert_eq!(
        (later.message.as_str(), later.response_headers.unwrap()["retry-after-ms"].as_str()),
        ("Slow down", "20")
    );
    assert_eq!(chunks.len(), 5);
    assert!(matches!(broken.unwrap().into_failure(), Failure::Api(api) if api.is_retryable));
    assert_eq!(long.len(), 104);
}
