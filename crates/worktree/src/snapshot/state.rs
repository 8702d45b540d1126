//! What stands under a path of a worktree, as a tree records it.

use super::ObjectId;
use super::object::Kind;

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
pub(super) const LINK: u32 = 0o120_000;
pub(super) const OPAQUE: u32 = 0o160_000;

/// What stands under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No file. A directory may stand there.
    Absent,
    File {
        content: ObjectId,
        executable: bool,
    },
    Link {
        content: ObjectId,
    },
    /// Something whose content was not captured: a file above the limit, a repository inside this one,
    /// what cannot be read. The mark differs when the thing has changed.
    Opaque {
        mark: ObjectId,
    },
}

impl State {
    pub(super) fn entry(self) -> Option<(u32, ObjectId)> {
        match self {
            Self::Absent => None,
            Self::File { content, executable: false } => Some((FILE, content)),
            Self::File { content, executable: true } => Some((PROGRAM, content)),
            Self::Link { content } => Some((LINK, content)),
            Self::Opaque { mark } => Some((OPAQUE, mark)),
        }
    }

    #[must_use]
    pub fn content(&self) -> Option<ObjectId> {
        match self {
            Self::File { content, .. } | Self::Link { content } => Some(*content),
            Self::Absent | Self::Opaque { .. } => None,
        }
    }

    #[must_use]
    pub fn is_opaque(&self) -> bool {
        matches!(self, Self::Opaque { .. })
    }

    /// Something that could not be looked at.
    #[must_use]
    pub fn unknown() -> Self {
        Self::Opaque { mark: ObjectId::of(Kind::Blob, b"unknown") }
    }

    /// A short text, for a note.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self.entry() {
            None => "absent".to_owned(),
            Some((mode, id)) => format!("{mode:o} {id}"),
        }
    }

    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let Some((mode, id)) = text.split_once(' ') else {
            return (text == "absent").then_some(Self::Absent);
        };
        let content: ObjectId = id.parse().ok()?;
        match u32::from_str_radix(mode, 8).ok()? {
            FILE => Some(Self::File { content, executable: false }),
            PROGRAM => Some(Self::File { content, executable: true }),
            LINK => Some(Self::Link { content }),
            OPAQUE => Some(Self::Opaque { mark: content }),
            _ => None,
        }
    }

    /// As git writes it: `100644`.
    #[must_use]
    pub fn mode(&self) -> Option<u32> {
        self.entry().map(|(mode, _)| mode)
    }
}
