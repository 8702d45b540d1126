//! What the wire has for several servers, accounts and upgrades, as one server means it: there is nothing to mirror, nobody to
//! switch to, and a package manager upgrades.

use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, OptionalPayload, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::shapes::catalog::Upgrade;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(background)).routes(routes!(switch)).routes(routes!(upgrade))
}

/// Sends sub-agents to the background. Not supported (`/experimental/capabilities` says so).
#[utoipa::path(post, path = "/experimental/session/{sessionID}/background", operation_id = "experimental.session.background",
    params(("sessionID" = String, Path)), responses((status = 200, description = "Always false", body = bool)))]
async fn background(_: OfSession) -> Response {
    reply::text("false")
}

#[derive(Debug, Deserialize, ToSchema)]
struct SwitchAccount {
    #[serde(rename = "accountID")]
    #[allow(dead_code, reason = "a body without it is refused")]
    account: String,
    #[serde(rename = "orgID")]
    #[allow(dead_code, reason = "a body without it is refused")]
    organisation: String,
}

/// Switches to another account. There are no accounts.
#[utoipa::path(post, path = "/experimental/console/switch", operation_id = "experimental.console.switchOrg",
    request_body = SwitchAccount, responses((status = 400, description = "No such account")))]
async fn switch(_: Here, _: Payload<SwitchAccount>) -> ApiError {
    ApiError::Handler
}

#[derive(Debug, Default, Deserialize, ToSchema)]
struct WantedVersion {
    #[allow(dead_code, reason = "anything but a text is refused")]
    target: Option<String>,
}

/// Upgrades the server. Not supported: it is upgraded the way it was installed.
#[utoipa::path(post, path = "/global/upgrade", operation_id = "global.upgrade", request_body = Option<WantedVersion>,
    responses((status = 200, description = "Why not", body = Upgrade), (status = 400, description = "Not a version")))]
async fn upgrade(_: OptionalPayload<WantedVersion>) -> Response {
    let error = "Sturdy does not replace itself. Upgrade it the way it was installed.";
    reply::json(&json!({ "success": false, "error": error }))
}
