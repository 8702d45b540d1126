//! OpenAI chat completions and what calls itself compatible.

use crate::server::{
    Act, Server, api, chunk, chunked_head, connect, data, fail, hear, hear_well, lines, prompt, sse,
    stream_head, whole,
};
use serde_json::{Value, json};
use sturdy_session::talk::{AssistantItem, Said, Turn};
use sturdy_session::types::failure::Failure;

const NPM: &str = "@ai-sdk/openai-compatible";

fn delta(delta: Value) -> Value {
    json!({ "id": "c1", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    delta(
        json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }] }),
    )
}

fn more(index: u64, arguments: &str) -> Value {
    delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }))
}

fn done(events: &[Value]) -> String {
    data(events) + "data: [DONE]\n\n"
}

async fn answer(text: String) -> Vec<String> {
    let server = Server::start(vec![sse(text)]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));
    lines(&hear_well(model.as_ref(), prompt("hi")).await)
}

#[tokio::test]
async fn text_and_reasoning_are_blocks_and_usage_comes_last() {
    let said = answer(done(&[
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "reasoning_content": "Let me " })),
        delta(json!({ "reasoning_content": "think." })),
        delta(json!({ "content": "Hel" })),
        delta(json!({ "content": "lo" })),
        finish("stop"),
        json!({ "choices": [], "usage": {
            "prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
            "prompt_tokens_details": { "cached_tokens": 4 }, "completion_tokens_details": { "reasoning_tokens": 3 },
        } }),
    ]))
    .await;

    assert_eq!(
        said,
        [
            "started",
            "reason+ reasoning-0",
            "reason reasoning-0 \"Let me \"",
            "reason reasoning-0 \"think.\"",
            "reason- reasoning-0",
            "text+ text-0",
            "text text-0 \"Hel\"",
            "text text-0 \"lo\"",
            "text- text-0",
            "finished stop in 10 out 7 think 3 read 4 write - total 17",
        ]
    );
}

#[tokio::test]
async fn parallel_calls_are_said_as_soon_as_each_is_whole() {
    let said = answer(done(&[
        delta(json!({ "content": "Looking." })),
        call(0, "a", "read", ""),
        call(1, "b", "grep", "{\"q\":"),
        more(0, "{\"path\":\"x\"}"),
        more(1, "\"}\"}"),
        finish("tool_calls"),
    ]))
    .await;

    assert_eq!(
        said,
        [
            "started",
            "text+ text-0",
            "text text-0 \"Looking.\"",
            "call+ a read",
            "call+ b grep",
            "call b {\"q\":",
            "call a {\"path\":\"x\"}",
            "call! a read {\"path\":\"x\"}",
            "call b \"}\"}",
            "call! b grep {\"q\":\"}\"}",
            "text- text-0",
            "finished tool-calls in - out - think - read - write - total -",
        ]
    );
}

#[tokio::test]
async fn calls_without_index_or_with_the_same_index_stay_apart() {
    let bare = |id: &str, arguments: &str| {
        delta(json!({ "tool_calls": [{ "id": id, "function": { "name": "t", "arguments": arguments } }] }))
    };
    let without = answer(done(&[bare("a", "{\"n\":1}"), bare("b", "{\"n\":2}"), finish("tool_calls")])).await;
    let same =
        answer(done(&[call(0, "a", "t", "{\"n\":1}"), call(0, "b", "t", "{\"n\":2}"), finish("tool_calls")]))
            .await;

    for said in [without, same] {
        let whole: Vec<_> = said.iter().filter(|line| line.starts_with("call!")).collect();
        assert_eq!(whole, ["call! a t {\"n\":1}", "call! b t {\"n\":2}"]);
    }
}

#[tokio::test]
async fn a_repeated_id_is_one_call_and_two_calls_never_share_one() {
    let repeated = answer(done(&[
        call(0, "a", "t", "{\"n\""),
        delta(json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "", "arguments": ":1}" } }] })),
        call(1, "a", "t", "{}"),
        finish("tool_calls"),
    ]))
    .await;

    let whole: Vec<_> = repeated.iter().filter(|line| line.starts_with("call!")).collect();
    assert_eq!(whole, ["call! a t {\"n\":1}", "call! a_1 t {}"]);
}

