//! Which paths a command names.
//!
//! Only what is plain: an argument with a variable or a substitution in it could be anything and
//! is left to the command's own pattern.

use super::slice;
use tree_sitter::Node;

/// Commands whose arguments are paths.
const ON_FILES: [&str; 12] =
    ["cd", "chdir", "popd", "pushd", "rm", "cp", "mv", "mkdir", "touch", "chmod", "chown", "cat"];

/// Targets of redirections that are no files.
const STREAMS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

pub(super) fn of_command(node: Node<'_>, name: &str, text: &str) -> Vec<String> {
    if !ON_FILES.contains(&name) {
        return Vec::new();
    }
    let mut cursor = node.walk();
    let arguments = node.children_by_field_name("argument", &mut cursor);
    let is_mode = |argument: &str| name == "chmod" && argument.starts_with('+');
    arguments
        .filter_map(|argument| plain(argument, text))
        .filter(|argument| !argument.starts_with('-') && !is_mode(argument))
        .collect()
}

pub(super) fn of_redirect(node: Node<'_>, text: &str) -> Option<String> {
    let target = node.child_by_field_name("destination")?;
    // `2>&1` names a stream by its number.
    if target.kind() == "number" || slice(node, text).contains(">&") || slice(node, text).contains("<&") {
        return None;
    }
    plain(target, text).filter(|path| !STREAMS.contains(&path.as_str()))
}

/// The value of an argument, when it can be known: quotes removed, cut at the first wildcard.
fn plain(node: Node<'_>, text: &str) -> Option<String> {
    let source = slice(node, text);
    if !is_static(node) || source.contains('`') {
        return None;
    }
    let value = match node.kind() {
        "raw_string" | "string" => unquoted(source),
        _ => {
            let whole = unquoted(source);
            let wild = whole.find(['*', '?', '[', '{']).unwrap_or(whole.len());
            whole[..wild].to_owned()
        }
    };
    (!value.is_empty()).then_some(value)
}

fn is_static(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    match node.kind() {
        "word" | "raw_string" | "string_content" | "number" | "brace_expression" | "extglob_pattern" => true,
        "string" | "concatenation" => node.named_children(&mut cursor).all(is_static),
        _ => false,
    }
}

/// As the shell would pass it on, for texts without expansions.
pub(super) fn unquoted(source: &str) -> String {
    let mut value = String::with_capacity(source.len());
    let mut quote = None;
    let mut letters = source.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => value.extend(letters.next()),
            _ => value.push(letter),
        }
    }
    value
}
