//! From an error to status and body: the one translation table of the server.
//!
//! Two families of bodies exist side by side on the wire: `{name, data}` and `{_tag, …}`. Which one a
//! client gets depends on the error and, for those both know, on the path.
//!
//! A body says what a person can act on. Causes that only we can act on go to the log under a
//! reference, and the reference goes to the client.

mod engine;
mod grant;
mod v2;

pub(crate) use v2::V2Error;

use crate::reply;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use std::time::Duration;
use sturdy_engine::EngineError;
use sturdy_engine::directory::mcp::ServerError;
use sturdy_engine::reads::{CommitError, ReadError};
use sturdy_engine::records::DamagedRecord;
use sturdy_session::id::{MessageId, PtyId, SessionId, WorkspaceId};
use sturdy_session::turn::Refusal as Refused;
use sturdy_store::share::Refusal;
use sturdy_worktree::git::GitError;
use sturdy_worktree::vcs::VcsError;
use tracing::{error, warn};

/// What a client is told of a value it sent is cut here: it could be a whole document.
const MESSAGE_CHARS_MAX: usize = 1024;

/// Which half of the API speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    First,
    /// Everything below `/api`.
    Second,
}

impl Dialect {
    pub(crate) fn of(path: &str) -> Self {
        if path == "/api" || path.starts_with("/api/") { Self::Second } else { Self::First }
    }
}

/// Where in a request the wrong value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Params,
    Query,
    Payload,
    Body,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Params => "Params",
            Self::Query => "Query",
            Self::Payload => "Payload",
            Self::Body => "Body",
        }
    }
}

