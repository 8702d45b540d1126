//! What commands left running in the background: which, what one prints, stop one.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, Params};
use crate::reply;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use sturdy_session::id::SessionId;
use sturdy_session::types::event::BackgroundProcess;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list_all)).routes(routes!(list)).routes(routes!(show, stop))
}

/// A process with the end of what it has printed.
#[derive(Serialize, ToSchema)]
struct WithOutput {
    #[serde(flatten)]
    process: BackgroundProcess,
    output: String,
}

/// The background processes of all sessions, oldest first.
#[utoipa::path(get, path = "/sturdy/process", operation_id = "sturdy.process.list",
    responses((status = 200, description = "`[{id, sessionID, command, cwd, pids, user, time}]`", body = [BackgroundProcess])))]
async fn list_all(State(app): State<App>) -> Response {
    reply::json(&app.engine().background_processes())
}

/// The background processes of a session and of its sub-agents, oldest first.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/process", operation_id = "sturdy.session.process.list",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "`[{id, sessionID, command, cwd, pids, user, time}]`", body = [BackgroundProcess]),
        (status = 404, description = "No such session")))]
async fn list(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().session_record(&id).await.map_err(ApiError::of(&id))?;
    let processes = app.engine().background_processes_of(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&processes))
}

/// One background process, with the last 32 KiB it has printed.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/process/{processID}", operation_id = "sturdy.session.process.get",
    params(("sessionID" = String, Path), ("processID" = String, Path)),
    responses((status = 200, description = "The same with `output`", body = WithOutput),
        (status = 404, description = "No such process: perhaps it has ended")))]
async fn show(
    State(app): State<App>,
    OfSession(session): OfSession,
    params: Params,
) -> Result<Response, ApiError> {
    let process = find(&app, &session, params.get("processID")).await?;
    let output = app.engine().background_output(&process.session_id, &process.id);
    let output = output.ok_or_else(|| ApiError::NoProcess(process.id.clone()))?;
    Ok(reply::json(&WithOutput { process, output }))
}

/// Stops a background process: asked to end, then made to. It is gone when this is answered.
#[utoipa::path(delete, path = "/sturdy/session/{sessionID}/process/{processID}", operation_id = "sturdy.session.process.stop",
    params(("sessionID" = String, Path), ("processID" = String, Path)),
    responses((status = 200, description = "It has ended", body = bool),
        (status = 404, description = "No such process: perhaps it has ended")))]
async fn stop(
    State(app): State<App>,
    OfSession(session): OfSession,
    params: Params,
) -> Result<Response, ApiError> {
    let process = find(&app, &session, params.get("processID")).await?;
    let stopped = app.engine().stop_background(&process.session_id, &process.id).await;
    stopped.map_err(|_| ApiError::NoProcess(process.id))?;
    Ok(reply::done())
}

/// A process of a session or of one of its sub-agents.
async fn find(app: &App, session: &SessionId, id: &str) -> Result<BackgroundProcess, ApiError> {
    let processes = app.engine().background_processes_of(session).await.map_err(ApiError::of(session))?;
    let found = processes.into_iter().find(|process| process.id == id);
    found.ok_or_else(|| ApiError::NoProcess(id.to_owned()))
}
