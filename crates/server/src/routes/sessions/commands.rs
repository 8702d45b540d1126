//! Commands, shell lines and summaries, copies of sessions, and edits of single messages and parts.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, Optional, PROMPT_BYTES_MAX, Params, Payload};
use crate::reply;
use crate::streams::Program;
use crate::wire::commands::{Fork, Init, RunCommand, RunShell, Summarize};
use crate::wire::message::joined;
use axum::extract::State;
use axum::response::Response;
use sturdy_session::id::{MessageId, PartId};
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::part::Part;
use sturdy_session::types::session::Session;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(command))
        .routes(routes!(shell))
        .routes(routes!(summarize))
        .routes(routes!(init))
        .routes(routes!(fork))
        .routes(routes!(remove_message))
        .routes(routes!(write_part, remove_part))
}

/// Runs a command and answers with the last message of its turn.
#[utoipa::path(post, path = "/session/{sessionID}/command", operation_id = "session.command",
    params(("sessionID" = String, Path)), request_body = RunCommand,
    responses((status = 200, description = "Message with parts", body = MessageWithParts),
        (status = 400, description = "Bad body, unknown command, agent or model"), (status = 404, description = "No such session")))]
async fn command(
    State(app): State<App>,
    program: Program,
    OfSession(id): OfSession,
    Payload(body): Payload<RunCommand, PROMPT_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let engine = app.engine();
    let asked = engine.command(&id, body.into()).await.map_err(ApiError::of(&id))?;
    let answer = engine.answer(&id, &asked).await.map_err(ApiError::of(&id))?;
    app.streams().sent(&program).await;
    Ok(reply::streamed(joined(&answer)))
}

/// Runs a line in the user's shell, without a model.
#[utoipa::path(post, path = "/session/{sessionID}/shell", operation_id = "session.shell",
    params(("sessionID" = String, Path)), request_body = RunShell,
    responses((status = 200, description = "Message with parts", body = MessageWithParts),
        (status = 400, description = "Bad body or unknown agent"), (status = 404, description = "No such session"),
        (status = 409, description = "The session is busy")))]
async fn shell(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(body): Payload<RunShell>,
) -> Result<Response, ApiError> {
    let answer = app.engine().shell(&id, body.into()).await.map_err(ApiError::of(&id))?;
    Ok(reply::streamed(joined(&answer)))
}

/// Summarises the conversation; answers when that is done.
#[utoipa::path(post, path = "/session/{sessionID}/summarize", operation_id = "session.summarize",
    params(("sessionID" = String, Path)), request_body = Summarize,
    responses((status = 200, description = "Done", body = bool), (status = 400, description = "Bad body or unknown model"),
        (status = 404, description = "No such session")))]
async fn summarize(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(body): Payload<Summarize>,
) -> Result<Response, ApiError> {
    let summary = app.engine().summarize_with(&id, &body.provider_id, &body.model_id, body.auto);
    summary.await.map_err(ApiError::of(&id))?;
    Ok(reply::done())
}

/// Sets the project up; answers when that is done.
#[utoipa::path(post, path = "/session/{sessionID}/init", operation_id = "session.init",
    params(("sessionID" = String, Path)), request_body = Init,
    responses((status = 200, description = "Done", body = bool), (status = 400, description = "Bad body or unknown model"),
        (status = 404, description = "No such session")))]
async fn init(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(body): Payload<Init>,
) -> Result<Response, ApiError> {
    let engine = app.engine();
    let model = (body.provider_id, body.model_id);
    let asked = engine.init(&id, model, body.message_id).await.map_err(ApiError::of(&id))?;
    engine.answer(&id, &asked).await.map_err(ApiError::of(&id))?;
    Ok(reply::done())
}

/// Copies a session, or its beginning.
#[utoipa::path(post, path = "/session/{sessionID}/fork", operation_id = "session.fork",
    params(("sessionID" = String, Path)), request_body = Option<Fork>,
    responses((status = 200, description = "The copy", body = Session), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session")))]
async fn fork(
    State(app): State<App>,
    OfSession(id): OfSession,
    Optional(body): Optional<Fork>,
) -> Result<Response, ApiError> {
    let copy = app.engine().fork(&id, body.message_id.as_ref()).await.map_err(ApiError::of(&id))?;
    Ok(reply::json(&copy))
}

/// Removes a message with its parts.
#[utoipa::path(delete, path = "/session/{sessionID}/message/{messageID}", operation_id = "session.deleteMessage",
    params(("sessionID" = String, Path), ("messageID" = String, Path)),
    responses((status = 200, description = "Gone", body = bool), (status = 404, description = "No such session"),
        (status = 409, description = "The session is busy")))]
async fn remove_message(
    State(app): State<App>,
    OfSession(id): OfSession,
    params: Params,
) -> Result<Response, ApiError> {
    let message = params.id("messageID", MessageId::parse)?;
    app.engine().remove_message(&id, &message).await.map_err(ApiError::of(&id))?;
    Ok(reply::done())
}

/// Writes a part whole.
#[utoipa::path(patch, path = "/session/{sessionID}/message/{messageID}/part/{partID}", operation_id = "part.update",
    params(("sessionID" = String, Path), ("messageID" = String, Path), ("partID" = String, Path)), request_body = Part,
    responses((status = 200, description = "The part", body = Part), (status = 400, description = "Bad part, or other ids than the path"),
        (status = 404, description = "No such session")))]
async fn write_part(
    State(app): State<App>,
    OfSession(id): OfSession,
    params: Params,
    Payload(part): Payload<Part, PROMPT_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let message = params.id("messageID", MessageId::parse)?;
    if part.id != params.id("partID", PartId::parse)? || part.message_id != message || part.session_id != id {
        return Err(ApiError::Handler);
    }
    let written = reply::json(&part);
    app.engine().write_part(&id, &message, part).await.map_err(ApiError::of(&id))?;
    Ok(written)
}

/// Removes a part.
#[utoipa::path(delete, path = "/session/{sessionID}/message/{messageID}/part/{partID}", operation_id = "part.delete",
    params(("sessionID" = String, Path), ("messageID" = String, Path), ("partID" = String, Path)),
    responses((status = 200, description = "Gone", body = bool), (status = 404, description = "No such session")))]
async fn remove_part(
    State(app): State<App>,
    OfSession(id): OfSession,
    params: Params,
) -> Result<Response, ApiError> {
    let message = params.id("messageID", MessageId::parse)?;
    let part = params.id("partID", PartId::parse)?;
    app.engine().remove_part(&id, &message, &part).await.map_err(ApiError::of(&id))?;
    Ok(reply::done())
}
