//! Which paths a command names.
//!
//! Only what is plain: an argument with a variable or a substitution in it could be anything and
//! is left to the command's own pattern.

use super::statements::Walk;
use super::words::Word;
use super::{Reading, Writer, slice};
use tree_sitter::Node;

/// Commands whose arguments are paths, and whether they write to them.
const ON_FILES: [(&str, bool); 18] = [
    ("cat", false),
    ("cd", false),
    ("chdir", false),
    ("chmod", true),
    ("chown", true),
    ("cp", true),
    ("install", true),
    ("ln", true),
    ("mkdir", true),
    ("mv", true),
    ("popd", false),
    ("pushd", false),
    ("rm", true),
    ("rmdir", true),
    ("tee", true),
    ("touch", true),
    ("truncate", true),
    ("unlink", true),
];

/// Targets of redirections that are no files.
const STREAMS: [&str; 5] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Of a text that is not understood, so many nodes are looked at.
const NODES_MAX: usize = 20_000;

pub(super) fn is_stream(path: &str) -> bool {
    STREAMS.contains(&path)
        || path.strip_prefix("/dev/fd/").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The paths among the arguments, and whether they are written to.
pub(super) fn of_command(words: &[Word]) -> Vec<(String, bool)> {
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(&name.form);
    let Some((_, writes)) = ON_FILES.iter().find(|(program, _)| *program == name) else { return Vec::new() };
    let is_mode = |argument: &str| name == "chmod" && argument.starts_with('+');
    let plain = |word: &Word| {
        let value = word.value.as_deref()?;
        let wild = if word.is_wild { value.find(['*', '?', '[', '{']) } else { None };
        let value = &value[..wild.unwrap_or(value.len())];
        (!value.is_empty()).then(|| value.to_owned())
    };
    arguments
        .iter()
        .filter_map(plain)
        .filter(|argument| !argument.starts_with('-') && !is_mode(argument))
        .map(|argument| (argument, *writes))
        .collect()
}

/// What can be said about a text that is not understood as a whole: the paths that stand in it
/// plainly. It may do more than that, which its text shows.
pub(super) fn known_in(root: Node<'_>, text: &str) -> Reading {
    let mut known = Reading::default();
    let mut nodes = vec![root];
    let mut seen = 0;
    while let Some(node) = nodes.pop() {
        seen += 1;
        if seen > NODES_MAX {
            return known;
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        match node.kind() {
            "file_redirect" => known_redirection(node, text, &mut known),
            "command" => {
                let words: Vec<Word> = children.iter().filter_map(|child| plain_word(*child, text)).collect();
                for (place, is_written) in of_command(&words) {
                    if is_written {
                        known.add_write(place.clone(), Writer::Program);
                    }
                    known.add_place(place);
                }
            }
            _ => {}
        }
        nodes.extend(children);
    }
    known
}

/// A word in which nothing is expanded.
fn plain_word(node: Node<'_>, text: &str) -> Option<Word> {
    let node = if node.kind() == "command_name" { node.named_child(0)? } else { node };
    let mut cursor = node.walk();
    let is_plain = match node.kind() {
        "word" | "raw_string" | "number" => true,
        "string" => node.named_children(&mut cursor).all(|child| child.kind() == "string_content"),
        "concatenation" => {
            node.named_children(&mut cursor).all(|child| matches!(child.kind(), "word" | "raw_string"))
        }
        _ => false,
    };
    if is_plain { Word::read(&mut Walk::new(text, 0), node) } else { None }
}

fn known_redirection(node: Node<'_>, text: &str, known: &mut Reading) {
    let Some(target) = node.child_by_field_name("destination") else { return };
    let Some(path) = plain_word(target, text).and_then(|word| word.value) else { return };
    let source = slice(node, text);
    if is_stream(&path) || path.parse::<u32>().is_ok() {
        return;
    }
    if source.contains('>') {
        known.add_write(path.clone(), Writer::Redirection);
    }
    known.add_place(path);
}

/// The program itself, without the directory it is in.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
