//! Whether anything has changed since a scan, found out without git.
//!
//! Starting git costs milliseconds, and most scans find nothing new. So it is remembered how every captured file and
//! every directory looked (times, size, inode); as long as all of them look the same, the tree of the last scan is
//! still right. What is written, removed, renamed or made anew shows in a file or in the directory around it.
//!
//! The stat data is taken first, and then a whole scan says whether the tree was still right: a change in between is seen
//! by the scan, a later one by the stat data. A file that was changed a moment before could be changed again within one
//! tick of its clock, so stat data that is too young is not remembered.
//!
//! Directories that git ignores are not looked into. Which those are changes only with a list of what to ignore, and
//! those are looked at too.

use super::capture::Why;
use super::index::Index;
use super::{ObjectId, SnapshotError, TreeId, TreePath, TreeStore, lock};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// More are left to git, which is as fast with so many. Some 12 MB are held of them.
const LOOKS_MAX: usize = 100_000;

/// A thread for so many.
const LOOKS_EACH: usize = 4_000;
const THREADS_MAX: usize = 4;

/// The clock of files ticks at least this often, where they have fractions of a second at all.
const TICK: Duration = Duration::from_millis(50);
const COARSE_TICK: Duration = Duration::from_millis(2_100);

/// File systems whose clock is another machine's: NFS, SMB (two of it), FUSE, 9P, Ceph.
const FOREIGN_CLOCKS: [u64; 6] = [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x0102_1997, 0x00C3_6400];

/// The stat data of a file: the same as long as nobody changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStat {
    device: u64,
    inode: u64,
    mode: u32,
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

/// The stat data of all files at the moment a captured tree was up to date.
#[derive(Debug)]
pub(super) struct StatSnapshot {
    tree: TreeId,
    /// The list of what is ignored everywhere, as it was then.
    excludes: Vec<u8>,
    /// The worktree itself has no name here.
    all: Vec<(Box<OsStr>, FileStat)>,
}

/// The stat data of the worktree, if it is known.
#[derive(Debug, Default)]
pub(super) enum StatCache {
    #[default]
    Nothing,
    All(StatSnapshot),
    /// There are too many files, or their file system has another clock: git is asked each time.
    TooMuch,
}

enum Looked {
    At(Vec<(Box<OsStr>, FileStat)>),
    /// Something is too young, or somebody waits.
    NotNow,
    Never,
}

impl Index {
    /// Something looks different, even if the tree turns out to be the same.
    pub(super) fn forget_stats(&mut self) {
        if matches!(self.stats, StatCache::All(_)) {
            self.stats = StatCache::Nothing;
        }
    }

    fn knows_stats(&self) -> bool {
        match &self.stats {
            StatCache::All(stats) => Some(stats.tree) == self.tree,
            StatCache::TooMuch => true,
            StatCache::Nothing => false,
        }
    }
}

impl TreeStore {
    /// Remembers how everything looks, so that the next scans need no git as long as nothing changes. Does nothing when
    /// that is known, or cannot be: then git is asked each time. Ends early when somebody waits to scan.
    pub fn remember_stats(&self) -> Result<(), SnapshotError> {
        let mut index = lock(&self.inner.scanning);
        let Some(tree) = index.tree else { return Ok(()) };
        if index.knows_stats() {
            return Ok(());
        }
        index.stats = StatCache::Nothing;
        let excludes = self.write_excludes()?;
        match self.look_at_everything()? {
            Looked::At(all) => {
                let directories = all.iter().filter(|(_, look)| look.is_directory());
                let names = directories.filter_map(|(name, _)| TreePath::from_bytes(name.as_bytes()));
                index.seen_directories = names.collect();
                if !self.is_wanted() && self.scan_once(&mut index)? == tree {
                    index.stats = StatCache::All(StatSnapshot { tree, excludes, all });
                }
            }
            Looked::NotNow => {}
            Looked::Never => index.stats = StatCache::TooMuch,
        }
        Ok(())
    }

    /// Somebody waits to scan.
    fn is_wanted(&self) -> bool {
        self.inner.waiting.load(Ordering::Acquire) > 0
    }

    /// Whether [`Self::remember_stats`] has nothing to do. Also while a scan goes on: it will be asked again behind it.
    #[must_use]
    pub fn knows_stats(&self) -> bool {
        match self.inner.scanning.try_lock() {
            Ok(index) => index.tree.is_none() || index.knows_stats(),
            Err(_) => true,
        }
    }

    /// The tree of the last scan, if everything looks as it did then.
    pub(super) fn unchanged(&self, index: &Index, excludes: &[u8]) -> Option<TreeId> {
        let StatCache::All(stats) = &index.stats else { return None };
        let is_current = Some(stats.tree) == index.tree && stats.excludes == excludes;
        if !is_current || !self.touched().is_empty() {
            return None;
        }
        let is_same = |(path, (why, mark)): (&TreePath, &(Why, ObjectId))| {
            *why != Why::Repository || self.head_of(path).is_ok_and(|head| head == *mark)
        };
        if !index.opaque.iter().all(is_same) {
            return None;
        }
        let root = open_root(self.root())?;
        all_same(&root, &stats.all).then_some(stats.tree)
    }