#[tokio::test]
async fn a_name_repeated_after_the_end_is_no_new_call() {
    // Was: servers that repeat id and name in every delta got a second, empty call.
    let said = answer(done(&[
        call(0, "a", "t", "{\"n\""),
        call(0, "a", "t", ":1}"),
        call(0, "a", "t", ""),
        call(0, "a", "t", "\n"),
        finish("tool_calls"),
    ]))
    .await;

    let whole: Vec<_> = said.iter().filter(|line| line.starts_with("call!")).collect();
    assert_eq!(whole, ["call! a t {\"n\":1}"]);
}

#[tokio::test]
async fn a_thousand_calls_at_once_stay_apart() {
    let events: Vec<Value> =
        (0..1000).map(|at| call(at, &format!("c{at}"), "t", &format!("{{\"n\":{at}}}"))).collect();
    let said = answer(done(&[events, vec![finish("tool_calls")]].concat())).await;

    assert_eq!(said.iter().filter(|line| line.starts_with("call!")).count(), 1000);
    assert!(said.contains(&"call! c999 t {\"n\":999}".to_owned()));
}

#[tokio::test]
async fn arguments_that_are_not_json_are_told_and_none_are_an_empty_object() {
    let said =
        answer(done(&[call(0, "a", "t", "{not json"), call(1, "b", "t", ""), finish("tool_calls")])).await;

    let whole: Vec<_> = said.iter().filter(|line| line.starts_with("call!")).collect();
    assert_eq!(whole, ["call! a t malformed \"{not json\"", "call! b t {}"]);
}

