//! Whether and when a failed request is retried, and the message clients are shown meanwhile.
//!
//! A failure has a flag or a status that says so (`isRetryable`), or its text contains a phrase that
//! transient failures are known by. The delay is what the provider asked for, or grows.
//!
//! Not here: counting (the turn's durable budget), and making a `Failure` out of an answer
//! (`sturdy-llm`).

mod date;
mod phrases;

pub use date::http_date;
pub use phrases::is_transient;

use crate::stamp::Millis;
use crate::types::failure::{ApiFailure, Failure};
use std::collections::BTreeMap;

/// Tries after the first one; so at most six requests for one step.
pub const RETRIES_MAX: u32 = 5;

const BASE_MS: f64 = 2000.0;
const JITTER: f64 = 0.25;
/// A provider that did not even send headers is not waited for longer than this.
const WITHOUT_HEADERS_MAX_MS: Millis = 30_000;
/// What a client's timer can hold.
const DELAY_MAX_MS: Millis = 2_147_483_647;

const OVERLOADED: &str = "Provider is overloaded";
const TOO_MANY_REQUESTS: &str = "Too Many Requests";

/// Tries after the first one in all steps of a turn: a provider that breaks in every step is not asked for ever.
pub const RETRIES_OF_TURN_MAX: u32 = 20;

/// The next try, as the status shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// From 1.
    pub attempt: u32,
    pub message: String,
    pub delay_ms: Millis,
    /// When the next try begins.
    pub next: Millis,
}

/// Decides about the next try after `retries_made` of them; `fraction` in `0..1` is the jitter.
#[must_use]
pub fn plan(failure: &Failure, retries_made: u32, now: Millis, fraction: f64) -> Option<Retry> {
    if retries_made >= RETRIES_MAX {
        return None;
    }
    let message = status_message(failure)?;
    let attempt = retries_made + 1;
    let delay_ms = delay_ms(failure, attempt, now, fraction);
    Some(Retry { attempt, message, delay_ms, next: now.saturating_add(delay_ms) })
}

/// What to show while waiting, or `None` when trying again would not help.
#[must_use]
pub fn status_message(failure: &Failure) -> Option<String> {
    match failure {
        Failure::Api(api) => is_worth_another_try(api).then(|| {
            let is_overloaded = api.message.contains("Overloaded");
            if is_overloaded { OVERLOADED.to_owned() } else { api.message.clone() }
        }),
        Failure::Unknown { message, .. } => message_of_unknown(message),
        // A smaller request, a key, or the user is what these need.
        Failure::ContextOverflow { .. }
        | Failure::ProviderAuth { .. }
        | Failure::OutputLength(_)
        | Failure::Aborted { .. }
        | Failure::StructuredOutput { .. }
        | Failure::ContentFilter { .. } => None,
    }
}

fn is_worth_another_try(api: &ApiFailure) -> bool {
    api.is_retryable
        || api.status_code.is_some_and(|status| status >= 500)
        || is_transient(&api.message)
        || api.response_body.as_deref().is_some_and(is_transient)
}

fn message_of_unknown(message: &str) -> Option<String> {
    let text = message.to_lowercase();
    if text.contains("too_many_requests") {
        return Some(TOO_MANY_REQUESTS.to_owned());
    }
    if text.contains("exhausted") || text.contains("unavailable") {
        return Some(OVERLOADED.to_owned());
    }
    is_transient(message).then(|| message.to_owned())
}

/// How long to wait before try number `attempt` (from 1).
#[must_use]
pub fn delay_ms(failure: &Failure, attempt: u32, now: Millis, fraction: f64) -> Millis {
    let headers = match failure {
        Failure::Api(api) => api.response_headers.as_ref(),
        _ => None,
    };
    let delay = match headers {
        None => growing(attempt, fraction).min(WITHOUT_HEADERS_MAX_MS),
        Some(headers) => asked_for(headers, now).unwrap_or_else(|| growing(attempt, fraction)),
    };
    delay.min(DELAY_MAX_MS)
}

/// What the provider asked for.
fn asked_for(headers: &BTreeMap<String, String>, now: Millis) -> Option<Millis> {
    if let Some(ms) = header(headers, "retry-after-ms").and_then(number) {
        return Some(ms.ceil() as Millis);
    }
    let after = header(headers, "retry-after")?;
    if let Some(seconds) = number(after) {
        return Some((seconds * 1000.0).ceil() as Millis);
    }
    // A date that has passed asks for nothing.
    http_date(after)?.checked_sub(now).filter(|ms| *ms > 0)
}

fn header<'a>(headers: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    // Names are stored in lower case, but a failure may come from an import.
    let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

/// A finite number that is not negative; `inf` and `nan` are words, not numbers.
fn number(text: &str) -> Option<f64> {
    let is_digits = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    text.parse::<f64>().ok().filter(|value| is_digits && value.is_finite())
}

fn growing(attempt: u32, fraction: f64) -> Millis {
    // Beyond 2^30 the absolute cap decides anyway.
    let doublings = attempt.saturating_sub(1).min(30);
    let base = BASE_MS * f64::from(1_u32 << doublings);
    (base + base * JITTER * fraction.clamp(0.0, 1.0)).ceil() as Millis
}
