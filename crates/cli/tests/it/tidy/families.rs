//! What a family of models can do is decided in one place: nowhere else does the program ask for a model by name.

use super::nothing_is_wrong;
use super::tree::{File, files};

/// The one place.
const TRAITS: &str = "crates/llm/src/catalog/traits";

/// What names of models are made of.
const FAMILIES: [&str; 21] = [
    "gpt", "claude", "sonnet", "haiku", "opus", "gemini", "codex", "deepseek", "mistral", "devstral", "qwen",
    "kimi", "glm", "grok", "llama", "gemma", "minimax", "nova-", "phi-", "trinity", "muse",
];

/// Families whose name is a letter and a digit.
const SHORT: [&str; 4] = ["o1", "o3", "o4", "r1"];

#[test]
fn only_the_traits_ask_which_family_a_model_is_of() {
    let mut found = Vec::new();
    for file in files().iter().filter(|file| is_program(file)) {
        for (line, literal) in literals(&file.text) {
            if names_a_family(&literal) {
                found.push(format!("{}:{line}: {literal:?}", file.path));
            }
        }
    }
    nothing_is_wrong(&format!("models known by name outside of {TRAITS}.rs"), found);
}

#[test]
fn a_name_of_a_model_is_told_from_a_path_a_package_and_a_sentence() {
    for name in ["gpt-5", "claude", "-sonnet-4", "o3-mini", "o1", "openai/gpt-4"] {
        assert!(names_a_family(name), "{name}");
    }
    for other in
        [".claude", "claude.md", "@ai-sdk/mistral", "https://api.mistral.ai/v1", "say claude-x", "foo1"]
    {
        assert!(!names_a_family(other), "{other}");
    }
    let text = "a(\"one\"); // \"two\"\nb('\"', \"th\\\"ree\", r#\"fo\"ur\"#);";
    let read: Vec<(usize, String)> = literals(text).collect();
    assert_eq!(read, [(1, "one".to_owned()), (2, "th\\\"ree".to_owned()), (2, "fo\"ur".to_owned())]);
}

/// Sources that run: tests and what only tests use may name models.
fn is_program(file: &File) -> bool {
    let is_source = file.is_rust() && file.is_in_crates() && file.path.contains("/src/");
    let is_test = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
    is_source && !is_test && !file.path.starts_with("crates/testkit/") && !file.path.starts_with(TRAITS)
}

fn names_a_family(literal: &str) -> bool {
    let is_sentence = literal.contains(char::is_whitespace);
    let is_place = literal.starts_with(['.', '@']) || literal.contains("://") || literal.ends_with(".md");
    let is_short = |name: &&str| literal == *name || literal.starts_with(&format!("{name}-"));
    !is_sentence
        && !is_place
        && (FAMILIES.iter().any(|name| literal.contains(name)) || SHORT.iter().any(is_short))
}

/// The string literals of a source without its tests, with their lines.
fn literals(text: &str) -> impl Iterator<Item = (usize, String)> {
    let program = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut rest = program;
    let mut line = 1;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(['"', '\'', '/', '\n'])?;
            let is_raw = rest[..at].trim_end_matches('#').ends_with('r');
            let hashes = rest[..at].len() - rest[..at].trim_end_matches('#').len();
            let after = &rest[at + 1..];
            match rest.as_bytes()[at] {
                b'\n' => {
                    line += 1;
                    rest = after;
                }
                b'/' if after.starts_with('/') => rest = after.find('\n').map_or("", |end| &after[end..]),
                // A quoted quote; a lifetime has no second apostrophe this near.
                b'\'' if after.starts_with("\"'") => rest = &after[2..],
                b'\'' if after.starts_with("\\\"'") => rest = &after[3..],
                b'"' => {
                    let end = if is_raw {
                        after.find(&format!("\"{}", "#".repeat(hashes)))?
                    } else {
                        end_of_text(after)?
                    };
                    let found = (line, after[..end].to_owned());
                    line += found.1.matches('\n').count();
                    rest = &after[end + 1..];
                    return Some(found);
                }
                _ => rest = after,
            }
        }
    })
}

/// Where the quote stands that is not escaped.
fn end_of_text(after: &str) -> Option<usize> {
    let mut is_escaped = false;
    after.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}
