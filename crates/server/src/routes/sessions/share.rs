//! Sharing sessions of this server, and which of them are shared.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, Optional, Payload};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::own::ShareLink;
use crate::wire::share_link::{LinkQuery, OwnerRequestBody, ShareRequest, owned};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::Value;
use sturdy_engine::EngineError;
use sturdy_session::types::session::Session;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(share, unshare))
        .routes(routes!(link))
        .routes(routes!(ask_service))
        .routes(routes!(all))
}

/// Shares a session; its record has the URL. A session that is shared already keeps its link.
#[utoipa::path(post, path = "/session/{sessionID}/share", operation_id = "session.share",
    params(("sessionID" = String, Path)), request_body = Option<ShareRequest>,
    responses((status = 200, description = "The session", body = Session), (status = 400, description = "Nowhere to share to"),
        (status = 404, description = "No such session"), (status = 502, description = "The service did not take it")))]
async fn share(
    State(app): State<App>,
    OfSession(id): OfSession,
    Optional(wanted): Optional<ShareRequest>,
) -> Result<Response, ApiError> {
    let visibility = wanted.visibility()?;
    app.engine().share_session(&id, visibility).await.map_err(ApiError::of(&id))?;
    Ok(reply::text(app.engine().session_record(&id).await?))
}

/// Unshares a session. Its URL stops working at once.
#[utoipa::path(delete, path = "/session/{sessionID}/share", operation_id = "session.unshare",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "The session", body = Session), (status = 404, description = "No such session")))]
async fn unshare(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().unshare_session(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::text(app.engine().session_record(&id).await?))
}

/// The link of a shared session with the owner's reference, which opens everything: keep it to yourself. With it, how
/// many changes the service has yet to take. It changes nothing and is no `GET`, so that a token that only reads does not
/// get it.
#[utoipa::path(post, path = "/sturdy/session/{sessionID}/share", operation_id = "sturdy.share.link",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "The link", body = ShareLink), (status = 404, description = "Not shared")))]
async fn link(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    let link = app.engine().share_link(&id).await?.ok_or_else(|| EngineError::NotShared(id.clone()))?;
    let mut shown = owned(&link);
    shown["waiting"] = Value::from(app.engine().share_waiting(&id).await?);
    Ok(reply::json(&shown))
}

/// Asks the service that keeps a session's share, as its owner: narrower links, revoking them, the audit, who reads. The
/// answer is the service's, with its status. No `GET`, like the link itself.
#[utoipa::path(post, path = "/sturdy/session/{sessionID}/share/owner", operation_id = "sturdy.share.owner",
    params(("sessionID" = String, Path)), request_body = OwnerRequestBody,
    responses((status = 200, description = "What the service answered", body = Value),
        (status = 201, description = "What the service made", body = Value),
        (status = 400, description = "This server keeps the share itself"), (status = 404, description = "Not shared"),
        (status = 502, description = "The service did not answer")))]
async fn ask_service(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(wanted): Payload<OwnerRequestBody>,
) -> Result<Response, ApiError> {
    let answer = app.engine().ask_share_service(&id, wanted.request()?).await.map_err(ApiError::of(&id))?;
    let mut response = reply::text(answer.json);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    Ok(response)
}

/// Sessions of this server that are shared.
#[utoipa::path(get, path = "/sturdy/share", operation_id = "sturdy.share.list",
    params(("actor" = Option<String>, Query, description = "Only those that somebody made")),
    responses((status = 200, description = "Links, oldest first", body = [ShareLink])))]
async fn all(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let wanted = LinkQuery { actor: query.get("actor").map(str::to_owned) };
    Ok(reply::json(&wanted.pick(&app.engine().share_links().await?)))
}
