//! Expanding the template of a command.
//!
//! `expand` puts the arguments in, `snippets` says which shell commands the result contains,
//! and `fill` puts their output in. In between the caller runs them: that is not for a pure
//! crate to do.

pub mod mention;

use std::ops::Range;

const ALL: &str = "$ARGUMENTS";

/// What a template takes: `$1`, `$2`, … then `$ARGUMENTS`, each once.
#[must_use]
pub fn hints(template: &str) -> Vec<String> {
    let mut hints: Vec<String> = holes(template)
        .filter_map(|hole| match hole.kind {
            HoleKind::Number(_) => Some(template[hole.at].to_owned()),
            HoleKind::All => None,
        })
        .collect();
    hints.sort();
    hints.dedup();
    if template.contains(ALL) {
        hints.push(ALL.to_owned());
    }
    hints
}

/// The template with the arguments in their places; behind it, if it has no place for them.
#[must_use]
pub fn expand(template: &str, arguments: &str) -> String {
    let words = words(arguments);
    let last = holes(template).filter_map(|hole| hole.number()).max();
    let mut text = String::with_capacity(template.len() + arguments.len());
    let mut from = 0;
    for hole in holes(template) {
        text.push_str(&template[from..hole.at.start]);
        match hole.kind {
            HoleKind::All => text.push_str(arguments),
            HoleKind::Number(number) => text.push_str(&argument(&words, number, last)),
        }
        from = hole.at.end;
    }
    text.push_str(&template[from..]);

    // A template that speaks of no argument still gets what the user typed behind it.
    if from == 0 && !arguments.trim().is_empty() {
        text.push_str("\n\n");
        text.push_str(arguments);
    }
    text
}

/// The highest number takes everything that is left.
fn argument(words: &[String], number: usize, last: Option<usize>) -> String {
    let Some(index) = number.checked_sub(1) else { return String::new() };
    let rest = words.get(index..).unwrap_or(&[]);
    if Some(number) == last { rest.join(" ") } else { rest.first().cloned().unwrap_or_default() }
}

/// A place for arguments in a template.
struct Hole {
    at: Range<usize>,
    kind: HoleKind,
}

enum HoleKind {
    Number(usize),
    All,
}

impl Hole {
    fn number(&self) -> Option<usize> {
        match self.kind {
            HoleKind::Number(number) => Some(number),
            HoleKind::All => None,
        }
    }
}

fn holes(template: &str) -> impl Iterator<Item = Hole> {
    template.match_indices('$').filter_map(|(start, _)| {
        let rest = &template[start + 1..];
        if template[start..].starts_with(ALL) {
            return Some(Hole { at: start..start + ALL.len(), kind: HoleKind::All });
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        // A number beyond all counting has no argument, which is what the largest one has.
        let number = rest[..digits].parse().unwrap_or(usize::MAX);
        Some(Hole { at: start..start + 1 + digits, kind: HoleKind::Number(number) })
    })
}

/// Splits arguments: quoted runs and `[Image N]` stay whole.
#[must_use]
pub fn words(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = arguments;
    while let Some(first) = rest.chars().next() {
        let length = image_length(rest).or_else(|| quoted_length(rest)).unwrap_or_else(|| plain_length(rest));
        if length == 0 {
            // A space, or a quote that nothing closes.
            rest = &rest[first.len_utf8()..];
            continue;
        }
        words.push(unquoted(&rest[..length]).to_owned());
        rest = &rest[length..];
    }
    words
}

/// `[Image 3]`, in any case and with any space between.
fn image_length(text: &str) -> Option<usize> {
    let head = text.get(..6).filter(|head| head.eq_ignore_ascii_case("[image"))?;
    let after = &text[head.len()..];
    let number = after.trim_start();
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let is_image = number.len() < after.len() && digits > 0 && number[digits..].starts_with(']');
    is_image.then(|| text.len() - number.len() + digits + 1)
}

fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    text[1..].find(quote).map(|end| end + 2)
}

fn plain_length(text: &str) -> usize {
    let end = text.find(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\''));
    end.unwrap_or(text.len())
}

fn unquoted(word: &str) -> &str {
    let word = word.strip_prefix(['"', '\'']).unwrap_or(word);
    word.strip_suffix(['"', '\'']).unwrap_or(word)
}

/// A shell command inside a text: `` !`git status` ``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// In bytes, with the mark and the backticks.
    pub at: Range<usize>,
    pub command: String,
}

/// The shell commands a text contains, in order.
#[must_use]
pub fn snippets(text: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("!`").map(|at| from + at) {
        let inside = start + 2;
        let Some(length) = text[inside..].find('`') else { break };
        if length == 0 {
            // Nothing to run; the closing backtick may open the next one.
            from = inside;
            continue;
        }
        let end = inside + length;
        found.push(Snippet { at: start..end + 1, command: text[inside..end].to_owned() });
        from = end + 1;
    }
    found
}

/// The text with each snippet replaced by what it printed (nothing, if it has no output), trimmed.
#[must_use]
pub fn fill(text: &str, snippets: &[Snippet], outputs: &[String]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut from = 0;
    for (index, snippet) in snippets.iter().enumerate() {
        filled.push_str(&text[from..snippet.at.start]);
        filled.push_str(outputs.get(index).map_or("", String::as_str));
        from = snippet.at.end;
    }
    filled.push_str(&text[from..]);
    filled.trim().to_owned()
}
