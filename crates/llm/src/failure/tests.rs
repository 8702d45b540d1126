//! One test per table of failures: what each status, code and phrase means.

use super::*;
use serde_json::json;

fn answer(status: u16, body: &str) -> Failure {
    let headers = BTreeMap::from([("retry-after".to_owned(), "3".to_owned())]);
    refused(Refused { provider: "acme", url: Some("http://x/v1".to_owned()), status, headers, body })
}

fn api(failure: Failure) -> ApiFailure {
    match failure {
        Failure::Api(api) => api,
        other => panic!("an APIError is expected, not {other:?}"),
    }
}

#[test]
fn the_message_of_a_refusal_is_the_providers_or_the_status() {
    let rows = [
        (400, r#"{"error":{"message":" No such tool. "}}"#, "No such tool."),
        (400, r#"[{"error":{"message":"In a list."}}]"#, "In a list."),
        (400, r#"{"message":"plain"}"#, "Bad Request: plain"),
        (400, r#"{"error":"short"}"#, "Bad Request: short"),
        (400, "", "Bad Request"),
        (502, "upstream gone", "Bad Gateway: upstream gone"),
        (400, r#"{"detail":1}"#, r#"Bad Request: {"detail":1}"#),
        (500, "<!DOCTYPE html><p>x", "Internal Server Error"),
        (599, "odd", "odd"),
        (599, "", "Unknown error"),
    ];
    for (status, body, message) in rows {
        assert_eq!(api(answer(status, body)).message, message, "{status} {body}");
    }
}

#[test]
fn a_page_of_a_gateway_is_explained() {
    for (status, start) in [(401, "Unauthorized: "), (403, "Forbidden: ")] {
        for body in ["<html><body>no</body></html>", "  <!doctype HTML>no"] {
            let message = api(answer(status, body)).message;
            assert!(message.starts_with(start) && message.contains("gateway or proxy"), "{message}");
        }
    }
}

#[test]
fn a_refusal_keeps_status_headers_body_and_address() {
    let failure = api(answer(429, r#"{"error":{"message":"later"}}"#));

    assert_eq!(
        failure,
        ApiFailure {
            message: "later".to_owned(),
            status_code: Some(429),
            is_retryable: true,
            response_headers: Some(BTreeMap::from([("retry-after".to_owned(), "3".to_owned())])),
            response_body: Some(r#"{"error":{"message":"later"}}"#.to_owned()),
            metadata: Some(BTreeMap::from([("url".to_owned(), "http://x/v1".to_owned())])),
        }
    );
}

#[test]
fn some_statuses_may_be_tried_again() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert!(api(answer(status, "")).is_retryable, "{status}");
    }
    for status in [400, 401, 402, 403, 404, 422] {
        assert!(!api(answer(status, "")).is_retryable, "{status}");
    }
    let of_openai = Refused { provider: "openai-eu", status: 404, ..Refused::default() };
    assert!(api(refused(of_openai)).is_retryable);
}

#[test]
fn an_overflow_is_known_by_status_code_or_wording() {
    let by_status = answer(413, "");
    let by_code = answer(400, r#"{"error":{"code":"context_length_exceeded","message":"no"}}"#);
    let by_words = answer(400, r#"{"error":{"message":"prompt is too long: 9 tokens"}}"#);

    for failure in [by_status, by_code, by_words] {
        assert!(matches!(failure, Failure::ContextOverflow { .. }), "{failure:?}");
    }
}

#[test]
fn every_known_wording_of_an_overflow_is_recognised() {
    let wordings = [
        "Prompt is too long",
        "error: request_too_large",
        "input is too long for requested model",
        "This exceeds the context window of it",
        "exceeds the model's maximum context length of 8,192 tokens",
        "exceeds models maximum context length (4096)",
        "exceeds maximum context length of 1 token",
        "The input token count (5) exceeds the maximum number",
        "tokens in request more than max tokens allowed",
        "maximum prompt length is 131072",
        "Please reduce the length of the messages",
        "This model's maximum context length is 8192 tokens",
        "exceeds the maximum allowed input length of 1,000 tokens",
        "exceeds maximum allowed input length of 1 token",
        "the input (10 tokens) is longer than the model's context length (5 tokens)",
        "input (10 tokens) is longer than the models context length (5 tokens)",
        "prompt exceeds the limit of 200000",
        "exceeds the available context size",
        "greater than the context length",
        "context window exceeds limit",
        "exceeded model token limit",
        "context_length_exceeded",
        "Context length exceeded",
        "Request Entity Too Large",
        "context length is only 4096 tokens",
        "input length 5 exceeds the model context length",
        "prompt too long; exceeded max context length",
        "prompt too long; exceeded context length",
        "too large for model with 4096 maximum context length",
        "prompt has 5,000 tokens, but the configured context size is 4,096 tokens",
        "model_context_window_exceeded",
        "too many tokens",
        "token limit exceeded",
        "400 (no body)",
        "413 status code (no body)",
        "400status code(no body)",
    ];
    for wording in wordings {
        assert!(is_overflow(wording), "{wording}");
    }
}

#[test]
fn throttling_and_other_errors_are_no_overflow() {
    let wordings = [
        "Throttling error: too many tokens",
        "Service unavailable: prompt is too long",
        "rate limit: too many tokens per minute",
        "Too many requests, token limit exceeded",
        "exceeds the limit of requests",
        "maximum context length",
        "error 400 (no body)",
        "401 (no body)",
        "",
    ];
    for wording in wordings {
        assert!(!is_overflow(wording), "{wording}");
    }
}

#[test]
fn every_break_may_be_tried_again_and_says_what_it_was() {
    let text = |text: &str| text.to_owned();
    type Metadata = Vec<(&'static str, &'static str)>;
    let rows: [(Broken, &str, Metadata); 7] = [
        (
            Broken::Reset { message: text("gone") },
            "Connection reset by server",
            vec![("code", "ECONNRESET"), ("message", "gone"), ("syscall", "read")],
        ),
        (
            Broken::Decompression { message: text("bad") },
            "Response decompression failed",
            vec![("code", "ZlibError"), ("message", "bad")],
        ),
        (
            Broken::HeaderTimeout { timeout_ms: 50 },
            "Provider response headers timed out after 50ms",
            vec![("code", "ProviderHeaderTimeoutError"), ("timeoutMs", "50")],
        ),
        (
            Broken::ChunkTimeout { timeout_ms: 50 },
            "Provider stream timed out: nothing came for 50ms",
            vec![("code", "ProviderResponseStreamError"), ("timeoutMs", "50")],
        ),
        (
            Broken::Timeout { timeout_ms: 50 },
            "Provider request timed out after 50ms",
            vec![("code", "ProviderTimeoutError"), ("timeoutMs", "50")],
        ),
        (Broken::Stream { message: text("odd") }, "odd", vec![("code", "ProviderResponseStreamError")]),
        (
            Broken::Unreachable { message: text("refused"), url: Some(text("http://x")) },
            "Cannot connect to API: refused",
            vec![("url", "http://x")],
        ),
    ];
    for (break_, message, metadata) in rows {
        let failure = api(broken(break_));
        let metadata = metadata.into_iter().map(|(name, value)| (text(name), text(value))).collect();
        let expected = ApiFailure {
            message: text(message),
            is_retryable: true,
            metadata: Some(metadata),
            ..ApiFailure::default()
        };
        assert_eq!(failure, expected);
    }
}

#[test]
fn an_error_inside_a_stream_is_read_by_its_code() {
    let with = |code: &str| json!({ "type": "error", "error": { "code": code, "message": "said" } });
    let rows = [
        ("insufficient_quota", "Quota exceeded. Check your plan and billing details.", false),
        ("invalid_prompt", "said", false),
        ("server_is_overloaded", "said", true),
        ("server_error", "said", true),
        ("anything_else", "said", true),
        ("authentication_error", "said", false),
    ];
    for (code, message, is_retryable) in rows {
        let value = with(code);
        let failure = api(in_stream(&value));
        assert_eq!((failure.message.as_str(), failure.is_retryable), (message, is_retryable), "{code}");
        assert_eq!(failure.response_body, Some(value.to_string()));
    }
    assert!(!api(in_stream(&with("usage_not_included"))).is_retryable);
    assert!(matches!(
        in_stream(&with("context_length_exceeded")),
        Failure::ContextOverflow { message, .. } if message == "Input exceeds context window of this model"
    ));
}

#[test]
fn an_error_without_words_gets_some() {
    let bare = |code: &str| json!({ "type": "error", "error": { "code": code } });
    assert_eq!(api(in_stream(&bare("invalid_prompt"))).message, "Invalid prompt.");
    assert_eq!(api(in_stream(&bare("server_error"))).message, "Server error.");
    assert_eq!(api(in_stream(&bare("x"))).message, "Server error.");
}

#[test]
fn an_error_may_be_text_or_wrapped_in_the_message_of_another() {
    let inner = json!({ "type": "error", "error": { "code": "server_error", "message": "deep" } });
    let as_text = json!(inner.to_string());
    let wrapped = json!({ "message": inner.to_string() });

    assert_eq!(api(in_stream(&as_text)).message, "deep");
    assert_eq!(api(in_stream(&wrapped)).message, "deep");
}

#[test]
fn a_number_as_code_is_a_status() {
    let with = |code: u16| json!({ "type": "error", "error": { "code": code, "message": "x" } });

    assert_eq!(
        (api(in_stream(&with(402))).is_retryable, api(in_stream(&with(402))).status_code),
        (false, Some(402))
    );
    assert!(api(in_stream(&with(502))).is_retryable);
}

#[test]
fn what_is_no_error_object_is_unknown() {
    assert_eq!(in_stream(&json!("odd")), Failure::unknown("odd"));
    assert_eq!(in_stream(&json!({ "a": 1 })), Failure::unknown(r#"{"a":1}"#));
}

#[test]
fn a_missing_key_says_where_to_put_it() {
    let failure = missing_key("acme", "Acme", &["ACME_KEY".to_owned()]);

    assert_eq!(
        failure,
        Failure::ProviderAuth {
            provider_id: "acme".to_owned(),
            message: "Acme API key is missing: set ACME_KEY or options.apiKey in opencode.json".to_owned(),
        }
    );
}
