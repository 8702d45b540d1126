//! The differences of each name, kept on the disk until the name is released.
//!
//! What a session has changed is worked out when a call ends, and asked for much later and more often. So the answer
//! lies beside the trees, with the steps that it is of: whoever asks for the same steps is given it and nothing is
//! compared. Trees never change, so an answer of the same steps is never out of date.
//!
//! Of all steps of a name the newest answer is kept. Of some of its steps (the turns from one prompt to another) the
//! last few that were asked for are, each in a file named after its steps.

use super::super::keep::file_of;
use super::super::object::{Kind, OBJECT_BYTES_MAX, ObjectId};
use super::super::point::point;
use super::super::setup::{remove, write_if_other};
use super::super::{SnapshotError, TreeId, TreeStore, lock};
use super::Changes;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use sturdy_session::types::diff::FileDiff;

/// Where they are, in a store.
const DIRECTORY: &str = "sturdy-diffs";

/// So many differences of some steps are kept for one name: more than a person looks at in turns.
const RANGES_MAX: usize = 16;

/// Of which steps of a name a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of them, as far as they stand.
    Whole,
    /// Those of some turns in a row.
    Range,
}

/// What is on the disk, compressed.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    /// A hash of the trees before and after each step.
    steps: String,
    files: Cow<'a, [FileDiff]>,
    additions: u64,
    deletions: u64,
    files_total: usize,
}

impl TreeStore {
    /// The difference that was kept for these steps. None when there is none, or it cannot be read: then it is worked
    /// out again.
    #[must_use]
    pub fn kept_changes(&self, name: &str, extent: Extent, steps: &[(TreeId, TreeId)]) -> Option<Changes> {
        let steps = hash_of(steps);
        let file = File::open(place_of(&self.inner.dir, name, extent, &steps).ok()?).ok()?;
        let mut text = Vec::new();
        ZlibDecoder::new(file).take(OBJECT_BYTES_MAX).read_to_end(&mut text).ok()?;
        let kept: Kept<'_> = serde_json::from_slice(&text).ok()?;
        let is_of_these = kept.steps == steps;
        is_of_these.then(|| Changes {
            files: kept.files.into_owned(),
            additions: kept.additions,
            deletions: kept.deletions,
            files_total: kept.files_total,
            is_whole: true,
        })
    }

    /// Keeps the difference that these steps make, in place of the one before or of the oldest. One that was given up
    /// half way is not kept, and nothing is for a name that keeps no tree: nobody would release it.
    pub fn keep_changes(
        &self,
        name: &str,
        extent: Extent,
        steps: &[(TreeId, TreeId)],
        changes: &Changes,
    ) -> Result<(), SnapshotError> {
        if !changes.is_whole {
            return Ok(());
        }
        let kept = Kept {
            steps: hash_of(steps),
            files: Cow::Borrowed(&changes.files),
            additions: changes.additions,
            deletions: changes.deletions,
            files_total: changes.files_total,
        };
        let place = place_of(&self.inner.dir, name, extent, &kept.steps)?;
        let packed = packed(&kept).map_err(SnapshotError::io(&place))?;
        let _held = lock(&self.inner.anchoring);
        if !self.keeps_something(name)? {
            return Ok(());
        }
        let above = place.parent().unwrap_or(&place);
        std::fs::create_dir_all(above).map_err(SnapshotError::io(above))?;
        if extent == Extent::Range && !place.exists() {
            make_room(above).map_err(SnapshotError::io(above))?;
        }
        write_if_other(&place, &packed).map_err(SnapshotError::io(&place))
    }
}

/// Removes every difference of a name.
pub(in super::super) fn forget(dir: &Path, name: &str) -> Result<(), SnapshotError> {
    let whole = whole_of(dir, name)?;
    let ranges = ranges_of(&whole);
    point(&ranges);
    match std::fs::remove_dir_all(&ranges) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(SnapshotError::Io { path: ranges, source });
        }
        _ => {}
    }
    for file in [whole.with_extension("new"), whole] {
        remove(&file).map_err(SnapshotError::io(&file))?;
    }
    Ok(())
}

fn place_of(dir: &Path, name: &str, extent: Extent, steps: &str) -> Result<PathBuf, SnapshotError> {
    let whole = whole_of(dir, name)?;
    Ok(match extent {
        Extent::Whole => whole,
        Extent::Range => ranges_of(&whole).join(steps),
    })
}

fn whole_of(dir: &Path, name: &str) -> Result<PathBuf, SnapshotError> {
    file_of(&dir.join(DIRECTORY), name)
}

/// Stored beside the difference of all steps. Session ids have no full stop, so this name cannot collide.
fn ranges_of(whole: &Path) -> PathBuf {
    whole.with_extension("ranges")
}

/// Removes the oldest files until one more has room.
fn make_room(ranges: &Path) -> io::Result<()> {
    let mut found = Vec::new();
    for entry in ranges.read_dir()? {
        let entry = entry?;
        found.push((entry.metadata()?.modified()?, entry.path()));
    }
    found.sort();
    let over = (found.len() + 1).saturating_sub(RANGES_MAX);
    found.iter().take(over).try_for_each(|(_, path)| remove(path))
}

fn hash_of(steps: &[(TreeId, TreeId)]) -> String {
    let text: String = steps.iter().map(|(before, after)| format!("{before} {after}\n")).collect();
    ObjectId::of(Kind::Blob, text.as_bytes()).to_string()
}

fn packed(kept: &Kept<'_>) -> io::Result<Vec<u8>> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&serde_json::to_vec(kept)?)?;
    packer.finish()
}
