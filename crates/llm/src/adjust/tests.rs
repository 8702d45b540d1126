//! Each rule concerns its family and nobody else.

use super::*;
use crate::auth::Credentials;
use crate::catalog::Sources;
use crate::{Catalog, Http};
use serde_json::{Value, json};
use std::sync::Arc;
use sturdy_session::talk::{ResultContent, ToolResult};

fn model(npm: &str, id: &str, inputs: Value) -> Arc<ModelInfo> {
    let config =
        json!({ "p": { "npm": npm, "models": { "m": { "id": id, "modalities": { "input": inputs } } } } });
    let catalog = Catalog::build(&Sources {
        redirected: &[],
        cached: &Value::Null,
        config: &config,
        enabled: None,
        disabled: &[],
        env: &|_| None,
        credentials: &Credentials::default(),
        http: Http::new(),
    });
    Arc::clone(&catalog.model("p", "m").unwrap().info)
}

fn text(text: &str) -> AssistantItem {
    AssistantItem::Text { text: text.to_owned(), metadata: None }
}

fn call(id: &str) -> AssistantItem {
    AssistantItem::Call {
        id: id.to_owned(),
        name: "t".to_owned(),
        input: json!({}),
        metadata: None,
        executed: None,
    }
}

fn result(id: &str) -> Turn {
    let content = ResultContent::Text("ok".to_owned());
    Turn::Tool(vec![ToolResult { call: id.to_owned(), name: "t".to_owned(), content, is_error: false }])
}

fn user(text: &str) -> Turn {
    Turn::User(vec![UserItem::Text(text.to_owned())])
}

fn adjusted(model: &ModelInfo, messages: Vec<Turn>) -> Vec<Turn> {
    let mut request = Request { messages, ..Request::default() };
    apply(model, &mut request);
    request.messages
}

fn file(mime: &str, data: &str) -> Turn {
    let url = format!("data:{mime};base64,{data}");
    Turn::User(vec![UserItem::File(Media { mime: mime.to_owned(), url, filename: Some("f".to_owned()) })])
}

#[test]
fn a_file_the_model_cannot_read_becomes_a_sentence() {
    let blind = model("x", "plain", json!(["text", "audio"]));
    for (mime, kind) in [("image/png", "image"), ("video/mp4", "video"), ("application/pdf", "pdf")] {
        let expected =
            format!("ERROR: Cannot read \"f\": this model takes no {kind} input. Tell the user so.");
        assert_eq!(adjusted(&blind, vec![file(mime, "aGk=")]), [user(&expected)]);
    }
    assert_eq!(adjusted(&blind, vec![file("audio/wav", "aGk=")]), [file("audio/wav", "aGk=")]);
}

#[test]
fn an_empty_image_is_said_to_be_damaged() {
    let seeing = model("x", "plain", json!(["text", "image"]));
    assert_eq!(adjusted(&seeing, vec![file("image/png", "aGk=")]), [file("image/png", "aGk=")]);
    let told = adjusted(&seeing, vec![file("image/png", "")]);
    assert!(
        matches!(&told[0], Turn::User(items) if matches!(&items[0], UserItem::Text(text) if text.starts_with("ERROR: Cannot read")))
    );
}

#[test]
fn anthropic_gets_no_empty_blocks_but_keeps_sealed_thoughts() {
    let claude = model("@ai-sdk/anthropic", "claude-x", json!(["text"]));
    let sealed = AssistantItem::Reasoning {
        text: String::new(),
        metadata: json!({ "anthropic": { "signature": "s" } }).as_object().cloned(),
    };
    let blank = AssistantItem::Reasoning { text: " ".to_owned(), metadata: None };

    let kept = adjusted(
        &claude,
        vec![
            user(""),
            Turn::Assistant(vec![text(""), blank.clone()]),
            Turn::Assistant(vec![blank, sealed.clone(), text("x")]),
        ],
    );

    assert_eq!(kept, [Turn::Assistant(vec![sealed, text("x")])]);
}

#[test]
fn claude_and_mistral_get_call_ids_they_accept_and_others_keep_theirs() {
    let turns = || vec![Turn::Assistant(vec![call("a.b:c_1")]), result("a.b:c_1")];

    assert_eq!(
        adjusted(&model("x", "claude-y", json!(["text"])), turns()),
        [Turn::Assistant(vec![call("a_b_c_1")]), result("a_b_c_1")]
    );
    assert_eq!(
        adjusted(&model("x", "mistral-z", json!(["text"])), turns()),
        [Turn::Assistant(vec![call("abc100000")]), result("abc100000")]
    );
    assert_eq!(adjusted(&model("x", "plain", json!(["text"])), turns()), turns());
}

#[test]
fn mistral_gets_a_filler_between_a_result_and_a_prompt() {
    let mistral = model("x", "devstral", json!(["text"]));

    let filled = adjusted(&mistral, vec![result("abcdefghi"), user("next")]);

    assert_eq!(filled, [result("abcdefghi"), Turn::Assistant(vec![text("Done.")]), user("next")]);
}
