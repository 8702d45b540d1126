//! Which paths a command names.
//!
//! Only what is plain: an argument with a variable (but for `$HOME`) or a substitution in it could be
//! anything and is left to the command's own pattern. Braces are written out; a wildcard ends what is
//! known of a place, and stays in a path that is written to.

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

/// Options that name a file, or a directory, that is written to.
const WRITE_BY_OPTION: [(&str, &str); 10] = [
    ("cp", "-t --target-directory"),
    ("curl", "-o --output --output-dir"),
    ("dd", "of="),
    ("install", "-t --target-directory"),
    ("ln", "-t --target-directory"),
    ("mv", "-t --target-directory"),
    ("sort", "-o --output"),
    ("tar", "-C --directory"),
    ("unzip", "-d"),
    ("wget", "-O -P --output-document --directory-prefix"),
];

/// So many words may become of one with braces.
const BRACES_MAX: usize = 64;

/// Targets of redirections that are no files.
const STREAMS: [&str; 5] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Of a text that is not understood, so many nodes are looked at.
const NODES_MAX: usize = 20_000;

pub(super) fn is_stream(path: &str) -> bool {
    STREAMS.contains(&path)
        || path.strip_prefix("/dev/fd/").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A path that a command names.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) path: String,
    /// It may lie outside, and then is asked about.
    pub(super) is_place: bool,
    pub(super) is_written: bool,
    /// Whoever writes it: what git writes because an option says so is asked about like a redirection.
    pub(super) by: Writer,
}

/// The paths among the arguments of a command.
pub(super) fn of_command(words: &[Word]) -> Vec<Named> {
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(&name.form);
    let mut named = written_by_option(name, arguments);
    let Some((_, writes)) = ON_FILES.iter().find(|(program, _)| *program == name) else { return named };
    let is_mode = |argument: &str| name == "chmod" && argument.starts_with('+');
    for path in arguments.iter().flat_map(paths_of) {
        if path.starts_with('-') || is_mode(&path) {
            continue;
        }
        named.extend(before_wildcard(&path).map(|path| Named {
            path,
            is_place: true,
            is_written: false,
            by: Writer::Program,
        }));
        if *writes {
            named.push(Named { path, is_place: false, is_written: true, by: Writer::Program });
        }
    }
    named
}

/// Files that a command writes to because an option says so. They count as settings, if they are such.
fn written_by_option(name: &str, arguments: &[Word]) -> Vec<Named> {
    let written = |path: String| Named { path, is_place: false, is_written: true, by: Writer::Program };
    let has = |options: &[&str]| {
        arguments.iter().any(|word| options.iter().any(|option| word.form.starts_with(option)))
    };
    let changes_all = match name {
        "sed" | "perl" | "ruby" => has(&["-i", "--in-place", "-pi", "-ni", "-Ei", "-ri"]),
        "rsync" | "patch" | "ed" | "ex" => true,
        _ => false,
    };
    if changes_all {
        return arguments
            .iter()
            .flat_map(paths_of)
            .filter(|path| !path.starts_with('-'))
            .map(written)
            .collect();
    }
    if name == "git" {
        let asked = |path: String| Named { path, is_place: true, is_written: true, by: Writer::Redirection };
        let configuration = git_configuration(arguments).into_iter().map(written);
        return configuration.chain(git_outputs(arguments).into_iter().map(asked)).collect();
    }
    let Some((_, options)) = WRITE_BY_OPTION.iter().find(|(program, _)| *program == name) else {
        return Vec::new();
    };
    let mut paths: Vec<Named> = named_by_address(name, arguments).into_iter().map(written).collect();
    let mut is_value = false;
    for path in arguments.iter().flat_map(paths_of) {
        // `-so` is `-s -o`.
        let is_gathered = |option: &str| {
            option.len() == 2
                && !path.starts_with("--")
                && path.starts_with('-')
                && path.ends_with(&option[1..])
        };
        let option = options
            .split_whitespace()
            .find_map(|option| if is_gathered(option) { Some("") } else { path.strip_prefix(option) });
        match option {
            _ if is_value => {
                is_value = false;
                paths.push(written(path));
            }
            Some("") => is_value = true,
            Some(attached) => paths.push(written(attached.trim_start_matches('=').to_owned())),
            None => {}
        }
    }
    paths
}

