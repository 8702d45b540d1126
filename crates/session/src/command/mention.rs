//! Finding what a text names with `@`.
//!
//! Only where the server expands: command templates and prompts for the `task` tool. What is
//! found is a name; whether it is a file, a directory, an agent or nothing is for whoever can
//! look.

use std::collections::HashSet;
use std::ops::Range;

/// `@name` in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Without the `@`.
    pub name: String,
    /// Where it stands first, in bytes, with the `@`.
    pub at: Range<usize>,
}

/// Where a mentioned path would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MentionedPath<'a> {
    /// Below the home directory: `~/x` is `x`.
    Home(&'a str),
    /// Below the worktree.
    Worktree(&'a str),
}

impl Mention {
    #[must_use]
    pub fn place(&self) -> MentionedPath<'_> {
        match self.name.strip_prefix("~/") {
            Some(below) => MentionedPath::Home(below),
            None => MentionedPath::Worktree(&self.name),
        }
    }
}

/// Every distinct mention, in order of first appearance.
#[must_use]
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find('@').map(|at| from + at) {
        from = start + 1;
        // An address is not a mention, and neither is code.
        if text[..start].ends_with(|before: char| is_word(before) || before == '`') {
            continue;
        }
        let name = name_at(&text[from..]);
        from += name.len();
        if !name.is_empty() && seen.insert(name) {
            found.push(Mention { name: name.to_owned(), at: start..from });
        }
    }
    found
}

/// What the model is told beside a mentioned agent. `is_denied`: the current agent may not
/// start that one by itself, but here the user asked for it.
#[must_use]
pub fn agent_note(agent: &str, is_denied: bool) -> String {
    let mut note = format!(
        "Write a prompt from what stands above and hand it to the agent \"{agent}\" with the task tool."
    );
    if is_denied {
        note.push_str(" The user asked for this agent by name; it exists and may be used for this.");
    }
    note
}

fn name_at(text: &str) -> &str {
    let end = text.find(|letter: char| letter.is_whitespace() || letter == '`' || letter == ',');
    // A dot at the end ends the sentence, not the name.
    text[..end.unwrap_or(text.len())].trim_end_matches('.')
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
