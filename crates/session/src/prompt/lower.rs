//! From stored messages to the words a model is asked in.
//!
//! Each message is lowered by itself. A user message becomes at most one turn. An assistant
//! message is cut at its step starts; each piece becomes one assistant turn and, if it made
//! calls, one turn with their results, so that every call is answered right behind it. Media
//! which the target does not take inside a result follow in a user turn of their own.
//!
//! What another model said is told as plain text: signatures and item ids mean nothing to
//! anybody but the model that made them.
//!
//! Not here: what only one provider wants (`sturdy-llm`'s `adjust`), the system text.

mod result;

use super::history::is_provider_executed;
use crate::json::Map;
use crate::records::is_set_aside;
use crate::talk::{AssistantItem, Media, ToolResult, Turn, UserItem};
use crate::types::message::{AssistantMessage, Message, MessageWithParts};
use crate::types::part::{FilePart, Part, PartBody, ReasoningPart, TextPart, ToolPart};
use result::{Answer, answer};
use serde_json::Value;
use std::borrow::Borrow;

/// Stands where a compaction was asked for; the summary is the answer to it.
const COMPACTION_QUESTION: &str = "Summarise what has been done in this session up to this point.";
const SUBTASK_STATEMENT: &str = "The user started the following tool directly.";
const MEDIA_LEAD: &str = "These files belong to the tool results above:";

/// The model a request goes to, as far as the history depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub provider_id: String,
    pub model_id: String,
    pub media_in_results: MediaInResults,
}

/// Which files a model takes inside the result of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaInResults {
    #[default]
    None,
    Images,
    ImagesAndDocuments,
}

impl MediaInResults {
    #[must_use]
    pub fn takes(self, mime: &str) -> bool {
        let is_image = mime.starts_with("image/");
        let is_document = mime == "application/pdf";
        match self {
            Self::None => false,
            Self::Images => is_image,
            Self::ImagesAndDocuments => is_image || is_document,
        }
    }
}

/// What a caller may want otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerOptions {
    pub media: MediaMode,
    /// Longer tool outputs are cut to this many characters.
    pub output_chars_max: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaMode {
    #[default]
    Send,
    /// A line of text in place of each image and PDF.
    Name,
}

/// Lowers a history for an ordinary request.
#[must_use]
pub fn lower<M: Borrow<MessageWithParts>>(history: &[M], target: &Target) -> Vec<Turn> {
    lower_with(history, target, LowerOptions::default())
}

#[must_use]
pub fn lower_with<M: Borrow<MessageWithParts>>(
    history: &[M],
    target: &Target,
    options: LowerOptions,
) -> Vec<Turn> {
    let mut turns = Vec::with_capacity(history.len() * 2);
    for message in history {
        let message = message.borrow();
        match &message.info {
            Message::User(_) => lower_user(&message.parts, options, &mut turns),
            Message::Assistant(info) => lower_assistant(info, &message.parts, target, options, &mut turns),
        }
    }
    turns
}

fn lower_user(parts: &[Part], options: LowerOptions, turns: &mut Vec<Turn>) {
    let items: Vec<UserItem> = parts.iter().filter_map(|part| user_item(part, options)).collect();
    if !items.is_empty() {
        turns.push(Turn::User(items));
    }
}

fn user_item(part: &Part, options: LowerOptions) -> Option<UserItem> {
    match &part.body {
        PartBody::Text(text) => is_spoken(text).then(|| UserItem::Text(text.text.clone())),
        // The content of text files and directories stands in synthetic text beside them.
        PartBody::File(file) if is_told_as_text(&file.mime) => None,
        PartBody::File(file) if options.media == MediaMode::Name && is_media(&file.mime) => {
            Some(UserItem::Text(attached(file)))
        }
        PartBody::File(file) => Some(UserItem::File(media(file))),
        PartBody::Compaction(_) => Some(UserItem::Text(COMPACTION_QUESTION.to_owned())),
        PartBody::Subtask(_) => Some(UserItem::Text(SUBTASK_STATEMENT.to_owned())),
        PartBody::Reasoning(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_) => None,
    }
}

fn lower_assistant(
    info: &AssistantMessage,
    parts: &[Part],
    target: &Target,
    options: LowerOptions,
    turns: &mut Vec<Turn>,
) {
    if !is_worth_telling(info, parts) {
        return;
    }
    let mut speaker = Speaker {
        target,
        options,
        same_model: info.provider_id == target.provider_id && info.model_id == target.model_id,
        is_signed: parts.iter().any(is_signed_reasoning),
        items: Vec::new(),
        results: Vec::new(),
        media: Vec::new(),
    };
    for part in parts {
        speaker.take(part, turns);
    }
    speaker.end_step(turns);
    speaker.end_message(turns);
}

/// A failed answer is not shown to the model again. One the user stopped is, as soon as the
/// user could see something of it.
fn is_worth_telling(info: &AssistantMessage, parts: &[Part]) -> bool {
    match &info.error {
        None => true,
        Some(error) if error.is_aborted() => {
            parts.iter().any(|part| !matches!(part.body, PartBody::StepStart(_) | PartBody::Reasoning(_)))
        }
        Some(_) => false,
    }
}

