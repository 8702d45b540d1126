//! Each promise for each protocol: one table of providers, one test per column.
//!
//! What only one protocol has stands in the file of that protocol.

use crate::server::{
    Act, Server, api, connect, data, fail, hear, hear_well, prompt, sse, stream_head, whole,
};
use serde_json::{Value, json};
use sturdy_session::retry;
use sturdy_session::talk::{
    AssistantItem, CallInput, FinishReason, Media, Request, ResultContent, Said, ToolResult, Turn, UserItem,
};
use sturdy_session::types::failure::Failure;

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// How one provider says a thing.
struct Protocol {
    npm: &'static str,
    /// A thought, words, two calls at once, usage with everything, and why it stopped.
    answer: Vec<Value>,
    /// The beginning of an answer, and an error in the middle of it.
    broken: Vec<Value>,
    /// Too much was asked for.
    too_long: Value,
}

fn chat() -> Protocol {
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let piece = |index: u32, arguments: &str| {
        delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }))
    };
    let opened = |index: u32, id: &str| {
        let function = json!({ "name": "look", "arguments": "" });
        delta(
            json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }),
        )
    };
    Protocol {
        npm: "@ai-sdk/openai-compatible",
        answer: vec![
            delta(json!({ "reasoning_content": "Hm." })),
            delta(json!({ "content": "Let me see." })),
            opened(0, "a"),
            piece(0, r#"{"at":"#),
            opened(1, "b"),
            piece(0, "1}"),
            piece(1, r#"{"at":2}"#),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
            json!({ "choices": [], "usage": {
                "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                "prompt_tokens_details": { "cached_tokens": 40 },
                "completion_tokens_details": { "reasoning_tokens": 5 },
            } }),
        ],
        broken: vec![
            delta(json!({ "content": "So far" })),
            json!({ "error": { "message": "boom", "code": "server_error" } }),
        ],
        too_long: json!({ "error": { "message": "This model's maximum context length is 8 tokens.", "code": "context_length_exceeded" } }),
    }
}

fn responses() -> Protocol {
    let item = |kind: &str, index: u32, item: Value| json!({ "type": format!("response.output_item.{kind}"), "output_index": index, "item": item });
    let call = |id: &str, arguments: &str| json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "look", "arguments": arguments });
    let piece = |index: u32, id: &str, delta: &str| json!({ "type": "response.function_call_arguments.delta", "output_index": index, "item_id": format!("fc_{id}"), "delta": delta });
    let thought =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "Hm." }] });
    let message = json!({ "type": "message", "id": "m_1" });
    Protocol {
        npm: "@ai-sdk/openai",
        answer: vec![
            json!({ "type": "response.created", "response": { "id": "r" } }),
            item("added", 0, json!({ "type": "reasoning", "id": "rs_1", "summary": [] })),
            json!({ "type": "response.reasoning_summary_part.added", "item_id": "rs_1", "output_index": 0, "summary_index": 0 }),
            json!({ "type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": "Hm." }),
            item("done", 0, thought),
            item("added", 1, message.clone()),
            json!({ "type": "response.output_text.delta", "output_index": 1, "item_id": "m_1", "delta": "Let me see." }),
            item("done", 1, message.clone()),
            item("added", 2, call("a", "")),
            piece(2, "a", r#"{"at":"#),
            item("added", 3, call("b", "")),
            piece(2, "a", "1}"),
            piece(3, "b", r#"{"at":2}"#),
            item("done", 2, call("a", r#"{"at":1}"#)),
            item("done", 3, call("b", r#"{"at":2}"#)),
            json!({ "type": "response.completed", "response": { "id": "r", "usage": {
                "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
                "input_tokens_details": { "cached_tokens": 40 },
                "output_tokens_details": { "reasoning_tokens": 5 },
            } } }),
        ],
        broken: vec![
            item("added", 0, message),
            json!({ "type": "response.output_text.delta", "output_index": 0, "item_id": "m_1", "delta": "So far" }),
            json!({ "type": "error", "code": "server_error", "message": "boom" }),
        ],
        too_long: json!({ "error": { "message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded" } }),
    }
}

fn anthropic() -> Protocol {
    let begin = json!({ "type": "message_start", "message": { "usage": { "input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10 } } });
    let start = |index: u32, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta =
        |index: u32, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = |index: u32| json!({ "type": "content_block_stop", "index": index });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "look", "input": {} });
    let piece =
        |index: u32, json: &str| delta(index, json!({ "type": "input_json_delta", "partial_json": json }));
    Protocol {
        npm: "@ai-sdk/anthropic",
        answer: vec![
            begin.clone(),
            start(0, json!({ "type": "thinking", "thinking": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "Hm." })),
            delta(0, json!({ "type": "signature_delta", "signature": "s" })),
            stop(0),
            start(1, json!({ "type": "text", "text": "" })),
            delta(1, json!({ "type": "text_delta", "text": "Let me see." })),
            stop(1),
            start(2, call("a")),
            piece(2, r#"{"at":"#),
            piece(2, "1}"),
            stop(2),
            start(3, call("b")),
            piece(3, r#"{"at":2}"#),
            stop(3),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 20 } }),
            json!({ "type": "message_stop" }),
        ],
        broken: vec![
            begin,
            start(0, json!({ "type": "text", "text": "" })),
            delta(0, json!({ "type": "text_delta", "text": "So far" })),
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "boom" } }),
        ],
        too_long: json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum" } }),
    }
}

fn gemini() -> Protocol {
    let parts = |parts: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    let call =
        |id: &str, at: u32| json!({ "functionCall": { "id": id, "name": "look", "args": { "at": at } } });
    Protocol {
        npm: "@ai-sdk/google",
        answer: vec![
            parts(json!([{ "text": "Hm.", "thought": true }])),
            parts(json!([{ "text": "Let me see." }])),
            parts(json!([call("a", 1), call("b", 2)])),
            json!({
                "candidates": [{ "content": { "parts": [] }, "finishReason": "STOP" }],
                "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5,
                    "cachedContentTokenCount": 40, "totalTokenCount": 120 },
            }),
        ],
        broken: vec![
            parts(json!([{ "text": "So far" }])),
            json!({ "error": { "code": 503, "message": "boom", "status": "UNAVAILABLE" } }),
        ],
        too_long: json!({ "error": { "code": 400, "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).", "status": "INVALID_ARGUMENT" } }),
    }
}

fn all() -> [Protocol; 4] {
    [chat(), responses(), anthropic(), gemini()]
}

/// Events as each provider frames them: Anthropic names them.
fn framed(npm: &str, events: &[Value]) -> String {
    if npm != "@ai-sdk/anthropic" {
        return data(events);
    }
    let frame = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(frame).collect()
}

fn reasoner() -> Value {
    json!({ "reasoning": true, "attachment": true, "modalities": { "input": ["text", "image"], "output": ["text"] } })
}

#[tokio::test]
async fn every_protocol_tells_thoughts_words_parallel_calls_usage_and_the_reason() {
    for Protocol { npm, answer, .. } in all() {
        let server = Server::start(vec![sse(framed(npm, &answer))]).await;
        let model = connect(&server.url, npm, json!({}), reasoner());

        let said = hear_well(model.as_ref(), prompt("hi")).await;

        let joined = |is: fn(&Said) -> Option<&str>| said.iter().filter_map(is).collect::<String>();
        let thought = joined(|said| match said {
            Said::ReasoningGrew { text, .. } => Some(text),
            _ => None,
        });
        let words = joined(|said| match said {
            Said::TextGrew { text, .. } => Some(text),
            _ => None,
        });
        assert_eq!((thought.as_str(), words.as_str()), ("Hm.", "Let me see."), "{npm}");
        let calls: Vec<_> = said
            .iter()
            .filter_map(|said| match said {
                Said::ToolCalled { name, input: CallInput::Json(input), by_provider: false, .. } => {
                    Some((name.as_str(), input.clone()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(calls, [("look", json!({ "at": 1 })), ("look", json!({ "at": 2 }))], "{npm}");
        let Some(Said::Finished { reason, usage, .. }) = said.last() else { panic!("{npm}: {said:?}") };
        assert_eq!(*reason, FinishReason::ToolCalls, "{npm}");
        assert_eq!((usage.input, usage.output, usage.cache_read), (Some(100), Some(20), Some(40)), "{npm}");
        let (reasoning, written) =
            if npm == "@ai-sdk/anthropic" { (None, Some(10)) } else { (Some(5), None) };
        assert_eq!(usage.reasoning, reasoning, "{npm}");
        assert_eq!(usage.cache_write.filter(|tokens| *tokens > 0), written, "{npm}");
    }
}

#[tokio::test]
async fn every_protocol_waits_as_long_as_it_is_told() {
    for Protocol { npm, .. } in all() {
        let body = json!({ "error": { "message": "Slow down" } }).to_string();
        let server = Server::start(vec![
            whole("429 Too Many Requests", "retry-after-ms: 1500\r\n", &body),
            whole("503 Service Unavailable", "retry-after: 7\r\n", &body),
        ])
        .await;
        let model = connect(&server.url, npm, json!({}), json!({}));

        let soon = fail(model.as_ref(), prompt("hi")).await;
        let later = fail(model.as_ref(), prompt("hi")).await;

        assert_eq!(retry::plan(&soon, 0, 0, 0.5).map(|plan| plan.delay_ms), Some(1500), "{npm}");
        assert_eq!(retry::plan(&later, 0, 0, 0.5).map(|plan| plan.delay_ms), Some(7000), "{npm}");
        assert_eq!(api(soon).message, "Slow down", "{npm}");
    }
}

#[tokio::test]
async fn every_protocol_keeps_what_was_said_before_an_error_in_the_middle() {
    for Protocol { npm, broken, .. } in all() {
        let server = Server::start(vec![sse(framed(npm, &broken))]).await;
        let model = connect(&server.url, npm, json!({}), json!({}));

        let (said, error) = hear(model.as_ref(), prompt("hi")).await;

        let words: String = said
            .iter()
            .filter_map(|said| match said {
                Said::TextGrew { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(words, "So far", "{npm}");
        let failure = error.unwrap_or_else(|| panic!("{npm}: no error")).into_failure();
        assert!(retry::plan(&failure, 0, 0, 0.5).is_some(), "{npm}: {failure:?}");
        assert!(api(failure).message.contains("boom"), "{npm}");
    }
}

#[tokio::test]
async fn every_protocol_says_that_a_lost_connection_may_be_tried_again() {
    for Protocol { npm, broken, .. } in all() {
        let begun = framed(npm, &broken[..broken.len() - 1]).into_bytes();
        let server = Server::start(vec![vec![stream_head(), Act::Send(begun), Act::Reset]]).await;
        let model = connect(&server.url, npm, json!({}), json!({}));

        let (_, error) = hear(model.as_ref(), prompt("hi")).await;

        // Either the loss is noticed, or the answer that has no end is.
        if let Some(error) = error {
            let failure = error.into_failure();
            assert!(retry::plan(&failure, 0, 0, 0.5).is_some(), "{npm}: {failure:?}");
        }
    }
}

#[tokio::test]
async fn every_protocol_knows_a_conversation_that_is_too_long() {
    for Protocol { npm, too_long, .. } in all() {
        let server = Server::start(vec![whole("400 Bad Request", "", &too_long.to_string())]).await;
        let model = connect(&server.url, npm, json!({}), json!({}));

        let failure = fail(model.as_ref(), prompt("hi")).await;

        assert!(matches!(failure, Failure::ContextOverflow { .. }), "{npm}: {failure:?}");
    }
}

#[tokio::test]
async fn every_protocol_refuses_a_wrong_key_for_good_and_does_not_show_it() {
    for Protocol { npm, .. } in all() {
        let body = json!({ "error": { "message": "Bad key sk-secret-123456" } }).to_string();
        let server = Server::start(vec![whole("401 Unauthorized", "", &body)]).await;
        let model = connect(&server.url, npm, json!({}), json!({}));

        let failure = fail(model.as_ref(), prompt("hi")).await;

        assert_eq!(retry::plan(&failure, 0, 0, 0.5), None, "{npm}: {failure:?}");
        assert!(!format!("{failure:?}").contains("sk-secret"), "{npm}: {failure:?}");
    }
}

#[tokio::test]
async fn every_protocol_sends_images_of_prompts_and_of_results() {
    let image = || Media {
        mime: "image/png".to_owned(),
        url: format!("data:image/png;base64,{PNG}"),
        filename: None,
    };
    for Protocol { npm, answer, .. } in all() {
        let server = Server::start(vec![sse(framed(npm, &answer))]).await;
        let model = connect(&server.url, npm, json!({}), reasoner());
        let call = AssistantItem::Call {
            id: "c1".to_owned(),
            name: "look".to_owned(),
            input: json!({}),
            metadata: None,
            executed: None,
        };
        // Chat completions take no images in results: there they follow as words of the user.
        let content = match npm {
            "@ai-sdk/openai-compatible" => ResultContent::Text("an image".to_owned()),
            _ => ResultContent::Mixed { text: "an image".to_owned(), media: vec![image()] },
        };
        let result = ToolResult { call: "c1".to_owned(), name: "look".to_owned(), content, is_error: false };
        let request = Request {
            messages: vec![
                Turn::User(vec![UserItem::Text("see".to_owned()), UserItem::File(image())]),
                Turn::Assistant(vec![call]),
                Turn::Tool(vec![result]),
                Turn::User(vec![UserItem::Text("and this".to_owned()), UserItem::File(image())]),
            ],
            ..prompt("")
        };

        hear_well(model.as_ref(), request).await;

        let body = server.received()[0].body.to_string();
        let wanted = if npm == "@ai-sdk/openai-compatible" { 2 } else { 3 };
        assert_eq!(body.matches(PNG).count(), wanted, "{npm}: {body}");
    }
}
