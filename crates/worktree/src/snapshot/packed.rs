//! Objects that git has packed: read through git, many at a time, because each run of it costs milliseconds.

use super::object::{Kind, OBJECT_BYTES_MAX, ObjectId, Objects};
use super::setup::wait;
use super::{SnapshotError, lock};
use crate::git::{Git, GitError};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What one run of git is asked for at most, and the most that is held of it.
const BATCH_OBJECTS: usize = 1_024;
const BATCH_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Directories that are asked for without asking first how large they are.
const UNSIZED_TREES_MAX: usize = 64;

impl Objects {
    /// Remembers these directories, if they are not remembered yet.
    pub(super) fn recall_trees(&self, ids: &HashSet<ObjectId>) -> Result<(), SnapshotError> {
        self.trees(ids).map(drop)
    }

    /// The content of several directories. What is not remembered is read together, and remembered.
    pub(super) fn trees(
        &self,
        ids: &HashSet<ObjectId>,
    ) -> Result<HashMap<ObjectId, Arc<[u8]>>, SnapshotError> {
        let mut contents = HashMap::with_capacity(ids.len());
        {
            let recent = lock(&self.recent);
            contents.extend(ids.iter().filter_map(|id| Some((*id, recent.get(id)?))));
        }
        let unknown: Vec<ObjectId> = ids.iter().filter(|id| !contents.contains_key(*id)).copied().collect();
        let found = self.read_all(Kind::Tree, &unknown)?;
        let mut recent = lock(&self.recent);
        for (id, content) in found {
            let content: Arc<[u8]> = content.into();
            recent.remember(id, content.clone());
            contents.insert(id, content);
        }
        Ok(contents)
    }

    /// The content of a directory.
    pub(super) fn tree(&self, id: &ObjectId) -> Result<Arc<[u8]>, SnapshotError> {
        let known = lock(&self.recent).get(id);
        if let Some(content) = known {
            return Ok(content);
        }
        let content: Arc<[u8]> = self.read(Kind::Tree, id)?.into();
        lock(&self.recent).remember(*id, content.clone());
        Ok(content)
    }

    /// The content of those that are packed, as far as it is not much together. The others are read when they are
    /// needed.
    pub(super) fn read_ahead(&self, ids: &[ObjectId]) -> Result<HashMap<ObjectId, Vec<u8>>, SnapshotError> {
        let packed: Vec<ObjectId> = ids.iter().filter(|id| !self.is_loose(id)).copied().collect();
        let sizes = self.packed_sizes(Kind::Blob, &packed)?;
        let mut room = BATCH_BYTES_MAX;
        let mut chosen = Vec::new();
        for (id, bytes) in sizes {
            if bytes <= room {
                room -= bytes;
                chosen.push(id);
            }
        }
        let mut found = HashMap::with_capacity(chosen.len());
        // Together they are no more than one batch holds.
        for batch in chosen.chunks(BATCH_OBJECTS) {
            self.read_batch(Kind::Blob, batch, OBJECT_BYTES_MAX, &mut found)?;
        }
        Ok(found)
    }

    /// How large each of these is; those that are not there are left out.
    pub(super) fn packed_sizes(
        &self,
        kind: Kind,
        ids: &[ObjectId],
    ) -> Result<HashMap<ObjectId, u64>, SnapshotError> {
        let mut sizes = HashMap::with_capacity(ids.len());
        if ids.is_empty() || !self.has_packs() {
            return Ok(sizes);
        }
        for batch in ids.chunks(BATCH_OBJECTS) {
            let answer = wait(self.git().args(["cat-file", "--batch-check"]).input(lines(batch)).run())?;
            for (id, line) in batch.iter().zip(answer.lines()) {
                let line = String::from_utf8_lossy(line);
                let mut words = line.split(' ').skip(1);
                let is_kind = words.next() == Some(kind.name());
                if let (true, Some(bytes)) = (is_kind, words.next().and_then(|word| word.parse().ok())) {
                    sizes.insert(*id, bytes);
                }
            }
        }
        Ok(sizes)
    }

    /// Adds the content of these objects. One that is not there is an error.
    pub(super) fn read_packed(
        &self,
        kind: Kind,
        ids: &[ObjectId],
        found: &mut HashMap<ObjectId, Vec<u8>>,
    ) -> Result<(), SnapshotError> {
        let Some(first) = ids.first() else { return Ok(()) };
        if !self.has_packs() {
            return Err(SnapshotError::Missing(*first));
        }
        // One needs no question before it, and a few directories are hardly ever too much together.
        if ids.len() == 1 {
            return self.read_batch(kind, ids, OBJECT_BYTES_MAX, found);
        }
        if kind == Kind::Tree && ids.len() <= UNSIZED_TREES_MAX {
            match self.read_batch(kind, ids, BATCH_BYTES_MAX, found) {
                Err(SnapshotError::Git(GitError::TooLong { .. })) => {}
                read => return read,
            }
        }
        let sizes = self.packed_sizes(kind, ids)?;
        let mut batch = Vec::new();
        let mut bytes = 0;
        for id in ids {
            let size = *sizes.get(id).ok_or(SnapshotError::Missing(*id))?;
            if !batch.is_empty() && (bytes + size > BATCH_BYTES_MAX || batch.len() == BATCH_OBJECTS) {
                self.read_batch(kind, &batch, OBJECT_BYTES_MAX, found)?;
                batch.clear();
                bytes = 0;
            }
            batch.push(*id);
            bytes += size;
        }
        self.read_batch(kind, &batch, OBJECT_BYTES_MAX, found)
    }

    fn read_batch(
        &self,
        kind: Kind,
        ids: &[ObjectId],
        bytes_max: u64,
        found: &mut HashMap<ObjectId, Vec<u8>>,
    ) -> Result<(), SnapshotError> {
        let git = self.git().args(["cat-file", "--batch"]).input(lines(ids));
        let answer = wait(git.stdout_bytes_max(bytes_max as usize).run())?.stdout;
        let mut rest = answer.as_slice();
        for id in ids {
            let damaged = |what| SnapshotError::Damaged { id: *id, what };
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("git is silent"))?;
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let mut words = head.split(' ').skip(1);
            let said = words.next().unwrap_or_default();
            if said == "missing" {
                return Err(SnapshotError::Missing(*id));
            }
            let length: usize =
                words.next().and_then(|word| word.parse().ok()).ok_or_else(|| damaged("no length"))?;
            if said != kind.name() || rest.len() <= length {
                return Err(damaged("it is of another kind or length"));
            }
            found.insert(*id, rest[..length].to_vec());
            rest = &rest[length + 1..];
        }
        Ok(())
    }

    fn has_packs(&self) -> bool {
        self.dir.join("pack").read_dir().is_ok_and(|mut names| names.next().is_some())
    }

    fn git(&self) -> Git {
        let git = Git::at(&self.git_dir).without_user_config().env("GIT_DIR", &self.git_dir);
        git.searched_in(self.search_path.as_deref())
    }
}

fn lines(ids: &[ObjectId]) -> Vec<u8> {
    ids.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect()
}
