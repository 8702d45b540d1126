//! Recognises, by its wording, that a prompt was too long.
//!
//! Every provider says it differently and few use a code. The list is of fragments; a message
//! about throttling is never an overflow, whatever else it says.

use regex::RegexSet;
use std::sync::LazyLock;

const THROTTLED_STARTS: [&str; 2] = ["throttling error:", "service unavailable:"];
const THROTTLED_WORDS: [&str; 2] = ["rate limit", "too many requests"];

/// Matched against the message in lower case.
const FRAGMENTS: &[&str] = &[
    r"prompt is too long",
    r"request_too_large",
    r"input is too long for requested model",
    r"exceeds the context window",
    r"exceeds (the )?(model's |models )?maximum context length( of [0-9,]+ tokens?| \([0-9,]+\))",
    r"input token count.*exceeds the maximum",
    r"tokens in request more than max tokens allowed",
    r"maximum prompt length is [0-9]+",
    r"reduce the length of the messages",
    r"maximum context length is [0-9]+ tokens",
    r"exceeds (the )?maximum allowed input length of [0-9,]+ tokens?",
    r"input \([0-9]+ tokens\) is longer than the model'?s context length \([0-9]+ tokens\)",
    r"exceeds the limit of [0-9]+",
    r"exceeds the available context size",
    r"greater than the context length",
    r"context window exceeds limit",
    r"exceeded model token limit",
    r"context[_ ]length[_ ]exceeded",
    r"request entity too large",
    r"context length is only [0-9]+ tokens",
    r"input length.*exceeds.*context length",
    r"prompt too long; exceeded (max )?context length",
    r"too large for model with [0-9]+ maximum context length",
    r"prompt has [0-9,]+ tokens?, but the configured context size is [0-9,]+ tokens?",
    r"model_context_window_exceeded",
    r"too many tokens",
    r"token limit exceeded",
    r"^4(00|13) *(status code)? *\(no body\)",
];

static OVERFLOW: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(FRAGMENTS).expect("BUG: a fragment is not a regular expression"));

/// Whether this sentence of a provider says that the prompt does not fit.
#[must_use]
pub fn is_overflow(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let throttled = THROTTLED_STARTS.iter().any(|start| message.starts_with(start))
        || THROTTLED_WORDS.iter().any(|word| message.contains(word));
    !throttled && OVERFLOW.is_match(&message)
}
