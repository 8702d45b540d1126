//! What differs between two states, in the two forms that clients read.
//!
//! [`differences`] makes one record per file, with a patch that shows the whole file, as clients of
//! summaries draw it. [`unified`] makes one text for all files, as `git diff` prints it. Both have a bound:
//! what is too large is counted, or named, but not shown. What is no text has no patch. `kept` keeps the differences of
//! a session until its trees are released, `sums` adds up what steps changed.

mod kept;
mod sums;

pub use kept::Extent;
pub(super) use kept::forget;
pub(super) use sums::RecentSums;

use super::{Changed, ObjectId, SnapshotError, State, TreePath, TreeStore, lock};
use similar::udiff::UnifiedDiffHunk;
use similar::{ChangeTag, TextDiff};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sturdy_session::json::Num;
use sturdy_session::types::diff::{FileDiff, FileStatus};

/// A larger text is counted as changed, but not compared.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// All patches of one answer together.
const PATCHES_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Files of one answer; a turn that changed more is summed up by these.
const FILES_MAX: usize = 2_000;

/// After this, the difference of one file is no longer the smallest, but still a true one.
const EFFORT: Duration = Duration::from_millis(200);

/// After this, patches are left out.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Digits of a content's id in the head of a patch, as git writes it.
const ID_DIGITS: usize = 7;

/// As long as clients expect it.
const RULE_WIDTH: usize = 67;

const CONTEXT_LINES: usize = 3;

/// How far into a file a zero byte makes it "no text", as git has it.
const SNIFF_BYTES: usize = 8_000;

/// Files whose content is read together, where it is packed.
const AHEAD: usize = 256;

/// All differences that are remembered, and what one of them takes beside its text.
const RECENT_BYTES_MAX: usize = 8 * 1024 * 1024;
const RECENT_OVERHEAD: usize = 256;

/// What some changes add up to.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    pub files: Vec<FileDiff>,
    pub additions: u64,
    pub deletions: u64,
    /// More files differ than are listed.
    pub files_total: usize,
    /// No file was left out because it took too long.
    pub is_whole: bool,
}

impl Default for Changes {
    fn default() -> Self {
        Self { files: Vec::new(), additions: 0, deletions: 0, files_total: 0, is_whole: true }
    }
}

/// One record per changed file. What was not captured on both sides is left out.
pub fn differences(store: &TreeStore, changed: &[Changed]) -> Result<Changes, SnapshotError> {
    let began = Instant::now();
    let known: Vec<&Changed> = changed.iter().filter(|one| is_known(one)).collect();
    let mut changes = Changes { files_total: known.len(), ..Changes::default() };
    let mut room = PATCHES_BYTES_MAX;
    let mut contents = Contents::new(store);
    let listed = &known[..known.len().min(FILES_MAX)];
    let mut recent: Vec<Option<Arc<FilePatch>>> = Vec::with_capacity(listed.len());
    {
        let diffs = lock(&store.inner.diffs);
        recent.extend(listed.iter().map(|one| diffs.get(one)));
    }
    let both = listed.iter().zip(&recent);
    let unknown: Vec<&Changed> = both.filter(|(_, recent)| recent.is_none()).map(|(one, _)| *one).collect();
    let mut at = 0;
    for (one, recent) in listed.iter().zip(recent) {
        let shown = one.path.to_string();
        let difference = match recent {
            Some(difference) => difference,
            None => {
                let is_late = began.elapsed() > WAIT_MAX;
                changes.is_whole &= !is_late;
                let texts = if is_late { None } else { contents.texts_of(&unknown, at)? };
                at += 1;
                match texts {
                    Some((before, after)) => {
                        let difference = Arc::new(whole(&shown, &before, &after));
                        lock(&store.inner.diffs).remember(one, difference.clone());
                        difference
                    }
                    None => Arc::default(),
                }
            }
        };
        changes.additions += difference.additions;
        changes.deletions += difference.deletions;
        let patch = if difference.patch.len() <= room { difference.patch.clone() } else { String::new() };
        room -= patch.len();
        changes.files.push(FileDiff {
            file: Some(shown),
            patch: Some(patch),
            additions: number(difference.additions),
            deletions: number(difference.deletions),
            status: Some(match (one.before, one.after) {
                (State::Absent | State::EmptyDirectory, _) => FileStatus::Added,
                (_, State::Absent | State::EmptyDirectory) => FileStatus::Deleted,
                _ => FileStatus::Modified,
            }),
        });
    }
    Ok(changes)
}

