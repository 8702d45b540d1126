//! Which failures are tried again, with which words, and when.

use proptest::prelude::*;
use std::collections::BTreeMap;
use sturdy_session::json::Nothing;
use sturdy_session::retry::{RETRIES_MAX, Retry, delay_ms, http_date, is_transient, plan, status_message};
use sturdy_session::types::failure::{ApiFailure, Failure};

/// 2026-11-15T20:00:00Z
const NOW: u64 = 1_794_772_800_000;

fn api(message: &str) -> ApiFailure {
    ApiFailure { message: message.to_owned(), ..ApiFailure::default() }
}

fn with_headers(headers: &[(&str, &str)]) -> Failure {
    let headers: BTreeMap<String, String> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Failure::Api(ApiFailure { is_retryable: true, response_headers: Some(headers), ..api("slow down") })
}

#[test]
fn a_failure_that_says_so_itself_is_tried_again() {
    let retryable = ApiFailure { is_retryable: true, ..api("nope") };
    let server_side = ApiFailure { status_code: Some(500), ..api("nope") };
    let by_body =
        ApiFailure { response_body: Some("{\"type\":\"rate_limit_error\"}".to_owned()), ..api("nope") };
    let refused = ApiFailure { status_code: Some(400), ..api("nope") };

    for failure in [retryable, server_side, by_body] {
        assert_eq!(status_message(&Failure::Api(failure)).as_deref(), Some("nope"));
    }
    assert_eq!(status_message(&Failure::Api(refused)), None);
}

#[test]
fn an_overloaded_provider_is_called_overloaded() {
    let named = ApiFailure { is_retryable: true, ..api("Overloaded") };
    let lower = api("the model is overloaded right now");

    assert_eq!(status_message(&Failure::Api(named)).as_deref(), Some("Provider is overloaded"));
    assert_eq!(status_message(&Failure::Api(lower)).as_deref(), Some("the model is overloaded right now"));
}

#[test]
fn an_unknown_failure_is_judged_by_its_words() {
    let says = |text: &str| status_message(&Failure::unknown(text));

    assert_eq!(says("{\"code\":\"too_many_requests\"}").as_deref(), Some("Too Many Requests"));
    assert_eq!(says("RESOURCE_EXHAUSTED").as_deref(), Some("Provider is overloaded"));
    assert_eq!(says("temporarily Unavailable").as_deref(), Some("Provider is overloaded"));
    assert_eq!(says("socket hang up").as_deref(), Some("socket hang up"));
    assert_eq!(says("no such agent"), None);
}

#[test]
fn permanent_failures_are_not_retried() {
    let message = "rate limit, 429, overloaded".to_owned();
    let hopeless = [
        Failure::ContextOverflow { message: message.clone(), response_body: None },
        Failure::ProviderAuth { provider_id: "acme".to_owned(), message: message.clone() },
        Failure::Aborted { message: message.clone() },
        Failure::StructuredOutput { message: message.clone(), retries: 2 },
        Failure::ContentFilter { message },
        Failure::OutputLength(Nothing {}),
    ];

    for failure in hopeless {
        assert_eq!(status_message(&failure), None, "{failure:?}");
        assert_eq!(plan(&failure, 0, NOW, 0.0), None, "{failure:?}");
    }
}

#[test]
fn transient_phrases_are_found_in_any_case_and_anywhere() {
    let transient = [
        "HTTP 429",
        "error 500",
        "502",
        "503!",
        "x504x",
        "524",
        "15029",
        "Rate increased too quickly",
        "Rate Limit reached",
        "rate-limit",
        "rate_limit_error",
        "Too Many Requests",
        "OVERLOADED",
        "service unavailable",
        "service_unavailable",
        "service-unavailable",
        "internal error",
        "internal_error",
        "Internal Server Error",
        "server error",
        "server_error",
        "server-error",
        "Provider returned error",
        "provider_returned-error",
        "resource exhausted",
        "resource_exhausted",
        "terminated",
        "fetch failed",
        "Failed to fetch",
        "network error",
        "network-error",
        "network_error",
        "upstream connect error",
        "Connection error.",
        "connection refused",
        "connection lost",
        "The socket connection was closed unexpectedly",
        "socket hang up",
        "reset before headers",
        "getaddrinfo failed",
        "ENOTFOUND host",
        "EAI_AGAIN",
        "ECONNREFUSED",
        "ECONNRESET",
        "ETIMEDOUT",
        "timeout",
        "Timeout",
        "request timeout",
        "response timed out",
        "connection time out",
        "network timeout",
        "stream timed out",
        "read timeout",
        "Read_Timeout",
        "(request timed out)",
        "please try your request again",
        "retry your request",
        "try again later",
        "Try again in 5s",
        "we are currently at capacity",
        "temporarily at capacity",
    ];
    for text in transient {
        assert!(is_transient(text), "{text}");
    }
}

#[test]
fn other_texts_are_not_transient() {
    let lasting = [
        "",
        "invalid api key",
        "model not found",
        "a timeout of 3 was given",
        "thread timeout",
        "the rate is limited",
        "servererror",
        "network  error",
        "400 bad request",
        "requests timed out",
        "try again",
    ];
    for text in lasting {
        assert!(!is_transient(text), "{text}");
    }
}

