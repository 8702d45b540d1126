//! What form an answer is wanted in.

use crate::json::{Map, whole};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How often a wrong structured answer is handed back when the client did not say.
const RETRIES_DEFAULT: u32 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type")]
pub enum OutputFormat {
    #[serde(rename = "text")]
    Text,
    #[serde(rename = "json_schema")]
    JsonSchema {
        #[schema(value_type = Object)]
        schema: Map,
        #[serde(rename = "retryCount", default = "retries_default", deserialize_with = "whole")]
        retry_count: u32,
    },
}

fn retries_default() -> u32 {
    RETRIES_DEFAULT
}
