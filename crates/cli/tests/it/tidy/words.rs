//! Rules about how code reads: words that are not used, and one statement per line.

use super::nothing_is_wrong;
use super::tree::{File, files};

/// Words of our own making for which the trade has one. In two pieces, so that this file passes.
const WORDS: [([&str; 2], &str); 26] = [
    (["tool ", "server"], "MCP server"),
    (["Tool", "Server"], "McpServer"),
    (["second half of ", "the API"], "v2"),
    (["Session", "2"], "v2"),
    (["once_", "more"], "percent_decode"),
    (["although it ", "is long"], "two files"),
    (["(spec", ": "], "the rule itself"),
    (["of the ", "specification ("], "the rule itself"),
    (["is_", "wished"], "is_wanted"),
    (["Err", "and"], "Job"),
    (["trou", "bles"], "problems"),
    (["write-ahead log ", "over"], "checkpoint"),
    (["second ", "API"], "v2 API"),
    (["first ", "API"], "v1 API"),
    (["second_", "api"], "v2_api"),
    (["-gene", "ration"], "v1 or v2"),
    (["late ", "news"], "a stale input"),
    (["no ", "news"], "unchanged, or stale"),
    (["ShareN", "ews"], "ShareUpdate"),
    (["is_n", "ews"], "what the flag means"),
    (["to ", "count after"], "expire after"),
    (["stops to ", "count"], "expires"),
    (["is no such ", "thing"], "what is missing"),
    (["none of ", "ours"], "what is ignored, and why"),
    (["nobody's ", "business"], "private, or ignored"),
    (["word of our ", "own"], "not in OpenCode"),
];

/// Where people read: code, tests and documents. Built pages and recorded answers are not ours to word.
fn is_read(file: &File) -> bool {
    let has_words = [".rs", ".md", ".mjs", ".ts", ".sql"].iter().any(|end| file.path.ends_with(end));
    has_words && !file.path.contains("/dist/") && !file.path.contains("/golden/")
}

#[test]
fn no_file_uses_a_word_that_the_trade_does_not_know() {
    let mut found = Vec::new();
    for file in files().iter().filter(|file| is_read(file)) {
        for (number, line) in file.text.lines().enumerate() {
            let used = WORDS.iter().filter(|(word, _)| line.contains(&word.concat()));
            found.extend(used.map(|(word, better)| {
                format!("{}:{}: {:?}; write {better}", file.path, number + 1, word.concat())
            }));
        }
    }
    nothing_is_wrong("words", found);
}

#[test]
fn every_line_holds_one_statement() {
    let mut found = Vec::new();
    for file in files().iter().filter(|file| file.is_in_crates() && file.is_rust()) {
        let lines = file.text.lines().enumerate();
        let folded = lines.filter(|(_, line)| is_folded(line));
        found.extend(folded.map(|(number, line)| format!("{}:{}: {}", file.path, number + 1, line.trim())));
    }
    nothing_is_wrong("several values bound in one statement", found);
}

/// Whether a line binds or sets several names to as many values. A pattern with a capital may not fit,
/// and then is one question: `let (Some(a), Some(b)) = (a, b) else`.
fn is_folded(line: &str) -> bool {
    let line = line.trim_start();
    let Some(pattern) = line.strip_prefix("let (").or_else(|| line.strip_prefix('(')) else { return false };
    let Some((names, value)) = pattern.split_once(") = (") else { return false };
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.&, ".contains(c);
    names.contains(", ") && names.chars().all(is_plain) && value.ends_with(';')
}

#[test]
fn a_folded_line_is_told_from_a_pattern() {
    assert!(is_folded("    let (a, mut b) = (1, 2);"));
    assert!(is_folded("    (self.a, self.b) = (1, 2);"));
    assert!(!is_folded("    let (a, b) = both();"));
    assert!(!is_folded("    let (Some(a), Some(b)) = (a, b) else { return };"));
    assert!(!is_folded("    let ((a, b), c) = (both(), 1);"));
}
