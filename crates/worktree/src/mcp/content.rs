//! What servers answer with, in our words: texts, and files that a model can be shown.
//!
//! An image is passed on if it is one, a document if a model can read it; everything else becomes a
//! line that says what was left out. So a strange answer costs a line and not the conversation.

use crate::tool::{Attached, Done, ToolFailure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, JsonRpcMessage, RequestId, ResourceContents,
    ServerJsonRpcMessage,
};
use serde_json::{Value, json};
use sturdy_session::depth::{LEVELS_MAX, is_deeper, is_text_deeper};

/// What is read from a resource and given to a model.
const BLOB_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Files of one answer.
const FILES_MAX: usize = 20;
/// The message, its result, and the member of it that holds what a tool answered.
const ENVELOPE_LEVELS: usize = 3;

const READABLE: [&str; 5] = ["application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"];

/// One item of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text {
        text: String,
        uri: Option<String>,
        mime: Option<String>,
    },
    File {
        data: String,
        mime: String,
        uri: Option<String>,
    },
    /// Something a model cannot be given.
    Other(String),
}

impl From<ContentBlock> for Piece {
    fn from(block: ContentBlock) -> Self {
        match block {
            ContentBlock::Text(text) => Self::Text { text: text.text, uri: None, mime: None },
            ContentBlock::Image(image) => Self::File { data: image.data, mime: image.mime_type, uri: None },
            ContentBlock::Audio(audio) => Self::Other(format!("[Audio ({}) is left out]", audio.mime_type)),
            ContentBlock::Resource(embedded) => embedded.resource.into(),
            ContentBlock::ResourceLink(link) => {
                Self::Other(format!("[Resource {}: {}]", link.name, link.uri))
            }
            _ => Self::Other("[Content of an unknown kind is left out]".to_owned()),
        }
    }
}

impl From<ResourceContents> for Piece {
    fn from(contents: ResourceContents) -> Self {
        match contents {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                Self::Text { text, uri: Some(uri), mime: mime_type }
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mime = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                Self::File { data: blob, mime, uri: Some(uri) }
            }
            _ => Self::Other("[Contents of an unknown kind are left out]".to_owned()),
        }
    }
}

/// A file for a model, or a line that says why there is none.
pub(crate) fn file_of(data: &str, mime: &str, uri: Option<&str>) -> Result<Attached, String> {
    let name = uri.unwrap_or("a file");
    let plain: String = data.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    let left_out = |why: &str| format!("[{name} ({mime}) is left out: {why}]");
    if !READABLE.contains(&mime) {
        return Err(left_out("it is of a kind that cannot be attached"));
    }
    if plain.len() / 4 * 3 > BLOB_BYTES_MAX {
        return Err(left_out("it is larger than 10 MB"));
    }
    let Ok(bytes) = BASE64_STANDARD.decode(&plain) else {
        return Err(left_out("it is not base64"));
    };
    // A provider would refuse the whole conversation because of a file that is not what it claims.
    let found = infer::get(&bytes).map(|kind| kind.mime_type());
    if found != Some(mime) {
        return Err(left_out("it is not what it claims to be"));
    }
    let url = format!("data:{mime};base64,{plain}");
    Ok(Attached { mime: mime.to_owned(), filename: uri.map(str::to_owned), url })
}

/// Texts and files of an answer, in order.
#[must_use]
pub fn pieces_of(pieces: Vec<Piece>) -> (Vec<String>, Vec<Attached>) {
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text { text, .. } if text.is_empty() => {}
            Piece::Text { text, .. } | Piece::Other(text) => texts.push(text),
            Piece::File { .. } if files.len() >= FILES_MAX => {
                texts.push(format!("[A file is left out: {FILES_MAX} are attached already]"));
            }
            Piece::File { data, mime, uri } => match file_of(&data, &mime, uri.as_deref()) {
                Ok(file) => files.push(file),
                Err(why) => texts.push(why),
            },
        }
    }
    (texts, files)
}

/// What the model is told of an answer that nobody can store.
fn too_deep() -> String {
    format!("The answer nests lists and objects deeper than {LEVELS_MAX} levels.")
}

/// What is taken in place of a message that is too deep: an error, if somebody waits for it. None when it is
/// not too deep.
pub(super) fn instead_of_deep(message: &[u8]) -> Option<Result<ServerJsonRpcMessage, NobodyWaits>> {
    #[derive(serde::Deserialize)]
    struct Answered {
        id: Option<RequestId>,
    }
    if !is_text_deeper(message, LEVELS_MAX + ENVELOPE_LEVELS) {
        return None;
    }
    // What is skipped on the way to the id may be as deep as it likes.
    let answered = serde_json::from_slice::<Answered>(message).ok().and_then(|answered| answered.id);
    let refusal = |id| JsonRpcMessage::error(ErrorData::internal_error(too_deep(), None), Some(id));
    Some(answered.map(refusal).ok_or(NobodyWaits))
}

/// A message that is not an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct NobodyWaits;

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pieces: Vec<Piece>,
    structured: Option<Value>,
    is_error: bool,
}

impl From<CallToolResult> for Answer {
    fn from(result: CallToolResult) -> Self {
        Self {
            pieces: result.content.into_iter().map(Piece::from).collect(),
            structured: result.structured_content.filter(|value| !value.is_null()),
            is_error: result.is_error == Some(true),
        }
    }
}

impl Answer {
    pub(super) fn into_done(self) -> Result<Done, ToolFailure> {
        let structured = self.structured.filter(|_| self.pieces.is_empty());
        let (mut texts, files) = pieces_of(self.pieces);
        if self.is_error {
            let text = texts.join("\n\n");
            let said = if text.trim().is_empty() {
                "The tool reported an error without words.".to_owned()
            } else {
                text
            };
            return Err(ToolFailure::failed(said));
        }
        if structured.as_ref().is_some_and(|value| is_deeper(value, LEVELS_MAX)) {
            return Err(ToolFailure::failed(too_deep()));
        }
        // The structured form repeats the texts, where there are texts.
        texts.extend(structured.map(|value| value.to_string()));
        let mut done = Done::new("", texts.join("\n\n"), json!({}));
        done.attachments = files;
        Ok(done)
    }
}
