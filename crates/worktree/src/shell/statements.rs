//! The walk over a parsed command: which statements are understood, and what they give.
//!
//! Every function answers `None` for "not understood"; then nothing of the walk counts.

use super::words::Word;
use super::{Reading, always, builtins, conditions, forms, is_name, places, slice};
use tree_sitter::Node;

/// Deeper than a person writes and shallower than our stack.
const DEPTH_MAX: usize = 200;

/// More commands in one text than anybody would look at.
const COMMANDS_MAX: usize = 1_000;

/// Commands that only change the directory: judged by where they lead, not by their name.
const MOVES: [&str; 4] = ["cd", "chdir", "popd", "pushd"];

/// The grammar reads some of them as names of commands (`time { a; }`).
const RESERVED: [&str; 23] = [
    "if", "then", "elif", "else", "fi", "case", "esac", "for", "select", "while", "until", "do", "done",
    "in", "function", "coproc", "{", "}", "!", "[[", "]]", "[", "]",
];

#[derive(Debug)]
pub(super) struct Walk<'t> {
    pub(super) text: &'t str,
    pub(super) nested: usize,
    pub(super) reading: Reading,
    depth: usize,
    loops: usize,
    /// The directories the text may have moved to, below the first; the first is where it begins.
    bases: Vec<String>,
    /// It moved to where the text does not say.
    lost: bool,
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t str, nested: usize) -> Self {
        Self {
            text,
            nested,
            reading: Reading::default(),
            depth: 0,
            loops: 0,
            bases: vec![String::new()],
            lost: false,
        }
    }

    pub(super) fn statement(&mut self, node: Node<'_>) -> Option<()> {
        if self.depth > DEPTH_MAX || node.is_missing() || node.is_error() {
            return None;
        }
        self.depth += 1;
        let understood = self.one_statement(node);
        self.depth -= 1;
        understood
    }

    fn one_statement(&mut self, node: Node<'_>) -> Option<()> {
        match node.kind() {
            // Arithmetic evaluates names, and names may hold more than numbers.
            "compound_statement" if slice(node, self.text).starts_with("((") => None,
            "program" | "list" | "pipeline" | "subshell" | "compound_statement" | "negated_command"
            | "do_group" | "if_statement" | "elif_clause" | "else_clause" => self.children(node),
            "while_statement" => self.in_loop(|walk| walk.children(node)),
            "for_statement" => self.in_loop(|walk| walk.for_words(node)),
            "case_statement" => self.case(node),
            "redirected_statement" => self.redirected(node),
            "command" => self.command(node),
            "declaration_command" => self.declaration(node),
            "unset_command" => self.unset(node),
            "variable_assignment" => {
                self.assignment(node)?;
                // `PATH=…` changes what later commands mean.
                let source = slice(node, self.text).trim();
                self.reading.add(source, always::exact(source));
                Some(())
            }
            "variable_assignments" => self.children(node),
            "test_command" => conditions::test(self, node),
            "comment" => self.comment(node),
            _ => None,
        }
    }

    fn children(&mut self, node: Node<'_>) -> Option<()> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor).try_for_each(|child| self.statement(child))
    }

    fn in_loop(&mut self, walk: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.loops += 1;
        let understood = walk(self);
        self.loops -= 1;
        understood
    }

    /// `for x in a b; do …; done`. The variable must be one that means nothing to anybody else.
    fn for_words(&mut self, node: Node<'_>) -> Option<()> {
        let variable = slice(node.child_by_field_name("variable")?, self.text);
        let is_for = node.child(0).is_some_and(|word| word.kind() == "for");
        if !is_for || !is_harmless_name(variable) {
            return None;
        }
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        for value in values {
            Word::read(self, value)?;
        }
        self.statement(node.child_by_field_name("body")?)
    }

    fn case(&mut self, node: Node<'_>) -> Option<()> {
        Word::read(self, node.child_by_field_name("value")?)?;
        let mut cursor = node.walk();
        let items: Vec<Node<'_>> =
            node.named_children(&mut cursor).filter(|child| child.kind() == "case_item").collect();
        for item in items {
            let mut cursor = item.walk();
            let mut more = cursor.goto_first_child();
            while more {
                let child = cursor.node();
                match cursor.field_name() {
                    Some("value") if child.kind() == "extglob_pattern" => {
                        let source = slice(child, self.text);
                        if source.contains(['$', '`', '(', '\\', '"', '\'']) {
                            return None;
                        }
                    }
                    Some("value") => {
                        Word::read(self, child)?;
                    }
                    _ if child.is_named() => self.statement(child)?,
                    _ => {}
                }
                more = cursor.goto_next_sibling();
            }
        }
        Some(())
    }

    fn redirected(&mut self, node: Node<'_>) -> Option<()> {
        match node.child_by_field_name("body") {
            Some(body) => self.statement(body)?,
            None => {
                // Nothing but redirections: a file is made or emptied.
                let source = slice(node, self.text).trim();
                self.reading.add(source, always::exact(source));
            }
        }
        let body = node.child_by_field_name("body").map(|body| body.id());
        let mut cursor = node.walk();
        let redirections: Vec<Node<'_>> =
            node.named_children(&mut cursor).filter(|child| Some(child.id()) != body).collect();
        redirections.into_iter().try_for_each(|redirection| self.redirection(redirection))
    }

    /// A relative path, from every directory the text may be in by now.
    pub(super) fn seen_from_here(&self, path: &str) -> Option<Vec<String>> {
        if path.starts_with(['/', '~']) {
            return Some(vec![path.to_owned()]);
        }
        if self.lost {
            return None;
        }
        let from = |base: &String| if base.is_empty() { path.to_owned() } else { format!("{base}/{path}") };
        Some(self.bases.iter().map(from).collect())
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> Option<()> {
        let name = node.child_by_field_name("name")?;
        if name.kind() != "variable_name" || !is_name(slice(name, self.text)) {
            return None;
        }
        let Some(value) = node.child_by_field_name("value") else { return Some(()) };
        if value.kind() != "array" {
            return Word::read(self, value).map(|_| ());
        }
        let mut cursor = value.walk();
        let elements: Vec<Node<'_>> = value.named_children(&mut cursor).collect();
        // `([x]=1)`: a subscript is evaluated, and a name in it may hold more than a number.
        if elements.iter().any(|element| slice(*element, self.text).starts_with('[')) {
            return None;
        }
        elements.into_iter().try_for_each(|element| Word::read(self, element).map(|_| ()))
    }

    /// An assignment that other programs see. A rule about `export *` is not about what they run for it.
    fn assignment_for_others(&mut self, node: Node<'_>) -> Option<()> {
        let name = node.child_by_field_name("name")?;
        if !builtins::is_plain_variable(slice(name, self.text)) {
            return None;
        }
        self.assignment(node)
    }

    fn command(&mut self, node: Node<'_>) -> Option<()> {
        let here = self.reading.place();
        let mut words = Vec::new();
        let mut has_assignment = false;
        let mut has_redirection = self.around(node).is_some();
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let mut end = node.start_byte();
        for child in children {
            // A line that goes on inside of a word is two words to the grammar and one to bash.
            let gap = self.text.get(end..child.start_byte())?;
            if gap.contains("\\\n") && !gap.starts_with([' ', '\t']) {
                return None;
            }
            end = child.end_byte();
            match child.kind() {
                "variable_assignment" => {
                    has_assignment = true;
                    self.assignment_for_others(child)?;
                }
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    has_redirection = true;
                    self.redirection(child)?;
                }
                "command_name" => words.push(Word::read(self, child.named_child(0)?)?),
                "comment" => self.comment(child)?,
                _ if child.is_named() => words.push(Word::read(self, child)?),
                "$" | "==" | "=~" => words.push(Word::plain(child.kind())),
                _ => return None,
            }
        }
        let source = slice(self.around(node).unwrap_or(node), self.text).trim();
        let name = words.first()?.value.clone()?;
        let is_name_written_plainly =
            !name.contains(['*', '?', '[', ']', '{', '}', '(', ')', '<', '>', ';', '&', '|', '\n', '$', '`']);
        if name.is_empty() || !is_name_written_plainly || RESERVED.contains(&words[0].source.as_str()) {
            return None;
        }
        builtins::check(&words)?;
        let commands = forms::peeled(&words);
        if commands.len() >= forms::WRAPPED_MAX || self.reading.patterns.len() >= COMMANDS_MAX {
            return None;
        }
        forms::add(self, &commands);
        let exact = has_assignment || has_redirection;
        if MOVES.contains(&name.as_str()) && !exact {
            return self.moved(&words, source);
        }
        if MOVES.contains(&name.as_str()) {
            self.lost = true;
        }
        for words in &commands {
            self.name_places(words)?;
        }
        let always = if exact { always::exact(source) } else { always::of(&words, source) };
        self.reading.add_at(here, source, always);
        Some(())
    }

    /// The redirected statement whose body is just this command.
    fn around<'n>(&self, node: Node<'n>) -> Option<Node<'n>> {
        node.parent().filter(|parent| parent.kind() == "redirected_statement")
    }

    fn name_places(&mut self, words: &[Word]) -> Option<()> {
        for named in places::of_command(words) {
            for path in self.seen_from_here(&named.path)? {
                if named.is_written {
                    self.reading.add_write(path.clone(), named.by);
                }
                if named.is_place {
                    self.reading.add_place(path);
                }
            }
        }
        Some(())
    }

    /// `cd there`: judged by where it leads. A move that the text does not settle is judged like
    /// any other command.
    fn moved(&mut self, words: &[Word], source: &str) -> Option<()> {
        let targets: Vec<&Word> =
            words[1..].iter().filter(|word| !word.source.starts_with('-') || word.source == "-").collect();
        let target = match (words[0].value.as_deref(), &targets[..]) {
            (Some("cd" | "chdir"), []) => Some("~".to_owned()),
            (Some("cd" | "chdir" | "pushd"), [target])
                if target.source != "-" && !target.source.starts_with('+') =>
            {
                target.value.clone().filter(|_| !target.is_wild)
            }
            _ => None,
        };
        let Some(target) = target else {
            self.lost = true;
            self.reading.add(source, always::exact(source));
            return Some(());
        };
        let is_relative = !target.starts_with(['/', '~']);
        if is_relative && self.loops > 0 {
            self.lost = true;
        }
        let places = self.seen_from_here(&target).unwrap_or_default();
        for place in &places {
            self.reading.add_place(place.clone());
        }
        match is_relative {
            true => self.bases.extend(places),
            false => self.bases.push(target),
        }
        Some(())
    }

    /// `export A=1`. Options change what an assignment means (`declare -i` evaluates it).
    fn declaration(&mut self, node: Node<'_>) -> Option<()> {
        let keyword = node.child(0)?.kind();
        if !matches!(keyword, "export" | "readonly" | "local") {
            return None;
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        for child in children {
            match child.kind() {
                "variable_assignment" => self.assignment_for_others(child)?,
                "variable_name" if builtins::is_plain_variable(slice(child, self.text)) => {}
                _ => return None,
            }
        }
        self.judged_by_text(node);
        Some(())
    }

    /// `unset a`. A subscript would be evaluated.
    fn unset(&mut self, node: Node<'_>) -> Option<()> {
        let mut cursor = node.walk();
        let is_plain = |child: Node<'_>| {
            let source = slice(child, self.text);
            is_name(source.strip_prefix('-').unwrap_or(source))
        };
        if !node.named_children(&mut cursor).all(is_plain) {
            return None;
        }
        self.judged_by_text(node);
        Some(())
    }

    pub(super) fn judged_by_text(&mut self, node: Node<'_>) {
        let source = slice(self.around(node).unwrap_or(node), self.text).trim();
        self.reading.add(source, always::exact(source));
    }

    /// A comment begins a word; elsewhere `#` is a letter, and what follows is run.
    pub(super) fn comment(&self, node: Node<'_>) -> Option<()> {
        let before = self.text.get(..node.start_byte())?;
        let mut letters = before.chars().rev();
        let is_start = match letters.next() {
            None | Some(';') => true,
            Some(' ' | '\t' | '\n') => letters.next() != Some('\\'),
            Some(_) => false,
        };
        is_start.then_some(())
    }
}

/// A variable that no program looks at.
pub(super) fn is_harmless_name(name: &str) -> bool {
    is_name(name)
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
        && name.chars().any(|letter| letter.is_ascii_lowercase())
        && !name.ends_with("_proxy")
}
