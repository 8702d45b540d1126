//! The body of a chat completion request.

use crate::server::{Server, connect, data, hear_well, prompt, sse};
use serde_json::json;
use sturdy_session::talk::{
    AssistantItem, Media, Request, ResultContent, ToolChoice, ToolResult, ToolSpec, Turn, UserItem,
};

const NPM: &str = "@ai-sdk/openai-compatible";

fn short() -> String {
    data(&[json!({ "choices": [{ "delta": { "content": "x" }, "finish_reason": "stop" }] })])
}

fn conversation() -> Request {
    let image =
        Media { mime: "image/png".to_owned(), url: "data:image/png;base64,aGk=".to_owned(), filename: None };
    let pdf = Media {
        mime: "application/pdf".to_owned(),
        url: "data:application/pdf;base64,aGk=".to_owned(),
        filename: Some("a.pdf".to_owned()),
    };
    let audio =
        Media { mime: "audio/wav".to_owned(), url: "data:audio/wav;base64,aGk=".to_owned(), filename: None };
    Request {
        system: vec!["Be brief.".to_owned()],
        messages: vec![
            Turn::User(vec![
                UserItem::Text("look".to_owned()),
                UserItem::File(image),
                UserItem::File(pdf),
                UserItem::File(audio),
            ]),
            Turn::Assistant(vec![
                AssistantItem::Reasoning { text: "hm".to_owned(), metadata: None },
                AssistantItem::Text { text: "I ".to_owned(), metadata: None },
                AssistantItem::Text { text: "look".to_owned(), metadata: None },
                AssistantItem::Call {
                    id: "a".to_owned(),
                    name: "read".to_owned(),
                    input: json!({ "p": 1 }),
                    metadata: None,
                    executed: None,
                },
            ]),
            Turn::Tool(vec![ToolResult {
                call: "a".to_owned(),
                name: "read".to_owned(),
                content: ResultContent::Text("ok".to_owned()),
                is_error: false,
            }]),
            Turn::User(vec![UserItem::Text("and?".to_owned())]),
        ],
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        tool_choice: ToolChoice::Auto,
        output_tokens_max: Some(100),
        temperature: Some(0.5),
        options: json!({ "reasoningEffort": "low", "custom": 1 }).as_object().unwrap().clone(),
        headers: vec![("X-Session-Id".to_owned(), "ses_1".to_owned())],
        ..prompt("")
    }
}

#[tokio::test]
async fn the_body_has_the_shape_of_chat_completions() {
    let server = Server::start(vec![sse(short())]).await;
    let all = json!({ "modalities": { "input": ["text", "image", "audio", "pdf"], "output": ["text"] }, "headers": { "x-own": "1" } });
    let model = connect(&server.url, NPM, json!({ "headers": { "x-provider": "2" } }), all);

    hear_well(model.as_ref(), conversation()).await;

    let received = server.received().remove(0);
    assert_eq!(received.path, "/chat/completions");
    for header in [
        "authorization: bearer sk-secret-123456",
        "x-own: 1",
        "x-provider: 2",
        "x-session-id: ses_1",
        "content-type: application/json",
    ] {
        assert!(received.head.contains(header), "{header} in {}", received.head);
    }
    assert_eq!(
        received.body,
        json!({
            "model": "main",
            "max_tokens": 100,
            "temperature": 0.5,
            "reasoning_effort": "low",
            "custom": 1,
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [
                    { "type": "text", "text": "look" },
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } },
                    { "type": "file", "file": { "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk=" } },
                    { "type": "input_audio", "input_audio": { "data": "aGk=", "format": "wav" } },
                ] },
                { "role": "assistant", "content": "I look", "reasoning_content": "hm", "tool_calls": [
                    { "id": "a", "type": "function", "function": { "name": "read", "arguments": "{\"p\":1}" } },
                ] },
                { "role": "tool", "tool_call_id": "a", "content": "ok" },
                { "role": "user", "content": "and?" },
            ],
            "tools": [{ "type": "function", "function": { "name": "read", "description": "Reads.", "parameters": { "type": "object" } } }],
            "tool_choice": "auto",
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    );
}

#[tokio::test]
async fn a_reasoning_field_of_its_own_is_always_written() {
    let server = Server::start(vec![sse(short())]).await;
    let model =
        connect(&server.url, NPM, json!({}), json!({ "interleaved": { "field": "reasoning_details" } }));
    let mut request = prompt("hi");
    request
        .messages
        .push(Turn::Assistant(vec![AssistantItem::Text { text: "yes".to_owned(), metadata: None }]));

    hear_well(model.as_ref(), request).await;

    assert_eq!(
        server.received()[0].body["messages"][1],
        json!({ "role": "assistant", "content": "yes", "reasoning_details": "" })
    );
}

// Was: a field that was named without an object around it was ignored.
#[tokio::test]
async fn a_reasoning_field_may_be_named_in_short() {
    let server = Server::start(vec![sse(short())]).await;
    let model = connect(&server.url, NPM, json!({}), json!({ "interleaved": "thoughts" }));

    hear_well(model.as_ref(), conversation()).await;

    assert_eq!(server.received()[0].body["messages"][2]["thoughts"], "hm");
}

#[tokio::test]
async fn claude_behind_a_compatible_server_gets_cache_marks() {
    let server = Server::start(vec![sse(short())]).await;
    let model = connect(&server.url, NPM, json!({}), json!({ "id": "anthropic/claude-x" }));
    let mut request = prompt("one");
    request.system = vec!["s".to_owned()];
    request
        .messages
        .push(Turn::Assistant(vec![AssistantItem::Text { text: "two".to_owned(), metadata: None }]));
    request.messages.push(Turn::User(vec![UserItem::Text("three".to_owned())]));

    hear_well(model.as_ref(), request).await;

    let marked =
        |text: &str| json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
    let body = server.received().remove(0).body;
    let contents: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
    assert_eq!(contents, [marked("s"), json!("one"), marked("two"), marked("three")]);
}

#[tokio::test]
async fn media_of_a_result_follow_it_and_usage_can_be_left_out() {
    let server = Server::start(vec![sse(short())]).await;
    let model = connect(&server.url, NPM, json!({ "includeUsage": false }), json!({}));
    let media = vec![Media {
        mime: "image/png".to_owned(),
        url: "data:image/png;base64,aGk=".to_owned(),
        filename: None,
    }];
    let content = ResultContent::Mixed { text: "see".to_owned(), media };
    let mut request = prompt("one");
    request.messages.push(Turn::Tool(vec![ToolResult {
        call: "a".to_owned(),
        name: "t".to_owned(),
        content,
        is_error: false,
    }]));

    hear_well(model.as_ref(), request).await;

    let body = server.received().remove(0).body;
    assert_eq!(body["messages"][1], json!({ "role": "tool", "tool_call_id": "a", "content": "see" }));
    assert_eq!(body["messages"][2]["content"][0]["type"], "image_url");
    assert_eq!(body.get("stream_options"), None);
}

#[tokio::test]
async fn deepinfra_is_asked_below_the_address_that_a_configuration_names() {
    for (address, path) in
        [("/v1", "/v1/openai/chat/completions"), ("/v1/openai/", "/v1/openai/chat/completions")]
    {
        let server = Server::start(vec![sse(short())]).await;
        let model = connect(&format!("{}{address}", server.url), "@ai-sdk/deepinfra", json!({}), json!({}));

        hear_well(model.as_ref(), prompt("hi")).await;

        // Was: `/v1/chat/completions`, which is not there.
        assert_eq!(server.received().remove(0).path, path);
    }
}
