//! What an undo would do, file by file, before anything is done.
//!
//! A step says which files it changed, in which state it found them and in which it left them. Undoing some
//! steps means: each of their files goes back to the state in which the first of them found it. That is
//! right only if the file is still as the last of them left it, and if nobody else changed it between
//! two of them. Otherwise the file has somebody else's work in it: a conflict, which is shown and left alone.
//!
//! Invariant I14: compare, then set, per file; what is unknown is left alone.

use super::{Changed, SnapshotError, State, TreeId, TreePath, TreeStore};
use crate::path::DirectoryRights;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What one step changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub before: TreeId,
    pub after: TreeId,
    pub files: Vec<TreePath>,
}

/// Where the files of some steps go back to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    files: BTreeMap<TreePath, Target>,
    /// The directories in which the files were found, where a umask would give them other rights.
    directories: BTreeMap<TreePath, DirectoryRights>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    /// As the first step found it.
    found: State,
    /// As the last step left it.
    left: State,
    /// Every step found it as the one before had left it.
    is_ours_alone: bool,
    /// A command of somebody else ran at the same time and may have changed it.
    is_shared: bool,
    /// No step changed who may read or write it, so that goes not back either.
    keeps_rights: bool,
}

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: TreePath,
    /// What is there.
    pub from: State,
    /// What an undo makes of it.
    pub to: State,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as it should be already.
    Nothing,
    Create,
    Change,
    Delete,
    /// Left alone, unless it is asked for by name.
    Conflict(Conflict),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Somebody has changed it after the last step.
    ChangedSince,
    /// Somebody has changed it after the undo that is to be taken back.
    ChangedSinceUndo,
    /// Somebody has changed it between two steps.
    ChangedBetween,
    /// A command of another session ran at the same time; nobody knows which of the two changed it.
    Shared,
    /// What was there was never captured, so it cannot be brought back. Not even when asked for.
    NotCaptured,
}

impl Conflict {
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::ChangedSince => "changed since the agent left it",
            Self::ChangedSinceUndo => "changed since the undo",
            Self::ChangedBetween => "changed by somebody else between two steps",
            Self::Shared => "may have been changed by another session's command",
            Self::NotCaptured => "its earlier content was not captured",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub entries: Vec<Entry>,
}

impl Plan {
    pub fn conflicts(&self) -> impl Iterator<Item = (&Entry, Conflict)> {
        self.entries.iter().filter_map(|entry| match entry.verdict {
            Verdict::Conflict(why) => Some((entry, why)),
            Verdict::Nothing | Verdict::Create | Verdict::Change | Verdict::Delete => None,
        })
    }

    /// The state each file should have: the earlier one, or what is there where that is left alone.
    #[must_use]
    pub fn wanted(&self) -> BTreeMap<TreePath, State> {
        let wanted = |entry: &Entry| match entry.verdict {
            Verdict::Create | Verdict::Change | Verdict::Delete => entry.to,
            Verdict::Nothing | Verdict::Conflict(_) => entry.from,
        };
        self.entries.iter().map(|entry| (entry.path.clone(), wanted(entry))).collect()
    }
}

impl Targets {
    /// Reads where the files of these steps go back to. The steps are in the order in which they happened. A
    /// tree that is not there is an error, and never a file to delete.
    pub fn of(store: &TreeStore, steps: &[Step]) -> Result<Self, SnapshotError> {
        let mut files: BTreeMap<TreePath, Target> = BTreeMap::new();
        let mut directories = BTreeMap::new();
        for step in steps {
            let found = store.states(&step.before, step.files.iter())?;
            let left = store.states(&step.after, step.files.iter())?;
            let there = found.iter().filter(|(_, state)| **state != State::Absent).map(|(path, _)| path);
            for (path, rights) in store.directories(&step.before, there)? {
                directories.entry(path).or_insert(rights);
            }
            for path in &step.files {
                let here = Target {
                    found: found[path],
                    left: left[path],
                    is_ours_alone: true,
                    is_shared: false,
                    keeps_rights: found[path].rights() == left[path].rights(),
                };
                let target = files.entry(path.clone()).or_insert(Target { left: here.found, ..here });
                target.is_ours_alone &= target.left.is_like(&here.found);
                target.keeps_rights &= here.keeps_rights;
                target.left = here.left;
            }
        }
        Ok(Self { files, directories })
    }

    /// Marks files that a command of somebody else may have changed.
    pub fn share(&mut self, is_shared: impl Fn(&TreePath) -> bool) {
        for (path, target) in &mut self.files {
            target.is_shared |= is_shared(path);
        }
    }

