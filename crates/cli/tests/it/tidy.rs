//! The tree keeps its own rules: sizes, module docs, dependency arrows, invariant tags, test lists.
//!
//! Reads files and runs nothing. Each rule collects everything it dislikes and says it at once, so that
//! one run shows all there is to do. The rules are explained in CONTRIBUTING.md.
//!
//! `tree.rs` finds and reads the files, the other children hold the rules.

#![allow(clippy::unwrap_used, reason = "a tree that cannot be read has failed the test")]

mod arrows;
mod docs;
mod families;
mod files;
mod modules;
mod rows;
mod tree;
mod web;
mod wildcards;
mod words;

/// Fails with every finding, one per line.
fn nothing_is_wrong(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
