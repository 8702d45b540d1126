//! Maps errors and timeouts of providers to failures.
//!
//! Pure: status, headers, body or the kind of break go in, the failure clients see comes out.
//! `failure/overflow.rs` recognises a prompt that is too long by its wording.
//!
//! Not here: whether to try again. `is_retryable` is a fact about the answer, not a decision.

use serde_json::Value;
use std::collections::BTreeMap;
use sturdy_session::types::failure::{ApiFailure, Failure};

mod overflow;
mod texts;

pub use overflow::is_overflow;
pub(crate) use texts::{map_texts, without_controls};

const OVERFLOW_CODE: &str = "context_length_exceeded";
const STREAM_CODE: &str = "ProviderResponseStreamError";

/// An HTTP answer that is not a success.
#[derive(Clone, Debug, Default)]
pub struct Refused<'a> {
    pub provider: &'a str,
    pub url: Option<String>,
    pub status: u16,
    /// Lower-case names.
    pub headers: BTreeMap<String, String>,
    pub body: &'a str,
}

/// How a connection failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// No connection, or it ended before the headers.
    Unreachable {
        message: String,
        url: Option<String>,
    },
    Reset {
        message: String,
    },
    Decompression {
        message: String,
    },
    HeaderTimeout {
        timeout_ms: u64,
    },
    /// The time between two chunks.
    ChunkTimeout {
        timeout_ms: u64,
    },
    /// The time of the whole request.
    Timeout {
        timeout_ms: u64,
    },
    /// The stream itself is wrong or ended too early.
    Stream {
        message: String,
    },
}

/// The provider answered with an error status.
#[must_use]
pub fn refused(answer: Refused<'_>) -> Failure {
    let body: Option<Value> = serde_json::from_str(answer.body).ok();
    let message = http_message(&answer, body.as_ref());
    let code = body.as_ref().and_then(|body| body.pointer("/error/code")).and_then(Value::as_str);
    let response_body = Some(answer.body.to_owned());

    if answer.status == 413 || code == Some(OVERFLOW_CODE) || is_overflow(&message) {
        return Failure::ContextOverflow { message, response_body };
    }
    let is_retryable =
        is_retryable_status(answer.status) || (answer.status == 404 && answer.provider.starts_with("openai"));
    Failure::Api(ApiFailure {
        message,
        status_code: Some(answer.status),
        is_retryable,
        response_headers: Some(answer.headers),
        response_body,
        metadata: answer.url.map(|url| BTreeMap::from([("url".to_owned(), url)])),
    })
}

fn is_retryable_status(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..)
}

