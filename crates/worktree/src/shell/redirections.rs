//! Redirections: where a command reads from and, above all, which files the shell itself writes.
//!
//! A target that is written to must be known from the text; one that is not makes the whole text not
//! understood. Streams (`2>&1`, `/dev/null`) are no files.

use super::statements::Walk;
use super::words::Word;
use super::{Writer, heredoc, places};
use tree_sitter::Node;

impl Walk<'_> {
    pub(super) fn redirection(&mut self, node: Node<'_>) -> Option<()> {
        match node.kind() {
            "file_redirect" => self.file_redirection(node),
            "heredoc_redirect" => heredoc::read(self, node),
            "herestring_redirect" => {
                let mut cursor = node.walk();
                let words: Vec<Node<'_>> = node
                    .named_children(&mut cursor)
                    .filter(|child| child.kind() != "file_descriptor")
                    .collect();
                let [word] = words[..] else { return None };
                Word::read(self, word).map(|_| ())
            }
            "comment" => self.comment(node),
            _ => None,
        }
    }

    fn file_redirection(&mut self, node: Node<'_>) -> Option<()> {
        let mut cursor = node.walk();
        let targets: Vec<Node<'_>> = node.children_by_field_name("destination", &mut cursor).collect();
        let mut cursor = node.walk();
        let operator = node.children(&mut cursor).find(|child| !child.is_named()).map(|one| one.kind())?;
        let target = match targets[..] {
            [] if matches!(operator, "<&-" | ">&-") => return Some(()),
            [target] => Word::read(self, target)?,
            // The grammar takes the words of `> file command` for further targets.
            _ => return None,
        };
        let path = target.value.clone();
        let is_stream = |path: &str| path == "-" || path.trim_end_matches('-').parse::<u32>().is_ok();
        match operator {
            ">&" | "<&" => match &path {
                Some(path) if is_stream(path) => return Some(()),
                Some(_) if operator == ">&" => {}
                _ => return None,
            },
            "<" | ">" | ">>" | "&>" | "&>>" | ">|" => {}
            _ => return None,
        }
        if target.is_process {
            return Some(());
        }
        let path = match path {
            Some(path) => path,
            // Where it reads from is shown by its text; where it writes to must be known.
            None if operator == "<" => return Some(()),
            None => return None,
        };
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            return None;
        }
        if places::is_stream(&path) {
            return Some(());
        }
        for path in self.seen_from_here(&path)? {
            if operator != "<" {
                self.reading.add_write(path.clone(), Writer::Redirection);
            }
            let known = if target.is_wild { places::before_wildcard(&path) } else { Some(path) };
            known.into_iter().for_each(|place| self.reading.add_place(place));
        }
        Some(())
    }
}
