//! The errors of the HTTP API as errors a method throws: the same words, the name as `code`.

use crate::error::ApiError;
use axum::body::to_bytes;
use axum::response::IntoResponse as _;
use serde_json::Value;
use sturdy_capnweb::{ErrorValue, Thrown};

/// Bodies of errors are a few lines.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// The body that `error.rs` would answer, parsed again. So error messages are written in one place.
pub(crate) async fn thrown(cause: impl Into<ApiError>) -> Thrown {
    let response = cause.into().into_response();
    let status = u32::from(response.status().as_u16());
    let body = to_bytes(response.into_body(), BODY_BYTES_MAX).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();

    let code = body["name"].as_str().or_else(|| body["_tag"].as_str()).unwrap_or("UnknownError");
    let message = body["data"]["message"].as_str().or_else(|| body["message"].as_str()).unwrap_or(code);
    let mut error = ErrorValue::new(message).code(code).with("status", status);
    if let Some(reference) = body["data"]["ref"].as_str() {
        error = error.with("ref", reference);
    }
    error.into()
}
