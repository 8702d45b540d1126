//! Undo in the spelling of the v2 API: a cut is staged, taken back, or made final.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, V2Error};
use crate::extract::{Params, Payload};
use crate::reply;
use crate::wire::shapes::v2::Data;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sturdy_engine::RevertRequest;
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::types::session::{Revert, RevertConflict};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(stage)).routes(routes!(clear)).routes(routes!(commit))
}

/// Where to cut.
#[derive(Debug, Deserialize, ToSchema)]
struct Stage {
    #[serde(rename = "messageID")]
    #[schema(value_type = String)]
    message_id: MessageId,
    #[serde(rename = "partID", default)]
    #[schema(value_type = Option<String>)]
    part_id: Option<PartId>,
    /// Files to restore even though somebody else has changed them; paths from the worktree.
    #[serde(default)]
    force: Option<Vec<String>>,
    /// False cuts the conversation and leaves the files.
    #[serde(default)]
    files: Option<bool>,
}

impl From<Stage> for RevertRequest {
    fn from(stage: Stage) -> Self {
        Self {
            message: Some(stage.message_id),
            part: stage.part_id,
            force: stage.force.unwrap_or_default(),
            keeps_files: stage.files == Some(false),
        }
    }
}

/// Reverts the conversation to before a message and restores the files, or only reverts the conversation.
#[utoipa::path(post, path = "/api/session/{sessionID}/revert/stage", operation_id = "v2.session.revert.stage",
    params(("sessionID" = String, Path)), request_body = Stage,
    responses((status = 200, description = "The revert", body = Data<Revert>), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session or message"),
        (status = 409, description = "Busy, or nothing can be undone"), (status = 507, description = "The disk is full")))]
async fn stage(
    State(app): State<App>,
    params: Params,
    payload: Result<Payload<Stage>, ApiError>,
) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let Payload(body) = payload.map_err(ApiError::in_v2)?;
    let message = body.message_id.clone();
    if app.engine().reads().message(&session, &message).await?.is_none() {
        return Err(V2Error::NoMessage { session, message }.into());
    }
    let staged = app.engine().revert(&session, body.into()).await;
    let staged = staged.map_err(ApiError::of(&session)).map_err(ApiError::in_v2)?;
    Ok(reply::json(&json!({ "data": staged.revert })))
}

/// What taking a revert back left alone.
#[derive(Debug, Serialize, ToSchema)]
struct FilesLeftAlone {
    conflicts: Vec<RevertConflict>,
}

/// Undoes a staged revert. Files that somebody has changed since are left alone and listed.
#[utoipa::path(post, path = "/api/session/{sessionID}/revert/clear", operation_id = "v2.session.revert.clear",
    params(("sessionID" = String, Path)),
    responses((status = 204, description = "Files restored"),
        (status = 200, description = "Files restored but these", body = Data<FilesLeftAlone>), (status = 404, description = "No such session"),
        (status = 409, description = "Busy, or nothing can be restored"), (status = 507, description = "The disk is full")))]
async fn clear(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let cleared = app.engine().unrevert(&session).await;
    let cleared = cleared.map_err(ApiError::of(&session)).map_err(ApiError::in_v2)?;
    if cleared.conflicts.is_empty() {
        return Ok(reply::no_content());
    }
    Ok(reply::json(&json!({ "data": FilesLeftAlone { conflicts: cleared.conflicts } })))
}

/// Makes a staged revert final: what is marked leaves the conversation.
#[utoipa::path(post, path = "/api/session/{sessionID}/revert/commit", operation_id = "v2.session.revert.commit",
    params(("sessionID" = String, Path)),
    responses((status = 204, description = "Removed"), (status = 404, description = "No such session")))]
async fn commit(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let committed = app.engine().commit_revert(&session).await;
    committed.map_err(ApiError::of(&session)).map_err(ApiError::in_v2)?;
    Ok(reply::no_content())
}
