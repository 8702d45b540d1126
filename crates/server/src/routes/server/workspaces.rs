//! What the wire has for workspaces on other machines, as one server means it.
//!
//! There are no adapters, so there is no workspace: every list is empty, and whoever asks for one that is not there is
//! told so in the words clients know. A session is always where it was made.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::shapes::catalog::{Workspace, WorkspaceAdapter, WorkspaceStatus};
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use sturdy_engine::EngineError;
use sturdy_engine::records;
use sturdy_session::id::{SessionId, WorkspaceId};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list, create))
        .routes(routes!(status))
        .routes(routes!(adapters))
        .routes(routes!(sync_list))
        .routes(routes!(remove))
        .routes(routes!(warp))
        .routes(routes!(move_session))
}

/// Workspaces on other machines: there are none.
#[utoipa::path(get, path = "/experimental/workspace", operation_id = "experimental.workspace.list",
    responses((status = 200, description = "Always empty", body = [Workspace])))]
async fn list(_: Here) -> Response {
    reply::text("[]")
}

/// Their state.
#[utoipa::path(get, path = "/experimental/workspace/status", operation_id = "experimental.workspace.status",
    responses((status = 200, description = "Always empty", body = [WorkspaceStatus])))]
async fn status(_: Here) -> Response {
    reply::text("[]")
}

/// Adapters for workspaces. There are none.
#[utoipa::path(get, path = "/experimental/workspace/adapter", operation_id = "experimental.workspace.adapter.list",
    responses((status = 200, description = "Always empty", body = [WorkspaceAdapter])))]
async fn adapters(_: Here) -> Response {
    reply::text("[]")
}

/// Lists sessions of workspaces again. There are no workspaces, so this always succeeds.
#[utoipa::path(post, path = "/experimental/workspace/sync-list", operation_id = "experimental.workspace.syncList",
    responses((status = 204, description = "Asked")))]
async fn sync_list(_: Here) -> Response {
    reply::no_content()
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewWorkspace {
    #[serde(rename = "type")]
    kind: String,
    #[schema(value_type = Option<String>)]
    #[serde(rename = "id")]
    _id: Option<WorkspaceId>,
    #[serde(rename = "branch")]
    _branch: Option<String>,
    #[serde(rename = "extra")]
    _extra: Option<serde_json::Value>,
}

/// Creates a workspace. There is no adapter for one, so this always fails.
#[utoipa::path(post, path = "/experimental/workspace", operation_id = "experimental.workspace.create",
    request_body = NewWorkspace,
    responses((status = 200, description = "Never", body = Workspace), (status = 400, description = "There is no adapter of this type")))]
async fn create(_: Here, Payload(wanted): Payload<NewWorkspace>) -> ApiError {
    let message = format!("There is no workspace adapter of type {:?}", wanted.kind);
    ApiError::Named { name: "WorkspaceCreateError", message }
}

/// Removes a workspace. There are none, so the answer is always null.
#[utoipa::path(delete, path = "/experimental/workspace/{id}", operation_id = "experimental.workspace.remove",
    params(("id" = String, Path)),
    responses((status = 200, description = "Nothing was removed", body = Option<Workspace>), (status = 400, description = "Not an id")))]
async fn remove(_: Here, params: Params) -> Result<Response, ApiError> {
    params.id("id", WorkspaceId::parse)?;
    Ok(reply::text("null"))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Warp {
    /// Null: back to this server.
    #[schema(value_type = Option<String>, required = true)]
    id: Option<WorkspaceId>,
    #[serde(rename = "sessionID")]
    session_id: SessionId,
    #[serde(rename = "copyChanges")]
    _copy_changes: Option<bool>,
}

/// Moves a session into a workspace, or back to this server, where it already is.
#[utoipa::path(post, path = "/experimental/workspace/warp", operation_id = "experimental.workspace.warp", request_body = Warp,
    responses((status = 204, description = "It is here"), (status = 404, description = "No such session or workspace")))]
async fn warp(State(app): State<App>, _: Here, Payload(warp): Payload<Warp>) -> Result<Response, ApiError> {
    app.engine().session_record(&warp.session_id).await?;
    match warp.id {
        None => Ok(reply::no_content()),
        Some(id) => Err(ApiError::NoWorkspace(id)),
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Move {
    #[serde(rename = "sessionID")]
    session_id: SessionId,
    destination: Destination,
    #[serde(rename = "moveChanges")]
    _move_changes: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct Destination {
    directory: String,
}

/// Moves a session to another directory. This is refused: its files, its undo and its approvals belong to the directory. A move to where it is
/// already needs nothing.
#[utoipa::path(post, path = "/experimental/control-plane/move-session",
    operation_id = "experimental.controlPlane.moveSession", request_body = Move,
    responses((status = 204, description = "It is there"),
        (status = 400, description = "It stays where it is, or there is no such session")))]
async fn move_session(State(app): State<App>, Payload(wanted): Payload<Move>) -> Result<Response, ApiError> {
    let refused = |message: String| ApiError::Named { name: "MoveSessionError", message };
    let text = match app.engine().session_record(&wanted.session_id).await {
        Err(EngineError::NoSession(id)) => return Err(refused(format!("Session not found: {id}"))),
        found => found?,
    };
    let record = records::session(&wanted.session_id, &text)?;
    let there = wanted.destination.directory.trim_end_matches('/');
    if record.directory.trim_end_matches('/') == there {
        return Ok(reply::no_content());
    }
    let message = "A session stays in its directory: what it changed there can be undone only there. Fork it, or start \
                   one in the other directory."
        .to_owned();
    Err(refused(message))
}
