//! Undo and redo: a conversation is cut and its files go back, the cut is moved, taken back or made final.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, Payload};
use crate::reply;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use sturdy_engine::RevertRequest;
use sturdy_session::id::{MessageId, PartId};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(revert))
        .routes(routes!(plan))
        .routes(routes!(unrevert))
        .routes(routes!(stage))
        .routes(routes!(clear))
        .routes(routes!(commit))
}

/// Where to cut.
#[derive(Debug, Deserialize, ToSchema)]
struct Cut {
    #[serde(rename = "messageID")]
    #[schema(value_type = String)]
    message_id: MessageId,
    #[serde(rename = "partID", default)]
    #[schema(value_type = Option<String>)]
    part_id: Option<PartId>,
    /// Files that go back although somebody else has changed them, from the worktree.
    #[serde(default)]
    force: Option<Vec<String>>,
    /// Of the v2 API: false cuts the conversation and leaves the files.
    #[serde(default)]
    files: Option<bool>,
}

impl From<Cut> for RevertRequest {
    fn from(cut: Cut) -> Self {
        Self {
            message: Some(cut.message_id),
            part: cut.part_id,
            force: cut.force.unwrap_or_default(),
            keeps_files: cut.files == Some(false),
        }
    }
}

/// Marks everything from a message on as undone and takes back what its steps did to files.
#[utoipa::path(post, path = "/session/{sessionID}/revert", operation_id = "session.revert",
    params(("sessionID" = String, Path)), request_body = Cut,
    responses((status = 200, description = "The session", body = Object), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session"), (status = 409, description = "Busy, or nothing can be undone")))]
async fn revert(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(cut): Payload<Cut>,
) -> Result<Response, ApiError> {
    let session = app.engine().revert(&id, cut.into()).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&session))
}

/// What a revert would do to which file. Changes nothing.
#[utoipa::path(post, path = "/session/{sessionID}/revert/plan", operation_id = "session.revert.plan",
    params(("sessionID" = String, Path)), request_body = Cut,
    responses((status = 200, description = "The plan", body = Object), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session"), (status = 409, description = "Nothing can be undone")))]
async fn plan(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(cut): Payload<Cut>,
) -> Result<Response, ApiError> {
    let plan = app.engine().revert_plan(&id, cut.into()).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&plan))
}

/// Takes a revert back: files as they were, nothing marked.
#[utoipa::path(post, path = "/session/{sessionID}/unrevert", operation_id = "session.unrevert",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "The session", body = Object),
        (status = 404, description = "No such session"), (status = 409, description = "Busy")))]
async fn unrevert(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    let session = app.engine().unrevert(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&session))
}

/// The same in the spelling of the v2 API.
#[utoipa::path(post, path = "/api/session/{sessionID}/revert/stage", operation_id = "v2.session.revert.stage",
    params(("sessionID" = String, Path)), request_body = Cut,
    responses((status = 200, description = "The revert", body = Object), (status = 404, description = "No such session")))]
async fn stage(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(cut): Payload<Cut>,
) -> Result<Response, ApiError> {
    let session = app.engine().revert(&id, cut.into()).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&json!({ "data": session.revert })))
}

/// Takes a staged revert back.
#[utoipa::path(post, path = "/api/session/{sessionID}/revert/clear", operation_id = "v2.session.revert.clear",
    params(("sessionID" = String, Path)),
    responses((status = 204, description = "Files restored"), (status = 404, description = "No such session")))]
async fn clear(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().unrevert(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::no_content())
}

/// Makes a staged revert final: what is marked leaves the conversation.
#[utoipa::path(post, path = "/api/session/{sessionID}/revert/commit", operation_id = "v2.session.revert.commit",
    params(("sessionID" = String, Path)),
    responses((status = 204, description = "Removed"), (status = 404, description = "No such session")))]
async fn commit(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().commit_revert(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::no_content())
}
