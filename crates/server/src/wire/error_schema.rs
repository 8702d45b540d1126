//! The shapes of error bodies, for the document. The bodies themselves are made in `error.rs`.

#![allow(dead_code, reason = "these are read by the derive and never built")]

use serde::Serialize;
use utoipa::ToSchema;

/// `{name, data}`: most errors of the v1 API.
#[derive(ToSchema)]
pub(crate) struct NamedError {
    /// `ForbiddenError`, `PayloadTooLargeError`, `StoreUnavailableError`, …
    name: String,
    data: NamedErrorData,
}

#[derive(ToSchema)]
pub(crate) struct NamedErrorData {
    message: Option<String>,
}

/// `{_tag, …}`: errors of the v2 API that any request can meet.
#[derive(ToSchema)]
pub(crate) struct TaggedError {
    /// `NotFoundError`, `PayloadTooLargeError`, `StoreUnavailableError`, …
    #[schema(rename = "_tag")]
    tag: String,
    message: Option<String>,
    /// Of a grant that does not allow something.
    code: Option<String>,
    /// Search the server's log for this text.
    #[schema(rename = "ref")]
    reference: Option<String>,
    /// The file of a configuration that cannot be used.
    path: Option<String>,
    /// What is wrong in it.
    #[schema(value_type = Option<Vec<Object>>)]
    issues: Option<Vec<serde_json::Value>>,
}

#[derive(ToSchema)]
pub(crate) struct BadRequestError {
    name: BadRequestName,
    data: BadRequestData,
}

#[derive(ToSchema)]
pub(crate) enum BadRequestName {
    BadRequest,
}

#[derive(ToSchema)]
pub(crate) struct BadRequestData {
    message: String,
    kind: Option<WrongPlace>,
}

/// Where the wrong value stands.
#[derive(ToSchema)]
pub(crate) enum WrongPlace {
    Params,
    Query,
    Payload,
    Body,
}

/// Refused by the handler itself, without words.
#[derive(Serialize, ToSchema)]
#[serde(tag = "_tag")]
pub(crate) enum BadRequestTag {
    BadRequest,
}

#[derive(Serialize, ToSchema)]
#[serde(tag = "name", content = "data")]
pub(crate) enum NotFoundError {
    NotFoundError { message: String },
}

#[derive(Serialize, ToSchema)]
#[serde(tag = "name", content = "data")]
pub(crate) enum VcsApplyError {
    VcsApplyError { message: String, reason: VcsApplyReason },
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum VcsApplyReason {
    NonGit,
    NotClean,
}

/// The MCP server does not support logins.
#[derive(ToSchema)]
pub(crate) struct NoLoginError {
    error: String,
}

macro_rules! tagged {
    ($($name:ident { $($(#[$meta:meta])* $field:ident: $kind:ty),* $(,)? })*) => {$(
        #[derive(Serialize, ToSchema)]
        #[serde(tag = "_tag")]
        pub(crate) enum $name {
            $name { message: String, $($(#[$meta])* $field: $kind),* },
        }
    )*};
}

tagged! {
    InvalidRequestError {
        #[serde(skip_serializing_if = "Option::is_none")] kind: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] field: Option<String>,
    }
    InvalidCursorError {}
    UnauthorizedError {}
    PtyForbiddenError {}
    SessionNotFoundError { #[serde(rename = "sessionID")] session_id: String }
    MessageNotFoundError {
        #[serde(rename = "sessionID")] session_id: String,
        #[serde(rename = "messageID")] message_id: String,
    }
    ProviderNotFoundError { #[serde(rename = "providerID")] provider_id: String }
    ProjectNotFoundError { #[serde(rename = "projectID")] project_id: String }
    PtyNotFoundError { #[serde(rename = "ptyID")] pty_id: String }
    McpServerNotFoundError { name: String }
    SessionBusyError { #[serde(rename = "sessionID")] session_id: String }
    ConflictError { #[serde(skip_serializing_if = "Option::is_none")] resource: Option<String> }
}

/// A permission or a question that is not open.
#[derive(Serialize, ToSchema)]
#[serde(tag = "_tag")]
pub(crate) enum RequestNotFoundError {
    PermissionNotFoundError {
        #[serde(rename = "requestID")]
        request_id: String,
        message: String,
    },
    QuestionNotFoundError {
        #[serde(rename = "requestID")]
        request_id: String,
        message: String,
    },
}

/// Of the v2 API; the v1 API has one of the same name and another shape.
#[derive(Serialize, ToSchema)]
#[serde(tag = "_tag")]
pub(crate) enum ForbiddenTag {
    ForbiddenError { message: String },
}

/// Worktrees, copies of projects, workspaces and moves.
#[allow(clippy::enum_variant_names, reason = "named as they are sent")]
#[derive(Serialize, ToSchema)]
#[serde(tag = "name", content = "data")]
pub(crate) enum ExperimentalError {
    WorktreeNotGitError {
        message: String,
    },
    WorktreeCreateFailedError {
        message: String,
    },
    WorktreeStartCommandFailedError {
        message: String,
    },
    WorktreeRemoveFailedError {
        message: String,
    },
    WorktreeResetFailedError {
        message: String,
    },
    WorktreeListFailedError {
        message: String,
    },
    ProjectCopyError {
        message: String,
        #[serde(rename = "forceRequired", skip_serializing_if = "Option::is_none")]
        force_required: Option<bool>,
    },
    WorkspaceCreateError {
        message: String,
    },
    MoveSessionError {
        message: String,
    },
}

/// A login by browser that is not there.
#[derive(Serialize, ToSchema)]
#[serde(tag = "name", content = "data")]
pub(crate) enum ProviderLoginError {
    ProviderAuthOauthMissing {
        #[serde(rename = "providerID")]
        provider_id: String,
        message: String,
    },
}
