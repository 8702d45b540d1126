//! Limits on the size of one answer.
//!
//! What a provider sends is stored, sent back with every later request and shown by every client, so a part of an
//! answer has at most 4 MiB. Beyond that the answer fails, keeps what was said, and is not asked for again: it would
//! not be shorter. The arguments of a call have at most 1 MiB; of a longer one the model is told, and the turn goes on.
//!
//! Not here: how large one event may be on its way (`sse.rs`).

use std::collections::HashMap;
use sturdy_session::json::Map;
use sturdy_session::talk::{CallInput, Said};
use sturdy_session::types::failure::{ApiFailure, Failure};

/// A text, a thought, or a call with its arguments or its result.
pub const PART_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The arguments of a call.
pub const ARGUMENTS_BYTES_MAX: usize = 1024 * 1024;
/// All parts of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
const PARTS_MAX: usize = 4096;

/// Counts what was said in one answer.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    parts: HashMap<String, usize>,
    bytes: usize,
}

impl Limits {
    /// Passes on what was said, or says why no more is heard.
    pub(crate) fn pass(&mut self, said: Said) -> Result<Said, Failure> {
        let (part, bytes) = match &said {
            Said::TextGrew { block, text } | Said::TextReplaced { block, text, .. } => (block, text.len()),
            Said::ReasoningGrew { block, text, metadata } => {
                (block, text.len() + bytes_of_metadata(metadata))
            }
            Said::TextStarted { block, metadata }
            | Said::TextEnded { block, metadata }
            | Said::ReasoningStarted { block, metadata }
            | Said::ReasoningEnded { block, metadata } => (block, bytes_of_metadata(metadata)),
            Said::ToolInputStarted { call, name } => (call, name.len()),
            Said::ToolInputGrew { call, json } => (call, json.len()),
            Said::ToolCalled { call, name, input, metadata, .. } => {
                // Arguments that did not stream in are counted now.
                let is_counted = self.parts.get(call).is_some_and(|bytes| *bytes > name.len());
                let bytes = if is_counted { 0 } else { bytes_of_input(input) };
                self.count(call, bytes)?;
                let is_too_long =
                    self.parts.get(call).is_some_and(|bytes| *bytes > ARGUMENTS_BYTES_MAX + name.len());
                self.count(call, bytes_of_metadata(metadata))?;
                return Ok(if is_too_long { without_arguments(said) } else { said });
            }
            Said::ToolReturned { call, output, .. } => (call, bytes_of(output)),
            Said::Started | Said::Finished { .. } => return Ok(said),
        };
        self.count(part, bytes)?;
        Ok(said)
    }

    fn count(&mut self, part: &str, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes;
        if self.bytes > ANSWER_BYTES_MAX {
            return Err(too_long(&format!("The answer is larger than {ANSWER_BYTES_MAX} bytes")));
        }
        if self.parts.len() >= PARTS_MAX && !self.parts.contains_key(part) {
            return Err(too_long(&format!("The answer has more than {PARTS_MAX} parts")));
        }
        let sum = self.parts.entry(part.to_owned()).or_default();
        *sum += bytes;
        if *sum > PART_BYTES_MAX {
            return Err(too_long(&format!("A part of the answer is larger than {PART_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

/// A call that is not run: its arguments came whole, and too many of them.
fn without_arguments(said: Said) -> Said {
    match said {
        Said::ToolCalled { call, name, metadata, by_provider, .. } => {
            Said::ToolCalled { call, name, input: too_many_arguments(), metadata, by_provider }
        }
        other => other,
    }
}

/// In place of arguments that are too long; the model is told so.
pub(crate) fn too_many_arguments() -> CallInput {
    let error = format!(
        "the arguments are larger than {ARGUMENTS_BYTES_MAX} bytes and were not read; do it in several smaller calls"
    );
    CallInput::Malformed { text: String::new(), error }
}

fn too_long(message: &str) -> Failure {
    Failure::Api(ApiFailure { message: message.to_owned(), is_retryable: false, ..ApiFailure::default() })
}

fn bytes_of_metadata(metadata: &Option<Map>) -> usize {
    metadata.as_ref().map_or(0, bytes_of)
}

fn bytes_of_input(input: &CallInput) -> usize {
    match input {
        CallInput::Json(value) => bytes_of(value),
        CallInput::Malformed { text, .. } => text.len(),
    }
}

fn bytes_of(value: &impl serde::Serialize) -> usize {
    let mut counter = Counter(0);
    // Counting does not fail, and what cannot be written as JSON is not stored either.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
