//! One word of a command: what is known of its value, and which expansions are understood.
//!
//! Understood is what puts a text in place and can run nothing: `$x`, `${x}`, `${x:-default}`,
//! `${#x}`, `${x%.rs}` and their like, arithmetic of numbers. Not understood are the forms that
//! evaluate or assign: `${x@P}`, `${x:=…}`, `${!x}`, subscripts other than numbers, arithmetic with
//! names. Substitutions are walked as commands.

use super::statements::Walk;
use super::{is_name, slice};
use sturdy_session::rules::UNKNOWN;
use tree_sitter::Node;

/// A word as the shell would pass it on.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) source: String,
    /// The value, when the text alone says it.
    pub(super) value: Option<String>,
    /// The value with [`UNKNOWN`] in place of what is not known.
    pub(super) form: String,
    /// It may become no word or several.
    pub(super) may_split: bool,
    /// Wildcards or braces outside of quotes.
    pub(super) is_wild: bool,
    /// `<(…)`: a pipe, not a file.
    pub(super) is_process: bool,
}

impl Word {
    /// A word that is what it is.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            source: text.to_owned(),
            value: Some(text.to_owned()),
            form: text.to_owned(),
            may_split: false,
            is_wild: false,
            is_process: false,
        }
    }

    fn unknown(source: &str) -> Self {
        Self { value: None, form: UNKNOWN.to_string(), may_split: true, ..Self::plain(source) }
    }

    /// Reads a word and walks what is substituted in it.
    pub(super) fn read(walk: &mut Walk<'_>, node: Node<'_>) -> Option<Self> {
        let text = walk.text;
        let source = slice(node, text);
        match node.kind() {
            "word" => word(source),
            "number" if node.named_child_count() == 0 => Some(Self::plain(source)),
            "raw_string" => {
                let value = source.strip_prefix('\'')?.strip_suffix('\'')?;
                (!value.contains('\'')).then(|| Self { source: source.to_owned(), ..Self::plain(value) })
            }
            "ansi_c_string" => {
                let value = decoded(source.strip_prefix("$'")?.strip_suffix('\'')?)?;
                Some(Self { source: source.to_owned(), ..Self::plain(&value) })
            }
            "string" => string(walk, node),
            "concatenation" => concatenation(walk, node),
            "simple_expansion" => is_simple_expansion(source).then(|| Self::unknown(source)),
            "expansion" => is_understood_expansion(source).then(|| Self::unknown(source)),
            "arithmetic_expansion" => is_number_expression(source).then(|| Self::unknown(source)),
            "brace_expression" => {
                let is_plain = |letter: char| {
                    letter.is_ascii_alphanumeric() || matches!(letter, '{' | '}' | '.' | ',' | '-' | '_')
                };
                let wild = Self { is_wild: true, ..Self::unknown(source) };
                source.chars().all(is_plain).then_some(wild)
            }
            "command_substitution" => {
                substitution(walk, node)?;
                Some(Self::unknown(source))
            }
            "process_substitution" => {
                statements_in(walk, node)?;
                Some(Self { is_process: true, ..Self::unknown(source) })
            }
            _ => None,
        }
    }
}

fn statements_in(walk: &mut Walk<'_>, node: Node<'_>) -> Option<()> {
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
    children.into_iter().try_for_each(|child| walk.statement(child))
}

fn substitution(walk: &mut Walk<'_>, node: Node<'_>) -> Option<()> {
    let source = slice(node, walk.text);
    // Between backquotes a backslash means something else than elsewhere.
    let is_known = source.starts_with("$(") || (source.starts_with('`') && !source.contains('\\'));
    if !is_known || source.starts_with("$((") {
        return None;
    }
    if let Some(redirection) = node.child_by_field_name("redirect") {
        walk.redirection(redirection)?;
        let source = slice(redirection, walk.text);
        walk.reading.add(source, super::always::exact(source));
        return Some(());
    }
    statements_in(walk, node)
}

/// A word without quotes around it; it may have escapes and wildcards in it.
fn word(source: &str) -> Option<Word> {
    let mut value = String::new();
    let mut form = String::new();
    let mut is_wild = false;
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                // A line that goes on.
                Some('\n') => {}
                Some(escaped) => {
                    value.push(escaped);
                    form.push(escaped);
                }
                None => return None,
            },
            '`' | '"' | '\'' | '\n' | ' ' | '\t' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => return None,
            '$' if letters.peek().is_some() => return None,
            '*' | '?' | '[' | ']' => {
                is_wild = true;
                value.push(letter);
                form.push(UNKNOWN);
            }
            '{' | '}' => {
                is_wild = true;
                value.push(letter);
                form = UNKNOWN.to_string();
            }
            other => {
                value.push(other);
                form.push(other);
            }
        }
    }
    if source.contains(['{', '}']) && source != "{}" {
        // Braces multiply the word; nothing of it is sure.
        form = UNKNOWN.to_string();
    }
    if source == "{}" {
        form = "{}".to_owned();
        is_wild = false;
    }
    Some(Word { value: Some(value), form, may_split: is_wild, is_wild, ..Word::plain(source) })
}

