//! A tool call and what became of it.

use super::part::FilePart;
use crate::json::{Map, whole, whole_option};
use crate::stamp::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `pending`, then `running`, then exactly one of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum ToolState {
    Pending {
        #[schema(value_type = Object)]
        input: Map,
        raw: String,
    },
    Running {
        #[schema(value_type = Object)]
        input: Map,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        metadata: Option<Map>,
        time: CallStart,
    },
    Completed {
        #[schema(value_type = Object)]
        input: Map,
        output: String,
        title: String,
        #[schema(value_type = Object)]
        metadata: Map,
        time: CompletedCallTime,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attachments: Option<Vec<Attachment>>,
    },
    Error {
        #[schema(value_type = Object)]
        input: Map,
        error: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        metadata: Option<Map>,
        time: CallTime,
        /// Kept when the call ended before its arguments were complete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallStart {
    #[serde(deserialize_with = "whole")]
    pub start: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallTime {
    #[serde(deserialize_with = "whole")]
    pub start: Millis,
    #[serde(deserialize_with = "whole")]
    pub end: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CompletedCallTime {
    #[serde(deserialize_with = "whole")]
    pub start: Millis,
    #[serde(deserialize_with = "whole")]
    pub end: Millis,
    /// Set when the output is no longer shown to the model.
    #[serde(default, deserialize_with = "whole_option", skip_serializing_if = "Option::is_none")]
    pub compacted: Option<Millis>,
}

/// A file inside a tool result: a whole file part with ids of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Attachment {
    pub id: crate::id::PartId,
    #[serde(rename = "sessionID")]
    pub session_id: crate::id::SessionId,
    #[serde(rename = "messageID")]
    pub message_id: crate::id::MessageId,
    #[serde(rename = "type")]
    pub kind: FileTag,
    #[serde(flatten)]
    pub file: FilePart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum FileTag {
    #[serde(rename = "file")]
    File,
}

impl ToolState {
    #[must_use]
    pub fn input(&self) -> &Map {
        match self {
            Self::Pending { input, .. }
            | Self::Running { input, .. }
            | Self::Completed { input, .. }
            | Self::Error { input, .. } => input,
        }
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        match self {
            Self::Pending { .. } | Self::Running { .. } => false,
            Self::Completed { .. } | Self::Error { .. } => true,
        }
    }

    /// It was stopped, not answered: such a call never forces another step.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        let Self::Error { metadata: Some(metadata), .. } = self else { return false };
        metadata.get("interrupted") == Some(&serde_json::Value::Bool(true))
    }
}
