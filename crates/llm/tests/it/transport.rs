//! What is the same for every protocol: cutting, cancelling, compression, redirects, patience.

use crate::server::{
    Act, Server, api, connect, data, fail, hear, hear_well, lines, prompt, sse, stream_head, whole,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_session::talk::Said;

const CHAT: &str = "@ai-sdk/openai-compatible";

fn chat() -> Vec<Value> {
    vec![
        json!({ "choices": [{ "delta": { "reasoning_content": "naïve – 🤔" } }] }),
        json!({ "choices": [{ "delta": { "content": "Grüße, 世界" } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "t", "arguments": "{\"p\":\"ü\"}" } }] } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
    ]
}

fn anthropic() -> Vec<Value> {
    vec![
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "naïve – 🤔" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "a", "name": "t", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"p\":\"ü\"}" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn responses() -> Vec<Value> {
    vec![
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "id": "m" } }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Grüße, 世界 🤔" }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": { "type": "message", "id": "m" } }),
        json!({ "type": "response.completed", "response": { "id": "r", "usage": { "input_tokens": 1, "output_tokens": 2, "total_tokens": 3 } } }),
    ]
}

fn gemini() -> Vec<Value> {
    vec![
        json!({ "candidates": [{ "content": { "parts": [{ "text": "naïve – 🤔", "thought": true }] } }] }),
        json!({ "candidates": [{ "content": { "parts": [{ "text": "Grüße, 世界" }] } }] }),
        json!({ "candidates": [{ "content": { "parts": [{ "functionCall": { "id": "a", "name": "t", "args": { "p": "ü" } } }] }, "finishReason": "STOP" }] }),
    ]
}

fn protocols() -> [(&'static str, Vec<Value>); 4] {
    [
        (CHAT, chat()),
        ("@ai-sdk/anthropic", anthropic()),
        ("@ai-sdk/openai", responses()),
        ("@ai-sdk/google", gemini()),
    ]
}

fn pieces(bytes: &[u8], mut cuts: Vec<usize>) -> Vec<Act> {
    cuts.extend([0, bytes.len()]);
    cuts.iter_mut().for_each(|cut| *cut = (*cut).min(bytes.len()));
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| Act::Send(bytes[pair[0]..pair[1]].to_vec())).collect()
}

async fn said(npm: &str, acts: Vec<Act>) -> Vec<String> {
    let server = Server::start(vec![[vec![stream_head()], acts].concat()]).await;
    let model = connect(&server.url, npm, json!({}), json!({}));
    lines(&hear_well(model.as_ref(), prompt("hi")).await)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(16))]

    /// However the bytes are cut, and whichever line ends are used, the same words come out.
    #[test]
    fn a_cut_anywhere_says_the_same(cuts in proptest::collection::vec(0usize..1200, 0..16), carriage in proptest::bool::ANY) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (npm, events) in protocols() {
            let whole = data(&events);
            let text = if carriage { whole.replace('\n', "\r\n") } else { whole.clone() };
            let (one, many) = runtime.block_on(async {
                (said(npm, pieces(whole.as_bytes(), vec![])).await, said(npm, pieces(text.as_bytes(), cuts.clone())).await)
            });
            proptest::prop_assert!(one.last().is_some_and(|line| line.starts_with("finished")));
            proptest::prop_assert_eq!(one, many, "{}", npm);
        }
    }
}

