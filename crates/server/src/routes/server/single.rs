//! What the wire has for several servers, accounts and upgrades, as one server means it: there is nothing to mirror, nobody to
//! switch to, and a package manager upgrades.

use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::OfSession;
use crate::instance::Here;
use crate::reply;
use axum::response::Response;
use serde_json::json;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(background))
        .routes(routes!(adapters))
        .routes(routes!(sync_list))
        .routes(routes!(sync_start))
        .routes(routes!(sync_steal))
        .routes(routes!(switch))
        .routes(routes!(upgrade))
}

/// Sends sub-agents to the background: a feature that is not offered (`/experimental/capabilities`).
#[utoipa::path(post, path = "/experimental/session/{sessionID}/background", operation_id = "experimental.session.background",
    params(("sessionID" = String, Path)), responses((status = 200, description = "Always false", body = bool)))]
async fn background(_: OfSession) -> Response {
    reply::text("false")
}

/// Kinds of remote workspaces: there are none.
#[utoipa::path(get, path = "/experimental/workspace/adapter", operation_id = "experimental.workspace.adapter.list",
    responses((status = 200, description = "Always empty", body = [Object])))]
async fn adapters(_: Here) -> Response {
    reply::text("[]")
}

/// Asks the remote workspaces what they have: there are none, so all have been asked.
#[utoipa::path(post, path = "/experimental/workspace/sync-list", operation_id = "experimental.workspace.syncList",
    responses((status = 204, description = "Asked")))]
async fn sync_list(_: Here) -> Response {
    reply::no_content()
}

/// Starts mirroring workspaces: there are none, so all are mirrored.
#[utoipa::path(post, path = "/sync/start", operation_id = "sync.start",
    responses((status = 200, description = "Nothing to do", body = bool)))]
async fn sync_start(_: Here) -> Response {
    reply::done()
}

/// Takes a session into the workspace of this server, which is not one.
#[utoipa::path(post, path = "/sync/steal", operation_id = "sync.steal",
    responses((status = 400, description = "Not a workspace")))]
async fn sync_steal(_: Here) -> ApiError {
    ApiError::Handler
}

/// Switches to another account: there is none.
#[utoipa::path(post, path = "/experimental/console/switch", operation_id = "experimental.console.switchOrg",
    responses((status = 400, description = "No such account")))]
async fn switch(_: Here) -> ApiError {
    ApiError::schema(Kind::Payload, "There is no account to switch to")
}

/// Upgrades the server: whoever installed it does.
#[utoipa::path(post, path = "/global/upgrade", operation_id = "global.upgrade",
    responses((status = 200, description = "Why not", body = Object)))]
async fn upgrade() -> Response {
    let error = "Sturdy does not replace itself. Upgrade it the way it was installed.";
    reply::json(&json!({ "success": false, "error": error }))
}
