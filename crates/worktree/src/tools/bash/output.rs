//! What a command printed, in constant memory.
//!
//! Up to the limit it is all kept here. Beyond it everything goes to a file, and only the tail
//! stays: enough for what the model and the clients are shown.

use crate::bound::{self, Cut, Keep, Limits, Removed};
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// What clients show of a running command.
const PREVIEW_CHARS: usize = 30_000;

/// A command that floods must not fill the disk.
const SAVED_BYTES_MAX: u64 = 256 * 1024 * 1024;

pub(super) struct Output {
    limits: Limits,
    dir: PathBuf,
    call: String,
    /// The latest bytes: all of them until `saved`.
    tail: Vec<u8>,
    tail_bytes_max: usize,
    /// Line ends seen so far.
    ends: usize,
    bytes: u64,
    saved: Saved,
}

enum Saved {
    /// All is in the tail.
    NotYet,
    To {
        file: File,
        path: PathBuf,
        bytes: u64,
    },
    Failed,
}

/// The output of a finished command, as the model and clients get it.
pub(super) struct FinalOutput {
    pub text: String,
    pub preview: String,
    pub truncated: bool,
    pub saved: Option<PathBuf>,
}

impl Output {
    pub(super) fn new(limits: Limits, dir: &Path, call: &str) -> Self {
        // A preview of letters of four bytes, or the model's share, whichever is more.
        let tail_bytes_max = limits.bytes_max.max(PREVIEW_CHARS * 4);
        Self {
            limits,
            dir: dir.to_owned(),
            call: call.to_owned(),
            tail: Vec::new(),
            tail_bytes_max,
            ends: 0,
            bytes: 0,
            saved: Saved::NotYet,
        }
    }

    pub(super) async fn push(&mut self, chunk: &[u8]) {
        self.ends += chunk.iter().filter(|byte| **byte == b'\n').count();
        self.bytes += chunk.len() as u64;
        self.tail.extend_from_slice(chunk);
        if self.bytes > self.limits.bytes_max as u64 {
            self.save(chunk).await;
        }
        // Cut rarely: each cut moves what stays.
        if self.tail.len() > 2 * self.tail_bytes_max {
            self.tail.drain(..self.tail.len() - self.tail_bytes_max);
        }
    }

    async fn save(&mut self, chunk: &[u8]) {
        match &mut self.saved {
            Saved::Failed => {}
            Saved::NotYet => self.start_saving().await,
            Saved::To { file, bytes, .. } => {
                let room = SAVED_BYTES_MAX.saturating_sub(*bytes) as usize;
                let part = &chunk[..chunk.len().min(room)];
                *bytes += part.len() as u64;
                if file.write_all(part).await.is_err() {
                    self.saved = Saved::Failed;
                }
            }
        }
    }

    /// The tail still holds everything.
    async fn start_saving(&mut self) {
        let path = bound::saved_path(&self.dir, &self.call);
        let begun = async {
            let mut file = bound::create(&self.dir, &path).await?;
            file.write_all(&self.tail).await?;
            std::io::Result::Ok(file)
        };
        self.saved = match begun.await {
            Ok(file) => Saved::To { file, path, bytes: self.tail.len() as u64 },
            Err(error) => {
                tracing::warn!(%error, "output is not saved");
                Saved::Failed
            }
        };
    }

    /// The last letters, for clients, which know the dots for what is missing before them.
    pub(super) fn preview(&self) -> String {
        let text = decode(&self.tail[self.tail.len().saturating_sub(PREVIEW_CHARS * 4)..]);
        match text.char_indices().rev().nth(PREVIEW_CHARS - 1) {
            Some((at, _)) if at > 0 || self.bytes > text.len() as u64 => format!("...\n\n{}", &text[at..]),
            Some(_) | None => text,
        }
    }

    pub(super) async fn finish(mut self, may_delegate: bool) -> FinalOutput {
        let preview = self.preview();
        let text = decode(&self.tail);
        let is_whole = self.bytes as usize == self.tail.len();
        let cut = bound::cut(&text, self.limits, Keep::Tail);
        let Some(cut) =
            cut.or_else(|| (!is_whole).then(|| Cut { kept: text.clone(), removed: Removed::Lines(0) }))
        else {
            let or_none = |text: String| if text.is_empty() { "(no output)".to_owned() } else { text };
            return FinalOutput {
                text: or_none(text),
                preview: or_none(preview),
                truncated: false,
                saved: None,
            };
        };
        // Too many lines in few bytes: not saved on the way.
        if matches!(self.saved, Saved::NotYet) {
            self.start_saving().await;
        }
        let saved = match &mut self.saved {
            Saved::To { file, path, .. } => file.flush().await.is_ok().then(|| path.clone()),
            Saved::NotYet | Saved::Failed => None,
        };
        let cut = self.counted(cut);
        FinalOutput {
            text: cut.with_note(Keep::Tail, saved.as_deref(), may_delegate),
            preview,
            truncated: true,
            saved,
        }
    }

    /// The cut saw only the tail; the numbers are of the whole.
    fn counted(&self, cut: Cut) -> Cut {
        let kept_ends = cut.kept.matches('\n').count();
        let removed = match self.ends.saturating_sub(kept_ends) {
            0 => Removed::Bytes((self.bytes as usize).saturating_sub(cut.kept.len())),
            lines => Removed::Lines(lines),
        };
        Cut { removed, ..cut }
    }
}

/// Commands may print anything; what is no text shows as replacement characters. A letter that was
/// cut in two at the start is left out.
fn decode(bytes: &[u8]) -> String {
    let start = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}
