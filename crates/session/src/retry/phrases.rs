//! The phrases transient failures are known by.
//!
//! Compared in lower case, anywhere in the text. In a phrase `~` stands for one of space,
//! `-` and `_`.

const PHRASES: &[&str] = &[
    // Status codes, wherever they stand.
    "429",
    "500",
    "502",
    "503",
    "504",
    "524",
    // Too fast.
    "rate increased too quickly",
    "rate~limit",
    "too many requests",
    // The provider's side.
    "overloaded",
    "service~unavailable",
    "internal error",
    "internal_error",
    "internal server error",
    "server~error",
    "provider~returned~error",
    "resource exhausted",
    "resource_exhausted",
    "currently at capacity",
    "temporarily at capacity",
    // The way there.
    "terminated",
    "fetch failed",
    "failed to fetch",
    "network~error",
    "upstream connect",
    "connection error",
    "connection refused",
    "connection lost",
    "socket connection was closed",
    "socket hang up",
    "reset before headers",
    "getaddrinfo",
    "enotfound",
    "eai_again",
    "econnrefused",
    "econnreset",
    "etimedout",
    // The message says that it can be retried.
    "try your request again",
    "retry your request",
    "try again later",
    "try again in",
];

/// What can time out.
const WAITED_FOR: &[&str] = &["request", "response", "connection", "network", "stream", "read"];
const TIMED_OUT: &[&str] = &["timeout", "timed out", "time out"];

/// Whether the text reads like a failure that passes by itself.
#[must_use]
pub fn is_transient(text: &str) -> bool {
    let text = text.to_lowercase();
    text.trim() == "timeout" || PHRASES.iter().any(|phrase| contains(&text, phrase)) || says_timeout(&text)
}

fn contains(text: &str, phrase: &str) -> bool {
    if !phrase.contains('~') {
        return text.contains(phrase);
    }
    let text = text.as_bytes();
    let phrase = phrase.as_bytes();
    text.windows(phrase.len()).any(|window| {
        window.iter().zip(phrase).all(|(byte, want)| match want {
            b'~' => matches!(byte, b' ' | b'-' | b'_'),
            exact => byte == exact,
        })
    })
}

/// One of the words, then at most one separator, then one of the ways to say it.
fn says_timeout(text: &str) -> bool {
    WAITED_FOR.iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            // A whole word: "thread timeout" is about something else.
            let starts_word = !text[..at].ends_with(char::is_alphanumeric);
            let rest = &text[at + word.len()..];
            let rest = rest.strip_prefix([' ', '-', '_']).unwrap_or(rest);
            starts_word && TIMED_OUT.iter().any(|said| rest.starts_with(said))
        })
    })
}
