//! Another agent or model for the prompts to come, in the spelling of the v2 API. The v1 API shows the same record.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, V2Error};
use crate::extract::{Params, Payload};
use crate::reply;
use crate::wire::error_schema::{InvalidRequestError, SessionNotFoundError};
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use sturdy_session::types::session::SessionModel;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(agent)).routes(routes!(model))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SwitchAgent {
    agent: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SwitchModel {
    model: ModelChoice,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ModelChoice {
    #[serde(rename = "providerID")]
    provider_id: String,
    id: String,
    variant: Option<String>,
}

/// Chooses the agent of the prompts to come.
#[utoipa::path(post, path = "/api/session/{sessionID}/agent", operation_id = "v2.session.switchAgent",
    params(("sessionID" = String, Path)), request_body = SwitchAgent,
    responses((status = 204, description = "Chosen"), (status = 400, description = "No such agent", body = InvalidRequestError),
        (status = 404, description = "No such session", body = SessionNotFoundError)))]
async fn agent(
    State(app): State<App>,
    params: Params,
    body: Result<Payload<SwitchAgent>, ApiError>,
) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    let switched = app.engine().switch(&session, Some(body.agent), None).await;
    switched.map_err(ApiError::of(&session)).map_err(ApiError::in_v2)?;
    Ok(reply::no_content())
}

/// Chooses the model of the prompts to come.
#[utoipa::path(post, path = "/api/session/{sessionID}/model", operation_id = "v2.session.switchModel",
    params(("sessionID" = String, Path)), request_body = SwitchModel,
    responses((status = 204, description = "Chosen"), (status = 400, description = "No such model", body = InvalidRequestError),
        (status = 404, description = "No such session", body = SessionNotFoundError)))]
async fn model(
    State(app): State<App>,
    params: Params,
    body: Result<Payload<SwitchModel>, ApiError>,
) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let Payload(SwitchModel { model }) = body.map_err(ApiError::in_v2)?;
    if model.id.is_empty() || model.provider_id.is_empty() {
        let message = "Expected a model and its provider\n  at [\"model\"]".to_owned();
        return Err(V2Error::Request { kind: crate::error::Kind::Payload, message }.into());
    }
    let model = SessionModel { id: model.id, provider_id: model.provider_id, variant: model.variant };
    let switched = app.engine().switch(&session, None, Some(model)).await;
    switched.map_err(ApiError::of(&session)).map_err(ApiError::in_v2)?;
    Ok(reply::no_content())
}
