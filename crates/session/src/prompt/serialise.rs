//! A conversation as plain text, for the model that summarises it.
//!
//! Text because the summary is *about* the conversation and must not continue it; short
//! because it has to fit where the conversation no longer did: media become a line, tool
//! outputs are cut.

use super::history::is_complete_summary;
use super::lower::attached;
use crate::json::{Map, utf16_len, utf16_prefix};
use crate::types::message::{Message, MessageWithParts};
use crate::types::part::{FilePart, Part, PartBody};
use crate::types::tool::{Attachment, ToolState};

const OUTPUT_CHARS_MAX: usize = 2000;
const CLEARED: &str = "[removed to save space]";
const UNFINISHED: &str = "[interrupted before it finished]";
const TEMPLATE: &str = include_str!("serialise/template.md");
const MERGE: &str = include_str!("serialise/merge.md");

/// The messages as text, a blank line between them.
#[must_use]
pub fn conversation<'a>(messages: impl IntoIterator<Item = &'a MessageWithParts>) -> String {
    let blocks: Vec<String> = messages.into_iter().map(message).filter(|block| !block.is_empty()).collect();
    blocks.join("\n\n")
}

fn message(message: &MessageWithParts) -> String {
    match &message.info {
        Message::User(_) => user(&message.parts),
        // Half a summary says nothing that the messages it was made from do not say better.
        Message::Assistant(info) if info.summary == Some(true) && !is_complete_summary(info) => String::new(),
        Message::Assistant(_) => assistant(&message.parts),
    }
}

fn user(parts: &[Part]) -> String {
    let lines: Vec<String> = parts.iter().filter_map(user_line).collect();
    if lines.is_empty() { String::new() } else { format!("[User]: {}", lines.join("\n")) }
}

fn user_line(part: &Part) -> Option<String> {
    match &part.body {
        PartBody::Text(text) => {
            (text.ignored != Some(true) && !text.text.is_empty()).then(|| text.text.clone())
        }
        PartBody::File(file) => Some(attached(file)),
        PartBody::Subtask(subtask) => Some(format!("[Started agent {}]: {}", subtask.agent, subtask.prompt)),
        PartBody::Reasoning(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_) => None,
    }
}

fn assistant(parts: &[Part]) -> String {
    let mut lines = Vec::new();
    for part in parts {
        match &part.body {
            PartBody::Text(text) if !text.text.trim().is_empty() => {
                lines.push(format!("[Assistant]: {}", text.text));
            }
            PartBody::Reasoning(reasoning) if !reasoning.text.trim().is_empty() => {
                lines.push(format!("[Assistant reasoning]: {}", reasoning.text));
            }
            PartBody::Tool(tool) => {
                lines.push(format!("[Assistant tool call]: {}({})", tool.tool, json(tool.state.input())));
                lines.push(outcome(&tool.state));
            }
            PartBody::Text(_)
            | PartBody::Reasoning(_)
            | PartBody::Subtask(_)
            | PartBody::File(_)
            | PartBody::StepStart(_)
            | PartBody::StepFinish(_)
            | PartBody::Snapshot(_)
            | PartBody::Patch(_)
            | PartBody::Agent(_)
            | PartBody::Retry(_)
            | PartBody::Compaction(_) => {}
        }
    }
    lines.join("\n")
}

fn outcome(state: &ToolState) -> String {
    match state {
        ToolState::Pending { .. } | ToolState::Running { .. } => format!("[Tool error]: {UNFINISHED}"),
        ToolState::Error { error, metadata, .. } => {
            let partial = metadata.as_ref().and_then(|map| map.get("output")?.as_str());
            match partial.filter(|_| state.is_interrupted()) {
                Some(output) => format!("[Tool result]: {}\n{UNFINISHED}", cut(output)),
                None => format!("[Tool error]: {}", cut(error)),
            }
        }
        ToolState::Completed { time, .. } if time.compacted.is_some() => format!("[Tool result]: {CLEARED}"),
        ToolState::Completed { output, attachments, .. } => {
            let mut text = format!("[Tool result]: {}", cut(output));
            for file in attachments.iter().flatten().map(file_of) {
                text.push('\n');
                text.push_str(&attached(file));
            }
            text
        }
    }
}

fn file_of(attachment: &Attachment) -> &FilePart {
    &attachment.file
}

fn json(input: &Map) -> String {
    serde_json::to_string(input).expect("BUG: a map of JSON values is JSON")
}

fn cut(text: &str) -> String {
    if utf16_len(text) <= OUTPUT_CHARS_MAX {
        return text.to_owned();
    }
    format!("{}\n[truncated]", utf16_prefix(text, OUTPUT_CHARS_MAX))
}

/// The request for a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SummaryRequest<'a> {
    pub conversation: &'a str,
    /// The summary an earlier compaction made; the new one replaces it.
    pub previous: Option<&'a str>,
    /// What extensions want the model to know besides.
    pub context: &'a [String],
    /// An extension's own prompt, in place of ours.
    pub prompt: Option<&'a str>,
}

impl SummaryRequest<'_> {
    /// The one user message of the request.
    #[must_use]
    pub fn text(&self) -> String {
        let conversation = element("conversation", self.conversation);
        if let Some(prompt) = self.prompt {
            return format!("{prompt}\n\n{conversation}");
        }
        let mut sections = vec![conversation];
        if let Some(previous) = self.previous {
            sections.push(element("prior-summary", previous));
            sections.push(MERGE.trim_end().to_owned());
        }
        sections.push(TEMPLATE.trim_end().to_owned());
        sections.extend(self.context.iter().cloned());
        sections.join("\n\n")
    }
}

/// Wraps a text so that nothing in it closes the element early.
fn element(name: &str, text: &str) -> String {
    let inside = text.replace(&format!("</{name}"), &format!("<\\/{name}"));
    format!("<{name}>\n{inside}\n</{name}>")
}