/// Files that are named like the end of the address they are fetched from: `curl -O`, and `wget` unless it is told a
/// name.
fn named_by_address(name: &str, arguments: &[Word]) -> Vec<String> {
    let has_short = |letter: char| {
        let is_gathered = |form: &str| form.starts_with('-') && !form.starts_with("--");
        arguments.iter().any(|word| is_gathered(&word.form) && word.form.contains(letter))
    };
    let has_long = |option: &str| arguments.iter().any(|word| word.form.starts_with(option));
    let is_named = match name {
        "curl" => has_short('O') || has_long("--remote-name"),
        "wget" => !has_short('O') && !has_long("--output-document"),
        _ => false,
    };
    if !is_named {
        return Vec::new();
    }
    let addresses = arguments.iter().flat_map(paths_of).filter(|text| !text.starts_with('-'));
    let last = |address: String| {
        let path = address.split(['?', '#']).next().unwrap_or_default();
        base_name(path).to_owned()
    };
    addresses.map(last).filter(|name| !name.is_empty()).collect()
}

/// `git config name value` writes to a file that says what git runs.
fn git_configuration(arguments: &[Word]) -> Option<String> {
    const READS: [&str; 9] = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--list",
        "-l",
        "get",
        "list",
    ];
    let at = arguments.iter().position(|word| word.form == "config")?;
    let rest = &arguments[at + 1..];
    let is_read = rest.iter().any(|word| READS.contains(&word.form.as_str()));
    let values = rest.iter().filter(|word| !word.form.starts_with('-')).count();
    let writes = !is_read && (values != 1 || rest.iter().any(|word| word.form.starts_with("--unset")));
    writes.then(|| ".git/config".to_owned())
}

/// Files and directories that git writes because it is told their name: `git log --output=x`, `git format-patch -o x`,
/// `git worktree add x`, `git bundle create x`, `git clone url x`. One with a variable in it stands for itself.
fn git_outputs(arguments: &[Word]) -> Vec<String> {
    let text = |word: &Word| word.value.clone().unwrap_or_else(|| word.source.clone());
    let says = |name: &str| arguments.iter().any(|word| word.form == name);
    let takes_short = says("format-patch") || says("archive");
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let text_of_word = text(word);
        let (option, attached) = match text_of_word.split_once('=') {
            Some((option, attached)) => (option, Some(attached)),
            None => (text_of_word.as_str(), None),
        };
        // git takes the beginning of an option for the option.
        let is_long = option.len() > 4
            && ["--output", "--output-directory"].iter().any(|whole| whole.starts_with(option));
        let short = text_of_word.strip_prefix("-o").filter(|_| takes_short);
        let value = match (is_long, attached, short) {
            (true, Some(attached), _) => Some(attached.to_owned()),
            (true, None, _) | (_, _, Some("")) => arguments.get(at + 1).map(text),
            (false, _, Some(attached)) => Some(attached.to_owned()),
            (false, _, None) => None,
        };
        found.extend(value.filter(|value| !value.is_empty()));
    }
    found.extend(git_target(arguments));
    found
}