/// The connection failed. All of these may go better next time.
#[must_use]
pub fn broken(broken: Broken) -> Failure {
    let (message, metadata) = match broken {
        Broken::Unreachable { message, url } => {
            (format!("Cannot connect to API: {message}"), url.map(|url| vec![("url", url)]))
        }
        Broken::Reset { message } => (
            "Connection reset by server".to_owned(),
            Some(vec![
                ("code", "ECONNRESET".to_owned()),
                ("syscall", "read".to_owned()),
                ("message", message),
            ]),
        ),
        Broken::Decompression { message } => (
            "Response decompression failed".to_owned(),
            Some(vec![("code", "ZlibError".to_owned()), ("message", message)]),
        ),
        Broken::HeaderTimeout { timeout_ms } => (
            format!("Provider response headers timed out after {timeout_ms}ms"),
            Some(vec![
                ("code", "ProviderHeaderTimeoutError".to_owned()),
                ("timeoutMs", timeout_ms.to_string()),
            ]),
        ),
        Broken::ChunkTimeout { timeout_ms } => (
            format!("Provider stream timed out: nothing came for {timeout_ms}ms"),
            Some(vec![("code", STREAM_CODE.to_owned()), ("timeoutMs", timeout_ms.to_string())]),
        ),
        Broken::Timeout { timeout_ms } => (
            format!("Provider request timed out after {timeout_ms}ms"),
            Some(vec![("code", "ProviderTimeoutError".to_owned()), ("timeoutMs", timeout_ms.to_string())]),
        ),
        Broken::Stream { message } => (message, Some(vec![("code", STREAM_CODE.to_owned())])),
    };
    let metadata =
        metadata.map(|pairs| pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    Failure::Api(ApiFailure { message, is_retryable: true, metadata, ..ApiFailure::default() })
}

/// The stream is not what it should be.
#[must_use]
pub fn bad_stream(message: impl Into<String>) -> Failure {
    broken(Broken::Stream { message: message.into() })
}

/// An error object inside a stream, or in the body of an answer that called itself a success.
#[must_use]
pub fn in_stream(value: &Value) -> Failure {
    let inner = unwrap_stream_error(value);
    let Some(body) = inner.as_ref().filter(|body| body["type"] == "error") else {
        return Failure::unknown(text_of(value));
    };

    let error = &body["error"];
    let code = error["code"].as_str().or_else(|| error["type"].as_str()).or_else(|| body["code"].as_str());
    let said = error["message"].as_str().or_else(|| error.as_str()).or_else(|| body["message"].as_str());
    let said = said.filter(|text| !text.is_empty());
    let response_body = Some(body.to_string());
    let status_code = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let status_code = status_code.filter(|code| (400..600).contains(code));
    let overflows = code == Some(OVERFLOW_CODE) || said.is_some_and(is_overflow);
    if overflows {
        return Failure::ContextOverflow {
            message: "Input exceeds context window of this model".to_owned(),
            response_body,
        };
    }

    let (message, is_retryable) = match code {
        Some("insufficient_quota") => ("Quota exceeded. Check your plan and billing details.", false),
        Some("usage_not_included") => {
            ("This plan does not include the model. Upgrade the plan, or choose another model.", false)
        }
        Some("invalid_prompt") => (said.unwrap_or("Invalid prompt."), false),
        // What a provider refuses at once with a 4xx status is no better in the middle of a stream.
        Some("invalid_request_error" | "authentication_error" | "permission_error" | "not_found_error") => {
            (said.unwrap_or("The provider refused the request."), false)
        }
        _ => (said.unwrap_or("Server error."), status_code.is_none_or(is_retryable_status)),
    };
    Failure::Api(ApiFailure {
        message: message.to_owned(),
        status_code,
        is_retryable,
        response_body,
        ..ApiFailure::default()
    })
}

/// No key was found; the provider has not been asked.
#[must_use]
pub fn missing_key(provider: &str, name: &str, env: &[String]) -> Failure {
    let message = format!("{name} API key is missing: {}", how_to_set_a_key(env));
    Failure::ProviderAuth { provider_id: provider.to_owned(), message }
}

/// The package stands for a protocol that is not spoken here; the provider has not been asked.
#[must_use]
pub fn unspoken(provider: &str, name: &str, npm: &str) -> Failure {
    let message = format!(
        "{name} is configured with the package {npm}, whose protocol is not supported. If it also offers an \
         OpenAI-compatible address, set npm to @ai-sdk/openai-compatible and options.baseURL to that address"
    );
    Failure::ProviderAuth { provider_id: provider.to_owned(), message }
}

/// The project chose the address, and the key is the user's; the provider has not been asked.
#[must_use]
pub fn withheld_key(provider: &str, name: &str) -> Failure {
    let message = format!(
        "Your {name} API key is not sent to the address that this project's settings chose: set options.apiKey beside \
         options.baseURL, or set the address in your own settings"
    );
    Failure::ProviderAuth { provider_id: provider.to_owned(), message }
}

/// What is stored is a login that cannot be used; the provider has not been asked.
#[must_use]
pub fn unusable_login(provider: &str, name: &str, why: &str, env: &[String]) -> Failure {
    let message = format!("The stored login for {name} {why}: {}", how_to_set_a_key(env));
    Failure::ProviderAuth { provider_id: provider.to_owned(), message }
}

fn how_to_set_a_key(env: &[String]) -> String {
    match env {
        [] => "set options.apiKey in opencode.json".to_owned(),
        names => format!("set {} or options.apiKey in opencode.json", names.join(" or ")),
    }
}

/// The sentence of a failure.
#[must_use]
pub fn message(failure: &Failure) -> &str {
    match failure {
        Failure::ProviderAuth { message, .. }
        | Failure::Unknown { message, .. }
        | Failure::Aborted { message }
        | Failure::StructuredOutput { message, .. }
        | Failure::ContextOverflow { message, .. }
        | Failure::ContentFilter { message } => message,
        Failure::OutputLength(_) => "the answer is longer than allowed",
        Failure::Api(api) => &api.message,
    }
}

/// A string is read as JSON, and an error wrapped in another one's `message` is taken out.
fn unwrap_stream_error(value: &Value) -> Option<Value> {
    let value = match value {
        Value::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    let inner = value["message"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match inner {
        Some(inner) if inner.is_object() => Some(inner),
        _ => value.is_object().then_some(value),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn http_message(answer: &Refused<'_>, body: Option<&Value>) -> String {
    let phrase = http::StatusCode::from_u16(answer.status).ok().and_then(|status| status.canonical_reason());
    let told = body.and_then(told_by).filter(|text| !text.is_empty());
    if let Some(told) = told {
        return told.trim().to_owned();
    }
    let raw = answer.body.trim();
    let Some(phrase) = phrase else {
        return if raw.is_empty() { "Unknown error".to_owned() } else { raw.to_owned() };
    };
    if raw.is_empty() {
        return phrase.to_owned();
    }
    let field = |name: &str| body.and_then(|body| body.get(name)).and_then(Value::as_str);
    if let Some(detail) = field("message").or_else(|| field("error")) {
        return format!("{phrase}: {detail}").trim().to_owned();
    }
    if is_html(raw) {
        return html_message(answer.status, phrase);
    }
    format!("{phrase}: {raw}").trim().to_owned()
}

/// Where the protocols put their sentence: `error.message`, also inside a list of one.
fn told_by(body: &Value) -> Option<&str> {
    let body = body.get(0).unwrap_or(body);
    body.pointer("/error/message").and_then(Value::as_str)
}

fn is_html(body: &str) -> bool {
    let start = body.get(..9).unwrap_or(body).to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html")
}

fn html_message(status: u16, phrase: &str) -> String {
    match status {
        401 => "Unauthorized: a gateway or proxy blocked the request. Sign in to it again, or check the provider's key and address.".to_owned(),
        403 => "Forbidden: a gateway or proxy blocked the request. Ask whoever runs it for access, or check the provider's address.".to_owned(),
        _ => phrase.to_owned(),
    }
}

#[cfg(test)]
mod tests;
