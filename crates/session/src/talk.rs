//! The words shared with model providers: what is asked (`Request`) and what comes back (`Said`).
//!
//! Neither side is any provider's own format. `sturdy-llm` turns a `Request` into a
//! provider's body and its stream into `Said`; the turn machine knows only these words.

use crate::json::Map;
pub use crate::types::finish::FinishReason;
use crate::types::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The provider's own id of the model (`api.id`).
    pub model: String,
    /// Each entry is one system message, ahead of the history.
    pub system: Vec<String>,
    pub messages: Vec<Turn>,
    /// Sorted by name.
    pub tools: Vec<ToolSpec>,
    pub tool_choice: ToolChoice,
    pub output_tokens_max: Option<u64>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u64>,
    /// Provider options in the spelling of `opencode.json` (`reasoningEffort`, `thinking`, …).
    pub options: Map,
    /// Sent as they are, after the provider's own.
    pub headers: Vec<(String, String)>,
    /// For cache keys and affinity.
    pub session: String,
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    #[default]
    Auto,
    Required,
    None,
}

/// One message of the history as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    User(Vec<UserItem>),
    Assistant(Vec<AssistantItem>),
    /// The results of the calls in the assistant message just before.
    Tool(Vec<ToolResult>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum UserItem {
    Text(String),
    File(Media),
}

/// A file for a model: an image, a PDF, audio, video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    pub mime: String,
    /// A `data:` URL, or one the provider can fetch itself.
    pub url: String,
    pub filename: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AssistantItem {
    Text {
        text: String,
        metadata: Option<Map>,
    },
    Reasoning {
        text: String,
        /// Signatures and encrypted content, by provider; only replayed to the model that made them.
        metadata: Option<Map>,
    },
    Call {
        id: String,
        name: String,
        input: Value,
        metadata: Option<Map>,
        /// The provider ran it; its result stays in this message.
        executed: Option<ResultContent>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub call: String,
    pub name: String,
    pub content: ResultContent,
    pub is_error: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ResultContent {
    Text(String),
    /// Text with images or PDFs, for providers that take media in results.
    Mixed {
        text: String,
        media: Vec<Media>,
    },
}

/// What a model says, in the order it says it.
///
/// Blocks have ids that are stable within one stream. At most one text block is open at a
/// time; several reasoning blocks may be. `Finished` is the last word; a stream that ends
/// without it is broken.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// The provider accepted the request and began to answer.
    Started,
    TextStarted {
        block: String,
        metadata: Option<Map>,
    },
    TextGrew {
        block: String,
        text: String,
    },
    TextEnded {
        block: String,
        metadata: Option<Map>,
    },
    /// The text ended, and something else is kept in its place.
    TextReplaced {
        block: String,
        text: String,
        metadata: Option<Map>,
    },
    ReasoningStarted {
        block: String,
        metadata: Option<Map>,
    },
    ReasoningGrew {
        block: String,
        text: String,
        metadata: Option<Map>,
    },
    ReasoningEnded {
        block: String,
        metadata: Option<Map>,
    },
    /// First sign of a call; its arguments are still coming.
    ToolInputStarted {
        call: String,
        name: String,
    },
    ToolInputGrew {
        call: String,
        json: String,
    },
    /// The arguments are complete; the tool may run while the model goes on.
    ToolCalled {
        call: String,
        name: String,
        input: CallInput,
        metadata: Option<Map>,
        /// The provider runs it itself; its result comes as `ToolReturned`.
        by_provider: bool,
    },
    /// The result of a tool the provider ran.
    ToolReturned {
        call: String,
        output: Value,
        is_error: bool,
    },
    Finished {
        reason: FinishReason,
        usage: Usage,
        metadata: Option<Map>,
    },
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallInput {
    Json(Value),
    /// Not JSON; the model is told so.
    Malformed {
        text: String,
        error: String,
    },
}
