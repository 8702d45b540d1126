//! Searching files in parallel and keeping the first matches by path.
//!
//! All files are searched, as ripgrep does, and the result does not depend on which thread was
//! faster: the files with the smallest paths win. What can no longer win is not searched.

use crate::bound::prefix;
use crate::limit::{HEAP_BYTES_MAX, REGEX_BYTES_MAX, REGEX_DEPTH_MAX, Stoppable};
use crate::path::WorkPath;
use crate::tool::ToolFailure;
use crate::walk::Walk;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// What is kept of one line.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// What is repeated of a pattern that cannot be used, and of the reason, which may repeat it again.
const PATTERN_BYTES_SHOWN: usize = 200;
const ERROR_BYTES_SHOWN: usize = 1_000;

/// One line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// From 1.
    pub number: u64,
    /// Of the line, from the start of the file.
    pub offset: u64,
    pub text: String,
    /// Where in the line, in bytes.
    pub places: Vec<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileMatches {
    pub path: WorkPath,
    pub lines: Vec<Line>,
}

/// Whether a file may be shown, by the rules about reading it.
pub type MayShow = dyn Fn(&WorkPath) -> bool + Send + Sync;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Searched {
    pub files: Vec<FileMatches>,
    /// There are more lines than were asked for.
    pub more: bool,
    /// Files that were left out because they may not be shown.
    pub skipped: usize,
}

/// The first `matches_max` lines, by path.
pub(crate) fn search(
    root: &WorkPath,
    pattern: &str,
    walk: &Walk,
    matches_max: usize,
    may_show: &MayShow,
    stop: &CancellationToken,
) -> Result<Searched, ToolFailure> {
    let skipped = AtomicUsize::new(0);
    let is_shown = |path: &WorkPath| {
        let is_shown = may_show(path);
        skipped.fetch_add(usize::from(!is_shown), Ordering::Relaxed);
        is_shown
    };
    let (matcher, multi_line) = compile(pattern)?;
    let first = Mutex::new(First { files: BTreeMap::new(), count: 0, max: matches_max, more: false });
    let searcher = || {
        SearcherBuilder::new()
            .line_number(true)
            .multi_line(multi_line)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP_BYTES_MAX))
            .build()
    };
    if !root.real().is_dir() {
        if is_shown(root) {
            let lines = one_file(&mut searcher(), &matcher, root, matches_max + 1, stop)?;
            lock(&first).add(PathBuf::new(), lines);
        }
    } else {
        let walked = walk.run(root, stop, || {
            let mut searcher = searcher();
            let matcher = matcher.clone();
            let first = &first;
            let is_shown = &is_shown;
            Box::new(move |below: &Path, _| {
                if lock(first).can_win(below)
                    && let Some(path) = root.below(below)
                    && is_shown(&path)
                    && let Ok(lines) = one_file(&mut searcher, &matcher, &path, matches_max + 1, stop)
                    && !lines.is_empty()
                {
                    lock(first).add(below.to_owned(), lines);
                }
            })
        });
        walked.map_err(|error| ToolFailure::failed(format!("{error}.")))?;
    }
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    let more = first.more;
    let files = first.files.into_iter().filter_map(|(below, lines)| {
        let path = if below.as_os_str().is_empty() { Some(root.clone()) } else { root.below(&below) };
        path.map(|path| FileMatches { path, lines })
    });
    Ok(Searched { files: files.collect(), more, skipped: skipped.into_inner() })
}

/// A pattern that names a line end is searched for across lines, which is slower.
fn compile(pattern: &str) -> Result<(RegexMatcher, bool), ToolFailure> {
    let builder = || {
        let mut builder = RegexMatcherBuilder::new();
        builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).nest_limit(REGEX_DEPTH_MAX);
        builder
    };
    let within_lines = builder().line_terminator(Some(b'\n')).build(pattern);
    if let Ok(matcher) = within_lines {
        return Ok((matcher, false));
    }
    let across = builder().multi_line(true).build(pattern);
    across.map(|matcher| (matcher, true)).map_err(|error| {
        let pattern = prefix(pattern, PATTERN_BYTES_SHOWN);
        let error = error.to_string();
        let error = prefix(&error, ERROR_BYTES_SHOWN);
        ToolFailure::failed(format!(
            "{pattern} is not a regular expression: {error}. Put a \\ before characters that are meant literally."
        ))
    })
}

fn one_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &WorkPath,
    matches_max: usize,
    stop: &CancellationToken,
) -> Result<Vec<Line>, ToolFailure> {
    let file = Stoppable { inner: path.open_file()?, stop };
    let mut found = Found { matcher, lines: Vec::new(), max: matches_max };
    let searched = searcher.search_reader(matcher, file, &mut found);
    searched.map_err(|error| ToolFailure::failed(format!("{}: {error}.", path.shown().display())))?;
    Ok(found.lines)
}

/// The lines of one file, as the searcher hands them over.
struct Found<'a> {
    matcher: &'a RegexMatcher,
    lines: Vec<Line>,
    max: usize,
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let bytes = &matched.bytes()[..matched.bytes().len().min(LINE_BYTES_MAX)];
        let mut places = Vec::new();
        // Without the end of the line, or `$` would stand behind it.
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // Cannot fail: the error type of this matcher has no value.
        let _ = self.matcher.find_iter(line, |place| {
            places.push((place.start(), place.end()));
            places.len() < self.max
        });
        self.lines.push(Line {
            number: matched.line_number().unwrap_or(1),
            offset: matched.absolute_byte_offset(),
            text: String::from_utf8_lossy(bytes).into_owned(),
            places,
        });
        Ok(self.lines.len() < self.max)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        // A match before the first NUL is no reason to show a binary file.
        self.lines.clear();
        Ok(false)
    }
}

/// The matches kept so far.
struct First {
    files: BTreeMap<PathBuf, Vec<Line>>,
    count: usize,
    max: usize,
    more: bool,
}

impl First {
    fn can_win(&self, below: &Path) -> bool {
        !self.more || self.files.last_key_value().is_none_or(|(last, _)| below < last)
    }

    fn add(&mut self, below: PathBuf, lines: Vec<Line>) {
        self.count += lines.len();
        self.files.insert(below, lines);
        while self.count > self.max {
            self.more = true;
            let Some(mut last) = self.files.last_entry() else { return };
            let excess = self.count - self.max;
            let lines = last.get_mut();
            let dropped = excess.min(lines.len());
            lines.truncate(lines.len() - dropped);
            self.count -= dropped;
            if lines.is_empty() {
                last.remove();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