#[tokio::test]
async fn every_finish_reason_has_its_word() {
    for (wire, ours) in [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content-filter"),
        ("tool_calls", "tool-calls"),
        ("function_call", "tool-calls"),
        ("eos", "unknown"),
    ] {
        let said = answer(done(&[delta(json!({ "content": "x" })), finish(wire)])).await;
        assert!(said.last().unwrap().starts_with(&format!("finished {ours} ")), "{wire}: {said:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_a_reason_is_unknown_after_text_and_broken_without() {
    let said = answer(data(&[delta(json!({ "content": "x" }))])).await;
    assert!(said.last().unwrap().starts_with("finished unknown"));

    for silent in [String::new(), done(&[]), data(&[delta(json!({ "role": "assistant" }))])] {
        let server = Server::start(vec![sse(silent)]).await;
        let model = connect(&server.url, NPM, json!({}), json!({}));
        let failure = api(fail(model.as_ref(), prompt("hi")).await);
        assert!(failure.is_retryable);
        assert_eq!(failure.metadata.unwrap()["code"], "ProviderResponseStreamError");
    }
}

#[tokio::test]
async fn a_stream_cut_inside_a_call_is_broken() {
    let server = Server::start(vec![sse(data(&[call(0, "a", "t", "{\"n\":")]))]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    let failure = api(fail(model.as_ref(), prompt("hi")).await);

    assert!(failure.is_retryable);
    assert!(failure.message.contains("in the middle of a tool call"));
}

#[tokio::test]
async fn a_lost_connection_keeps_what_was_said_and_may_be_tried_again() {
    let first = data(&[delta(json!({ "content": "x" }))]);
    for end in [vec![], vec![chunk("data: {\"choices\":[{\"del")], vec![Act::Reset]] {
        let script = [vec![chunked_head(), chunk(&first)], end].concat();
        let server = Server::start(vec![script]).await;
        let model = connect(&server.url, NPM, json!({}), json!({}));

        let (said, error) = hear(model.as_ref(), prompt("hi")).await;

        // A reset may overtake what was sent before it.
        assert!(said.is_empty() || lines(&said)[0] == "started");
        assert!(api(error.unwrap().into_failure()).is_retryable);
    }
}

#[tokio::test]
async fn a_connection_lost_after_the_finish_reason_loses_nothing() {
    let script = vec![chunked_head(), chunk(&data(&[delta(json!({ "content": "x" })), finish("stop")]))];
    let server = Server::start(vec![script]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    let said = lines(&hear_well(model.as_ref(), prompt("hi")).await);

    assert!(said.last().unwrap().starts_with("finished stop"));
}

#[tokio::test]
async fn words_between_events_are_skipped_and_damaged_json_breaks_the_stream() {
    let said = answer(format!(
        ": ping\n\ndata: keep-alive\n\nevent: x\n\n{}",
        done(&[delta(json!({ "content": "x" })), finish("stop")])
    ))
    .await;
    assert!(said.last().unwrap().starts_with("finished stop"));

    let server = Server::start(vec![sse("data: {\"choices\": [}\n\n")]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));
    assert!(api(fail(model.as_ref(), prompt("hi")).await).message.contains("damaged JSON"));
}

#[tokio::test]
async fn reasoning_is_read_from_any_of_its_fields_once() {
    let said = answer(done(&[
        delta(json!({ "reasoning": "a", "reasoning_details": [{ "type": "reasoning.text", "text": "a" }] })),
        delta(json!({ "reasoning_details": [{ "type": "reasoning.text", "text": "b" }] })),
        delta(json!({ "content": [{ "type": "text", "text": "c" }] })),
        finish("stop"),
    ]))
    .await;

    assert_eq!(said[2..4], ["reason reasoning-0 \"a\"", "reason reasoning-0 \"b\""]);
    assert_eq!(said[6], "text text-0 \"c\"");
}

// Was: thoughts of Mistral's models were read away.
#[tokio::test]
async fn a_thought_among_the_content_is_reasoning_and_comes_back_as_it_was_told() {
    let thinking = |text: &str| json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
    let told = done(&[
        delta(json!({ "role": "assistant", "content": [thinking("Let me ")] })),
        delta(json!({ "content": [thinking("think.")] })),
        delta(
            json!({ "content": [{ "type": "thinking", "thinking": [], "closed": true, "signature": "s" }] }),
        ),
        delta(json!({ "content": [{ "type": "text", "text": "Hel" }] })),
        delta(json!({ "content": "lo" })),
        finish("stop"),
    ]);
    let answer = done(&[delta(json!({ "content": "x" })), finish("stop")]);
    let server = Server::start(vec![sse(told), sse(answer)]).await;
    let model = connect(&server.url, "@ai-sdk/mistral", json!({}), json!({}));

    let said = hear_well(model.as_ref(), prompt("hi")).await;

    let heard = lines(&said);
    assert_eq!(
        heard[1..4],
        ["reason+ reasoning-0", "reason reasoning-0 \"Let me \"", "reason reasoning-0 \"think.\""]
    );
    assert!(heard[4].starts_with("reason- reasoning-0"), "{heard:?}");
    assert_eq!(heard[5..9], ["text+ text-0", "text text-0 \"Hel\"", "text text-0 \"lo\"", "text- text-0"]);
    let metadata = said.iter().find_map(|said| match said {
        Said::ReasoningEnded { metadata, .. } => metadata.clone(),
        _ => None,
    });
    let block = json!({
        "type": "thinking", "thinking": [{ "type": "text", "text": "Let me think." }], "closed": true, "signature": "s",
    });
    assert_eq!(json!(metadata), json!({ "mistral": { "thinking": block } }));

    let mut again = prompt("and?");
    let thought = AssistantItem::Reasoning { text: "Let me think.".to_owned(), metadata };
    let spoken = AssistantItem::Text { text: "Hello".to_owned(), metadata: None };
    again.messages.insert(0, Turn::Assistant(vec![thought, spoken]));
    hear_well(model.as_ref(), again).await;

    let sent = &server.received()[1].body["messages"];
    assert_eq!(
        sent[sent.as_array().unwrap().len() - 2],
        json!({ "role": "assistant", "content": [block, { "type": "text", "text": "Hello" }] })
    );
}

#[tokio::test]
async fn an_error_object_in_the_stream_or_in_place_of_it_is_a_failure() {
    let object = json!({ "error": { "message": "boom", "code": "server_error" } });
    let overflow = json!({ "error": { "message": "x", "code": "context_length_exceeded" } });
    let scripts = vec![
        sse(data(std::slice::from_ref(&object))),
        whole("200 OK", "content-type: application/json\r\n", &object.to_string()),
        sse(data(&[overflow])),
        whole("200 OK", "content-type: text/html\r\n", "<html>sign in</html>"),
    ];
    let server = Server::start(scripts).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    for _ in 0..2 {
        let failure = api(fail(model.as_ref(), prompt("hi")).await);
        assert_eq!((failure.message.as_str(), failure.is_retryable), ("boom", true));
    }
    assert!(matches!(fail(model.as_ref(), prompt("hi")).await, Failure::ContextOverflow { .. }));
    assert!(api(fail(model.as_ref(), prompt("hi")).await).message.contains("no event stream"));
}

#[tokio::test]
async fn an_event_named_error_is_one() {
    for text in ["event: error\ndata: {\"message\":\"boom\"}\n\n", "event: error\ndata: boom\n\n"] {
        let server = Server::start(vec![sse(text)]).await;
        let model = connect(&server.url, NPM, json!({}), json!({}));
        assert_eq!(api(fail(model.as_ref(), prompt("hi")).await).message, "boom");
    }
}

// Was: a key in the query of a provider's address was shown with every error.
#[tokio::test]
async fn the_address_in_an_error_has_no_query() {
    let server = Server::start(vec![whole("429 Too Many Requests", "", "{}")]).await;
    let base = format!("{}/v1?key=query-secret", server.url);
    let model = connect(&base, NPM, json!({}), json!({}));

    let failure = api(fail(model.as_ref(), prompt("hi")).await);

    assert_eq!(failure.metadata.as_ref().unwrap()["url"], format!("{}/v1", server.url));
    assert!(!format!("{failure:?}").contains("query-secret"));
}

#[tokio::test]
async fn a_refusal_carries_status_headers_body_and_address_but_not_the_key() {
    let body = json!({ "error": { "message": "Slow down, sk-secret-123456" } }).to_string();
    let headers = "Retry-After-Ms: 1500\r\nSet-Cookie: a=b\r\nX-Echo: Bearer sk-secret-123456\r\n";
    let server = Server::start(vec![whole("429 Too Many Requests", headers, &body)]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));

    let failure = api(fail(model.as_ref(), prompt("hi")).await);

    assert_eq!(failure.message, "Slow down, ***");
    assert_eq!((failure.status_code, failure.is_retryable), (Some(429), true));
    let headers = failure.response_headers.as_ref().unwrap();
    assert_eq!(headers["retry-after-ms"], "1500");
    assert_eq!(headers["x-echo"], "Bearer ***");
    assert!(!headers.contains_key("set-cookie"));
    assert_eq!(failure.metadata.as_ref().unwrap()["url"], format!("{}/chat/completions", server.url));
    assert!(!format!("{failure:?}").contains("sk-secret"));
}

#[tokio::test]
async fn nobody_listening_may_be_tried_again() {
    let model = connect("http://127.0.0.1:1", NPM, json!({}), json!({}));

    let failure = api(fail(model.as_ref(), prompt("hi")).await);

    assert!(failure.is_retryable);
    assert!(failure.message.starts_with("Cannot connect to API: "), "{}", failure.message);
    assert_eq!(failure.status_code, None);
}

#[tokio::test]
async fn silence_is_limited_before_the_headers_and_between_chunks_and_in_whole() {
    let server =
        Server::start(vec![vec![Act::Hang], vec![stream_head(), Act::Hang], vec![stream_head(), Act::Hang]])
            .await;
    let with = |options: Value| connect(&server.url, NPM, options, json!({}));

    let headers = api(fail(with(json!({ "headerTimeout": 30 })).as_ref(), prompt("hi")).await);
    let chunks = api(fail(with(json!({ "chunkTimeout": 30 })).as_ref(), prompt("hi")).await);
    let request = api(fail(with(json!({ "timeout": 30 })).as_ref(), prompt("hi")).await);

    assert_eq!(headers.message, "Provider response headers timed out after 30ms");
    assert_eq!(headers.metadata.unwrap()["code"], "ProviderHeaderTimeoutError");
    assert_eq!(chunks.metadata.unwrap()["code"], "ProviderResponseStreamError");
    assert_eq!(request.message, "Provider request timed out after 30ms");
    assert!(headers.is_retryable && chunks.is_retryable && request.is_retryable);
}

#[tokio::test]
async fn a_delta_of_four_megabytes_passes_and_an_endless_line_does_not() {
    let large = "x".repeat(4 * 1024 * 1024);
    let said = answer(done(&[delta(json!({ "content": large })), finish("stop")])).await;
    assert!(said[2].len() > large.len());

    let piece = "y".repeat(1024 * 1024);
    let mut script = vec![stream_head(), Act::Send(b"data: ".to_vec())];
    script.extend((0..34).map(|_| Act::Send(piece.clone().into_bytes())));
    let server = Server::start(vec![script]).await;
    let model = connect(&server.url, NPM, json!({}), json!({}));
    assert!(api(fail(model.as_ref(), prompt("hi")).await).message.contains("larger than"));
}
