//! Names of files, kept between the key presses of somebody who looks for one.
//!
//! A tree is walked once. After that every search asks the file system when each of its directories last changed,
//! which is a hundred times less work than reading them, and walks again only if one has. A directory's change time
//! cannot be set by hand, so an entry that comes or goes is always noticed; so is an ignore file that is rewritten.
//!
//! A change in the same clock tick as the walk could hide behind an equal time. So a walk counts only if everything
//! it saw was older than it by `TICK`; in a tree that is being written to, the next search walks again.

use super::rank::{self, Query};
use super::{Find, SearchError, inside};
use crate::path::{Roots, WorkPath};
use crate::walk::{Gather, Walk};
use ignore::gitignore::gitconfig_excludes_path;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, open, statat};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// How many trees are kept: what a few people look at on one server.
const TREES_MAX: usize = 4;

/// A tree with more names is walked for every search; its names would take the memory of everything else.
const NAMES_MAX: usize = 500_000;

/// Longer than the clock of any file system that we know stands still.
const TICK: Duration = Duration::from_millis(50);

/// Files that say what is left out.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The names of the trees that were searched last.
#[derive(Debug, Default)]
pub struct KeptNames {
    /// The one used last is at the end.
    trees: Mutex<Vec<Arc<Tree>>>,
    walks: AtomicU64,
}

/// When something changed, to the nanosecond; `None` if it is not there.
type Changed = Option<(i64, i128)>;

/// One tree as it was walked.
#[derive(Debug)]
struct Tree {
    root: PathBuf,
    /// All names one after the other, sorted; a directory ends with `/`.
    text: String,
    ends: Vec<u32>,
    letters: Vec<u64>,
    /// What is looked at to see whether the tree is still the same: paths from the root, or absolute.
    watched: Vec<(PathBuf, Changed)>,
}

impl KeptNames {
    /// How often a tree was walked; every other search was answered from what is kept.
    pub fn walks(&self) -> u64 {
        self.walks.load(Ordering::Relaxed)
    }

    /// File names that match the query, best match first. Without a query directories come first, then files, by name.
    pub fn files(
        &self,
        roots: &Roots,
        query: &str,
        find: Find,
        count: usize,
        stop: &CancellationToken,
    ) -> Result<Vec<String>, SearchError> {
        let root = inside(roots, ".")?;
        let tree = match self.kept(root.real()).filter(|tree| tree.is_unchanged()) {
            Some(tree) => tree,
            None => self.walk(&root, stop)?,
        };
        let query = Query::new(query);
        let found = if query.is_empty() { tree.first(find, count) } else { tree.likest(&query, find, count) };
        Ok(found.into_iter().map(|place| tree.name(place).to_owned()).collect())
    }

    fn kept(&self, root: &Path) -> Option<Arc<Tree>> {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        let place = trees.iter().position(|tree| tree.root == root)?;
        let tree = trees.remove(place);
        trees.push(tree.clone());
        Some(tree)
    }

    fn walk(&self, root: &WorkPath, stop: &CancellationToken) -> Result<Arc<Tree>, SearchError> {
        self.walks.fetch_add(1, Ordering::Relaxed);
        let began = SystemTime::now();
        let tree = Arc::new(Tree::walk(root, stop)?);
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.retain(|known| known.root != tree.root);
        // What was stopped is not whole.
        if !stop.is_cancelled() && tree.ends.len() <= NAMES_MAX && tree.is_older_than(began) {
            if trees.len() == TREES_MAX {
                trees.remove(0);
            }
            trees.push(tree.clone());
        }
        Ok(tree)
    }
}