/// All changes as one text, as `git diff` prints it; without a line feed at the end.
pub fn unified(store: &TreeStore, changed: &[Changed]) -> Result<String, SnapshotError> {
    let began = Instant::now();
    let mut text = String::new();
    let known: Vec<&Changed> = changed.iter().filter(|one| is_known(one)).collect();
    let mut contents = Contents::new(store);
    for (at, one) in known.iter().take(FILES_MAX).enumerate() {
        head(one, &mut text);
        let texts = if began.elapsed() > WAIT_MAX { None } else { contents.texts_of(&known, at)? };
        let Some((before, after)) = texts else {
            let _ = writeln!(
                text,
                "Binary files {} and {} differ",
                side('a', one, &one.before),
                side('b', one, &one.after)
            );
            continue;
        };
        let diff = TextDiff::configure().timeout(EFFORT).diff_lines(before.as_str(), after.as_str());
        let mut hunks = String::new();
        for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
            write_hunk(&hunk, Numbers::AsGit, &mut hunks);
        }
        if hunks.is_empty() {
            continue;
        }
        let _ = writeln!(text, "--- {}\n+++ {}", side('a', one, &one.before), side('b', one, &one.after));
        if text.len() + hunks.len() > PATCHES_BYTES_MAX {
            text.push_str("@@ -0,0 +0,0 @@ too large to be shown\n");
        } else {
            text.push_str(&hunks);
        }
    }
    let length = text.trim_end_matches('\n').len();
    text.truncate(length);
    Ok(text)
}

fn is_known(one: &Changed) -> bool {
    let is_captured = !one.before.is_opaque() && !one.after.is_opaque();
    let is_directory = one.before.is_no_file() && one.after.is_no_file();
    is_captured && !is_directory
}

fn number(count: u64) -> Num {
    Num::from(count)
}

/// The content of changed files. What is packed is read ahead, many files at a time.
struct Contents<'a> {
    store: &'a TreeStore,
    ahead: HashMap<ObjectId, Vec<u8>>,
}

impl<'a> Contents<'a> {
    fn new(store: &'a TreeStore) -> Self {
        Self { store, ahead: HashMap::new() }
    }

    /// Both texts of a file; none when one of them is no text, or too large to be compared. The files are asked for in
    /// their order.
    fn texts_of(&mut self, files: &[&Changed], at: usize) -> Result<Option<(String, String)>, SnapshotError> {
        if at.is_multiple_of(AHEAD) {
            let soon = &files[at..files.len().min(at + AHEAD)];
            let ids = soon.iter().flat_map(|one| [one.before.content(), one.after.content()]).flatten();
            self.ahead = self.store.read_ahead(&ids.collect::<Vec<_>>())?;
        }
        let Some(before) = self.text(&files[at].before)? else { return Ok(None) };
        let Some(after) = self.text(&files[at].after)? else { return Ok(None) };
        Ok(Some((before, after)))
    }

    fn text(&self, state: &State) -> Result<Option<String>, SnapshotError> {
        let Some(id) = state.content() else { return Ok(Some(String::new())) };
        let content = match self.ahead.get(&id) {
            Some(content) => Cow::Borrowed(content),
            None => Cow::Owned(self.store.content(&id)?),
        };
        let is_binary = content.iter().take(SNIFF_BYTES).any(|byte| *byte == 0);
        if is_binary || content.len() > TEXT_BYTES_MAX {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&content).into_owned()))
    }
}

/// The difference of one file.
#[derive(Debug, Default)]
pub(super) struct FilePatch {
    patch: String,
    additions: u64,
    deletions: u64,
}

/// Differences that were worked out lately: a session's are asked for after every call that writes, and all but one
/// file is as it was the last time. All are forgotten when there are too many.
#[derive(Debug, Default)]
pub(super) struct RecentDiffs {
    known: HashMap<(TreePath, State, State), Arc<FilePatch>>,
    bytes: usize,
}

