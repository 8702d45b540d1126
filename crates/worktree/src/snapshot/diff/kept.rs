//! The last difference of each name, kept on the disk until the name is released.
//!
//! What a session has changed is worked out when a call ends, and asked for much later and more often. So the answer
//! lies beside the trees, with the steps that it is of: whoever asks for the same steps is given it and nothing is
//! compared. Trees never change, so an answer of the same steps is never out of date; one of other steps is replaced.

use super::super::keep::file_of;
use super::super::object::{Kind, OBJECT_BYTES_MAX, ObjectId};
use super::super::setup::write_if_other;
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
    pub fn kept_changes(&self, name: &str, steps: &[(TreeId, TreeId)]) -> Option<Changes> {
        let file = File::open(kept_at(&self.inner.dir, name).ok()?).ok()?;
        let mut text = Vec::new();
        ZlibDecoder::new(file).take(OBJECT_BYTES_MAX).read_to_end(&mut text).ok()?;
        let kept: Kept<'_> = serde_json::from_slice(&text).ok()?;
        let is_of_these = kept.steps == hash_of(steps);
        is_of_these.then(|| Changes {
            files: kept.files.into_owned(),
            additions: kept.additions,
            deletions: kept.deletions,
            files_total: kept.files_total,
            is_whole: true,
        })
    }

    /// Keeps the difference that these steps make, in place of the one before. One that was given up half way is not
    /// kept, and nothing is for a name that keeps no tree: nobody would release it.
    pub fn keep_changes(
        &self,
        name: &str,
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
        let place = kept_at(&self.inner.dir, name)?;
        let packed = packed(&kept).map_err(SnapshotError::io(&place))?;
        let _held = lock(&self.inner.anchoring);
        if !self.keeps_something(name)? {
            return Ok(());
        }
        let above = self.inner.dir.join(DIRECTORY);
        std::fs::create_dir_all(&above).map_err(SnapshotError::io(&above))?;
        write_if_other(&place, &packed).map_err(SnapshotError::io(&place))
    }
}

/// Where the difference of a name is kept.
pub(in super::super) fn kept_at(dir: &Path, name: &str) -> Result<PathBuf, SnapshotError> {
    file_of(&dir.join(DIRECTORY), name)
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
