//! Maps refusals of the share service to HTTP status and body.

use crate::error::ApiError;
use crate::reply;
use axum::body::to_bytes;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_capnweb::{ErrorValue, Thrown};
use sturdy_store::share::{Refusal, ShareError};
use sturdy_store::{CommitError, DriverErrorKind};

/// A refusal is a few lines.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Why a request to the share service failed.
#[derive(Debug)]
pub(super) enum ShareFailure {
    Refused(Refusal),
    Store(CommitError),
    /// The service is not on.
    Off,
    /// The gateway key is missing or wrong.
    Gateway,
    TooManyViewers,
    /// It may be asked again after this long.
    TooOften(Duration),
    Request(ApiError),
}

impl From<ShareError> for ShareFailure {
    fn from(error: ShareError) -> Self {
        match error {
            ShareError::Refused(refusal) => Self::Refused(refusal),
            ShareError::Store(cause) => Self::Store(cause),
        }
    }
}

impl From<Refusal> for ShareFailure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<ApiError> for ShareFailure {
    fn from(error: ApiError) -> Self {
        Self::Request(error)
    }
}

impl ShareFailure {
    /// The same as an error that a method throws: the code before the message, and as a property with the others.
    pub(super) async fn thrown(self) -> Thrown {
        let body = match self {
            Self::Request(error) => return crate::rpc::thrown(error).await,
            other => to_bytes(other.into_response().into_body(), BODY_BYTES_MAX).await.unwrap_or_default(),
        };
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let error = &body["error"];
        let code = error["code"].as_str().unwrap_or("overloaded");
        let message = error["message"].as_str().unwrap_or_default();
        let mut thrown = ErrorValue::new(format!("{code}: {message}")).code(code);
        for name in ["epoch", "cursor", "applied_seq", "retry_after"] {
            if let Some(count) = error[name].as_u64() {
                thrown = thrown.with(name, count as f64);
            }
        }
        thrown.into()
    }
}

impl IntoResponse for ShareFailure {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(refusal) => refused(&refusal),
            Self::Store(cause) => {
                tracing::warn!(%cause, "a share could not be written or read");
                let mut response =
                    body(StatusCode::SERVICE_UNAVAILABLE, "overloaded", unavailable(&cause), true, &[]);
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                response
            }
            Self::Off => {
                let message = "This server does not receive shares. `sturdy serve --share` lets it.";
                body(StatusCode::NOT_IMPLEMENTED, "off", message, false, &[])
            }
            Self::Gateway => {
                let message = "the header x-opencode-share-key is missing or wrong";
                body(StatusCode::UNAUTHORIZED, "unauthorized", message, false, &[])
            }
            Self::TooManyViewers => {
                let mut response =
                    body(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "too many viewers", true, &[]);
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
                response
            }
            Self::TooOften(wait) => {
                let seconds = wait.as_secs() + 1;
                let fields = [("retry_after", seconds)];
                let message = "too many requests";
                let mut response =
                    body(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message, true, &fields);
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                response
            }
            Self::Request(error) => error.into_response(),
        }
    }
}

/// What an operator can do something about is named to whoever sends: that is often the same person.
fn unavailable(cause: &CommitError) -> &'static str {
    match cause {
        CommitError::Unavailable(driver) if driver.kind == DriverErrorKind::ReadOnly => {
            "the store cannot be written now"
        }
        CommitError::Unavailable(driver) if driver.kind == DriverErrorKind::DiskFull => {
            "the store has no space left now"
        }
        _ => "the store does not respond",
    }
}

fn refused(refusal: &Refusal) -> Response {
    let status = match refusal {
        Refusal::StaleEpoch { .. }
        | Refusal::CursorMismatch { .. }
        | Refusal::RequestConflict
        | Refusal::Gap { .. }
        | Refusal::Diverged { .. } => StatusCode::CONFLICT,
        Refusal::ChainMismatch | Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
        Refusal::Unauthorized => StatusCode::UNAUTHORIZED,
        Refusal::Revoked
        | Refusal::Expired
        | Refusal::ForbiddenScope(_)
        | Refusal::MustRotate
        | Refusal::WriterForbidden => StatusCode::FORBIDDEN,
        Refusal::NotFound => StatusCode::NOT_FOUND,
        Refusal::Gone => StatusCode::GONE,
        Refusal::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::Full => StatusCode::INSUFFICIENT_STORAGE,
    };
    let fields: Vec<(&str, u64)> = match refusal {
        Refusal::StaleEpoch { epoch } => vec![("epoch", *epoch)],
        Refusal::CursorMismatch { cursor, applied_seq } => {
            vec![("cursor", *cursor), ("applied_seq", *applied_seq)]
        }
        Refusal::Gap { applied_seq } | Refusal::Diverged { applied_seq } => {
            vec![("applied_seq", *applied_seq)]
        }
        Refusal::RequestConflict
        | Refusal::ChainMismatch
        | Refusal::Malformed(_)
        | Refusal::Unauthorized
        | Refusal::Revoked
        | Refusal::Expired
        | Refusal::ForbiddenScope(_)
        | Refusal::MustRotate
        | Refusal::WriterForbidden
        | Refusal::NotFound
        | Refusal::Gone
        | Refusal::TooLarge(_)
        | Refusal::Full => Vec::new(),
    };
    body(status, refusal.code(), &refusal.to_string(), refusal.is_retryable(), &fields)
}

fn body(status: StatusCode, code: &str, message: &str, retryable: bool, fields: &[(&str, u64)]) -> Response {
    let mut error = json!({ "code": code, "message": message, "retryable": retryable });
    for (name, value) in fields {
        error[*name] = Value::from(*value);
    }
    reply::json_with(status, &json!({ "error": error }))
}
