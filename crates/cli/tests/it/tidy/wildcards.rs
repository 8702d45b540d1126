//! A new kind of fact or part is found by the compiler: no `match` in the session crate has a wildcard for them.

use super::nothing_is_wrong;
use super::tree::{File, files};

/// Enums of which every `match` names every variant.
const LISTED_WHOLE: [&str; 2] = ["Fact::", "PartBody::"];

/// Files whose `Self::` is one of these enums.
const DEFINED_IN: [&str; 3] =
    ["crates/session/src/fact.rs", "crates/session/src/fact/stored.rs", "crates/session/src/types/part.rs"];

#[test]
fn no_match_over_facts_or_parts_has_a_wildcard() {
    let mut found = Vec::new();
    let mut matches = 0;
    for file in files().into_iter().filter(|file| file.path.starts_with("crates/session/src/")) {
        for (number, arms) in matches_of(&file) {
            if arms.iter().any(|arm| names_a_variant(&file.path, arm)) {
                matches += 1;
                let wildcards = arms.iter().filter(|arm| is_wildcard(arm));
                found.extend(wildcards.map(|arm| format!("{}:{number}: {arm}", file.path)));
            }
        }
    }
    assert!(matches >= 10, "only {matches} matches over facts and parts were found");
    nothing_is_wrong("wildcards over facts or parts", found);
}

/// The line of each `match`, and the first lines of its arms. The source is formatted, so indentation tells them.
fn matches_of(file: &File) -> Vec<(usize, Vec<String>)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !(line.contains("match ") && line.ends_with('{')) {
            continue;
        }
        let depth = indent(line);
        let inside = lines[index + 1..].iter().take_while(|line| line.is_empty() || indent(line) > depth);
        let arms = inside.filter(|line| indent(line) == depth + 4).map(|line| line.trim().to_owned());
        found.push((index + 1, arms.collect()));
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn names_a_variant(path: &str, arm: &str) -> bool {
    let pattern = arm.split("=>").next().unwrap_or_default().trim_start_matches(['|', '(', '&', ' ']);
    let is_own = DEFINED_IN.contains(&path) && pattern.starts_with("Self::");
    is_own
        || LISTED_WHOLE.iter().any(|name| pattern.starts_with(name) || pattern.contains(&format!("({name}")))
}

/// `_`, or a name that takes whatever is left.
fn is_wildcard(arm: &str) -> bool {
    let Some((pattern, _)) = arm.split_once("=>") else { return false };
    let name = pattern.split(" if ").next().unwrap_or_default().trim().trim_start_matches("| ");
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(is_name)
}

#[test]
fn a_wildcard_is_told_from_a_pattern() {
    assert!(is_wildcard("_ => {}"));
    assert!(is_wildcard("other => other.name(),"));
    assert!(is_wildcard("_ if is_open => None,"));
    assert!(!is_wildcard("Fact::TextGrew { .. } => {}"));
    assert!(!is_wildcard("| Fact::TextEnded { .. }"));
}