#[tokio::test]
async fn every_protocol_says_that_nobody_listens() {
    for (npm, _) in protocols() {
        let model = connect("http://127.0.0.1:1", npm, json!({}), json!({}));
        assert!(api(fail(model.as_ref(), prompt("hi")).await).is_retryable, "{npm}");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let first = data(&chat()[..1]);
    let server = Server::start(vec![
        vec![stream_head(), Act::Send(first.into_bytes()), Act::Hang],
        sse(data(&chat())),
    ])
    .await;
    let model = connect(&server.url, CHAT, json!({}), json!({}));

    let mut answer = model.stream(prompt("hi"));
    assert_eq!(answer.next().await, Some(Ok(Said::Started)));
    drop(answer);

    // The server takes one connection at a time: it answers only when the first one is gone.
    let second = tokio::time::timeout(Duration::from_secs(60), hear_well(model.as_ref(), prompt("hi"))).await;
    assert!(second.is_ok());
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    let server = Server::start(vec![sse(data(&chat()))]).await;
    let model = connect(&server.url, CHAT, json!({}), json!({}));

    drop(model.stream(prompt("hi")));
    tokio::task::yield_now().await;

    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_compressed_stream_is_read_and_a_damaged_one_may_be_tried_again() {
    // gzip with stored blocks: header, one block per piece, no checksum needed to read text.
    let text = data(&chat());
    let bytes = text.as_bytes();
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    gzip.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    gzip.extend_from_slice(&(!(bytes.len() as u16)).to_le_bytes());
    gzip.extend_from_slice(bytes);
    let head = Act::Send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n".to_vec());
    let server = Server::start(vec![
        vec![head.clone(), Act::Send(gzip)],
        vec![head, Act::Send(b"this is not gzip at all".to_vec())],
    ])
    .await;
    let model = connect(&server.url, CHAT, json!({}), json!({}));

    let said = lines(&hear_well(model.as_ref(), prompt("hi")).await);
    let damaged = api(fail(model.as_ref(), prompt("hi")).await);

    assert!(said.last().unwrap().starts_with("finished tool-calls"));
    assert_eq!(damaged.message, "Response decompression failed");
    assert!(damaged.is_retryable);
    assert_eq!(damaged.metadata.unwrap()["code"], "ZlibError");
}

#[tokio::test]
async fn a_redirect_elsewhere_is_refused_so_that_the_key_stays() {
    let other = Server::start(vec![sse(data(&chat()))]).await;
    let there = format!("location: {}/stolen\r\n", other.url);
    let here = "location: /moved\r\n".to_owned();
    let server = Server::start(vec![
        whole("307 Temporary Redirect", &there, ""),
        whole("307 Temporary Redirect", &here, ""),
        sse(data(&chat())),
    ])
    .await;
    let model = connect(&server.url, CHAT, json!({}), json!({}));

    let refused = api(fail(model.as_ref(), prompt("hi")).await);
    let followed = hear_well(model.as_ref(), prompt("hi")).await;

    assert_eq!(refused.status_code, Some(307));
    assert!(other.received().is_empty());
    assert!(matches!(followed.last(), Some(Said::Finished { .. })));
    assert_eq!(server.received()[2].path, "/moved");
}

#[tokio::test(start_paused = true)]
async fn only_silence_is_limited_not_the_length_of_an_answer() {
    // Each piece comes within the limit, the whole takes three times as long.
    let pause = Act::Pause(Duration::from_millis(30));
    let ping = Act::Send(b": ping\n\n".to_vec());
    let text = data(&chat());
    let (half, rest) = text.split_at(20);
    let slow = vec![
        stream_head(),
        pause.clone(),
        ping,
        pause.clone(),
        Act::Send(half.as_bytes().to_vec()),
        pause.clone(),
        Act::Send(rest.as_bytes().to_vec()),
    ];
    let silent = vec![stream_head(), Act::Send(half.as_bytes().to_vec()), Act::Hang];
    let server = Server::start(vec![slow, silent]).await;
    let model = connect(&server.url, CHAT, json!({ "chunkTimeout": 40 }), json!({}));

    let said = lines(&hear_well(model.as_ref(), prompt("hi")).await);
    let failure = api(fail(model.as_ref(), prompt("hi")).await);

    assert!(said.last().unwrap().starts_with("finished tool-calls"));
    assert_eq!(failure.message, "Provider stream timed out: nothing came for 40ms");
}

#[tokio::test]
async fn headers_that_http_forbids_are_refused_without_their_value() {
    let model = connect(
        "http://127.0.0.1:1",
        CHAT,
        json!({ "headers": { "x-token": "line\nbreak-secret" } }),
        json!({}),
    );

    let failure = format!("{:?}", fail(model.as_ref(), prompt("hi")).await);

    assert!(failure.contains("x-token") && !failure.contains("break-secret"), "{failure}");
}

/// What holds of every answer, however confused the provider is.
fn check(said: &[Said], is_whole: bool) -> Result<(), String> {
    let mut text = None;
    let mut reasoning = Vec::new();
    let mut announced = Vec::new();
    let mut called = Vec::new();
    for (at, word) in said.iter().enumerate() {
        let holds = match word {
            Said::Started => at == 0,
            Said::TextStarted { block, .. } => text.replace(block.clone()).is_none(),
            Said::TextGrew { block, .. } => text.as_ref() == Some(block),
            Said::TextEnded { block, .. } => text.take().as_ref() == Some(block),
            // Nobody but the engine's extensions says that.
            Said::TextReplaced { .. } => false,
            Said::ReasoningStarted { block, .. } => {
                let is_new = !reasoning.contains(block);
                reasoning.push(block.clone());
                is_new
            }
            Said::ReasoningGrew { block, .. } => reasoning.contains(block),
            Said::ReasoningEnded { block, .. } => {
                let before = reasoning.len();
                reasoning.retain(|open| open != block);
                reasoning.len() + 1 == before
            }
            Said::ToolInputStarted { call, .. } => {
                let is_new = !announced.contains(call);
                announced.push(call.clone());
                is_new
            }
            Said::ToolInputGrew { call, .. } => announced.contains(call) && !called.contains(call),
            Said::ToolCalled { call, .. } => {
                let is_new = !called.contains(call);
                called.push(call.clone());
                is_new
            }
            Said::ToolReturned { .. } => true,
            Said::Finished { .. } => at + 1 == said.len() && text.is_none() && reasoning.is_empty(),
        };
        if !holds {
            return Err(format!("{} in {:#?}", lines(&said[at..=at])[0], lines(said)));
        }
    }
    let is_finished = matches!(said.last(), Some(Said::Finished { .. }));
    if is_finished == is_whole { Ok(()) } else { Err(format!("the end of {:#?}", lines(said))) }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    /// Events left out, repeated and out of order never open a block twice, close what is not
    /// open, call a tool twice, or end without a word.
    #[test]
    fn a_confused_provider_is_still_told_in_order(order in proptest::collection::vec(0usize..16, 0..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (npm, events) in protocols() {
            let shuffled: Vec<Value> = order.iter().filter_map(|at| events.get(at % (events.len() + 1)).cloned()).collect();
            let (said, error) = runtime.block_on(async {
                let server = Server::start(vec![sse(data(&shuffled))]).await;
                let model = connect(&server.url, npm, json!({}), json!({}));
                hear(model.as_ref(), prompt("hi")).await
            });
            let checked = check(&said, error.is_none());
            proptest::prop_assert!(checked.is_ok(), "{npm}: {}", checked.unwrap_err());
        }
    }
}
