//! What the wire has for several servers, accounts and upgrades, as one server means it: there is nothing to mirror, nobody to
//! switch to, and a package manager upgrades.

use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::OfSession;
use crate::instance::Here;
use crate::reply;
use crate::wire::shapes::catalog::Upgrade;
use axum::response::Response;
use serde_json::json;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(background)).routes(routes!(switch)).routes(routes!(upgrade))
}

/// Sends sub-agents to the background. Not supported (`/experimental/capabilities` says so).
#[utoipa::path(post, path = "/experimental/session/{sessionID}/background", operation_id = "experimental.session.background",
    params(("sessionID" = String, Path)), responses((status = 200, description = "Always false", body = bool)))]
async fn background(_: OfSession) -> Response {
    reply::text("false")
}

/// Switches to another account. There are no accounts.
#[utoipa::path(post, path = "/experimental/console/switch", operation_id = "experimental.console.switchOrg",
    responses((status = 400, description = "No such account")))]
async fn switch(_: Here) -> ApiError {
    ApiError::schema(Kind::Payload, "There is no account to switch to")
}

/// Upgrades the server. Not supported: it is upgraded the way it was installed.
#[utoipa::path(post, path = "/global/upgrade", operation_id = "global.upgrade",
    responses((status = 200, description = "Why not", body = Upgrade)))]
async fn upgrade() -> Response {
    let error = "Sturdy does not replace itself. Upgrade it the way it was installed.";
    reply::json(&json!({ "success": false, "error": error }))
}
