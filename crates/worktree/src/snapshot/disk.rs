//! What stands under a path in the worktree now, in the words of trees.

use super::empty::is_empty;
use super::object::{Kind, WriteSync};
use super::{ObjectId, SnapshotError, State, TreePath, TreeStore};
use crate::path::{FileIdentity, FileKind, PathError, WorkPath};
use std::io::Read;

/// How often a file is read again that changes while it is read.
const LOOKS_MAX: usize = 4;

/// What a look at the disk found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) state: State,
    /// What it was recognised by; `None` when nothing is there.
    pub(super) sight: Option<FileIdentity>,
}

impl Found {
    pub(super) fn is_directory(&self) -> bool {
        self.sight.is_some_and(|sight| sight.kind == FileKind::Directory)
    }
}

/// Whether what is read is stored too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Nothing,
    Content(WriteSync),
}

impl TreeStore {
    /// Reads the state of a path. What can only be reached through a link is opaque: it is outside the worktree.
    pub(super) fn look(&self, path: &TreePath, keep: Keep) -> Result<Found, SnapshotError> {
        let place = self.at(path)?;
        for _ in 0..LOOKS_MAX {
            let sight = match place.sight() {
                Ok(sight) => sight,
                Err(PathError::Link(_) | PathError::Forbidden(_)) => {
                    return Ok(Found { state: opaque(b"out of reach", path), sight: None });
                }
                Err(error) => return Err(error.into()),
            };
            let state = self.read_as(&place, path, sight, keep)?;
            // Half an old and half a new text is neither.
            if place.sight().ok().flatten() == sight {
                return Ok(Found { state, sight });
            }
        }
        Ok(Found { state: opaque(b"keeps changing", path), sight: None })
    }

    fn read_as(
        &self,
        place: &WorkPath,
        path: &TreePath,
        sight: Option<FileIdentity>,
        keep: Keep,
    ) -> Result<State, SnapshotError> {
        let Some(sight) = sight else { return Ok(State::Absent) };
        let name = |content: &[u8]| match keep {
            Keep::Nothing => Ok(ObjectId::of(Kind::Blob, content)),
            Keep::Content(hold) => self.inner.objects.write(Kind::Blob, content, hold),
        };
        match sight.kind {
            FileKind::Directory => match is_empty(place.real()) {
                Some(true) => Ok(State::EmptyDirectory),
                Some(false) | None => Ok(State::Absent),
            },
            FileKind::Link => match place.link_text() {
                Ok(text) => Ok(State::Link { content: name(&text)? }),
                Err(_) => Ok(opaque(b"changing", path)),
            },
            FileKind::File if sight.bytes > self.inner.options.file_bytes_max => {
                Ok(State::Opaque { mark: mark_of(&sight) })
            }
            FileKind::File => match self.read_file(place) {
                Ok(content) => Ok(State::File { content: name(&content)?, rights: sight.rights }),
                Err(PathError::Missing(_)) => Ok(State::Absent),
                Err(_) => Ok(State::Opaque { mark: mark_of(&sight) }),
            },
            FileKind::Pipe | FileKind::Socket | FileKind::Device | FileKind::Other => {
                Ok(State::Opaque { mark: mark_of(&sight) })
            }
        }
    }

    fn read_file(&self, place: &WorkPath) -> Result<Vec<u8>, PathError> {
        let mut content = Vec::new();
        let file = place.open_file()?;
        // One byte more than allowed shows that the file has grown meanwhile; the second look sees it.
        let read = file.take(self.inner.options.file_bytes_max + 1).read_to_end(&mut content);
        read.map_err(|error| PathError::from_io(place.shown(), error))?;
        Ok(content)
    }
}

fn opaque(why: &[u8], path: &TreePath) -> State {
    let mut text = why.to_vec();
    text.push(0);
    text.extend_from_slice(path.as_bytes());
    State::Opaque { mark: ObjectId::of(Kind::Blob, &text) }
}

/// Differs when the file was written to.
pub(super) fn mark_of(sight: &FileIdentity) -> ObjectId {
    ObjectId::of(Kind::Blob, format!("{sight:?}").as_bytes())
}
