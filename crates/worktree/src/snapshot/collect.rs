//! Removes what nothing keeps and packs the rest, at low priority.
//!
//! git packs and says what nothing keeps, but removes no content: we do, object by object, because an object that
//! nothing kept a moment ago may be stored again while git still counts. Whoever stores it marks it as new, under a
//! lock that is held here while an object is looked at and removed.
//!
//! What is recent is spared: what was stored is anchored within moments. Only in a store that nobody has open can
//! everything go, and then nobody can open it meanwhile (`in_use`).

use super::in_use::ExclusiveUse;
use super::index::forget_tree_in;
use super::keep::{refuse_damaged_refs, usage_of};
use super::object::{ObjectId, Objects};
use super::setup::{remove, wait};
use super::{SnapshotError, TreeStore, lock};
use crate::git::Git;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What is stored is anchored within moments; this is long.
pub const RECENT: Duration = Duration::from_secs(3600);

/// Packing a large store.
const COLLECT_TIMEOUT: Duration = Duration::from_secs(1800);

/// The names of a million objects that nothing keeps; the rest is found next time.
const NAMES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Objects that are removed in one go, while others wait to store theirs.
const BATCH: usize = 64;

/// What a collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Somebody opened the store: not everything was removed that could be.
    pub gave_way: bool,
}

impl TreeStore {
    /// Removes what nothing keeps and packs the rest, beside everything else. What was stored within the last hour
    /// stays: somebody may be about to anchor it.
    pub fn collect(&self) -> Result<Collected, SnapshotError> {
        self.collect_older_than(RECENT)
    }

    /// The same, with another notion of recent. Zero is for whoever knows that nothing is being captured.
    pub fn collect_older_than(&self, recent: Duration) -> Result<Collected, SnapshotError> {
        let _one = lock(&self.inner.collecting);
        let dir = &self.inner.dir;
        let search_path = self.inner.options.search_path.as_deref();
        let bytes_before = bytes_in(dir)?;
        pack(dir, search_path)?;
        // A scan that began before the objects moved knows them by their old places, and has named them when it ends.
        self.forget_tree(&mut lock(&self.inner.scanning))?;
        let since = SystemTime::now() - recent;
        let unkept = wait(list_unkept(dir, search_path, recent).run())?.stdout;
        for batch in names(&unkept).chunks(BATCH) {
            let _still = lock(&self.inner.scanning);
            self.inner.objects.remove_older(batch, since)?;
        }
        let mut touched = lock(&self.inner.touched);
        touched.measured = None;
        touched.grown = 0;
        drop(touched);
        Ok(Collected { bytes_before, bytes_after: bytes_in(dir)?, gave_way: false })
    }
}

/// Removes what nothing keeps in this store and packs the rest. When somebody has it open, or opens it meanwhile, what
/// is left stays for the next collection.
pub fn collect_in(
    dir: &Path,
    search_path: Option<&OsStr>,
    recent: Duration,
) -> Result<Collected, SnapshotError> {
    let bytes_before = bytes_in(dir)?;
    pack(dir, search_path)?;
    let gave_way = match ExclusiveUse::take(dir)? {
        Some(alone) => !remove_alone(&alone, dir, search_path, recent)?,
        None => true,
    };
    Ok(Collected { bytes_before, bytes_after: bytes_in(dir)?, gave_way })
}

/// False when somebody waits to open the store.
fn remove_alone(
    alone: &ExclusiveUse,
    dir: &Path,
    search_path: Option<&OsStr>,
    recent: Duration,
) -> Result<bool, SnapshotError> {
    let since = SystemTime::now() - recent;
    forget_tree_in(dir)?;
    let listed = async {
        tokio::select! {
            answer = list_unkept(dir, search_path, recent).run() => answer.map(Some),
            () = alone.wanted() => Ok(None),
        }
    };
    let Some(listed) = tokio::runtime::Handle::current().block_on(listed)? else { return Ok(false) };
    let objects = Objects::new(dir, None);
    for name in names(&listed.stdout) {
        if alone.is_wanted() {
            return Ok(false);
        }
        objects.remove_older(&[name], since)?;
    }
    Ok(true)
}

fn bytes_in(dir: &Path) -> Result<u64, SnapshotError> {
    Ok(usage_of(dir).map_err(SnapshotError::io(dir))?.bytes)
}

fn git(dir: &Path, search_path: Option<&OsStr>) -> Git {
    let git = Git::at(dir).without_user_config().env("GIT_DIR", dir).searched_in(search_path);
    git.timeout(COLLECT_TIMEOUT).low_priority()
}

/// What is kept goes into one pack; what is not stays as loose objects, as old as the pack it was in.
fn pack(dir: &Path, search_path: Option<&OsStr>) -> Result<(), SnapshotError> {
    refuse_damaged_refs(dir)?;
    remove_half_packs(dir).map_err(SnapshotError::io(dir))?;
    wait(git(dir, search_path).args(["repack", "-q", "-d", "-l", "-A", "--threads=1"]).run())?;
    make_room(dir).map_err(SnapshotError::io(dir))
}

/// git has removed the directories in which new objects are put. Made here, they are not made by whoever waits for a
/// capture: a directory takes longer than the object in it.
fn make_room(dir: &Path) -> io::Result<()> {
    for first in 0..=u8::MAX {
        match std::fs::create_dir(dir.join(format!("objects/{first:02x}"))) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// What a git that was killed has left. One that still runs has written to its pack within the hour.
fn remove_half_packs(dir: &Path) -> io::Result<()> {
    for entry in dir.join("objects/pack").read_dir()? {
        let entry = entry?;
        let is_half = entry.file_name().to_string_lossy().starts_with("tmp_");
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_half && age.is_some_and(|age| age > RECENT) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Asks which loose objects nothing keeps, neither an anchor nor the index nor anything recent. Removes nothing.
fn list_unkept(dir: &Path, search_path: Option<&OsStr>, recent: Duration) -> Git {
    let expire = match recent.as_secs() {
        0 => "now".to_owned(),
        seconds => format!("{seconds}.seconds.ago"),
    };
    let git = git(dir, search_path).args(["prune", "--dry-run", "--expire", &expire]);
    git.stdout_bytes_max(NAMES_BYTES_MAX)
}

fn names(listed: &[u8]) -> Vec<ObjectId> {
    let lines = listed.split(|byte| *byte == b'\n');
    let name = |line: &[u8]| std::str::from_utf8(line.get(..40)?).ok()?.parse().ok();
    lines.filter_map(name).collect()
}
