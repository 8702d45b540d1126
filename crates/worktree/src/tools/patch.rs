//! The patch format of `apply_patch`: reading it, and finding where each piece belongs.
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/a.rs
//! @@ fn main
//!  context
//! -old
//! +new
//! *** End Patch
//! ```
//!
//! Not here: files. `apply_patch.rs` reads and writes them.

mod apply;

pub(super) use apply::apply;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error("the patch has no \"*** Begin Patch\" and \"*** End Patch\" lines around it")]
    NoEnvelope,

    #[error("the patch changes nothing")]
    Empty,

    #[error("line {number} of the patch does not belong there: {line}")]
    Line { number: usize, line: String },

    #[error("these lines are not in the file:\n{0}")]
    NotThere(String),
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    Add { path: String, content: String },
    Delete { path: String },
    Update { path: String, moved_to: Option<String>, chunks: Vec<Chunk> },
}

/// One place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// A line to look for first, from `@@`.
    pub context: Option<String>,
    pub old: Vec<String>,
    pub new: Vec<String>,
    /// Stands at the end of the file.
    pub at_end: bool,
}

pub fn parse(text: &str) -> Result<Vec<Section>, PatchError> {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    // A heredoc or prose around the envelope is passed over.
    let begin =
        lines.iter().position(|line| line.trim() == "*** Begin Patch").ok_or(PatchError::NoEnvelope)?;
    let end = lines.iter().rposition(|line| line.trim() == "*** End Patch").ok_or(PatchError::NoEnvelope)?;
    if end < begin {
        return Err(PatchError::NoEnvelope);
    }
    let mut reader = Reader { lines: &lines[begin + 1..end], at: 0, first: begin + 2 };
    let mut sections = Vec::new();
    while let Some(line) = reader.next() {
        if line.trim().is_empty() {
            continue;
        }
        let path = |prefix| line.strip_prefix(prefix).map(|path: &str| path.trim().to_owned());
        if let Some(path) = path("*** Add File:") {
            sections.push(Section::Add { path, content: reader.added()? });
        } else if let Some(path) = path("*** Delete File:") {
            sections.push(Section::Delete { path });
        } else if let Some(path) = path("*** Update File:") {
            sections.push(reader.updated(path)?);
        } else {
            return Err(reader.misplaced(line));
        }
    }
    if sections.is_empty() { Err(PatchError::Empty) } else { Ok(sections) }
}

struct Reader<'a> {
    lines: &'a [&'a str],
    at: usize,
    /// The number of the first line, for messages.
    first: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let line = self.lines.get(self.at).copied();
        self.at += 1;
        line
    }

    /// The next line of this section.
    fn next_here(&mut self) -> Option<&'a str> {
        let line = self.lines.get(self.at).copied()?;
        let is_header =
            ["*** Add File:", "*** Delete File:", "*** Update File:"].iter().any(|one| line.starts_with(one));
        if is_header {
            return None;
        }
        self.at += 1;
        Some(line)
    }

    fn misplaced(&self, line: &str) -> PatchError {
        PatchError::Line { number: self.first + self.at - 1, line: line.to_owned() }
    }

    fn added(&mut self) -> Result<String, PatchError> {
        let mut content = String::new();
        while let Some(line) = self.next_here() {
            match line.strip_prefix('+') {
                Some(text) => {
                    content.push_str(text);
                    content.push('\n');
                }
                None if line.trim().is_empty() => {}
                None => return Err(self.misplaced(line)),
            }
        }
        Ok(content)
    }

    fn updated(&mut self, path: String) -> Result<Section, PatchError> {
        let mut moved_to = None;
        let mut chunks: Vec<Chunk> = Vec::new();
        while let Some(line) = self.next_here() {
            if let Some(to) = line.strip_prefix("*** Move to:") {
                moved_to = Some(to.trim().to_owned());
                continue;
            }
            if let Some(context) = line.strip_prefix("@@") {
                let context = context.trim().trim_end_matches("@@").trim();
                let context = (!context.is_empty()).then(|| context.to_owned());
                chunks.push(Chunk { context, ..Chunk::default() });
                continue;
            }
            let chunk = match chunks.last_mut() {
                Some(chunk) => chunk,
                // The first chunk may come without its `@@`.
                None => chunks.push_mut(Chunk::default()),
            };
            if line.trim_end() == "*** End of File" {
                chunk.at_end = true;
            } else if !chunk.take(line) {
                return Err(self.misplaced(line));
            }
        }
        chunks.iter_mut().for_each(Chunk::trim);
        chunks.retain(|chunk| !(chunk.old.is_empty() && chunk.new.is_empty()));
        if chunks.is_empty() && moved_to.is_none() {
            return Err(PatchError::Empty);
        }
        Ok(Section::Update { path, moved_to, chunks })
    }
}

impl Chunk {
    fn take(&mut self, line: &str) -> bool {
        match line.chars().next() {
            // Models drop the space of an empty context line.
            None => {
                self.old.push(String::new());
                self.new.push(String::new());
            }
            Some(' ') => {
                self.old.push(line[1..].to_owned());
                self.new.push(line[1..].to_owned());
            }
            Some('-') => self.old.push(line[1..].to_owned()),
            Some('+') => self.new.push(line[1..].to_owned()),
            Some(_) => return false,
        }
        true
    }

    /// Blank lines before the next section are not part of this one.
    fn trim(&mut self) {
        while self.old.len() > 1
            && self.old.last().is_some_and(String::is_empty)
            && self.new.last().is_some_and(String::is_empty)
        {
            self.old.pop();
            self.new.pop();
        }
    }
}