    pub fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.files.keys()
    }

    pub(super) fn directories(&self) -> &BTreeMap<TreePath, DirectoryRights> {
        &self.directories
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The earlier state of a file, when these steps changed it.
    #[must_use]
    pub fn found(&self, path: &TreePath) -> Option<State> {
        self.files.get(path).map(|target| target.found)
    }

    /// The files that are meant by these names. A name that is not UTF-8 is meant by the text in which it is shown.
    pub fn named(&self, names: &[String]) -> Result<BTreeSet<TreePath>, SnapshotError> {
        let mut found = BTreeSet::new();
        // Both lists may be long.
        let mut shown: Option<HashMap<String, Vec<&TreePath>>> = None;
        for name in names {
            let exact = TreePath::from_bytes(name.as_bytes()).filter(|path| self.files.contains_key(path));
            if let Some(path) = exact {
                found.insert(path);
                continue;
            }
            match shown.get_or_insert_with(|| self.by_shown_name()).get(name).map_or(&[][..], Vec::as_slice) {
                [] => {}
                [path] => drop(found.insert(TreePath::clone(path))),
                meant => {
                    let what = format!(
                        "{name:?} is how the names of {} files are shown; one cannot be told",
                        meant.len()
                    );
                    return Err(SnapshotError::Malformed(what));
                }
            }
        }
        Ok(found)
    }

    fn by_shown_name(&self) -> HashMap<String, Vec<&TreePath>> {
        let mut shown: HashMap<String, Vec<&TreePath>> = HashMap::new();
        for path in self.files.keys() {
            shown.entry(path.to_string()).or_default().push(path);
        }
        shown
    }

    /// What these steps changed, taken together: each file as it was found and as it was left.
    #[must_use]
    pub fn changes(&self) -> Vec<Changed> {
        let change = |(path, target): (&TreePath, &Target)| Changed {
            path: path.clone(),
            before: target.found,
            after: target.left,
        };
        self.files.iter().filter(|(_, target)| target.found != target.left).map(change).collect()
    }

    /// What would happen to each file, given what is there. `forced` files go back although somebody else
    /// changed them.
    #[must_use]
    pub fn plan(&self, there: &BTreeMap<TreePath, State>, forced: &BTreeSet<TreePath>) -> Plan {
        let mut entries = Vec::with_capacity(self.files.len());
        for (path, target) in &self.files {
            let from = there.get(path).copied().unwrap_or(State::Absent);
            let verdict = target.judge(from, forced.contains(path));
            entries.push(Entry { path: path.clone(), from, to: target.goal(from), verdict });
        }
        leave_room(&mut entries);
        Plan { entries }
    }
}

/// No file can be inside of another. What would need the place of something that stays, or that is set as well, is a
/// conflict and is left alone.
fn leave_room(entries: &mut [Entry]) {
    let is_set = |entry: &Entry| matches!(entry.verdict, Verdict::Create | Verdict::Change);
    let is_kept = |entry: &Entry| {
        matches!(entry.verdict, Verdict::Nothing | Verdict::Conflict(_)) && entry.from != State::Absent
    };

    let standing: BTreeSet<TreePath> = entries
        .iter()
        .filter(|entry| is_set(entry) || is_kept(entry))
        .map(|entry| entry.path.clone())
        .collect();
    for entry in entries.iter_mut().filter(|entry| is_set(entry)) {
        if entry.path.parents().any(|above| standing.contains(&above)) {
            entry.verdict = Verdict::Conflict(Conflict::ChangedBetween);
        }
    }

    let occupied: BTreeSet<TreePath> =
        entries.iter().filter(|entry| is_kept(entry)).flat_map(|entry| entry.path.parents()).collect();
    for entry in entries.iter_mut().filter(|entry| is_set(entry)) {
        if occupied.contains(&entry.path) {
            entry.verdict = match entry.to {
                // The directory is there; that it is not empty is said of what is in it.
                State::EmptyDirectory => Verdict::Nothing,
                State::Absent | State::File { .. } | State::Link { .. } | State::Opaque { .. } => {
                    Verdict::Conflict(Conflict::ChangedBetween)
                }
            };
        }
    }
}

impl Target {
    /// What the file goes back to from what is there.
    fn goal(&self, from: State) -> State {
        match from.rights() {
            Some(rights) if self.keeps_rights && from.is_like(&self.left) => self.found.with_rights(rights),
            Some(_) | None => self.found,
        }
    }

    fn judge(&self, from: State, is_forced: bool) -> Verdict {
        if from == self.goal(from) {
            return Verdict::Nothing;
        }
        if self.found.is_opaque() || from.is_opaque() {
            return Verdict::Conflict(Conflict::NotCaptured);
        }
        if !is_forced && !from.is_like(&self.left) {
            return Verdict::Conflict(Conflict::ChangedSince);
        }
        if !is_forced && !self.is_ours_alone {
            return Verdict::Conflict(Conflict::ChangedBetween);
        }
        if !is_forced && self.is_shared {
            return Verdict::Conflict(Conflict::Shared);
        }
        match (from, self.found) {
            (State::Absent, _) => Verdict::Create,
            (_, State::Absent) => Verdict::Delete,
            _ => Verdict::Change,
        }
    }
}
