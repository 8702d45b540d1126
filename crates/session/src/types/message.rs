//! The two kinds of messages.

use super::diff::FileDiff;
use super::failure::Failure;
use super::format::OutputFormat;
use super::part::{Created, Part};
use super::usage::Tokens;
use crate::id::{MessageId, SessionId};
use crate::json::{Num, whole, whole_option};
use crate::stamp::Millis;
use crate::types::finish::FinishReason;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::HashMap;
use std::fmt;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Message {
    User(Box<UserMessage>),
    Assistant(Box<AssistantMessage>),
}

/// A message with what it is made of: one entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessageWithParts {
    pub info: Message,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[schema(value_type = Option<HashMap<String, bool>>)]
    pub tools: Option<Switches>,
}

/// Tool names, perhaps with wildcards, switched on or off. In the order they were written:
/// each becomes a permission rule, and of several that match the last wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches(Vec<(String, bool)>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum UserRole {
    #[default]
    #[serde(rename = "user")]
    User,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum AssistantRole {
    #[default]
    #[serde(rename = "assistant")]
    Assistant,
}

/// What a turn changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnSummary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    pub diffs: Vec<FileDiff>,
}

/// A model in the spelling of messages and prompts (`modelID`, not `id`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelRef {
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(rename = "modelID")]
    pub model_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
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
    pub finish: Option<FinishReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssistantTime {
    #[serde(deserialize_with = "whole")]
    pub created: Millis,
    /// Set on every way out: done, failed, aborted, interrupted by a crash.
    #[serde(default, deserialize_with = "whole_option", skip_serializing_if = "Option::is_none")]
    pub completed: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MessagePath {
    pub cwd: String,
    pub root: String,
}

impl Switches {
    #[must_use]
    pub fn get(&self, tool: &str) -> Option<bool> {
        self.iter().find(|(name, _)| *name == tool).map(|(_, on)| on)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.iter().map(|(name, on)| (name.as_str(), *on))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A name said twice keeps its first place and its last value, as in JavaScript.
    pub fn set(&mut self, tool: impl Into<String>, on: bool) {
        let tool = tool.into();
        match self.0.iter_mut().find(|(name, _)| *name == tool) {
            Some(known) => known.1 = on,
            None => self.0.push((tool, on)),
        }
    }
}

impl<S: Into<String>> FromIterator<(S, bool)> for Switches {
    fn from_iter<I: IntoIterator<Item = (S, bool)>>(pairs: I) -> Self {
        let mut switches = Vec::new();
        let mut places = HashMap::new();
        for (tool, on) in pairs {
            // As `set`, without a search through all of them for each.
            let tool = tool.into();
            let place = *places.entry(tool.clone()).or_insert(switches.len());
            match switches.get_mut(place) {
                Some((_, known)) => *known = on,
                None => switches.push((tool, on)),
            }
        }
        Self(switches)
    }
}

impl Serialize for Switches {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Switches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> de::Visitor<'de> for InOrder {
            type Value = Switches;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of tool names to booleans")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Switches, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<String, bool>()? {
                    pairs.push(pair);
                }
                Ok(pairs.into_iter().collect())
            }
        }
        deserializer.deserialize_map(InOrder)
    }
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