    fn look_at_everything(&self) -> Result<Looked, SnapshotError> {
        let root = self.root();
        let Some(top) = open_root(root) else { return Ok(Looked::NotNow) };
        let kind = rustix::fs::fstatfs(&top).map(|found| found.f_type as u64 & 0xFFFF_FFFF);
        if kind.map_or(true, |kind| FOREIGN_CLOCKS.contains(&kind)) {
            return Ok(Looked::Never);
        }
        let listed = self.run(self.git().args(["ls-files", "-z", "--cached"]))?.stdout;
        let mut names: Vec<Box<OsStr>> = Vec::new();
        names.extend(listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(boxed));
        if names.len() > LOOKS_MAX {
            return Ok(Looked::Never);
        }
        if self.is_wanted() {
            return Ok(Looked::NotNow);
        }
        let ignored = self.ignored_directories()?;
        if !find_directories(root, &ignored, &mut names) {
            return Ok(Looked::Never);
        }
        // As old as the first look: whatever is younger could change again and look the same.
        let now = SystemTime::now();
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            match look(&top, &name) {
                Some(look) if look.is_settled(now) && !self.is_wanted() => all.push((name, look)),
                Some(_) | None => return Ok(Looked::NotNow),
            }
        }
        Ok(Looked::At(all))
    }

    /// The directories that a rule ignores; not those that merely hold nothing but ignored files.
    fn ignored_directories(&self) -> Result<HashSet<Vec<u8>>, SnapshotError> {
        let asked = ["status", "--porcelain", "-z", "--ignored=matching", "--untracked-files=all"];
        let git = self.git().args(asked).args(["--no-renames", "--ignore-submodules=all"]);
        let answer = self.run(git)?;
        let lines = answer.stdout.split(|byte| *byte == 0);
        let ignored = lines.filter_map(|line| line.strip_prefix(b"!! ")?.strip_suffix(b"/"));
        Ok(ignored.map(<[u8]>::to_vec).collect())
    }
}

impl FileStat {
    fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }

    /// A change that comes now gets another time.
    fn is_settled(&self, now: SystemTime) -> bool {
        let newest = self.modified.max(self.changed);
        let tick = if newest.1 == 0 { COARSE_TICK } else { TICK };
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(newest.0), u32::try_from(newest.1)) else {
            return false;
        };
        let settled = UNIX_EPOCH + Duration::new(seconds, nanos) + tick;
        settled < now
    }
}

fn boxed(name: &[u8]) -> Box<OsStr> {
    OsString::from_vec(name.to_vec()).into_boxed_os_str()
}

fn open_root(root: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty()).ok()
}

fn look(root: &OwnedFd, name: &OsStr) -> Option<FileStat> {
    let found = if name.is_empty() {
        rustix::fs::fstat(root)
    } else {
        rustix::fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW)
    };
    let found = found.ok()?;
    Some(FileStat {
        device: found.st_dev,
        inode: found.st_ino,
        mode: found.st_mode,
        size: found.st_size,
        modified: (found.st_mtime, found.st_mtime_nsec),
        changed: (found.st_ctime, found.st_ctime_nsec),
    })
}

fn all_same(root: &OwnedFd, all: &[(Box<OsStr>, FileStat)]) -> bool {
    let same =
        |some: &[(Box<OsStr>, FileStat)]| some.iter().all(|(name, then)| look(root, name) == Some(*then));
    let threads = all.len().div_ceil(LOOKS_EACH).clamp(1, THREADS_MAX);
    if threads == 1 {
        return same(all);
    }
    let (first, rest) = all.split_at(all.len() / threads);
    std::thread::scope(|scope| {
        let each = rest.len().div_ceil(threads - 1);
        let others: Vec<_> = rest.chunks(each).map(|some| scope.spawn(move || same(some))).collect();
        let is_same = same(first);
        others.into_iter().all(|other| other.join().unwrap_or(false)) && is_same
    })
}

/// Adds every directory that is not ignored, and every list of what to ignore. False when there are too many.
fn find_directories(root: &Path, ignored: &HashSet<Vec<u8>>, names: &mut Vec<Box<OsStr>>) -> bool {
    let mut open: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(here) = open.pop() {
        names.push(boxed(&here));
        if names.len() > LOOKS_MAX {
            return false;
        }
        let place = root.join(OsStr::from_bytes(&here));
        let Some(entries) = open_root(&place).and_then(|fd| Dir::new(fd).ok()) else { return false };
        let mut below = Vec::new();
        let mut is_repository = false;
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if name == b".git" {
                is_repository = true;
                continue;
            }
            let mut path = here.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            match entry.file_type() {
                FileType::Directory if !ignored.contains(&path) => below.push(path),
                // Perhaps a directory: the file system does not say.
                FileType::Unknown => return false,
                _ if name == b".gitignore" => names.push(boxed(&path)),
                _ => {}
            }
        }
        // What is in a repository inside this one is its own.
        if !is_repository || here.is_empty() {
            open.append(&mut below);
        }
    }
    true
}
