//! Sessions in the spelling of the v2 API: create, get, interrupt, which ones are at work.
//!
//! Not here: the list (`session_list.rs`).

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, V2Error};
use crate::extract::{Params, Payload};
use crate::reply;
use crate::wire::shapes::v2::ActiveSession;
use crate::wire::shapes::v2::Data;
use crate::wire::v2::SessionV2;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::collections::HashMap;
use sturdy_engine::records;
use sturdy_engine::{EngineError, NewSession};
use sturdy_session::id::SessionId;
use sturdy_session::turn::Refusal;
use sturdy_session::types::session::{Session, SessionModel};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(create))
        .routes(routes!(active))
        .routes(routes!(get))
        .routes(routes!(interrupt))
}

/// A new session.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct Create {
    /// The same one again is the same session.
    id: Option<String>,
    agent: Option<String>,
    model: Option<SessionModel>,
    location: Option<CreateAt>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct CreateAt {
    directory: String,
    /// One server has no workspaces.
    #[serde(rename = "workspaceID")]
    _workspace: Option<String>,
}

/// Creates a session.
#[utoipa::path(post, path = "/api/session", operation_id = "v2.session.create", request_body = Create,
    responses((status = 200, description = "The session", body = Data<SessionV2>), (status = 400, description = "Bad body")))]
async fn create(
    State(app): State<App>,
    payload: Result<Payload<Create>, ApiError>,
) -> Result<Response, ApiError> {
    let Payload(body) = payload.map_err(ApiError::in_v2)?;
    let directory = body.location.map(|at| at.directory).unwrap_or_default();
    let here = app.engine().instance(&directory).await?;
    let id = body.id.as_deref().map(SessionId::parse).transpose();
    let id = id.map_err(|cause| V2Error::Request {
        kind: crate::error::Kind::Payload,
        message: format!("{cause}\n  at [\"id\"]"),
    })?;
    if let Some(id) = &id
        && let Some(known) = app.engine().reads().session(id).await?
    {
        // Sent again by a client that did not hear the answer.
        return Ok(reply::json(&json!({ "data": SessionV2::from(records::session(id, &known)?) })));
    }
    let new = NewSession { id: id.clone(), agent: body.agent, model: body.model, ..NewSession::default() };
    let session = match (app.engine().create_session(&here, new).await, id) {
        (Ok(session), _) => session,
        // Somebody else created it between the look and the creation.
        (Err(EngineError::Refused(Refusal::Exists)), Some(id)) => {
            records::session(&id, &app.engine().session_record(&id).await?)?
        }
        (Err(cause), _) => return Err(cause.into()),
    };
    Ok(reply::json(&json!({ "data": SessionV2::from(session) })))
}

/// Sessions that are at work.
#[utoipa::path(get, path = "/api/session/active", operation_id = "v2.session.active",
    responses((status = 200, description = "Sessions at work", body = Data<HashMap<String, ActiveSession>>)))]
async fn active(State(app): State<App>) -> Response {
    let active: BTreeMap<_, _> =
        app.engine().statuses().into_iter().map(|(id, _)| (id, json!({ "type": "running" }))).collect();
    reply::json(&json!({ "data": active }))
}

/// Gets a session.
#[utoipa::path(get, path = "/api/session/{sessionID}", operation_id = "v2.session.get",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "The session", body = Data<SessionV2>), (status = 404, description = "No such session")))]
async fn get(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?;
    Ok(reply::json(&json!({ "data": SessionV2::from(session) })))
}

/// Stops what runs.
#[utoipa::path(post, path = "/api/session/{sessionID}/interrupt", operation_id = "v2.session.interrupt",
    params(("sessionID" = String, Path)),
    responses((status = 204, description = "Nothing runs"), (status = 404, description = "No such session")))]
async fn interrupt(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?;
    app.engine().abort(&session.id).await?;
    Ok(reply::no_content())
}

pub(super) async fn find(app: &App, params: &Params) -> Result<Session, ApiError> {
    let id = SessionId::parse(params.get("sessionID")).map_err(|_| V2Error::SessionId)?;
    match app.engine().session_record(&id).await {
        Ok(text) => Ok(records::session(&id, &text)?),
        Err(EngineError::NoSession(id)) => Err(V2Error::NoSession(id).into()),
        Err(cause) => Err(cause.into()),
    }
}
