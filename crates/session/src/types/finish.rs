//! Why a model stopped.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
    Error,
    Unknown,
}

impl FinishReason {
    /// As it stands in `finish` and in `step-finish.reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool-calls",
            Self::ContentFilter => "content-filter",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the model is done for now, rather than waiting for results.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Stop | Self::Length | Self::ContentFilter | Self::Error => true,
            Self::ToolCalls | Self::Unknown => false,
        }
    }
}
