//! What stands under a path of a worktree, as a tree records it.

use super::ObjectId;
use super::object::Kind;
use crate::path::Rights;

/// The bits of a mode that say what it is, and the kinds.
pub(super) const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
pub(super) const DIRECTORY: u32 = 0o040_000;
pub(super) const LINK: u32 = 0o120_000;
pub(super) const OPAQUE: u32 = 0o160_000;

/// What stands under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No file. A directory with something in it may stand there.
    Absent,
    EmptyDirectory,
    File {
        content: ObjectId,
        rights: Rights,
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
            Self::EmptyDirectory => Some((DIRECTORY, ObjectId::EMPTY_TREE)),
            Self::File { content, rights } => Some((FILE | bits_of(rights), content)),
            Self::Link { content } => Some((LINK, content)),
            Self::Opaque { mark } => Some((OPAQUE, mark)),
        }
    }

    #[must_use]
    pub fn content(&self) -> Option<ObjectId> {
        match self {
            Self::File { content, .. } | Self::Link { content } => Some(*content),
            Self::Absent | Self::EmptyDirectory | Self::Opaque { .. } => None,
        }
    }

    /// Nothing with content of its own.
    #[must_use]
    pub fn is_no_file(&self) -> bool {
        matches!(self, Self::Absent | Self::EmptyDirectory)
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
            mode if mode & KIND == FILE => Some(Self::File { content, rights: Rights::of_mode(mode) }),
            DIRECTORY if content == ObjectId::EMPTY_TREE => Some(Self::EmptyDirectory),
            LINK => Some(Self::Link { content }),
            OPAQUE => Some(Self::Opaque { mark: content }),
            _ => None,
        }
    }

    /// As git writes it: `100644`.
    #[must_use]
    pub fn mode(&self) -> Option<u32> {
        self.without_exact_rights().entry().map(|(mode, _)| mode)
    }

    /// What git would know of it.
    fn without_exact_rights(self) -> Self {
        match self {
            Self::File { content, rights } => Self::File { content, rights: rights.plain() },
            Self::Absent | Self::EmptyDirectory | Self::Link { .. } | Self::Opaque { .. } => self,
        }
    }

    /// The same content. Who else may read it does not matter, whether it can be run does.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.without_exact_rights() == other.without_exact_rights()
    }

    pub(super) fn rights(&self) -> Option<Rights> {
        match self {
            Self::File { rights, .. } => Some(*rights),
            Self::Absent | Self::EmptyDirectory | Self::Link { .. } | Self::Opaque { .. } => None,
        }
    }

    /// The same file with other rights; what is no file has none.
    pub(super) fn with_rights(self, rights: Rights) -> Self {
        match self {
            Self::File { content, .. } => Self::File { content, rights },
            Self::Absent | Self::EmptyDirectory | Self::Link { .. } | Self::Opaque { .. } => self,
        }
    }
}

/// Exact rights stand in our trees as they are. git writes none such, and reads them as its own.
fn bits_of(rights: Rights) -> u32 {
    match rights {
        Rights::Usual { executable: false } => 0o644,
        Rights::Usual { executable: true } => 0o755,
        Rights::Exact(bits) => bits,
    }
}
