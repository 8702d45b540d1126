//! The shapes of error bodies, for the document. The bodies themselves are made in `error.rs`.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// `{name, data}`: the v1 API.
#[derive(Serialize, ToSchema)]
pub(crate) struct NamedError {
    /// `BadRequest`, `NotFoundError`, `ForbiddenError`, …
    name: String,
    data: NamedErrorData,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct NamedErrorData {
    message: String,
    /// Where the wrong value stands: `Params`, `Query`, `Payload` or `Body`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    rest: Map<String, Value>,
}

/// Of the v2 API: a request that does not fit.
#[derive(Serialize, ToSchema)]
pub(crate) struct InvalidRequestError {
    #[serde(rename = "_tag")]
    tag: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}

/// Of the v2 API.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionNotFoundError {
    #[serde(rename = "_tag")]
    tag: String,
    #[serde(rename = "sessionID")]
    session_id: String,
    message: String,
}
