//! Reading a shell command: what it would do, so that the rules can judge each part.
//!
//! The command is parsed by a bash grammar and then walked by a list of *understood* shapes:
//! pipes, lists, blocks, conditions, loops over words, simple commands with plain arguments. Every
//! simple command, wherever it stands, is one pattern, with the redirection it carries. Inside of
//! words only those expansions are understood that put a text in place and can run nothing
//! (`shell/words.rs`); substitutions are walked like the rest.
//!
//! Everything else is not understood: the text is one pattern, whole, and is marked unclear, so
//! that a rule about a part of it cannot allow it. So it is with whatever a later grammar adds.
//!
//! Rules that forbid are also matched against other ways to say the same (`shell/forms.rs`):
//! without quotes, assignments, wrappers and paths. Paths that are written to and paths outside
//! are gathered for the permissions about files (`shell/places.rs`).
//!
//! Not here: judging (`sturdy_session::rules`), asking (`tools/bash.rs`).

mod always;
mod arity;
mod builtins;
mod conditions;
mod forms;
mod heredoc;
mod places;
mod redirections;
mod statements;
mod words;

pub use arity::prefix;

use statements::Walk;
use tree_sitter::{Node, Parser};

/// Longer texts are not parsed; they are asked about whole.
const BYTES_MAX: usize = 256 * 1024;

/// Commands inside of commands (`sh -c "sh -c …"`) are read so deep.
const NESTED_MAX: usize = 4;

/// What a command would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// One per simple command, in order, each once. Never empty.
    pub patterns: Vec<String>,
    /// What the answer "always" would allow.
    pub always: Vec<String>,
    /// Other ways to say the patterns; rules that ask or forbid are matched against them too.
    pub forms: Vec<String>,
    /// Paths that its arguments and redirections name, as written, quotes removed.
    pub places: Vec<String>,
    /// Paths that it surely writes to: targets of redirections, and arguments of commands that
    /// change files.
    pub writes: Vec<Write>,
    /// Not all of it is understood; the only pattern is the whole text.
    pub unclear: bool,
}

/// A path that is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub path: String,
    pub by: Writer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The shell itself opens the file.
    Redirection,
    /// A program whose arguments are files.
    Program,
}

/// Reads a command. Never fails: what cannot be read is unclear.
#[must_use]
pub fn read(text: &str) -> Reading {
    read_nested(text, 0)
}

/// A command of which nothing is understood.
#[must_use]
pub fn whole(text: &str) -> Reading {
    let whole = text.trim().to_owned();
    let always = always::exact(&whole).into_iter().collect();
    Reading { patterns: vec![whole], always, unclear: true, ..Reading::default() }
}

fn read_nested(text: &str, nested: usize) -> Reading {
    let not_understood = |known: Reading| {
        let Reading { places, writes, .. } = known;
        Reading { places, writes, ..whole(text) }
    };
    let mut parser = Parser::new();
    let is_readable = text.len() <= BYTES_MAX
        && !text.chars().any(is_odd)
        && !has_line_that_goes_on_in_a_word(text)
        && !would_break_the_grammar(text)
        && nested <= NESTED_MAX;
    if !is_readable || parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return not_understood(Reading::default());
    }
    let Some(tree) = parser.parse(text, None) else { return not_understood(Reading::default()) };
    let root = tree.root_node();
    let mut walk = Walk::new(text, nested);
    if root.has_error() || walk.statement(root).is_none() {
        return not_understood(places::known_in(root, text));
    }
    let mut reading = walk.reading;
    if reading.patterns.is_empty() {
        // Nothing but tests and moves, or nothing at all: it is judged by its text.
        let Reading { patterns, always, .. } = whole(text);
        reading.patterns = patterns;
        reading.always = always;
    }
    reading
}

/// Bash takes a backslash and the end of its line out of the text before it reads it, also in the middle of
/// `$(` or of a word; the grammar does not.
fn has_line_that_goes_on_in_a_word(text: &str) -> bool {
    text.match_indices("\\\n").any(|(at, _)| !text[..at].ends_with([' ', '\t']))
}

/// Behind `{`, or behind the numbers of `{1..2`, the grammar's scanner asks C's `isdigit` about the next letter, whatever
/// it is; for one beyond Latin that reads memory which is not its own, and the process can die of it.
fn would_break_the_grammar(text: &str) -> bool {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    text.match_indices('{').any(|(at, _)| {
        let behind = text[at + 1..].trim_start_matches(is_number);
        behind.chars().next().is_some_and(|letter| !letter.is_ascii())
    })
}

/// Letters about which bash and a grammar may think differently: control characters, and white
/// space that is none to bash.
fn is_odd(letter: char) -> bool {
    match letter {
        '\n' | '\t' | ' ' => false,
        other => {
            other.is_control()
                || other.is_whitespace()
                || matches!(other, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
        }
    }
}

impl Reading {
    fn add(&mut self, pattern: &str, always: Option<String>) {
        let here = self.place();
        self.add_at(here, pattern, always);
    }

    /// Where a command stands whose substitutions are read before it.
    fn place(&self) -> (usize, usize) {
        (self.patterns.len(), self.always.len())
    }

    fn add_at(&mut self, (at, always_at): (usize, usize), pattern: &str, always: Option<String>) {
        if !pattern.is_empty() && !self.patterns.iter().any(|one| one == pattern) {
            self.patterns.insert(at, pattern.to_owned());
        }
        if let Some(always) = always
            && !self.always.contains(&always)
        {
            self.always.insert(always_at, always);
        }
    }

    fn add_form(&mut self, form: String) {
        if !form.is_empty() && !self.forms.contains(&form) {
            self.forms.push(form);
        }
    }

    fn add_place(&mut self, place: String) {
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    fn add_write(&mut self, path: String, by: Writer) {
        let write = Write { path, by };
        if !self.writes.contains(&write) {
            self.writes.push(write);
        }
    }
}

fn slice<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
