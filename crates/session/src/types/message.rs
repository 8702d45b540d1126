//! The two kinds of messages.

use super::diff::FileDiff;
use super::failure::Failure;
use super::format::OutputFormat;
use super::part::{Created, Part};
use super::usage::Tokens;
use crate::id::{MessageId, SessionId};
use crate::json::Num;
use crate::stamp::Millis;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Message {
    User(Box<UserMessage>),
    Assistant(Box<AssistantMessage>),
}

/// A message with what it is made of: one entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageWithParts {
    pub info: Message,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    pub id: MessageId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    pub role: UserRole,
    pub time: Created,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OutputFormat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<TurnSummary>,
    pub agent: String,
    pub model: ModelRef,
    /// Extra system text for this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Switches tools on and off for this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeMap<String, bool>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserRole {
    #[default]
    #[serde(rename = "user")]
    User,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssistantRole {
    #[default]
    #[serde(rename = "assistant")]
    Assistant,
}

/// What a turn changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    pub diffs: Vec<FileDiff>,
}

/// A model in the spelling of messages and prompts (`modelID`, not `id`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(rename = "modelID")]
    pub model_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    pub id: MessageId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    pub role: AssistantRole,
    pub time: AssistantTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    #[serde(rename = "parentID")]
    pub parent_id: MessageId,
    #[serde(rename = "modelID")]
    pub model_id: String,
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// Deprecated; equals the agent.
    pub mode: String,
    pub agent: String,
    pub path: MessagePath,
    /// True on summaries made by compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<bool>,
    pub cost: Num,
    pub tokens: Tokens,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantTime {
    pub created: Millis,
    /// Set on every way out: done, failed, aborted, interrupted by a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePath {
    pub cwd: String,
    pub root: String,
}

impl Message {
    #[must_use]
    pub fn id(&self) -> &MessageId {
        match self {
            Self::User(user) => &user.id,
            Self::Assistant(assistant) => &assistant.id,
        }
    }

    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        match self {
            Self::User(user) => &user.session_id,
            Self::Assistant(assistant) => &assistant.session_id,
        }
    }

    #[must_use]
    pub fn created(&self) -> Millis {
        match self {
            Self::User(user) => user.time.created,
            Self::Assistant(assistant) => assistant.time.created,
        }
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let message = match value.get("role").and_then(serde_json::Value::as_str) {
            Some("user") => serde_json::from_value(value).map(Self::User),
            Some("assistant") => serde_json::from_value(value).map(Self::Assistant),
            _ => return Err(de::Error::custom("a message has the role \"user\" or \"assistant\"")),
        };
        message.map_err(de::Error::custom)
    }
}
