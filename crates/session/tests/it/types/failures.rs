//! The typed errors, and the two forms an answer can be wanted in.

use crate::wire::{becomes, exact, print, refused};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::format::OutputFormat;

#[test]
fn each_error_bare_and_with_everything() {
    let texts = [
        r#"{"name":"ProviderAuthError","data":{"providerID":"acme","message":"no key"}}"#,
        r#"{"name":"UnknownError","data":{"message":"odd"}}"#,
        r#"{"name":"UnknownError","data":{"message":"odd","ref":"err_0a1b2c3d"}}"#,
        r#"{"name":"MessageOutputLengthError","data":{}}"#,
        r#"{"name":"MessageAbortedError","data":{"message":"Aborted"}}"#,
        r#"{"name":"StructuredOutputError","data":{"message":"none","retries":0}}"#,
        r#"{"name":"ContextOverflowError","data":{"message":"too long"}}"#,
        r#"{"name":"ContextOverflowError","data":{"message":"too long","responseBody":"{}"}}"#,
        r#"{"name":"ContentFilterError","data":{"message":"blocked"}}"#,
        r#"{"name":"APIError","data":{"message":"no","isRetryable":false}}"#,
        r#"{"name":"APIError","data":{"message":"no","statusCode":429,"isRetryable":true,"responseHeaders":{"a":"1","retry-after":"2"},"responseBody":"{}","metadata":{"url":"http://x"}}}"#,
    ];
    let kinds: std::collections::HashSet<_> =
        texts.iter().map(|text| std::mem::discriminant(&exact::<Failure>(text))).collect();

    assert_eq!(kinds.len(), 8);
}

#[test]
fn an_unknown_error_or_one_without_data_is_refused() {
    refused::<Failure>(r#"{"name":"SomethingElse","data":{}}"#, "unknown variant `SomethingElse`");
    refused::<Failure>(r#"{"name":"MessageOutputLengthError"}"#, "missing field `data`");
    refused::<Failure>(r#"{"name":"APIError","data":{"message":"no"}}"#, "missing field `isRetryable`");
}

#[test]
fn the_errors_we_make_ourselves() {
    assert_eq!(print(&Failure::aborted()), r#"{"name":"MessageAbortedError","data":{"message":"Aborted"}}"#);
    assert_eq!(print(&Failure::unknown("odd")), r#"{"name":"UnknownError","data":{"message":"odd"}}"#);
    assert!(Failure::aborted().is_aborted() && !Failure::unknown("Aborted").is_aborted());
}

#[test]
fn both_output_formats() {
    exact::<OutputFormat>(r#"{"type":"text"}"#);
    exact::<OutputFormat>(
        r#"{"type":"json_schema","schema":{"type":"object","$schema":"x","properties":{"b":{},"a":{}}},"retryCount":0}"#,
    );
    refused::<OutputFormat>(r#"{"type":"json_schema"}"#, "missing field `schema`");
    refused::<OutputFormat>(r#"{"type":"json_schema","schema":{},"retryCount":-1}"#, "non-negative integer");
    refused::<OutputFormat>(r#"{"type":"xml"}"#, "unknown variant `xml`");
}

#[test]
fn two_retries_are_written_down_when_none_are_asked_for() {
    becomes::<OutputFormat>(
        r#"{"type":"json_schema","schema":{}}"#,
        r#"{"type":"json_schema","schema":{},"retryCount":2}"#,
    );
}
