//! Typed errors as clients see them. They are data: facts about a message, not Rust errors.

use crate::json::{Nothing, whole, whole_option};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// `{"name": …, "data": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "name", content = "data")]
pub enum Failure {
    #[serde(rename = "ProviderAuthError")]
    ProviderAuth {
        #[serde(rename = "providerID")]
        provider_id: String,
        message: String,
    },
    #[serde(rename = "UnknownError")]
    Unknown {
        message: String,
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    #[serde(rename = "MessageOutputLengthError")]
    OutputLength(Nothing),
    #[serde(rename = "MessageAbortedError")]
    Aborted { message: String },
    #[serde(rename = "StructuredOutputError")]
    StructuredOutput {
        message: String,
        #[serde(deserialize_with = "whole")]
        retries: u32,
    },
    #[serde(rename = "ContextOverflowError")]
    ContextOverflow {
        message: String,
        #[serde(rename = "responseBody", default, skip_serializing_if = "Option::is_none")]
        response_body: Option<String>,
    },
    #[serde(rename = "ContentFilterError")]
    ContentFilter { message: String },
    #[serde(rename = "APIError")]
    Api(ApiFailure),
}

/// A provider refused a request, or could not be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiFailure {
    pub message: String,
    #[serde(
        rename = "statusCode",
        default,
        deserialize_with = "whole_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub status_code: Option<u16>,
    #[serde(rename = "isRetryable")]
    pub is_retryable: bool,
    /// Lower-case names.
    #[serde(rename = "responseHeaders", default, skip_serializing_if = "Option::is_none")]
    pub response_headers: Option<BTreeMap<String, String>>,
    #[serde(rename = "responseBody", default, skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
}

impl Failure {
    /// The user stopped it, or the process died.
    #[must_use]
    pub fn aborted() -> Self {
        Self::Aborted { message: "Aborted".to_owned() }
    }

    #[must_use]
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::Unknown { message: message.into(), reference: None }
    }

    #[must_use]
    pub fn is_aborted(&self) -> bool {
        matches!(self, Self::Aborted { .. })
    }
}