/// Why a request was not met.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine's word about one session.
    #[error("session {session}")]
    Session { session: SessionId, source: EngineError },
    #[error("{message}")]
    Schema { kind: Kind, message: String },
    /// Refused by the handler itself, without words: clients know this body.
    #[error("bad request")]
    Handler,
    #[error("Message not found: {0}")]
    NoMessage(MessageId),
    #[error("Permission request not found: {0}")]
    NoPermission(String),
    #[error("Question request not found: {0}")]
    NoQuestion(String),
    #[error("Project not found: {0}")]
    NoProject(String),
    #[error("File not found: {0}")]
    NoFile(String),
    #[error("Background process not found: {0}")]
    NoProcess(String),
    #[error("No such value, or it was changed or removed")]
    NoValue,
    #[error("This download was made already, or was not begun within a minute")]
    NoTicket,
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("no route {method} {path}")]
    NoRoute { method: Method, path: String },
    #[error("Unsupported content-type: {0}")]
    ContentType(String),
    #[error("A body needs a content-type: application/json")]
    NoContentType,
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge { bytes_max: usize },
    /// There is room for a bounded number of these, and it is taken.
    #[error("{0}")]
    Overloaded(String),
    /// The body came too slowly.
    #[error("the body did not arrive in time")]
    TooSlow,
    /// Something that was asked for on the way took too long.
    #[error("{0}")]
    TimedOut(String),
    #[error("too many wrong passwords")]
    TooManyAttempts,
    /// A token may not do this.
    #[error("The scopes of this token do not allow this request")]
    Scope,
    /// A grant does not allow this, or not any more.
    #[error(transparent)]
    Grant(Refusal),
    /// A token asked more often than it may.
    #[error("This token has exceeded its rate limit")]
    TooOften { wait: Duration },
    /// A file of ours beside the store.
    #[error("the {what} cannot be written")]
    Unwritable { what: &'static str, source: std::io::Error },
    #[error("unexpected server error (reference {reference})")]
    Unforeseen { reference: String },
    /// Refused under a name that clients know.
    #[error("{message}")]
    Named { name: &'static str, message: String },
    #[error("Workspace not found: {0}")]
    NoWorkspace(WorkspaceId),
    #[error("{0} has changes that are not committed")]
    CopyHasChanges(String),
    /// Providers have no logins by browser.
    #[error("There is no login by browser for {0}")]
    NoBrowserLogin(String),
    #[error("PTY session not found: {0}")]
    NoTerminal(PtyId),
    #[error("{0}")]
    TerminalForbidden(&'static str),
    #[error("{most} terminals are open, which is the most")]
    TooManyTerminals { most: usize },
    #[error("Patch can't be applied")]
    Vcs(VcsReason),
    /// An error of the v2 API.
    #[error(transparent)]
    Second(#[from] V2Error),
}

/// Why a patch was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VcsReason {
    NonGit,
    NotClean,
}

impl VcsReason {
    fn name(self) -> &'static str {
        match self {
            Self::NonGit => "non-git",
            Self::NotClean => "not-clean",
        }
    }
}

impl ApiError {
    pub(crate) fn schema(kind: Kind, message: impl Into<String>) -> Self {
        Self::Schema { kind, message: message.into() }
    }

    /// The same complaint in the words of the v2 API.
    pub(crate) fn in_v2(self) -> Self {
        match self {
            Self::Schema { kind, message } => V2Error::Request { kind, message }.into(),
            Self::Handler => {
                V2Error::Request { kind: Kind::Body, message: "The request is not valid".to_owned() }.into()
            }
            Self::Session {
                session,
                source: EngineError::NoSession(_) | EngineError::Refused(Refused::Gone),
            }
            | Self::Engine(EngineError::NoSession(session)) => V2Error::NoSession(session).into(),
            Self::Session { source: EngineError::Unknown(message) | EngineError::Bad(message), .. } => {
                V2Error::Request { kind: Kind::Payload, message }.into()
            }
            Self::Session { source: EngineError::Trees(cause), .. } => {
                let (status, message) = engine::trees(&cause);
                V2Error::Revert { status, message }.into()
            }
            Self::TerminalForbidden(why) => V2Error::Forbidden(why).into(),
            other => other,
        }
    }

    /// Names the session an engine's error is about.
    pub(crate) fn of(session: &SessionId) -> impl Fn(EngineError) -> Self + use<> {
        let session = session.clone();
        move |source| Self::Session { session: session.clone(), source }
    }
}

impl From<DamagedRecord> for ApiError {
    fn from(cause: DamagedRecord) -> Self {
        Self::Engine(cause.into())
    }
}

impl From<ReadError> for ApiError {
    fn from(cause: ReadError) -> Self {
        Self::Engine(EngineError::Read(cause))
    }
}

impl From<CommitError> for ApiError {
    fn from(cause: CommitError) -> Self {
        Self::Engine(EngineError::Commit(cause))
    }
}

impl From<VcsError> for ApiError {
    fn from(cause: VcsError) -> Self {
        if let VcsError::Git(GitError::TimedOut { limit, .. }) = &cause {
            warn!(%cause, "git took too long");
            return Self::TimedOut(format!("git gave no answer within {} s.", limit.as_secs()));
        }
        let reference = reference();
        error!(%reference, %cause, "git gave no answer");
        Self::Unforeseen { reference }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        match self {
            Self::Engine(cause) => engine::answer(None, &cause),
            Self::Session { session, source } => engine::answer(Some(&session), &source),
            Self::Schema { kind, message } => bad_request(&message, kind),
            Self::Handler => tagged(StatusCode::BAD_REQUEST, json!({ "_tag": "BadRequest" })),
            Self::NoMessage(_) => not_found(&self.to_string()),
            Self::NoPermission(id) => ask_not_found("Permission", &id),
            Self::NoQuestion(id) => ask_not_found("Question", &id),
            Self::NoProject(id) => {
                let message = format!("Project not found: {id}");
                let body = json!({ "_tag": "ProjectNotFoundError", "projectID": id, "message": message });
                tagged(StatusCode::NOT_FOUND, body)
            }
            Self::NoFile(_) | Self::NoProcess(_) | Self::NoValue | Self::NoTicket => {
                not_found(&self.to_string())
            }
            Self::Server(cause) => server(&cause),
            Self::NoRoute { method, path } => not_found(&format!("There is no {method} {path}")),
            Self::ContentType(_) | Self::NoContentType => {
                reply::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, self.to_string())
            }
            Self::TooLarge { bytes_max } => {
                let message = format!("The body is larger than the {bytes_max} bytes this route accepts.");
                named(StatusCode::PAYLOAD_TOO_LARGE, "PayloadTooLargeError", &message)
            }
            Self::Overloaded(message) => {
                come_back(named(StatusCode::SERVICE_UNAVAILABLE, "OverloadedError", &message))
            }
            Self::TooSlow => {
                let message = "The body did not arrive in time. Send it again, or in smaller pieces.";
                named(StatusCode::REQUEST_TIMEOUT, "TimeoutError", message)
            }
            Self::TimedOut(message) => named(StatusCode::GATEWAY_TIMEOUT, "TimeoutError", &message),
            Self::TooManyAttempts => {
                let message = "Too many wrong passwords came from your address. Wait a moment.";
                come_back(named(StatusCode::TOO_MANY_REQUESTS, "TooManyAttemptsError", message))
            }
            Self::Scope => named(StatusCode::FORBIDDEN, "ForbiddenError", &self.to_string()),
            Self::Grant(refusal) => grant::answer(&refusal),
            Self::TooOften { wait } => {
                let mut response =
                    named(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsError", &self.to_string());
                let seconds = HeaderValue::from(wait.as_secs() + 1);
                response.headers_mut().insert(RETRY_AFTER, seconds);
                response
            }
            Self::Unwritable { what, source } => {
                error!(%source, what, "a file beside the store cannot be written");
                let message = format!("The {what} could not be written; nothing was changed.");
                named(StatusCode::INSUFFICIENT_STORAGE, "StoreUnavailableError", &message)
            }
            Self::Unforeseen { reference } => unforeseen(&reference),
            Self::Named { name, message } => named(StatusCode::BAD_REQUEST, name, &message),
            Self::NoWorkspace(_) => not_found(&self.to_string()),
            Self::CopyHasChanges(_) => {
                let data = json!({ "message": shown(&self.to_string()), "forceRequired": true });
                tagged(StatusCode::BAD_REQUEST, json!({ "name": "ProjectCopyError", "data": data }))
            }
            Self::NoBrowserLogin(ref provider) => {
                let data = json!({ "providerID": shown(provider), "message": shown(&self.to_string()) });
                tagged(StatusCode::BAD_REQUEST, json!({ "name": "ProviderAuthOauthMissing", "data": data }))
            }
            Self::NoTerminal(id) => {
                let message = format!("PTY session not found: {id}");
                let body = json!({ "_tag": "PtyNotFoundError", "ptyID": id, "message": message });
                tagged(StatusCode::NOT_FOUND, body)
            }
            Self::TerminalForbidden(why) => {
                tagged(StatusCode::FORBIDDEN, json!({ "_tag": "PtyForbiddenError", "message": why }))
            }
            Self::TooManyTerminals { .. } => {
                let message = format!("{self}. Remove one, or try again later.");
                come_back(named(StatusCode::SERVICE_UNAVAILABLE, "OverloadedError", &message))
            }
            Self::Vcs(reason) => {
                let data = json!({ "message": "Patch can't be applied", "reason": reason.name() });
                tagged(StatusCode::BAD_REQUEST, json!({ "name": "VcsApplyError", "data": data }))
            }
            Self::Second(cause) => v2::answer(&cause),
        }
    }
}

/// Of an MCP server.
fn server(cause: &ServerError) -> Response {
    let message = cause.to_string();
    match cause {
        ServerError::Unknown(name) => {
            let body = json!({ "_tag": "McpServerNotFoundError", "name": name, "message": message });
            tagged(StatusCode::NOT_FOUND, body)
        }
        ServerError::NoOAuth(_) => tagged(StatusCode::BAD_REQUEST, json!({ "error": message })),
        ServerError::Bad(_) => bad_request(&message, Kind::Payload),
    }
}

fn bad_request(message: &str, kind: Kind) -> Response {
    let data = json!({ "message": shown(message), "kind": kind.name() });
    tagged(StatusCode::BAD_REQUEST, json!({ "name": "BadRequest", "data": data }))
}

fn not_found(message: &str) -> Response {
    named(StatusCode::NOT_FOUND, "NotFoundError", message)
}

fn ask_not_found(what: &str, id: &str) -> Response {
    let tag = format!("{what}NotFoundError");
    let message = format!("{what} request not found: {id}");
    tagged(StatusCode::NOT_FOUND, json!({ "_tag": tag, "requestID": id, "message": message }))
}

fn conflict(message: &str, resource: &str) -> Response {
    let body = json!({ "_tag": "ConflictError", "message": message, "resource": resource });
    tagged(StatusCode::CONFLICT, body)
}

fn unforeseen(reference: &str) -> Response {
    let message = "Unexpected server error. Check server logs for details.";
    let data = json!({ "message": message, "ref": reference });
    tagged(StatusCode::INTERNAL_SERVER_ERROR, json!({ "name": "UnknownError", "data": data }))
}

fn named(status: StatusCode, name: &str, message: &str) -> Response {
    tagged(status, json!({ "name": name, "data": { "message": shown(message) } }))
}

fn tagged(status: StatusCode, body: Value) -> Response {
    let mut response = reply::json_with(status, &body);
    let is_named = body.get("_tag").is_none() && body.get("name").is_some();
    if is_named || body["_tag"] == "BadRequest" {
        response.extensions_mut().insert(FirstBody(body));
    }
    response
}

/// The body of an error in the words of the v1 API, kept beside the answer.
#[derive(Clone, Debug)]
struct FirstBody(Value);

/// The same answer in the words of the API that the path belongs to. Handlers below `/api` say most of their errors in
/// its words already; this is for those that any request can meet.
pub(crate) fn in_words_of(path: &str, response: Response) -> Response {
    // The share service has errors of its own.
    if Dialect::of(path) == Dialect::First || path.starts_with("/api/share") {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Some(FirstBody(first)) = parts.extensions.remove() else { return Response::from_parts(parts, body) };
    // What was packed was the other body.
    parts.headers.remove(CONTENT_ENCODING);
    parts.headers.remove(CONTENT_LENGTH);
    let text = second_body(first).to_string();
    Response::from_parts(parts, text.into())
}

/// `{name, data: {…}}` as `{_tag, …}`.
fn second_body(first: Value) -> Value {
    let tag = match first["name"].as_str() {
        // Refused without words, or with those of the schema.
        None | Some("BadRequest") => "InvalidRequestError",
        Some(name) => name,
    };
    let mut body = Map::from_iter([("_tag".to_owned(), Value::from(tag))]);
    match &first["data"] {
        Value::Object(data) => body.extend(data.clone()),
        _ => drop(body.insert("message".to_owned(), Value::from("The request is not valid"))),
    }
    Value::Object(body)
}

fn come_back(mut response: Response) -> Response {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A message as it goes out: not longer than anybody reads, and nothing in it that a terminal would obey.
pub(crate) fn shown(message: &str) -> String {
    let is_letter = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    message.chars().filter(is_letter).take(MESSAGE_CHARS_MAX).collect()
}

/// What a client can tell us so that we find the line in the log.
pub(crate) fn reference() -> String {
    format!("err_{:08x}", rand::random::<u32>())
}

/// The answer where the wire has nothing.
pub(crate) async fn no_route(request: axum::extract::Request) -> ApiError {
    ApiError::NoRoute { method: request.method().clone(), path: request.uri().path().to_owned() }
}

#[cfg(test)]
mod tests;
