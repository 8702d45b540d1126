//! Errors of the engine and the store, and their bodies.

use super::{
    Kind, ask_not_found, bad_request, come_back, conflict, named, not_found, reference, tagged, unforeseen,
};
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use sturdy_engine::EngineError;
use sturdy_engine::reads::{CommitError, DriverError, DriverErrorKind, ReadError};
use sturdy_session::id::SessionId;
use sturdy_session::turn::{RULES_BYTES_MAX, RULES_MAX, Refusal};
use sturdy_worktree::snapshot::SnapshotError;
use tracing::{error, warn};

pub(super) fn answer(session: Option<&SessionId>, cause: &EngineError) -> Response {
    match cause {
        EngineError::NoSession(id) => not_found(&format!("Session not found: {id}")),
        EngineError::Refused(why) => refused(session, why),
        EngineError::Unknown(message) | EngineError::Bad(message) => bad_request(message, Kind::Payload),
        EngineError::QueueFull(id) => {
            let message = format!(
                "The prompt queue of session {id} is full. Send the prompt again when some are answered."
            );
            come_back(named(StatusCode::TOO_MANY_REQUESTS, "QueueFullError", &message))
        }
        EngineError::ShareUnavailable(why) => {
            let message = format!("The session is not shared: {why}");
            named(StatusCode::BAD_GATEWAY, "ShareUnavailableError", &message)
        }
        EngineError::Hangs(directory) => {
            let message = format!("The file system of {directory} does not respond. Try again when it does.");
            come_back(named(StatusCode::SERVICE_UNAVAILABLE, "DirectoryUnavailableError", &message))
        }
        EngineError::Absent => not_found("Not found."),
        EngineError::NotShared(id) => not_found(&format!("Session is not shared: {id}")),
        EngineError::Overloaded(id) => {
            let message = format!("Session {id} is overloaded. Try again in a moment.");
            come_back(named(StatusCode::SERVICE_UNAVAILABLE, "OverloadedError", &message))
        }
        EngineError::Trees(cause) => {
            let (status, message) = trees(cause);
            named(status, "RevertError", &message)
        }
        EngineError::Config(cause) => tagged(StatusCode::BAD_REQUEST, cause.body()),
        EngineError::Commit(CommitError::Unavailable(driver))
        | EngineError::Read(ReadError::Unavailable(driver)) => store(driver),
        EngineError::Commit(CommitError::Broken { place, .. })
        | EngineError::Read(ReadError::Broken { place, .. }) => {
            error!(%cause, place, "the store is damaged");
            let message =
                format!("The store is damaged at {place}. Run `sturdy verify` to see what is affected.");
            named(StatusCode::INTERNAL_SERVER_ERROR, "StoreDamagedError", &message)
        }
        EngineError::Damaged { session, what, place } => {
            error!(%session, what, place, "a session is damaged");
            let message = format!(
                "Session {session} is damaged at {place} and quarantined. What can be read is served, and it can be \
                 removed. Run `sturdy verify {session}` to see more."
            );
            named(StatusCode::INTERNAL_SERVER_ERROR, "StoreDamagedError", &message)
        }
        EngineError::Lost(id) => {
            let message = format!("Session {id} stopped before it could answer. Look whether it was stored.");
            come_back(named(StatusCode::SERVICE_UNAVAILABLE, "SessionLostError", &message))
        }
        EngineError::Commit(CommitError::Unknown(driver)) => {
            warn!(cause = %driver, "the disk failed during a commit; it may or may not be stored");
            let message =
                "The disk failed while this was stored. Look whether it is there before you send it again.";
            come_back(named(StatusCode::SERVICE_UNAVAILABLE, "StoreUnavailableError", message))
        }
        EngineError::Denied(refusal) | EngineError::Commit(CommitError::Denied(refusal)) => {
            super::grant::answer(refusal)
        }
        EngineError::Closing | EngineError::Commit(CommitError::Crashed) => {
            come_back(named(StatusCode::SERVICE_UNAVAILABLE, "ClosingError", "The server is shutting down."))
        }
        EngineError::Commit(CommitError::ParentRemoved(parent)) => {
            not_found(&format!("Session not found: {parent}"))
        }
        EngineError::Commit(CommitError::Conflict { .. }) => {
            let reference = reference();
            error!(%reference, %cause, "another writer owns this session");
            unforeseen(&reference)
        }
    }
}

/// Said as it is: nothing was changed, and the person decides what now.
pub(super) fn trees(cause: &SnapshotError) -> (StatusCode, String) {
    if cause.is_disk_full() {
        let message = format!("No space is left on the disk: {cause}. Free some space and send it again.");
        return (StatusCode::INSUFFICIENT_STORAGE, message);
    }
    (StatusCode::CONFLICT, cause.to_string())
}

fn refused(session: Option<&SessionId>, why: &Refusal) -> Response {
    let session = session.map(ToString::to_string).unwrap_or_default();
    match why {
        Refusal::Gone => not_found(&format!("Session not found: {session}")),
        Refusal::Busy => {
            let message = format!("Session is busy: {session}");
            let body = json!({ "_tag": "SessionBusyError", "sessionID": session, "message": message });
            tagged(StatusCode::CONFLICT, body)
        }
        Refusal::Exists => conflict(&format!("Session exists already: {session}"), &session),
        Refusal::MessageExists(id) => {
            let message = format!("Prompt message ID conflicts with an existing durable record: {id}");
            conflict(&message, id.as_str())
        }
        Refusal::UnknownAsk(id) if id.starts_with("que") => ask_not_found("Question", id),
        Refusal::UnknownAsk(id) => ask_not_found("Permission", id),
        Refusal::UnknownPrompt(id) => not_found(&format!("Message not found: {id}")),
        Refusal::TooManyRules => {
            let message =
                format!("A session has at most {RULES_MAX} rules of {RULES_BYTES_MAX} bytes together");
            bad_request(&message, Kind::Payload)
        }
    }
}

/// The disk or the database said no. What was asked is not done and may be asked again.
fn store(driver: &DriverError) -> Response {
    warn!(cause = %driver, "the store is unavailable");
    let (status, message) = match driver.kind {
        DriverErrorKind::DiskFull => (
            StatusCode::INSUFFICIENT_STORAGE,
            "No space is left for the store. Nothing was changed. Free some space and send it again.",
        ),
        DriverErrorKind::ReadOnly => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The store cannot be written. Nothing was changed. Check the permissions of the data directory.",
        ),
        DriverErrorKind::Busy => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Another program holds the store. Nothing was changed. Close it and send it again.",
        ),
        DriverErrorKind::Disk => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The disk under the store reports errors. Nothing was changed. Check the disk.",
        ),
        DriverErrorKind::Closed => (StatusCode::SERVICE_UNAVAILABLE, "The server is shutting down."),
        DriverErrorKind::Other => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The store refused. Nothing was changed. The server's log says why.",
        ),
    };
    come_back(named(status, "StoreUnavailableError", message))
}
