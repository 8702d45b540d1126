//! MCP servers: how they stand, adding and connecting them, logging in at them.

use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::body::{AddServer, LoginCode};
use crate::wire::shapes::catalog::McpLogin;
use crate::wire::shapes::catalog::McpStatus;
use crate::wire::shapes::catalog::Success;
use axum::response::Response;
use serde_json::{Map, Value, json};
use sturdy_engine::Instance;
use sturdy_engine::directory::mcp::Status;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(status, add))
        .routes(routes!(connect))
        .routes(routes!(disconnect))
        .routes(routes!(start_login, forget_login))
        .routes(routes!(finish_login))
        .routes(routes!(authenticate))
}

/// The status of each MCP server, after each had time to connect.
#[utoipa::path(get, path = "/mcp", operation_id = "mcp.status",
    responses((status = 200, description = "Status by server", body = HashMap<String, McpStatus>)))]
async fn status(Here(here): Here) -> Response {
    all(&here).await
}

/// Adds an MCP server until the directory is disposed, and connects it.
#[utoipa::path(post, path = "/mcp", operation_id = "mcp.add", request_body = AddServer,
    responses((status = 200, description = "Status by server", body = HashMap<String, McpStatus>), (status = 400, description = "No server")))]
async fn add(Here(here): Here, Payload(body): Payload<AddServer>) -> Result<Response, ApiError> {
    here.mcp.add(&body.name, &body.config).await?;
    Ok(all(&here).await)
}

/// Connects an MCP server. Its status says whether that succeeded.
#[utoipa::path(post, path = "/mcp/{name}/connect", operation_id = "mcp.connect", params(("name" = String, Path)),
    responses((status = 200, description = "Tried", body = bool), (status = 404, description = "No such server")))]
async fn connect(Here(here): Here, params: Params) -> Result<Response, ApiError> {
    here.mcp.connect(params.get("name")).await?;
    Ok(reply::done())
}

/// Ends the connection to an MCP server.
#[utoipa::path(post, path = "/mcp/{name}/disconnect", operation_id = "mcp.disconnect", params(("name" = String, Path)),
    responses((status = 200, description = "Ended", body = bool), (status = 404, description = "No such server")))]
async fn disconnect(Here(here): Here, params: Params) -> Result<Response, ApiError> {
    here.mcp.disconnect(params.get("name")).await?;
    Ok(reply::done())
}

/// Starts a login to an MCP server and returns the URL a person has to open. It completes with the browser's callback, or with
/// the code.
#[utoipa::path(post, path = "/mcp/{name}/auth", operation_id = "mcp.auth.start", params(("name" = String, Path)),
    responses((status = 200, description = "Where to go", body = McpLogin), (status = 400, description = "No login there"),
        (status = 404, description = "No such server")))]
async fn start_login(Here(here): Here, params: Params) -> Result<Response, ApiError> {
    let started = here.mcp.start_login(params.get("name")).await?;
    Ok(reply::json(&json!({ "authorizationUrl": started.url, "oauthState": started.state })))
}

/// Completes a login with the code the person was given.
#[utoipa::path(post, path = "/mcp/{name}/auth/callback", operation_id = "mcp.auth.callback",
    params(("name" = String, Path)), request_body = LoginCode,
    responses((status = 200, description = "Status", body = McpStatus), (status = 404, description = "No such server")))]
async fn finish_login(
    Here(here): Here,
    params: Params,
    Payload(body): Payload<LoginCode>,
) -> Result<Response, ApiError> {
    let status = here.mcp.finish_login(params.get("name"), &body.code).await?;
    Ok(reply::json(&here.settings.shown(&status.wire())))
}

/// Performs a complete login: opens a browser on this machine and waits for its callback.
#[utoipa::path(post, path = "/mcp/{name}/auth/authenticate", operation_id = "mcp.auth.authenticate",
    params(("name" = String, Path)),
    responses((status = 200, description = "Status", body = McpStatus), (status = 400, description = "No login there"),
        (status = 404, description = "No such server")))]
async fn authenticate(Here(here): Here, params: Params) -> Result<Response, ApiError> {
    let status = here.mcp.authenticate(params.get("name")).await?;
    Ok(reply::json(&here.settings.shown(&status.wire())))
}

/// Forgets the login at an MCP server.
#[utoipa::path(delete, path = "/mcp/{name}/auth", operation_id = "mcp.auth.remove", params(("name" = String, Path)),
    responses((status = 200, description = "Forgotten", body = Success), (status = 404, description = "No such server")))]
async fn forget_login(Here(here): Here, params: Params) -> Result<Response, ApiError> {
    here.mcp.forget_login(params.get("name")).await?;
    Ok(reply::text(r#"{"success":true}"#))
}

async fn all(here: &Instance) -> Response {
    let status = here.mcp.status().await;
    let logged_in = here.mcp.logged_in().await;
    let shown = |(name, status): (String, Status)| {
        let mut shown = status.wire();
        if logged_in.contains(&name) {
            shown["login"] = Value::Bool(true);
        }
        (name, shown)
    };
    let map: Map<String, Value> = status.into_iter().map(shown).collect();
    reply::json(&here.settings.shown(&map))
}
