//! `[ … ]`, `[[ … ]]` and `test`: they look and change nothing, unless they evaluate.
//!
//! `-v` and `-R` evaluate a subscript, and `[[ a -eq b ]]` evaluates both sides. A word that is not
//! known could be such an operator; it is understood only where it can be nothing but an operand.

use super::slice;
use super::statements::Walk;
use super::words::Word;
use tree_sitter::Node;

const UNARY: [&str; 22] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-t", "-u", "-w", "-x",
    "-z", "-G", "-L", "-O", "-S",
];

const OF_TEXT: [&str; 8] = ["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"];

const OF_NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

const BETWEEN: [&str; 5] = ["&&", "||", "!", "(", ")"];

/// A test in brackets. It gives no pattern: it is judged with what it decides about.
pub(super) fn test(walk: &mut Walk<'_>, node: Node<'_>) -> Option<()> {
    let source = slice(node, walk.text);
    let evaluates = match node.child(0)?.kind() {
        "[[" => true,
        "[" => false,
        _ => return None,
    };
    let close = if evaluates { "]]" } else { "]" };
    if !source.ends_with(close) {
        return None;
    }
    let mut words = Vec::new();
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        if !matches!(child.kind(), "[[" | "]]" | "[" | "]") {
            gather(walk, child, &mut words)?;
        }
    }
    are_understood(&words, evaluates)
}

/// The words of an expression, in the order in which they stand.
fn gather(walk: &mut Walk<'_>, node: Node<'_>, words: &mut Vec<Word>) -> Option<()> {
    match node.kind() {
        "unary_expression" | "binary_expression" | "parenthesized_expression" => {
            let mut cursor = node.walk();
            let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
            children.into_iter().try_for_each(|child| gather(walk, child, words))
        }
        "test_operator" => {
            words.push(Word::plain(slice(node, walk.text)));
            Some(())
        }
        _ if node.is_named() => {
            words.push(Word::read(walk, node)?);
            Some(())
        }
        _ => {
            words.push(Word::plain(slice(node, walk.text)));
            Some(())
        }
    }
}

/// Whether these words of a test evaluate nothing.
pub(super) fn are_understood(words: &[Word], evaluates: bool) -> Option<()> {
    let is = |word: &Word, list: &[&str]| {
        word.value.as_deref() == Some(word.source.as_str()) && list.contains(&word.source.as_str())
    };
    let mut rest = words;
    let mut count = 0;
    while let Some(first) = rest.first() {
        count += 1;
        if is(first, &BETWEEN) || (count > 1 && is(first, &["-a", "-o"])) {
            rest = &rest[1..];
            continue;
        }
        if let [operator, operand, after @ ..] = rest
            && is(operator, &UNARY)
            && !operand.may_split
        {
            rest = after;
            continue;
        }
        match rest {
            [left, operator, right, after @ ..]
                if !left.may_split && !right.may_split && is(operator, &OF_TEXT) =>
            {
                rest = after;
            }
            [left, operator, right, after @ ..] if is(operator, &OF_NUMBERS) => {
                let is_number = |word: &Word| {
                    word.value.as_ref().is_some_and(|value| value.parse::<i64>().is_ok())
                        || matches!(word.source.as_str(), "$#" | "$?" | "\"$#\"" | "\"$?\"")
                };
                let are_fit = match evaluates {
                    true => is_number(left) && is_number(right),
                    false => !left.may_split && !right.may_split,
                };
                let are_numbers = is_number(left) && is_number(right);
                if !are_fit && !are_numbers {
                    return None;
                }
                rest = after;
            }
            // A word alone: true if it is not empty.
            [word] if !word.may_split && count == 1 => rest = &[],
            _ => return None,
        }
    }
    Some(())
}