#[test]
fn without_headers_the_delay_doubles_up_to_half_a_minute() {
    let failure = Failure::Api(ApiFailure { is_retryable: true, ..api("x") });
    let delays =
        |fraction| (1..=6).map(|attempt| delay_ms(&failure, attempt, NOW, fraction)).collect::<Vec<_>>();

    assert_eq!(delays(0.0), [2000, 4000, 8000, 16_000, 30_000, 30_000]);
    assert_eq!(delays(0.5), [2250, 4500, 9000, 18_000, 30_000, 30_000]);
    assert_eq!(delay_ms(&failure, 1, NOW, 0.999_999_9), 2500);
}

#[test]
fn headers_without_a_hint_lift_the_cap() {
    let failure = with_headers(&[("content-type", "text/plain"), ("retry-after", "soon")]);

    assert_eq!(delay_ms(&failure, 6, NOW, 0.0), 64_000);
    assert_eq!(delay_ms(&failure, u32::MAX, NOW, 1.0), 2_147_483_647);
}

#[test]
fn the_provider_says_how_long() {
    let after = |headers: &[(&str, &str)]| delay_ms(&with_headers(headers), 1, NOW, 0.0);

    assert_eq!(after(&[("retry-after-ms", "300")]), 300);
    assert_eq!(after(&[("retry-after-ms", "300.2"), ("retry-after", "9")]), 301);
    assert_eq!(after(&[("retry-after-ms", "x"), ("retry-after", "9")]), 9000);
    assert_eq!(after(&[("retry-after", "0")]), 0);
    assert_eq!(after(&[("retry-after", "1.2345")]), 1235);
    assert_eq!(after(&[("Retry-After", " 7 ")]), 7000);
    assert_eq!(after(&[("retry-after", "1e300")]), 2_147_483_647);
    for unusable in ["-5", "nan", "inf", "infinity", ""] {
        assert_eq!(after(&[("retry-after", unusable)]), 2000, "{unusable}");
    }
}

#[test]
fn the_provider_says_when() {
    let at = |date: &str| delay_ms(&with_headers(&[("retry-after", date)]), 1, NOW, 0.0);

    assert_eq!(at("Sun, 15 Nov 2026 20:00:10 GMT"), 10_000);
    assert_eq!(at("Sun, 15 Nov 2026 20:00:00 GMT"), 2000);
    assert_eq!(at("Sun, 15 Nov 2026 19:59:00 GMT"), 2000);
    assert_eq!(at("Mon, 15 Nov 2027 20:00:00 GMT"), 2_147_483_647);
}

#[test]
fn an_http_date_is_read_exactly() {
    assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
    assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
    assert_eq!(http_date("Tue, 29 Feb 2000 00:00:00 GMT"), Some(951_782_400_000));
    assert_eq!(http_date("Wed, 01 Mar 2028 00:00:00 GMT"), Some(1_835_481_600_000));
    let wrong = [
        "",
        "6",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT x",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Tue, 29 Feb 2100 00:00:00 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1969 08:00:00 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
    ];
    for text in wrong {
        assert_eq!(http_date(text), None, "{text}");
    }
}

#[test]
fn the_sixth_failure_is_the_last_word() {
    let failure = Failure::Api(ApiFailure { is_retryable: true, ..api("Overloaded") });

    let message = "Provider is overloaded".to_owned();
    let first = Retry { attempt: 1, message: message.clone(), delay_ms: 2000, next: NOW + 2000 };
    assert_eq!(plan(&failure, 0, NOW, 0.0), Some(first));
    let fifth = Retry { attempt: 5, message, delay_ms: 30_000, next: NOW + 30_000 };
    assert_eq!(plan(&failure, 4, NOW, 0.0), Some(fifth));
    assert_eq!(plan(&failure, RETRIES_MAX, NOW, 0.0), None);
    assert_eq!(plan(&failure, u32::MAX, NOW, 0.0), None);
}

proptest! {
    /// Whatever a provider writes into a header, the wait is one a timer can hold.
    #[test]
    fn no_header_makes_a_wait_that_cannot_be_waited(after in ".{0,40}", ms in ".{0,10}", attempt: u32, fraction: f64) {
        let failure = with_headers(&[("retry-after", &after), ("retry-after-ms", &ms)]);

        prop_assert!(delay_ms(&failure, attempt, NOW, fraction) <= 2_147_483_647);
    }

    /// Every second of two centuries reads back: the date is written by the title's calendar.
    #[test]
    fn dates_read_back(second in 0..7_000_000_000_u64) {
        let iso = sturdy_session::title::iso_time(second * 1000);
        let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            [iso[5..7].parse::<usize>().unwrap() - 1];
        let date = format!("Day, {} {month} {} {} GMT", &iso[8..10], &iso[..4], &iso[11..19]);

        prop_assert_eq!(http_date(&date), Some(second * 1000));
    }
}
