//! What a session is doing.

use crate::json::whole;
use crate::stamp::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Status {
    #[default]
    Idle,
    Busy,
    Retry {
        /// From 1.
        #[serde(deserialize_with = "whole")]
        attempt: u32,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<RetryAction>,
        /// When the next try begins.
        #[serde(deserialize_with = "whole")]
        next: Millis,
    },
}

/// What a person could do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RetryAction {
    pub reason: String,
    pub provider: String,
    pub title: String,
    pub message: String,
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}
