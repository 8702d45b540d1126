//! Output limits: what a model is shown, and where the rest is.
//!
//! A text over the limits is cut to whole lines, from its head or its tail; the full text goes to
//! a file that the model can search and read. The hint says how.

use std::io;
use std::path::{Path, PathBuf};

/// The most a model is shown of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub lines_max: usize,
    pub bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines_max: 2_000, bytes_max: 50 * 1024 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Head,
    Tail,
}

/// A text that was too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub kept: String,
    pub removed: Removed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    Lines(usize),
    Bytes(usize),
}

/// Cuts a text to the limits; `None` when it fits.
#[must_use]
pub fn cut(text: &str, limits: Limits, keep: Keep) -> Option<Cut> {
    let lines: Vec<&str> = text.split('\n').collect();
    if lines.len() <= limits.lines_max && text.len() <= limits.bytes_max {
        return None;
    }
    let mut used = 0;
    let fits = |line: &&&str| {
        used += line.len() + 1;
        used <= limits.bytes_max + 1
    };
    let kept = match keep {
        Keep::Head => lines.iter().take(limits.lines_max).take_while(fits).count(),
        Keep::Tail => lines.iter().rev().take(limits.lines_max).take_while(fits).count(),
    };
    if kept == 0 {
        // One line is longer than all that may be shown: a part of it says more than nothing.
        let kept = match keep {
            Keep::Head => prefix(text, limits.bytes_max),
            Keep::Tail => suffix(text, limits.bytes_max),
        };
        return Some(Cut { kept: kept.to_owned(), removed: Removed::Bytes(text.len() - kept.len()) });
    }
    let shown = match keep {
        Keep::Head => lines[..kept].join("\n"),
        Keep::Tail => lines[lines.len() - kept..].join("\n"),
    };
    let removed = if lines.len() > kept {
        Removed::Lines(lines.len() - kept)
    } else {
        Removed::Bytes(text.len() - shown.len())
    };
    Some(Cut { kept: shown, removed })
}

impl Cut {
    /// The cut text with a line that says what is missing and where it is.
    #[must_use]
    pub fn with_note(&self, keep: Keep, saved: Option<&Path>, may_delegate: bool) -> String {
        let (count, what) = match self.removed {
            Removed::Lines(count) => (count, "lines"),
            Removed::Bytes(count) => (count, "bytes"),
        };
        let note = format!("[{count} {what} left out] {}", hint(saved, may_delegate));
        match keep {
            Keep::Head => format!("{}\n\n{note}", self.kept),
            Keep::Tail => format!("{note}\n\n{}", self.kept),
        }
    }
}

fn hint(saved: Option<&Path>, may_delegate: bool) -> String {
    let Some(path) = saved else {
        return "The whole output could not be saved; narrow the request to see the rest.".to_owned();
    };
    let path = path.display();
    if may_delegate {
        return format!(
            "The whole output is in {path}. To keep it out of your own context, let a subagent \
             work through it with the task tool; or search it with grep."
        );
    }
    format!("The whole output is in {path}. Search it with grep, or read parts of it with offset and limit.")
}

/// The longest start of at most `bytes` bytes that ends between letters.
#[must_use]
pub fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The longest end of at most `bytes` bytes that begins between letters.
#[must_use]
pub fn suffix(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// Where the whole output of a call is kept. The id comes from a model's provider, so it is not
/// trusted to be a name.
#[must_use]
pub fn saved_path(dir: &Path, call: &str) -> PathBuf {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = call.chars().take(80).map(plain).collect();
    dir.join(format!("tool_{name}"))
}

/// Keeps a text whole. Only the user may read it: it is as private as what it was made from.
pub async fn save(dir: &Path, call: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    use tokio::io::AsyncWriteExt;
    let path = saved_path(dir, call);
    let mut file = create(dir, &path).await?;
    file.write_all(bytes).await?;
    file.flush().await?;
    Ok(path)
}

/// Removes outputs that are older than this time and returns how many there were. Other files are left alone.
pub fn sweep(dir: &Path, before: std::time::SystemTime) -> io::Result<usize> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let is_old = |entry: &std::fs::DirEntry| {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(b"tool_");
        let found = entry.metadata().ok().filter(|found| is_ours && found.is_file());
        found.and_then(|found| found.modified().ok()).is_some_and(|written| written < before)
    };
    let old = entries.flatten().filter(is_old);
    // One that cannot be removed now is tried again with the next round.
    Ok(old.filter(|entry| std::fs::remove_file(entry.path()).is_ok()).count())
}

pub(crate) async fn create(dir: &Path, path: &Path) -> io::Result<tokio::fs::File> {
    use std::os::unix::fs::PermissionsExt as _;
    tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).await?;
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    let file = options.open(path).await?;
    // A file that was there before may be open to others.
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).await?;
    Ok(file)
}
