//! Files and lines for people: the lists, searches and contents that clients ask for.
//!
//! The same walking and searching as the tools', with the shapes of the HTTP routes. All of it blocks; callers
//! run it where that is allowed.

mod names;
mod rank;

pub use crate::limit;
pub use names::KeptNames;

use crate::path::{FileKind, Located, PathError, Roots, WorkPath};
use crate::tool::ToolFailure;
use crate::tools::{MayShow, Searched, grep_lines};
use crate::walk::Walk;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// How many names a list shows.
const ENTRIES_MAX: usize = 10_000;

/// Larger files are not sent whole.
const CONTENT_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// Matches of a text search, unless asked otherwise.
pub const MATCHES: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The path leads out of the session's directories.
    #[error("{0} is outside of the project")]
    Outside(String),

    #[error(transparent)]
    Path(#[from] PathError),

    #[error("{0}")]
    Pattern(String),

    #[error("{0} is too large")]
    TooLarge(String),
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub name: String,
    /// From the session directory; with `/` at its end for a directory.
    pub path: String,
    pub absolute: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub ignored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Directory,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Content {
    Text {
        content: String,
    },
    Binary {
        content: String,
        encoding: &'static str,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    pub path: Text,
    pub lines: Text,
    pub line_number: u64,
    pub absolute_offset: u64,
    pub submatches: Vec<Submatch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text {
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Submatch {
    #[serde(rename = "match")]
    pub matched: Text,
    pub start: usize,
    pub end: usize,
}

/// Which names a search for files finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    Files,
    Directories,
    Both,
}

impl Find {
    /// A directory ends with `/`.
    fn wants(self, name: &str) -> bool {
        match self {
            Self::Files => !name.ends_with('/'),
            Self::Directories => name.ends_with('/'),
            Self::Both => true,
        }
    }
}

fn inside(roots: &Roots, path: &str) -> Result<WorkPath, SearchError> {
    let path = if path.is_empty() { "." } else { path };
    match roots.locate(path)? {
        Located::Inside(path) => Ok(path),
        Located::Outside(_) => Err(SearchError::Outside(path.to_owned())),
    }
}

/// The names in a directory: directories first, then by name.
pub fn list(roots: &Roots, path: &str) -> Result<Vec<Listed>, SearchError> {
    let directory = inside(roots, path)?;
    let rules = ignore_rules(&directory, roots);
    let mut listed = Vec::new();
    for entry in directory.list(ENTRIES_MAX)? {
        if entry.name == ".DS_Store" {
            continue;
        }
        let name = entry.name.to_string_lossy().into_owned();
        let shown = directory.shown().join(&entry.name);
        let is_directory =
            entry.kind == FileKind::Directory || (entry.kind == FileKind::Link && shown.is_dir());
        let below = shown.strip_prefix(roots.directory()).unwrap_or(&shown).to_string_lossy().into_owned();
        listed.push(Listed {
            name,
            path: if is_directory { format!("{below}/") } else { below },
            absolute: shown.to_string_lossy().into_owned(),
            kind: if is_directory { Kind::Directory } else { Kind::File },
            ignored: rules.iter().any(|rules| {
                rules
                    .matched_path_or_any_parents(directory.real().join(&entry.name), is_directory)
                    .is_ignore()
            }),
        });
    }
    listed.sort_by(|a, b| (a.kind == Kind::File, &a.name).cmp(&(b.kind == Kind::File, &b.name)));
    Ok(listed)
}

/// The ignore files from the worktree down to a directory.
fn ignore_rules(directory: &WorkPath, roots: &Roots) -> Vec<Gitignore> {
    let top = [roots.worktree(), roots.directory()].into_iter().filter(|one| *one != Path::new("/"));
    let Some(top) =
        top.filter_map(|one| one.canonicalize().ok()).find(|top| directory.real().starts_with(top))
    else {
        return Vec::new();
    };
    let levels = directory.real().ancestors().take_while(|one| one.starts_with(&top));
    levels
        .filter_map(|level| {
            let mut builder = GitignoreBuilder::new(level);
            let found = [".gitignore", ".ignore"]
                .map(|name| level.join(name))
                .into_iter()
                .filter(|file| file.is_file());
            let count = found.map(|file| builder.add(file)).count();
            (count > 0).then(|| builder.build().ok()).flatten()
        })
        .collect()
}

/// What is in a file; a file that is not there is empty.
pub fn content(roots: &Roots, path: &str) -> Result<Content, SearchError> {
    let file = match inside(roots, path)?.open_file() {
        Ok(file) => file,
        Err(PathError::Missing(_)) => return Ok(Content::Text { content: String::new() }),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    file.take(CONTENT_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| PathError::Io { path: path.into(), source })?;
    if bytes.len() as u64 > CONTENT_BYTES_MAX {
        return Err(SearchError::TooLarge(path.to_owned()));
    }
    if !bytes.contains(&0)
        && let Ok(text) = std::str::from_utf8(&bytes)
    {
        return Ok(Content::Text { content: text.trim().to_owned() });
    }
    let mime_type = infer::get(&bytes).map_or("application/octet-stream", |kind| kind.mime_type()).to_owned();
    Ok(Content::Binary { content: BASE64_STANDARD.encode(bytes), encoding: "base64", mime_type })
}

/// What a search for text found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundText {
    pub matches: Vec<Match>,
    /// Files that were left out because they may not be shown.
    pub skipped: usize,
}

/// Lines that match a regular expression, the first by path.
pub fn text(
    roots: &Roots,
    pattern: &str,
    count: usize,
    may_show: &MayShow,
    stop: &CancellationToken,
) -> Result<FoundText, SearchError> {
    let root = inside(roots, ".")?;
    let walk = Walk { hidden: true, ..Walk::default() };
    let found = grep_lines(&root, pattern, &walk, count, may_show, stop);
    let Searched { files, skipped, .. } =
        found.map_err(|ToolFailure { text, .. }| SearchError::Pattern(text))?;
    let mut matches = Vec::new();
    for file in files {
        let below = file
            .path
            .real()
            .strip_prefix(root.real())
            .unwrap_or(file.path.real())
            .to_string_lossy()
            .into_owned();
        for line in file.lines {
            let submatch = |(start, end): &(usize, usize)| Submatch {
                matched: Text { text: line.text.get(*start..*end).unwrap_or_default().to_owned() },
                start: *start,
                end: *end,
            };
            matches.push(Match {
                path: Text { text: below.clone() },
                line_number: line.number,
                absolute_offset: line.offset,
                submatches: line.places.iter().map(submatch).collect(),
                lines: Text { text: line.text },
            });
        }
    }
    Ok(FoundText { matches, skipped })
}