impl Tree {
    fn walk(root: &WorkPath, stop: &CancellationToken) -> Result<Self, SearchError> {
        let names = Mutex::new(Vec::new());
        let watched = Mutex::new(above(root.real()));
        let walk = Walk { hidden: true, directories: true, ..Walk::default() };
        watch_directory(root.real(), Path::new(""), &mut |one| {
            watched.lock().unwrap_or_else(PoisonError::into_inner).push(one);
        });
        let walked = walk.run(root, stop, || {
            let mut found = Gather::new(&names);
            let mut times = Gather::new(&watched);
            Box::new(move |below: &Path, is_directory| {
                let name = below.to_string_lossy();
                if is_directory {
                    // Before it is read: what comes in between has a later time.
                    watch_directory(root.real(), below, &mut |one| times.push(one));
                    found.push(format!("{name}/"));
                } else {
                    found.push(name.into_owned());
                }
            })
        });
        walked.map_err(|error| SearchError::Pattern(error.to_string()))?;
        let mut names: Vec<String> = names.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Threads find in any order; equal scores should not.
        names.sort_unstable();
        let watched = watched.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Self::new(root.real().to_owned(), &names, watched))
    }

    fn new(root: PathBuf, names: &[String], watched: Vec<(PathBuf, Changed)>) -> Self {
        let mut text = String::with_capacity(names.iter().map(String::len).sum());
        let mut ends = Vec::with_capacity(names.len());
        for name in names {
            text.push_str(name);
            // 4 GiB of names are more than `NAMES_MAX` names of the longest path there is.
            ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        }
        let letters = names.iter().map(|name| rank::letters(name)).collect();
        Self { root, text, ends, letters, watched }
    }

    fn name(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[place] as usize]
    }

    /// Whoever asks for nothing wants to look around: places first, and what is hidden last.
    fn first(&self, find: Find, count: usize) -> Vec<usize> {
        let mut groups: [Vec<usize>; 4] = Default::default();
        for place in 0..self.ends.len() {
            let name = self.name(place);
            let group = usize::from(!name.ends_with('/')) * 2 + usize::from(is_hidden(name));
            if find.wants(name) && groups[group].len() < count {
                groups[group].push(place);
            }
        }
        groups.into_iter().flatten().take(count).collect()
    }

    fn likest(&self, query: &Query, find: Find, count: usize) -> Vec<usize> {
        if count == 0 {
            return Vec::new();
        }
        let mut scored = Vec::new();
        // The last of the likest so far: whatever is not before it is not kept.
        let mut last = None;
        for (place, letters) in self.letters.iter().enumerate() {
            if !query.may_match(*letters) {
                continue;
            }
            let name = self.name(place);
            if !find.wants(name) {
                continue;
            }
            let Some(score) = query.score(name) else { continue };
            let one = (Reverse(score), name.len(), place);
            if last.is_some_and(|last| one > last) {
                continue;
            }
            scored.push(one);
            if scored.len() == count.saturating_mul(4) {
                last = Some(*scored.select_nth_unstable(count - 1).1);
                scored.truncate(count);
            }
        }
        scored.sort_unstable();
        scored.truncate(count);
        scored.into_iter().map(|(_, _, place)| place).collect()
    }

    fn is_unchanged(&self) -> bool {
        let Ok(root) = open(&self.root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        else {
            return false;
        };
        self.watched.iter().all(|(path, changed)| change_time(&root, path) == *changed)
    }

    fn is_older_than(&self, began: SystemTime) -> bool {
        let began = began.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(TICK);
        let began = (i64::try_from(began.as_secs()).unwrap_or(i64::MAX), i128::from(began.subsec_nanos()));
        self.watched.iter().all(|(_, changed)| changed.is_none_or(|changed| changed < began))
    }
}

/// Hands over the change times of a directory and of its ignore files.
fn watch_directory(root: &Path, below: &Path, watch: &mut dyn FnMut((PathBuf, Changed))) {
    let whole = root.join(below);
    // An empty path means nothing to the file system.
    let named = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    watch((named.to_owned(), change_time(CWD, &whole)));
    for name in IGNORE_FILES {
        let changed = change_time(CWD, &whole.join(name));
        // One that comes later changes the directory.
        if changed.is_some() {
            watch((below.join(name), changed));
        }
    }
}

/// The ignore files that count in a tree and are not in it, there or not.
fn above(root: &Path) -> Vec<(PathBuf, Changed)> {
    let of_directory = |directory: &Path| IGNORE_FILES.map(|name| directory.join(name));
    let mut files: Vec<PathBuf> = root.ancestors().skip(1).flat_map(of_directory).collect();
    files.extend(root.ancestors().map(|directory| directory.join(".git/info/exclude")));
    files.extend(gitconfig_excludes_path());
    let with_time = |file: PathBuf| {
        let changed = change_time(CWD, &file);
        (file, changed)
    };
    files.into_iter().map(with_time).collect()
}

fn change_time(directory: impl std::os::fd::AsFd, path: &Path) -> Changed {
    let found = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((found.st_ctime, i128::from(found.st_ctime_nsec)))
}

/// Whether the name, or a directory on the way to it, begins with a dot.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name.contains("/.")
}
