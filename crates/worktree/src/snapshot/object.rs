//! Objects of a store: written loose by ourselves, read loose or, once git has packed them, through git.
//!
//! A loose object is the one part of git's format that is simple enough to be ours: a short head and the
//! content, compressed. It is written beside its place and renamed, so that it is there whole or not at
//! all. Packs are git's business.

use super::point::point;
use super::recent::RecentTrees;
use super::setup::remove;
use super::{SnapshotError, lock};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

/// No object of ours is larger: a file above the limit is not captured, and a directory of this size
/// would have a hundred million names.
pub(super) const OBJECT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// An object that is older is marked as used when it is stored again.
const FRESH: Duration = Duration::from_secs(600);

/// The name of an object: a hash of what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId([u8; 20]);

impl ObjectId {
    /// The tree that holds nothing.
    pub(super) const EMPTY_TREE: Self = Self([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb,
        0xee, 0x49, 0x04,
    ]);
    pub(super) const BYTES: usize = 20;

    pub(super) fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// What this content is called, whether or not it is stored.
    pub(super) fn of(kind: Kind, content: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(kind.head(content.len()));
        hash.update(content);
        Self(hash.finalize().into())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ObjectId {
    type Err = SnapshotError;

    fn from_str(text: &str) -> Result<Self, SnapshotError> {
        let bad = || SnapshotError::Malformed("a tree is named by 40 hexadecimal digits".to_owned());
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return Err(bad());
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            if pair.starts_with('+') {
                return Err(bad());
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Blob,
    Tree,
    Commit,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
        }
    }

    fn head(self, length: usize) -> Vec<u8> {
        format!("{} {length}\0", self.name()).into_bytes()
    }
}

/// Whether an object is synced to survive a power failure, or only written to survive the end of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteSync {
    Written,
    Synced,
}

#[derive(Debug)]
pub(super) struct Objects {
    pub(super) git_dir: PathBuf,
    pub(super) dir: PathBuf,
    pub(super) search_path: Option<OsString>,
    /// Directories that were read or written lately.
    pub(super) recent: Mutex<RecentTrees>,
    /// Shared while an object is found to be there, alone while one is removed.
    removing: RwLock<()>,
}

impl Objects {
    pub(super) fn new(git_dir: &Path, search_path: Option<OsString>) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            dir: git_dir.join("objects"),
            search_path,
            recent: Mutex::default(),
            removing: RwLock::default(),
        }
    }

    fn place(&self, id: &ObjectId) -> PathBuf {
        let name = id.to_string();
        self.dir.join(&name[..2]).join(&name[2..])
    }

    /// Stores the content under its name; nothing is written when it is there already.
    pub(super) fn write(
        &self,
        kind: Kind,
        content: &[u8],
        hold: WriteSync,
    ) -> Result<ObjectId, SnapshotError> {
        let id = ObjectId::of(kind, content);
        let place = self.place(&id);
        let found = {
            let _stays = self.removing.read().unwrap_or_else(PoisonError::into_inner);
            is_there(&place)
        };
        if found {
            if hold == WriteSync::Synced {
                File::open(&place).and_then(|file| file.sync_all()).map_err(SnapshotError::io(&place))?;
            }
            return Ok(id);
        }
        self.write_at(&place, kind, content, hold).map_err(SnapshotError::io(&place))?;
        Ok(id)
    }

    /// Removes loose objects that nobody has stored since.
    pub(super) fn remove_older(&self, ids: &[ObjectId], since: SystemTime) -> Result<(), SnapshotError> {
        let _alone = self.removing.write().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            let place = self.place(id);
            let is_old = place.metadata().and_then(|found| found.modified()).is_ok_and(|at| at < since);
            if is_old {
                // What is remembered must be there.
                lock(&self.recent).forget_one(id);
                remove(&place).map_err(SnapshotError::io(&place))?;
            }
        }
        Ok(())
    }

    fn write_at(&self, place: &Path, kind: Kind, content: &[u8], hold: WriteSync) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // git removes what is left of such a name.
        let name = format!("tmp_obj_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let beside = self.dir.join(name);
        point(&beside);
        let made = self.fill(&beside, kind, content, hold).and_then(|()| {
            if let Some(parent) = place.parent() {
                std::fs::create_dir_all(parent)?;
            }
            point(place);
            std::fs::rename(&beside, place)
        });
        if made.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        made?;
        if hold == WriteSync::Synced {
            let parent = place.parent().unwrap_or(&self.dir);
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    }

    fn fill(&self, beside: &Path, kind: Kind, content: &[u8], hold: WriteSync) -> io::Result<()> {
        let mut packer = ZlibEncoder::new(Vec::with_capacity(content.len() / 2 + 64), Compression::fast());
        packer.write_all(&kind.head(content.len()))?;
        packer.write_all(content)?;
        let packed = packer.finish()?;
        // A name that a dead process has left is taken over: it holds nothing that is needed.
        let mut file = File::create(beside)?;
        file.write_all(&packed)?;
        if hold == WriteSync::Synced {
            file.sync_all()?;
        }
        Ok(())
    }

    /// The content of an object.
    pub(super) fn read(&self, kind: Kind, id: &ObjectId) -> Result<Vec<u8>, SnapshotError> {
        let mut found = self.read_all(kind, std::slice::from_ref(id))?;
        found.remove(id).ok_or(SnapshotError::Missing(*id))
    }

    /// The content of several objects. One that is not there is an error.
    pub(super) fn read_all(
        &self,
        kind: Kind,
        ids: &[ObjectId],
    ) -> Result<HashMap<ObjectId, Vec<u8>>, SnapshotError> {
        let mut found = HashMap::with_capacity(ids.len());
        let mut packed = Vec::new();
        let mut seen = HashSet::with_capacity(ids.len());
        for id in ids {
            if !seen.insert(*id) {
                continue;
            }
            match self.read_loose(kind, id)? {
                Some(content) => drop(found.insert(*id, content)),
                None => packed.push(*id),
            }
        }
        self.read_packed(kind, &packed, &mut found)?;
        Ok(found)
    }

    /// The first of these that is not there, loose or packed. A loose one is read whole, so that damage is found too.
    pub(super) fn missing(&self, kind: Kind, ids: &[ObjectId]) -> Result<Option<ObjectId>, SnapshotError> {
        let mut packed = Vec::new();
        for id in ids {
            if self.read_loose(kind, id)?.is_none() {
                packed.push(*id);
            }
        }
        let sizes = self.packed_sizes(kind, &packed)?;
        Ok(packed.into_iter().find(|id| !sizes.contains_key(id)))
    }

    pub(super) fn is_loose(&self, id: &ObjectId) -> bool {
        self.place(id).is_file()
    }

    fn read_loose(&self, kind: Kind, id: &ObjectId) -> Result<Option<Vec<u8>>, SnapshotError> {
        let place = self.place(id);
        let file = match File::open(&place) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SnapshotError::Io { path: place, source }),
        };
        let damaged = |what| SnapshotError::Damaged { id: *id, what };
        let mut content = Vec::new();
        let read = ZlibDecoder::new(file).take(OBJECT_BYTES_MAX).read_to_end(&mut content);
        read.map_err(|_| damaged("it cannot be unpacked"))?;
        let end = content.iter().position(|byte| *byte == 0).ok_or_else(|| damaged("it has no head"))?;
        let length = content.len() - end - 1;
        if content[..=end] != *kind.head(length) {
            return Err(damaged("it is of another kind or length"));
        }
        content.drain(..=end);
        // What is written back to the user's files is what was captured, bit by bit.
        if ObjectId::of(kind, &content) != *id {
            return Err(damaged("its content has another name"));
        }
        Ok(Some(content))
    }
}

/// Whether an object is there, and will be: one that nothing keeps is collected once it is old, so it is made young.
fn is_there(place: &Path) -> bool {
    let Ok(file) = File::options().read(true).open(place) else { return false };
    let Ok(found) = file.metadata() else { return false };
    let is_young = found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < FRESH));
    // A loss of power leaves names without content; such an object is stored again.
    found.is_file() && found.len() > 0 && (is_young || file.set_modified(SystemTime::now()).is_ok())
}
