//! Reading a shell command: what it would do, so that the rules can judge each part.
//!
//! The command is parsed by a bash grammar. Every simple command, wherever it stands (pipes,
//! loops, substitutions), is one pattern, with the redirection it carries. What "always" would
//! allow is the command's known prefix and a star (`shell/arity.rs`). Arguments of commands that
//! work on files, and the targets of redirections, are looked at for directories outside.
//!
//! A text the grammar does not surely understand is one pattern, whole, and is marked unclear.

mod arity;
mod places;

pub use arity::prefix;

use tree_sitter::{Node, Parser};

/// Deeper than a person writes and shallower than our stack.
const DEPTH_MAX: usize = 200;

/// Longer texts are not parsed; they are asked about whole.
const BYTES_MAX: usize = 256 * 1024;

/// What a command would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// One per simple command, in order, each once.
    pub patterns: Vec<String>,
    pub always: Vec<String>,
    /// Paths that its arguments and redirections name, as written, quotes removed.
    pub places: Vec<String>,
    /// The grammar is not sure; the only pattern is the whole text.
    pub unclear: bool,
}

/// Commands that only change the directory: judged by where they lead, not by their name.
const MOVES: [&str; 4] = ["cd", "chdir", "popd", "pushd"];

/// All node kinds of the grammar we know. One that a later grammar adds is not understood until it
/// stands here.
const KNOWN: [&str; 59] = [
    "program",
    "list",
    "pipeline",
    "command",
    "command_name",
    "redirected_statement",
    "subshell",
    "compound_statement",
    "if_statement",
    "elif_clause",
    "else_clause",
    "for_statement",
    "c_style_for_statement",
    "while_statement",
    "do_group",
    "case_statement",
    "case_item",
    "function_definition",
    "negated_command",
    "test_command",
    "declaration_command",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
    "variable_name",
    "special_variable_name",
    "word",
    "string",
    "string_content",
    "raw_string",
    "ansi_c_string",
    "translated_string",
    "concatenation",
    "number",
    "simple_expansion",
    "expansion",
    "command_substitution",
    "process_substitution",
    "arithmetic_expansion",
    "brace_expression",
    "array",
    "subscript",
    "file_redirect",
    "heredoc_redirect",
    "herestring_redirect",
    "heredoc_start",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "file_descriptor",
    "comment",
    "regex",
    "extglob_pattern",
    "test_operator",
    "binary_expression",
    "unary_expression",
    "ternary_expression",
    "postfix_expression",
    "parenthesized_expression",
];

/// Reads a command. Never fails: what cannot be read is unclear.
#[must_use]
pub fn read(text: &str) -> Reading {
    let unclear = || {
        let whole = text.trim().to_owned();
        Reading { patterns: vec![whole.clone()], always: vec![whole], places: Vec::new(), unclear: true }
    };
    let mut parser = Parser::new();
    if text.len() > BYTES_MAX || parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return unclear();
    }
    let Some(tree) = parser.parse(text, None) else { return unclear() };
    let root = tree.root_node();
    if root.has_error() {
        return unclear();
    }
    let mut reading = Reading::default();
    match visit(root, text, 0, &mut reading) {
        Clear::Yes => reading,
        Clear::No => unclear(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clear {
    Yes,
    No,
}

fn visit(node: Node<'_>, text: &str, depth: usize, reading: &mut Reading) -> Clear {
    if depth > DEPTH_MAX || node.is_missing() || !KNOWN.contains(&node.kind()) {
        return Clear::No;
    }
    let clear = match node.kind() {
        "command" => simple_command(node, text, reading),
        "declaration_command" | "unset_command" => declaration(node, text, reading),
        "variable_assignment" | "variable_assignments" if is_statement(node) => {
            // `PATH=…` changes what later commands mean.
            reading.add(slice(node, text).trim(), None);
            Clear::Yes
        }
        "file_redirect" => {
            reading.places.extend(places::of_redirect(node, text));
            Clear::Yes
        }
        _ => Clear::Yes,
    };
    if clear == Clear::No {
        return clear;
    }
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        if visit(child, text, depth + 1, reading) == Clear::No {
            return Clear::No;
        }
    }
    Clear::Yes
}

impl Reading {
    fn add(&mut self, pattern: &str, always: Option<String>) {
        let always = always.unwrap_or_else(|| pattern.to_owned());
        for (list, one) in [(&mut self.patterns, pattern.to_owned()), (&mut self.always, always)] {
            if !one.is_empty() && !list.contains(&one) {
                list.push(one);
            }
        }
    }
}

fn simple_command(node: Node<'_>, text: &str, reading: &mut Reading) -> Clear {
    let tokens = tokens(node, text);
    let Some(name) = tokens.first() else {
        // Nothing but assignments or redirections.
        reading.add(with_redirection(node, text), None);
        return Clear::Yes;
    };
    // The grammar reads some reserved words as commands (`time { a; }`); a brace shows it.
    let is_brace = |token: &str| token == "{" || token == "}";
    if name.contains(['{', '}', '\n', '(', ')']) || tokens.iter().any(|token| is_brace(token)) {
        return Clear::No;
    }
    let name = places::unquoted(name);
    reading.places.extend(places::of_command(node, &name, text));
    if !MOVES.contains(&name.as_str()) {
        let always = format!("{} *", prefix(&tokens).join(" "));
        reading.add(with_redirection(node, text), Some(always));
    }
    Clear::Yes
}

/// `export A=1`, `declare -x`, `unset A`.
fn declaration(node: Node<'_>, text: &str, reading: &mut Reading) -> Clear {
    let source = with_redirection(node, text);
    let word = source.split_whitespace().next().unwrap_or_default().to_owned();
    reading.add(source, Some(format!("{word} *")));
    Clear::Yes
}

/// Stands for itself, not before a command and not in a `for` head or a declaration.
fn is_statement(node: Node<'_>) -> bool {
    let within = node.parent().map_or("program", |parent| parent.kind());
    !matches!(
        within,
        "command"
            | "declaration_command"
            | "variable_assignments"
            | "c_style_for_statement"
            | "for_statement"
    )
}

/// The name and the arguments, as written; assignments and redirections are not among them.
fn tokens(node: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = node.walk();
    let children = node.named_children(&mut cursor);
    let is_token = |child: &Node<'_>| {
        !matches!(
            child.kind(),
            "variable_assignment" | "file_redirect" | "heredoc_redirect" | "herestring_redirect" | "comment"
        )
    };
    children.filter(is_token).map(|child| slice(child, text).to_owned()).collect()
}

/// The source of a command with what is redirected around it.
fn with_redirection<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    let around = node.parent().filter(|parent| parent.kind() == "redirected_statement");
    slice(around.unwrap_or(node), text).trim()
}

fn slice<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}