/// One assistant message on its way to turns.
struct Speaker<'a> {
    target: &'a Target,
    options: LowerOptions,
    same_model: bool,
    is_signed: bool,
    items: Vec<AssistantItem>,
    results: Vec<ToolResult>,
    /// What must follow in a user turn.
    media: Vec<Media>,
}

impl Speaker<'_> {
    fn take(&mut self, part: &Part, turns: &mut Vec<Turn>) {
        match &part.body {
            PartBody::Text(text) => self.text(text),
            PartBody::Reasoning(reasoning) => self.reasoning(reasoning),
            PartBody::Tool(tool) => self.tool(tool),
            PartBody::StepStart(_) => self.end_step(turns),
            PartBody::Subtask(_)
            | PartBody::File(_)
            | PartBody::StepFinish(_)
            | PartBody::Snapshot(_)
            | PartBody::Patch(_)
            | PartBody::Agent(_)
            | PartBody::Retry(_)
            | PartBody::Compaction(_) => {}
        }
    }

    fn text(&mut self, part: &TextPart) {
        if is_set_aside(part.metadata.as_ref()) {
            return;
        }
        let text = match (part.text.is_empty(), self.is_signed && self.same_model) {
            // Signed reasoning must come back with what stood around it, and an empty
            // block is refused: a space keeps the place.
            (true, true) => " ".to_owned(),
            (true, false) => return,
            (false, _) => part.text.clone(),
        };
        if part.ignored != Some(true) {
            let metadata = self.own(part.metadata.as_ref());
            self.items.push(AssistantItem::Text { text, metadata });
        }
    }

    fn reasoning(&mut self, part: &ReasoningPart) {
        if is_set_aside(part.metadata.as_ref()) {
            return;
        }
        let text = part.text.clone();
        if self.same_model {
            self.items.push(AssistantItem::Reasoning { text, metadata: part.metadata.clone() });
        } else if !text.trim().is_empty() {
            self.items.push(AssistantItem::Text { text, metadata: None });
        }
    }

    fn tool(&mut self, part: &ToolPart) {
        let Answer { content, is_error, media } = answer(&part.state, self.target, self.options);
        self.media.extend(media);

        let by_provider = is_provider_executed(part.metadata.as_ref());
        let (executed, result) = if by_provider { (Some(content), None) } else { (None, Some(content)) };
        self.items.push(AssistantItem::Call {
            id: part.call_id.clone(),
            name: part.tool.clone(),
            input: Value::Object(part.state.input().clone()),
            metadata: self.own(part.metadata.as_ref()).and_then(without_flag),
            executed,
        });
        if let Some(content) = result {
            let call = part.call_id.clone();
            let name = part.tool.clone();
            self.results.push(ToolResult { call, name, content, is_error });
        }
    }

    /// Metadata goes back only to the model that made it.
    fn own(&self, metadata: Option<&Map>) -> Option<Map> {
        if self.same_model { metadata.cloned() } else { None }
    }

    fn end_step(&mut self, turns: &mut Vec<Turn>) {
        if !self.items.is_empty() {
            turns.push(Turn::Assistant(std::mem::take(&mut self.items)));
        }
        if !self.results.is_empty() {
            turns.push(Turn::Tool(std::mem::take(&mut self.results)));
        }
    }

    fn end_message(self, turns: &mut Vec<Turn>) {
        if self.media.is_empty() {
            return;
        }
        let lead = UserItem::Text(MEDIA_LEAD.to_owned());
        turns.push(Turn::User(
            std::iter::once(lead).chain(self.media.into_iter().map(UserItem::File)).collect(),
        ));
    }
}

fn without_flag(mut metadata: Map) -> Option<Map> {
    metadata.shift_remove("providerExecuted");
    (!metadata.is_empty()).then_some(metadata)
}

fn is_spoken(text: &TextPart) -> bool {
    text.ignored != Some(true) && !text.text.is_empty()
}

fn is_signed_reasoning(part: &Part) -> bool {
    let PartBody::Reasoning(reasoning) = &part.body else { return false };
    let signature = reasoning.metadata.as_ref().and_then(|map| map.get("anthropic")?.get("signature"));
    signature.is_some_and(|value| !value.is_null())
}

/// Images and PDFs: what can be large and what models take as files.
#[must_use]
pub fn is_media(mime: &str) -> bool {
    mime.starts_with("image/") || mime == "application/pdf"
}

pub(super) fn is_told_as_text(mime: &str) -> bool {
    mime == "text/plain" || mime == "application/x-directory"
}

/// The line that stands for a file which is not sent.
#[must_use]
pub fn attached(file: &FilePart) -> String {
    format!("[Attached {}: {}]", file.mime, file.filename.as_deref().unwrap_or("file"))
}

pub(super) fn media(file: &FilePart) -> Media {
    Media { mime: file.mime.clone(), url: file.url.clone(), filename: file.filename.clone() }
}
