//! Gathers deltas of a model's answer while the previous commit is being written.
//!
//! The first word goes out at once. While its commit is in flight, and for a short moment after the
//! last one, words are gathered and neighbouring chunks of one text are joined. So an answer costs as
//! many commits as the disk can do, not as many as the provider sends.

use std::time::Duration;
use sturdy_session::talk::Said;

/// Commits of one session are at least this far apart: faster than an eye, slower than a disk.
pub(crate) const FLOOR: Duration = Duration::from_millis(4);
/// What is gathered at most before the provider has to wait.
const GATHERED_BYTES_MAX: usize = 64 * 1024;
const GATHERED_WORDS_MAX: usize = 512;

/// What was said and is not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    said: Vec<Said>,
    bytes: usize,
}

impl Gathered {
    pub(crate) fn push(&mut self, said: Said) {
        self.bytes += bytes_of(&said);
        let rest = match self.said.last_mut() {
            Some(last) => join(last, said),
            None => Some(said),
        };
        self.said.extend(rest);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= GATHERED_BYTES_MAX || self.said.len() >= GATHERED_WORDS_MAX
    }

    pub(crate) fn take(&mut self) -> Vec<Said> {
        self.bytes = 0;
        std::mem::take(&mut self.said)
    }
}

/// Joins a chunk to the one before it if both belong to the same text; gives back what does not.
fn join(last: &mut Said, next: Said) -> Option<Said> {
    match (last, next) {
        (Said::TextGrew { block: open, text: whole }, Said::TextGrew { block, text }) if *open == block => {
            whole.push_str(&text);
            None
        }
        (
            Said::ReasoningGrew { block: open, text: whole, metadata: None },
            Said::ReasoningGrew { block, text, metadata: None },
        ) if *open == block => {
            whole.push_str(&text);
            None
        }
        (Said::ToolInputGrew { call: open, json: whole }, Said::ToolInputGrew { call, json })
            if *open == call =>
        {
            whole.push_str(&json);
            None
        }
        (_, next) => Some(next),
    }
}

fn bytes_of(said: &Said) -> usize {
    match said {
        Said::TextGrew { text, .. } | Said::ReasoningGrew { text, .. } => text.len(),
        Said::ToolInputGrew { json, .. } => json.len(),
        _ => 64,
    }
}