/// The directory or file that a subcommand of git makes.
fn git_target(arguments: &[Word]) -> Option<String> {
    // How many words stand between the subcommand and the target.
    const TARGETS: [(&[&str], usize); 5] = [
        (&["worktree", "add"], 0),
        (&["worktree", "move"], 1),
        (&["bundle", "create"], 0),
        (&["clone"], 1),
        (&["init"], 0),
    ];
    const WITH_VALUE: [&str; 8] =
        ["-b", "-B", "--reason", "-o", "--origin", "--depth", "--branch", "--template"];
    let (before, rest) = TARGETS.iter().find_map(|(names, before)| {
        let is_there = |words: &[Word]| words.iter().zip(*names).all(|(word, name)| word.form == *name);
        let at = arguments.windows(names.len()).position(is_there)?;
        Some((*before, &arguments[at + names.len()..]))
    })?;
    let mut plain = Vec::new();
    let mut is_value = false;
    for word in rest {
        let takes_value = WITH_VALUE.contains(&word.form.as_str());
        if !is_value && !word.form.starts_with('-') {
            plain.push(word);
        }
        is_value = takes_value && !is_value;
    }
    plain.get(before).map(|word| word.value.clone().unwrap_or_else(|| word.source.clone()))
}

/// The paths that a word stands for, as far as its text says. A wildcard stays in them.
pub(super) fn paths_of(word: &Word) -> Vec<String> {
    let value = match &word.value {
        Some(value) if !word.is_wild => return vec![value.clone()],
        Some(value) => value.clone(),
        None => return below_home(&word.source).into_iter().collect(),
    };
    let mut paths = vec![value];
    // Without its braces a path is shorter, so this ends; many braces multiply, so it has a bound.
    while paths.len() < BRACES_MAX
        && let Some((at, found)) = paths.iter().enumerate().find_map(|(at, path)| Some((at, braces(path)?)))
    {
        paths.splice(at..=at, found);
    }
    paths.retain(|path| !path.is_empty());
    paths
}

/// `$HOME/x`, with or without quotes.
fn below_home(source: &str) -> Option<String> {
    let bare = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(source);
    let rest = bare.strip_prefix("$HOME").or_else(|| bare.strip_prefix("${HOME}"))?;
    let is_plain = (rest.is_empty() || rest.starts_with('/'))
        && !rest.contains(['$', '`', '"', '\'', '\\', '*', '?', '[', '{']);
    is_plain.then(|| format!("~{rest}"))
}

/// The words that `a{b,c}d` becomes: its innermost braces, written out.
fn braces(path: &str) -> Option<Vec<String>> {
    let open = path.match_indices('{').map(|(at, _)| at).rfind(|at| {
        let rest = &path[*at..];
        rest.find('}').is_some_and(|close| rest[..close].contains(','))
    })?;
    let close = open + path[open..].find('}')?;
    let inside = path.get(open + 1..close)?;
    Some(inside.split(',').map(|one| format!("{}{one}{}", &path[..open], &path[close + 1..])).collect())
}

/// What is known of a path with a wildcard: its beginning, or, where it goes up again behind the wildcard,
/// where it leads as written.
pub(super) fn before_wildcard(path: &str) -> Option<String> {
    let Some(wild) = path.find(['*', '?', '[', '{']) else { return Some(path.to_owned()) };
    if !path[wild..].split('/').any(|name| name == "..") {
        return Some(path[..wild].to_owned()).filter(|known| !known.is_empty());
    }
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match (name, names.last()) {
            ("..", Some(last)) if !matches!(*last, ".." | "") => drop(names.pop()),
            (".", _) => {}
            _ => names.push(name),
        }
    }
    Some(names.join("/"))
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
                for named in of_command(&words) {
                    if named.is_written {
                        known.add_write(named.path.clone(), named.by);
                    }
                    if named.is_place {
                        known.add_place(named.path);
                    }
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
    // What is not known of a target stands for itself, so that a rule about every file is about it too.
    let path = plain_word(target, text)
        .and_then(|word| word.value)
        .or_else(|| below_home(slice(target, text)))
        .unwrap_or_else(|| slice(target, text).to_owned());
    let source = slice(node, text);
    if is_stream(&path) || path.trim_end_matches('-').parse::<u32>().is_ok() || path == "-" {
        return;
    }
    if source.contains('>') && !path.starts_with(">(") {
        known.add_write(path.clone(), Writer::Redirection);
    }
    if let Some(place) = before_wildcard(&path) {
        known.add_place(place);
    }
}

/// The program itself, without the directory it is in.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