impl RecentDiffs {
    fn get(&self, one: &Changed) -> Option<Arc<FilePatch>> {
        self.known.get(&(one.path.clone(), one.before, one.after)).cloned()
    }

    fn remember(&mut self, one: &Changed, difference: Arc<FilePatch>) {
        let bytes = difference.patch.len() + RECENT_OVERHEAD;
        if self.bytes + bytes > RECENT_BYTES_MAX {
            *self = Self::default();
        }
        let key = (one.path.clone(), one.before, one.after);
        if bytes <= RECENT_BYTES_MAX && self.known.insert(key, difference).is_none() {
            self.bytes += bytes;
        }
    }
}

/// A patch that shows the whole file.
fn whole(name: &str, before: &str, after: &str) -> FilePatch {
    let diff = TextDiff::configure().timeout(EFFORT).diff_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
    let mut patch = format!("Index: {name}\n{}\n--- {name}\t\n+++ {name}\t\n", "=".repeat(RULE_WIDTH));
    for hunk in diff.unified_diff().context_radius(usize::MAX / 4).iter_hunks() {
        write_hunk(&hunk, Numbers::Always, &mut patch);
    }
    FilePatch { patch, additions: count(ChangeTag::Insert), deletions: count(ChangeTag::Delete) }
}

#[derive(Clone, Copy)]
enum Numbers {
    /// `-1,1`
    Always,
    /// `-1`
    AsGit,
}

fn write_hunk(hunk: &UnifiedDiffHunk<'_, '_, '_, str>, numbers: Numbers, patch: &mut String) {
    let (Some(first), Some(last)) = (hunk.ops().first(), hunk.ops().last()) else { return };
    let range = |from: usize, to: usize| match (to - from, numbers) {
        // An empty range is named by the line before it.
        (0, _) => format!("{from},0"),
        (1, Numbers::AsGit) => format!("{}", from + 1),
        (lines, _) => format!("{},{lines}", from + 1),
    };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    let _ = writeln!(patch, "@@ -{old} +{new} @@");
    for change in hunk.iter_changes() {
        let _ = write!(patch, "{}{}", change.tag(), change.value());
        if change.missing_newline() {
            patch.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn head(one: &Changed, text: &mut String) {
    let _ = writeln!(text, "diff --git {} {}", quoted("a/", &one.path), quoted("b/", &one.path));
    let id = |state: &State| {
        let mut id = state.content().map_or_else(|| "0".repeat(ID_DIGITS), |id| id.to_string());
        id.truncate(ID_DIGITS);
        id
    };
    let range = format!("index {}..{}", id(&one.before), id(&one.after));
    let mode = |state: &State| state.mode().filter(|_| !state.is_no_file());
    let _ = match (mode(&one.before), mode(&one.after)) {
        (None, Some(mode)) => writeln!(text, "new file mode {mode:o}\n{range}"),
        (Some(mode), None) => writeln!(text, "deleted file mode {mode:o}\n{range}"),
        (Some(old), Some(new)) if old != new => writeln!(text, "old mode {old:o}\nnew mode {new:o}\n{range}"),
        (Some(mode), Some(_)) => writeln!(text, "{range} {mode:o}"),
        (None, None) => Ok(()),
    };
}

fn side(letter: char, one: &Changed, state: &State) -> String {
    match state {
        State::Absent | State::EmptyDirectory => "/dev/null".to_owned(),
        State::File { .. } | State::Link { .. } | State::Opaque { .. } => {
            quoted(&format!("{letter}/"), &one.path)
        }
    }
}

/// A name with characters that would end it is written in quotes, as git does.
fn quoted(prefix: &str, path: &TreePath) -> String {
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\' && *byte != 0x7f;
    if path.as_bytes().iter().all(is_plain) {
        return format!("{prefix}{path}");
    }
    let mut text = format!("\"{prefix}");
    for letter in path.to_string().chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            control if control.is_ascii_control() => {
                let _ = write!(text, "\\{:03o}", u32::from(control));
            }
            plain => text.push(plain),
        }
    }
    text.push('"');
    text
}
