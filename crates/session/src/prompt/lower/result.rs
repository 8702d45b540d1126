//! The result of a call, as the model is told.
//!
//! Every call has an answer here, also one that never ended: a provider refuses a history in
//! which a call stands alone.

use super::{LowerOptions, MediaMode, Target, attached, is_media, is_told_as_text, media};
use crate::json::{utf16_len, utf16_prefix};
use crate::talk::{Media, ResultContent};
use crate::types::part::FilePart;
use crate::types::tool::{Attachment, ToolState};

const CLEARED: &str = "[This tool output was removed to save space. Run the tool again if you need it.]";
const INTERRUPTED: &str = "[The tool was interrupted before it finished. It may have acted in part.]";

pub(super) struct Answer {
    pub(super) content: ResultContent,
    pub(super) is_error: bool,
    /// What the target does not take inside a result.
    pub(super) media: Vec<Media>,
}

pub(super) fn answer(state: &ToolState, target: &Target, options: LowerOptions) -> Answer {
    match state {
        ToolState::Pending { .. } | ToolState::Running { .. } => error(INTERRUPTED),
        ToolState::Error { error: text, .. } => match partial_output(state) {
            Some(output) => plain(cut(output, options)),
            None => error(text),
        },
        ToolState::Completed { time, .. } if time.compacted.is_some() => plain(CLEARED.to_owned()),
        ToolState::Completed { output, attachments, .. } => {
            completed(cut(output, options), attachments.as_deref().unwrap_or(&[]), target, options)
        }
    }
}

/// What a stopped tool had said until then; worth more to the model than that it was stopped.
fn partial_output(state: &ToolState) -> Option<&str> {
    let ToolState::Error { metadata: Some(metadata), .. } = state else { return None };
    if !state.is_interrupted() {
        return None;
    }
    metadata.get("output")?.as_str()
}

fn plain(text: String) -> Answer {
    Answer { content: ResultContent::Text(text), is_error: false, media: Vec::new() }
}

fn error(text: &str) -> Answer {
    Answer { content: ResultContent::Text(text.to_owned()), is_error: true, media: Vec::new() }
}

fn completed(mut text: String, attachments: &[Attachment], target: &Target, options: LowerOptions) -> Answer {
    let mut inside = Vec::new();
    let mut behind = Vec::new();
    for attachment in attachments {
        match place(&attachment.file, target, options) {
            Place::Inside => inside.push(media(&attachment.file)),
            Place::Behind => behind.push(media(&attachment.file)),
            Place::Named => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&attached(&attachment.file));
            }
            Place::Nowhere => {}
        }
    }
    let content = if inside.is_empty() {
        ResultContent::Text(text)
    } else {
        ResultContent::Mixed { text, media: inside }
    };
    Answer { content, is_error: false, media: behind }
}

/// Where a tool's file goes.
enum Place {
    Inside,
    Behind,
    Named,
    Nowhere,
}

fn place(file: &FilePart, target: &Target, options: LowerOptions) -> Place {
    if is_told_as_text(&file.mime) {
        return Place::Nowhere;
    }
    if options.media == MediaMode::Name && is_media(&file.mime) {
        return Place::Named;
    }
    let is_inline = file.url.starts_with("data:");
    if is_inline && target.media_in_results.takes(&file.mime) {
        return Place::Inside;
    }
    // Nobody but us can open a `file:` URL.
    let can_be_fetched = file.url.starts_with("http://") || file.url.starts_with("https://");
    if is_inline || can_be_fetched { Place::Behind } else { Place::Named }
}

fn cut(output: &str, options: LowerOptions) -> String {
    match options.output_chars_max {
        Some(most) if utf16_len(output) > most => format!("{}\n[truncated]", utf16_prefix(output, most)),
        Some(_) | None => output.to_owned(),
    }
}
