//! Undo and redo: a conversation is cut and its files go back, the cut is moved or taken back.
//!
//! Not here: the same in the spelling of the v2 API (`routes/v2/revert.rs`).

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, Payload};
use crate::reply;
use crate::wire::shapes::own::RevertPlan;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use sturdy_engine::{RevertRequest, Unreverted};
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::types::session::{RevertConflict, Session};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(revert))
        .routes(routes!(plan))
        .routes(routes!(unrevert))
        .routes(routes!(unrevert_plan))
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
    /// Files to restore even though somebody else has changed them; paths from the worktree.
    #[serde(default)]
    force: Option<Vec<String>>,
}

impl From<Cut> for RevertRequest {
    fn from(cut: Cut) -> Self {
        Self {
            message: Some(cut.message_id),
            part: cut.part_id,
            force: cut.force.unwrap_or_default(),
            keeps_files: false,
        }
    }
}

/// Marks everything from a message on as undone and takes back what its steps did to files.
#[utoipa::path(post, path = "/session/{sessionID}/revert", operation_id = "session.revert",
    params(("sessionID" = String, Path)), request_body = Cut,
    responses((status = 200, description = "The session", body = Session), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session"), (status = 409, description = "Busy, or nothing can be undone"),
        (status = 507, description = "The disk is full")))]
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
    responses((status = 200, description = "The plan", body = RevertPlan), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session"), (status = 409, description = "Nothing can be undone")))]
async fn plan(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(cut): Payload<Cut>,
) -> Result<Response, ApiError> {
    let plan = app.engine().revert_plan(&id, cut.into()).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&plan))
}

/// A session whose revert was taken back.
#[derive(Debug, Serialize)]
struct UnrevertedSession {
    #[serde(flatten)]
    session: Session,
    /// Files that somebody has changed since the revert.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<RevertConflict>,
}

/// The schema of a session with one field more: readers of the document need not put two together.
impl utoipa::PartialSchema for UnrevertedSession {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        match <Session as utoipa::PartialSchema>::schema() {
            utoipa::openapi::RefOr::T(utoipa::openapi::Schema::Object(mut session)) => {
                let conflict = utoipa::openapi::Ref::from_schema_name(RevertConflict::name());
                let conflicts = utoipa::openapi::Schema::Array(utoipa::openapi::Array::new(conflict));
                session.properties.insert("conflicts".to_owned(), conflicts.into());
                session.into()
            }
            other => other,
        }
    }
}

impl ToSchema for UnrevertedSession {}

/// Undoes a revert: restores files and messages. Files that somebody has changed since are left alone and
/// named in `conflicts`.
#[utoipa::path(post, path = "/session/{sessionID}/unrevert", operation_id = "session.unrevert",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "The session", body = UnrevertedSession),
        (status = 404, description = "No such session"), (status = 409, description = "Busy"),
        (status = 507, description = "The disk is full")))]
async fn unrevert(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    let Unreverted { session, conflicts } = app.engine().unrevert(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&UnrevertedSession { session, conflicts }))
}

/// How far to come back.
#[derive(Debug, Deserialize, ToSchema)]
struct Return {
    /// Where the cut would stand; without it, nothing stays undone.
    #[serde(rename = "messageID", default)]
    #[schema(value_type = Option<String>)]
    message_id: Option<MessageId>,
}

/// What an unrevert, or a revert to a later message, would do to which file. Changes nothing.
#[utoipa::path(post, path = "/session/{sessionID}/unrevert/plan", operation_id = "session.unrevert.plan",
    params(("sessionID" = String, Path)), request_body = Return,
    responses((status = 200, description = "The plan; without files when nothing is undone", body = RevertPlan),
        (status = 400, description = "Bad body"), (status = 404, description = "No such session"),
        (status = 409, description = "A captured tree is lost")))]
async fn unrevert_plan(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(wanted): Payload<Return>,
) -> Result<Response, ApiError> {
    let plan = app.engine().unrevert_plan(&id, wanted.message_id).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&plan))
}
