//! Errors of the v2 API and their bodies.

use super::{Kind, conflict, shown, tagged};
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use sturdy_session::id::{MessageId, SessionId};

#[derive(Debug, thiserror::Error)]
pub(crate) enum V2Error {
    #[error("Invalid session ID")]
    SessionId,
    #[error("{message}")]
    Request { kind: Kind, message: String },
    #[error("{0}")]
    Cursor(&'static str),
    #[error("Session not found: {0}")]
    NoSession(SessionId),
    #[error("Provider not found: {0}")]
    NoProvider(String),
    #[error("Message not found: {message}")]
    NoMessage { session: SessionId, message: MessageId },
    #[error("Prompt message ID conflicts with an existing durable record: {0}")]
    Conflict(MessageId),
    #[error("{0}")]
    Forbidden(&'static str),
    /// Files could not be brought back; nothing changed.
    #[error("{message}")]
    Revert { status: StatusCode, message: String },
}

pub(super) fn answer(cause: &V2Error) -> Response {
    let message = shown(&cause.to_string());
    match cause {
        V2Error::SessionId => {
            let body = json!({ "_tag": "InvalidRequestError", "message": message, "field": "sessionID" });
            tagged(StatusCode::BAD_REQUEST, body)
        }
        V2Error::Request { kind, .. } => {
            let body = json!({ "_tag": "InvalidRequestError", "message": message, "kind": kind.name() });
            tagged(StatusCode::BAD_REQUEST, body)
        }
        V2Error::Cursor(_) => {
            tagged(StatusCode::BAD_REQUEST, json!({ "_tag": "InvalidCursorError", "message": message }))
        }
        V2Error::NoSession(id) => {
            let body = json!({ "_tag": "SessionNotFoundError", "sessionID": id, "message": message });
            tagged(StatusCode::NOT_FOUND, body)
        }
        V2Error::NoProvider(id) => {
            let body = json!({ "_tag": "ProviderNotFoundError", "providerID": id, "message": message });
            tagged(StatusCode::NOT_FOUND, body)
        }
        V2Error::NoMessage { session, message: id } => {
            let body = json!({ "_tag": "MessageNotFoundError", "sessionID": session, "messageID": id, "message": message });
            tagged(StatusCode::NOT_FOUND, body)
        }
        V2Error::Conflict(id) => conflict(&message, id.as_str()),
        V2Error::Revert { status, .. } => {
            tagged(*status, json!({ "_tag": "RevertError", "message": message }))
        }
        V2Error::Forbidden(_) => {
            tagged(StatusCode::FORBIDDEN, json!({ "_tag": "ForbiddenError", "message": message }))
        }
    }
}
