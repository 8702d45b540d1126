//! The matching ladder: ever looser readings of a quotation.
//!
//! Each rung names texts that really stand in the file. The first rung with a text that stands
//! there once decides (or, for "replace all", the first that stands there at all). A text much
//! larger than the quotation is never taken: a loose reading must not swallow half a file.

mod blocks;
mod lines;

pub(in crate::tools) use blocks::distance;

/// What came of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    Made(String),
    NotFound,
    /// Every reading that fits, fits in several places.
    Ambiguous,
}

type Rung = fn(&str, &str) -> Vec<String>;

/// From strict to loose.
const RUNGS: [Rung; 9] = [
    exact,
    lines::trimmed,
    blocks::anchored,
    lines::spaces_joined,
    lines::indented_otherwise,
    unescaped,
    trimmed_whole,
    blocks::in_context,
    exact,
];

/// Replaces `old` by `new` in `text`.
#[must_use]
pub fn replace(text: &str, old: &str, new: &str, all: bool) -> Replacement {
    let mut ambiguous = false;
    for rung in RUNGS {
        for candidate in rung(text, old) {
            if candidate.is_empty() || is_disproportionate(&candidate, old) {
                continue;
            }
            let mut places = text.match_indices(candidate.as_str());
            let Some((at, _)) = places.next() else { continue };
            if all {
                return Replacement::Made(text.replace(candidate.as_str(), new));
            }
            // The second place is looked for from the end, so that overlapping ones count.
            if text.rfind(candidate.as_str()) == Some(at) {
                return Replacement::Made([&text[..at], new, &text[at + candidate.len()..]].concat());
            }
            ambiguous = true;
        }
    }
    if ambiguous { Replacement::Ambiguous } else { Replacement::NotFound }
}

fn is_disproportionate(candidate: &str, old: &str) -> bool {
    if candidate == old {
        return false;
    }
    let lines = candidate.split('\n').count();
    let wanted = old.split('\n').count();
    if lines > wanted && lines >= (wanted + 3).max(2 * wanted) {
        return true;
    }
    let length = candidate.chars().count();
    let wanted_length = old.trim().chars().count();
    wanted > 1 && length > (wanted_length + 500).max(4 * wanted_length)
}

fn exact(_: &str, old: &str) -> Vec<String> {
    vec![old.to_owned()]
}

/// The quotation has `\n` and `\"` where the file has a line end and a quote.
fn unescaped(text: &str, old: &str) -> Vec<String> {
    let plain = unescape(old);
    let mut found = Vec::new();
    if plain != old && text.contains(&plain) {
        found.push(plain.clone());
    }
    let count = plain.split('\n').count();
    found.extend(lines::windows(text, count).filter(|window| unescape(window) == plain).map(str::to_owned));
    found
}

/// Blank lines or spaces around the quotation that the file does not have.
fn trimmed_whole(text: &str, old: &str) -> Vec<String> {
    let core = old.trim();
    if core == old || core.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    if text.contains(core) {
        found.push(core.to_owned());
    }
    let count = old.split('\n').count();
    found.extend(lines::windows(text, count).filter(|window| window.trim() == core).map(str::to_owned));
    found
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let meant = match (letter, letters.peek()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some(mark @ ('"' | '\'' | '`' | '\\' | '$' | '\n'))) => *mark,
            _ => {
                plain.push(letter);
                continue;
            }
        };
        letters.next();
        plain.push(meant);
    }
    plain
}
