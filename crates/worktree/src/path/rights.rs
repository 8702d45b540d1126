//! Who may read, write and run a file, as far as it is remembered.
//!
//! Trees of git know two kinds of files: those that can be run and those that cannot. Which of these a file is follows
//! most modes closely enough, because a new file gets the rest from the umask of the process. A file that others may not
//! read, or that its owner may not write, is more than that: brought back by the umask it would be public. The same goes
//! for directories.

/// The bits of a mode that let somebody run a file.
const RUN: u32 = 0o111;

/// What a umask usually makes of a file and of a program.
const USUAL: [u32; 6] = [0o644, 0o664, 0o666, 0o755, 0o775, 0o777];

/// What a umask usually makes of a directory.
const USUAL_DIRECTORY: [u32; 3] = [0o755, 0o775, 0o777];

/// What the owner of a directory needs to work in it.
const OWNER: u32 = 0o700;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rights {
    /// Everybody may read it and its owner may write it. The rest is left to the umask.
    Usual { executable: bool },
    /// Exactly these nine bits. Those that change who a program runs as are never remembered.
    Exact(u32),
}

impl Rights {
    #[must_use]
    pub fn of_mode(mode: u32) -> Self {
        let bits = mode & 0o777;
        if USUAL.contains(&bits) {
            return Self::Usual { executable: bits & 0o100 != 0 };
        }
        Self::Exact(bits)
    }

    #[must_use]
    pub fn executable(self) -> bool {
        match self {
            Self::Usual { executable } => executable,
            Self::Exact(bits) => bits & 0o100 != 0,
        }
    }

    /// As git knows them.
    #[must_use]
    pub fn plain(self) -> Self {
        Self::Usual { executable: self.executable() }
    }

    /// The mode of a file with these rights that takes the place of one with the mode `replaced`, or that the umask
    /// would give `made`.
    pub(super) fn mode(self, replaced: Option<u32>, made: u32) -> u32 {
        let executable = match self {
            Self::Exact(bits) => return bits,
            Self::Usual { executable } => executable,
        };
        let kept = replaced.filter(|mode| matches!(Self::of_mode(*mode), Self::Usual { .. }));
        let mode = kept.unwrap_or(made) & 0o7777;
        // Who may read it may run it.
        if executable { mode | (mode & 0o444) >> 2 } else { mode & !RUN }
    }
}

/// Who may list, enter and fill a directory, where a umask would make it otherwise. Exactly nine bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectoryRights(u32);

impl DirectoryRights {
    /// None: the usual ones, which are left to the umask. Nor are there any of a directory that nobody may enter: nothing
    /// in it can be captured.
    #[must_use]
    pub fn of_mode(mode: u32) -> Option<Self> {
        let bits = mode & 0o777;
        (bits != 0 && !USUAL_DIRECTORY.contains(&bits)).then_some(Self(bits))
    }

    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// As long as files are made in it.
    pub(super) fn bits_while_filled(self) -> u32 {
        self.0 | OWNER
    }

    /// Its owner may not write in it, or not even look.
    pub(crate) fn is_closed(self) -> bool {
        self.bits_while_filled() != self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{DirectoryRights, Rights};

    #[test]
    fn rights_of_directories_that_a_umask_would_not_give_are_remembered() {
        for usual in [0o755, 0o775, 0o777, 0o000] {
            assert_eq!(DirectoryRights::of_mode(0o040_000 | usual), None);
        }
        for bits in [0o700, 0o750, 0o500, 0o711] {
            assert_eq!(DirectoryRights::of_mode(0o040_000 | bits), Some(DirectoryRights(bits)));
        }
        assert!(DirectoryRights(0o500).is_closed());
        assert!(!DirectoryRights(0o700).is_closed());
    }

    #[test]
    fn what_others_may_not_read_is_remembered_exactly() {
        let usual = |executable| Rights::Usual { executable };
        assert_eq!(Rights::of_mode(0o100_664), usual(false));
        assert_eq!(Rights::of_mode(0o100_755), usual(true));
        for bits in [0o600, 0o640, 0o400, 0o444, 0o700, 0o000] {
            assert_eq!(Rights::of_mode(0o100_000 | bits), Rights::Exact(bits));
        }
    }

    #[test]
    fn usual_rights_follow_the_file_they_replace_unless_that_is_private() {
        let usual = |executable| Rights::Usual { executable };
        assert_eq!(usual(false).mode(Some(0o664), 0o644), 0o664);
        assert_eq!(usual(true).mode(Some(0o664), 0o644), 0o775);
        assert_eq!(usual(false).mode(Some(0o600), 0o644), 0o644);
        assert_eq!(usual(true).mode(None, 0o600), 0o700);
        assert_eq!(Rights::Exact(0o600).mode(Some(0o755), 0o644), 0o600);
    }
}