fn string(walk: &mut Walk<'_>, node: Node<'_>) -> Option<Word> {
    let source = slice(node, walk.text);
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
    let is_static = children.iter().all(|child| child.kind() == "string_content");
    if is_static {
        let inner = source.strip_prefix('"')?.strip_suffix('"')?;
        let value = unescaped_in_quotes(inner)?;
        return Some(Word { source: source.to_owned(), ..Word::plain(&value) });
    }
    let mut form = String::new();
    for child in children {
        match child.kind() {
            "string_content" => form.push_str(&unescaped_in_quotes(slice(child, walk.text))?),
            _ => form.push_str(&Word::read(walk, child)?.form),
        }
    }
    // Quoted, it stays one word, unless it is a list of all arguments.
    let may_split = source.contains("$@") || source.contains("[@]") || source.contains("${@");
    Some(Word { value: None, form, may_split, ..Word::plain(source) })
}

/// Inside of double quotes a backslash escapes few letters. `None` when something would be
/// expanded that the grammar took for text.
fn unescaped_in_quotes(source: &str) -> Option<String> {
    let mut value = String::new();
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                '\n' => {}
                escaped @ ('$' | '`' | '"' | '\\') => value.push(escaped),
                other => {
                    value.push('\\');
                    value.push(other);
                }
            },
            '`' | '"' => return None,
            '$' => match letters.peek() {
                Some(next) if next.is_ascii_alphanumeric() || "_@*#?$!-({[".contains(*next) => return None,
                _ => value.push('$'),
            },
            other => value.push(other),
        }
    }
    Some(value)
}

fn concatenation(walk: &mut Walk<'_>, node: Node<'_>) -> Option<Word> {
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let mut whole = Word { source: slice(node, walk.text).to_owned(), ..Word::plain("") };
    let mut end = node.start_byte();
    for child in children {
        // Pieces of one word touch each other.
        if child.start_byte() != end {
            return None;
        }
        end = child.end_byte();
        let piece = match child.kind() {
            _ if child.is_named() => Word::read(walk, child)?,
            "$" => Word::plain("$"),
            _ => return None,
        };
        whole.value = whole.value.zip(piece.value).map(|(before, after)| before + &after);
        whole.form.push_str(&piece.form);
        whole.may_split |= piece.may_split;
        whole.is_wild |= piece.is_wild;
        whole.is_process |= piece.is_process;
    }
    if whole.source.contains('{') && whole.is_wild {
        whole.form = UNKNOWN.to_string();
    }
    // `$` before a quote begins another kind of quote.
    let is_ambiguous =
        whole.source.contains("$'") || whole.source.contains("$\"") || whole.source.contains("$`");
    (!is_ambiguous).then_some(whole)
}

fn is_simple_expansion(source: &str) -> bool {
    let Some(name) = source.strip_prefix('$') else { return false };
    is_name(name) || (name.len() == 1 && "0123456789@*#?$!-_".contains(name))
}

/// `${…}`, read as text: the grammar has more forms than we trust.
pub(super) fn is_understood_expansion(source: &str) -> bool {
    let Some(inner) = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return false };
    let inner = match inner.strip_prefix('#') {
        // A length, and nothing behind the name.
        Some(name) => return is_plain_variable(name),
        None => inner,
    };
    let end =
        inner.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(end);
    if !(is_name(name) || (!name.is_empty() && name.chars().all(|letter| letter.is_ascii_digit()))) {
        return false;
    }
    let rest = match rest.strip_prefix('[') {
        None => rest,
        Some(after) => {
            let Some((subscript, rest)) = after.split_once(']') else { return false };
            if !is_plain_subscript(subscript) {
                return false;
            }
            rest
        }
    };
    rest.is_empty() || is_plain_operation(rest)
}

fn is_plain_variable(name: &str) -> bool {
    match name.split_once('[') {
        None => is_name(name),
        Some((name, subscript)) => {
            is_name(name) && subscript.strip_suffix(']').is_some_and(is_plain_subscript)
        }
    }
}

/// Anything else is evaluated.
fn is_plain_subscript(subscript: &str) -> bool {
    subscript == "@"
        || subscript == "*"
        || (!subscript.is_empty() && subscript.chars().all(|letter| letter.is_ascii_digit()))
}

/// What may follow a name: a default, a cut, a replacement, a part by numbers. All of it plain text.
fn is_plain_operation(rest: &str) -> bool {
    let is_plain = |text: &str| {
        text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_./ *?:=,+%~#-".contains(letter))
    };
    if let Some(part) = rest.strip_prefix(':')
        && part.starts_with(|letter: char| letter.is_ascii_digit())
    {
        return part.chars().all(|letter| letter.is_ascii_digit() || letter == ':');
    }
    let operations = [":-", "-", ":+", "+", "%%", "%", "##", "#", "//", "/", "^^", "^", ",,", ","];
    operations.iter().find_map(|operation| rest.strip_prefix(operation)).is_some_and(is_plain)
}

/// Arithmetic without names.
fn is_number_expression(source: &str) -> bool {
    let inner = source.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|inner| {
        inner.chars().all(|letter| letter.is_ascii_digit() || " +*/%()<>=!&|^~?:-".contains(letter))
            && has_matching_brackets(inner)
    })
}

/// Where they do not match, as in `$((1>2)&(3))`, bash reads two commands in brackets instead.
fn has_matching_brackets(source: &str) -> bool {
    let mut open = 0_usize;
    for letter in source.chars() {
        match letter {
            '(' => open += 1,
            ')' if open == 0 => return false,
            ')' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

/// `$'…'` without its quotes. `None` for an escape we do not know.
fn decoded(source: &str) -> Option<String> {
    let mut value = String::new();
    let mut letters = source.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            value.push(letter);
            continue;
        }
        value.push(match letters.next()? {
            'n' => '\n',
            't' => '\t',
            letter @ ('\\' | '\'' | '"' | '?') => letter,
            _ => return None,
        });
    }
    Some(value)
}
