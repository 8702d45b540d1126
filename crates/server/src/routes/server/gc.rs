//! Frees the disk space of captured trees of removed sessions.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::Payload;
use crate::reply;
use crate::wire::shapes::own::Collected;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use sturdy_engine::Garbage;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(gc))
}

#[derive(Debug, Deserialize, ToSchema)]
struct Collection {
    /// False, or left out: only says what would be done.
    #[serde(default)]
    remove: bool,
}

/// Releases the captured trees of removed sessions and packs the rest, or says what that would be.
#[utoipa::path(post, path = "/sturdy/gc", operation_id = "sturdy.gc", request_body = Collection,
    responses((status = 200, description = "`{stores: [{worktree, bytes, sessions, removed?}], released, bytesBefore, bytesAfter?}`",
        body = Collected), (status = 400, description = "Bad body"), (status = 409, description = "It could not be done")))]
async fn gc(State(app): State<App>, Payload(collection): Payload<Collection>) -> Result<Response, ApiError> {
    let garbage = if collection.remove { Garbage::Remove } else { Garbage::Show };
    let report = app.engine().collect_garbage(garbage).await.map_err(ApiError::Engine)?;
    Ok(reply::json(&report))
}
