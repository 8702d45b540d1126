//! Here-documents: text that the shell hands to a command.
//!
//! With a quoted delimiter the text is only text. Without, the shell expands it: plain variables
//! are understood, everything else in it is not. Where the text ends is looked up line by line
//! as bash does it, and must be where the grammar ended it: otherwise what the grammar takes for
//! text might be run.

use super::slice;
use super::statements::Walk;
use tree_sitter::Node;

pub(super) fn read(walk: &mut Walk<'_>, node: Node<'_>) -> Option<()> {
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let start = *children.iter().find(|child| child.kind() == "heredoc_start")?;
    let body = children.iter().find(|child| child.kind() == "heredoc_body").copied();
    let end = *children.iter().find(|child| child.kind() == "heredoc_end")?;
    let strips_tabs = children.iter().any(|child| child.kind() == "<<-");
    let (delimiter, is_quoted) = delimiter(slice(start, walk.text))?;

    ends_where_bash_ends_it(walk.text, start, end, delimiter, strips_tabs)?;
    if let Some(body) = body
        && !is_quoted
    {
        is_plain_text(slice(body, walk.text))?;
    }
    for child in children {
        match child.kind() {
            "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor" => {}
            "file_redirect" => walk.redirection(child)?,
            // A second document on the line would move the end of the first.
            "heredoc_redirect" => return None,
            _ if child.is_named() => walk.statement(child)?,
            _ => {}
        }
    }
    Some(())
}

/// The word that ends the text, and whether it was quoted.
fn delimiter(source: &str) -> Option<(&str, bool)> {
    let quotes = [("'", "'"), ("\"", "\""), ("\\", "")];
    let inside = |(open, close): &(&str, &str)| source.strip_prefix(open)?.strip_suffix(close);
    let (word, is_quoted) = match quotes.iter().find_map(inside) {
        Some(word) => (word, true),
        None => (source, false),
    };
    let is_plain =
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_plain.then_some((word, is_quoted))
}

fn ends_where_bash_ends_it(
    text: &str,
    start: Node<'_>,
    end: Node<'_>,
    delimiter: &str,
    strips_tabs: bool,
) -> Option<()> {
    let after = start.end_byte();
    let first_line = after + text.get(after..)?.find('\n')? + 1;
    if !ends_on_its_line(text.get(after..first_line)?) {
        return None;
    }
    let mut at = first_line;
    for line in text.get(first_line..)?.split('\n') {
        let plain = if strips_tabs { line.trim_start_matches('\t') } else { line };
        if plain == delimiter {
            return text.get(at..at + line.len())?.contains(delimiter).then_some(()).filter(|()| {
                (at..=at + line.len()).contains(&end.start_byte()) && end.end_byte() <= at + line.len()
            });
        }
        at += line.len() + 1;
    }
    None
}

/// Whether the command that takes the document ends with the line that names it: only then does the
/// document begin on the next one. A second document would begin where this one ends.
fn ends_on_its_line(rest: &str) -> bool {
    let is_even = |quote: char| rest.matches(quote).count().is_multiple_of(2);
    !rest.contains("<<") && !rest.contains(['(', '`', '\\']) && is_even('\'') && is_even('"')
}

/// Expanded by the shell, but for plain variables there is nothing to expand.
fn is_plain_text(body: &str) -> Option<()> {
    let mut letters = body.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // A line that goes on may hide the end of the document, and what `$` stands before.
            '\\' => {
                if let Some('\n') = letters.next() {
                    return None;
                }
            }
            '`' => return None,
            '$' if letters.peek().is_some_and(|next| "({[\"'".contains(*next)) => return None,
            _ => {}
        }
    }
    Some(())
}
