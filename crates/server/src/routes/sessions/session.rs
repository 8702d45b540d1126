//! Sessions as a whole: create, list, get, change, remove, and what belongs to one.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::{OfMessage, OfSession, Optional, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::body::{CreateSession, EditSession};
use crate::wire::listing::{Listing, Scope};
use crate::wire::query::Query;
use axum::extract::State;
use axum::response::Response;
use std::collections::{BTreeMap, BTreeSet};
use sturdy_engine::EngineError;
use sturdy_engine::reads::SessionQuery;
use sturdy_engine::records;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::types::diff::FileDiff;
use sturdy_session::types::message::Message;
use sturdy_session::types::session::Session;
use sturdy_session::types::status::Status;
use sturdy_session::types::todo::Todo;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list, create))
        .routes(routes!(status))
        .routes(routes!(get, edit, remove))
        .routes(routes!(children))
        .routes(routes!(todo))
        .routes(routes!(diff))
        .routes(routes!(step_diff))
        .routes(routes!(abort))
}

/// Sessions of the directory's project, newest change first.
#[utoipa::path(get, path = "/session", operation_id = "session.list", params(
    ("directory" = Option<String>, Query, description = "Only sessions of exactly this directory"),
    ("scope" = inline(Option<Scope>), Query, description = "`project`: the whole project in spite of `directory`"),
    ("path" = Option<String>, Query, description = "Only at or below this path; empty is no filter"),
    ("roots" = Option<bool>, Query, description = "Only sessions without a parent"),
    ("start" = Option<u64>, Query, description = "Only sessions changed at or after this time"),
    ("search" = Option<String>, Query, description = "Contained in the title"),
    ("limit" = Option<u32>, Query, description = "Default 100"),
), responses((status = 200, description = "Sessions", body = [Session]), (status = 400, description = "Bad query")))]
async fn list(State(app): State<App>, Here(here): Here, query: Query) -> Result<Response, ApiError> {
    let wanted = Listing::of(&query)?.within(&here);
    let sessions = app.engine().reads().sessions(wanted).await?;
    Ok(reply::text(reply::array(sessions)))
}

/// Creates a session.
#[utoipa::path(post, path = "/session", operation_id = "session.create", request_body = Option<CreateSession>,
    responses((status = 200, description = "The session", body = Session), (status = 400, description = "Bad body")))]
async fn create(
    State(app): State<App>,
    Here(here): Here,
    Optional(body): Optional<CreateSession>,
) -> Result<Response, ApiError> {
    let session = app.engine().create_session(&here, body.into()).await?;
    Ok(reply::json(&session))
}

/// What the sessions of the directory are doing; those that do nothing are left out.
#[utoipa::path(get, path = "/session/status", operation_id = "session.status",
    responses((status = 200, description = "Status by session", body = HashMap<String, Status>)))]
async fn status(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    let here: BTreeSet<SessionId> =
        app.engine().reads().busy_sessions_in(&here.directory).await?.into_iter().collect();
    let working: BTreeMap<SessionId, Status> =
        app.engine().statuses().into_iter().filter(|(id, _)| here.contains(id)).collect();
    Ok(reply::json(&working))
}

/// Gets a session.
#[utoipa::path(get, path = "/session/{sessionID}", operation_id = "session.get",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "The session", body = Session), (status = 404, description = "No such session")))]
async fn get(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    Ok(reply::text(app.engine().session_record(&id).await?))
}

/// Renames, describes, permits or archives.
#[utoipa::path(patch, path = "/session/{sessionID}", operation_id = "session.update",
    params(("sessionID" = String, Path)), request_body = EditSession,
    responses((status = 200, description = "The session", body = Session), (status = 400, description = "Bad body"),
        (status = 404, description = "No such session")))]
async fn edit(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(body): Payload<EditSession>,
) -> Result<Response, ApiError> {
    app.engine().edit_session(&id, body.into()).await.map_err(ApiError::of(&id))?;
    Ok(reply::text(app.engine().session_record(&id).await?))
}

/// Removes a session with everything in it and below it.
#[utoipa::path(delete, path = "/session/{sessionID}", operation_id = "session.delete",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Removed", body = bool), (status = 404, description = "No such session")))]
async fn remove(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().remove_session(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::done())
}

/// Sessions that were started by this one.
#[utoipa::path(get, path = "/session/{sessionID}/children", operation_id = "session.children",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Sessions", body = [Session]), (status = 404, description = "No such session")))]
async fn children(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().session_record(&id).await?;
    let wanted = SessionQuery { parent: Some(id), ..SessionQuery::default() };
    Ok(reply::text(reply::array(app.engine().reads().sessions(wanted).await?)))
}

/// What the session means to do.
#[utoipa::path(get, path = "/session/{sessionID}/todo", operation_id = "session.todo",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Todos", body = [Todo]), (status = 404, description = "No such session")))]
async fn todo(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().session_record(&id).await?;
    let todos = app.engine().reads().todos(&id).await?;
    Ok(reply::text(todos.unwrap_or_else(|| "[]".to_owned())))
}

/// What the turn of a user message changed, or the turns from it up to another, or the whole session. Never 404: what
/// is unknown changed nothing.
#[utoipa::path(get, path = "/session/{sessionID}/diff", operation_id = "session.diff",
    params(("sessionID" = String, Path), ("messageID" = Option<String>, Query),
        ("toMessageID" = Option<String>, Query)),
    responses((status = 200, description = "Changed files", body = [FileDiff])))]
async fn diff(State(app): State<App>, OfSession(id): OfSession, query: Query) -> Result<Response, ApiError> {
    let Some(message) = query.get("messageID") else {
        return match app.engine().session_diff(&id).await {
            Ok(diffs) => Ok(reply::json(&diffs)),
            Err(EngineError::NoSession(_)) => Ok(reply::text("[]")),
            Err(cause) => Err(cause.into()),
        };
    };
    let message = message_id("messageID", message)?;
    if let Some(last) = query.get("toMessageID") {
        let last = message_id("toMessageID", last)?;
        return match app.engine().range_diff(&id, &message, &last).await {
            Ok(diffs) => Ok(reply::json(&diffs)),
            Err(EngineError::NoSession(_)) => Ok(reply::text("[]")),
            Err(cause) => Err(cause.into()),
        };
    }
    let found = app.engine().reads().message(&id, &message).await?;
    let info = found.map(|raw| records::message(&raw.id, &raw.info)).transpose()?;
    let diffs: Vec<FileDiff> = match info {
        Some(Message::User(user)) => user.summary.map(|summary| summary.diffs).unwrap_or_default(),
        Some(Message::Assistant(_)) | None => Vec::new(),
    };
    Ok(reply::json(&diffs))
}

fn message_id(name: &str, text: &str) -> Result<MessageId, ApiError> {
    MessageId::parse(text)
        .map_err(|cause| ApiError::schema(Kind::Query, format!("{cause}\n  at [\"{name}\"]")))
}

/// What one step changed, whatever other steps of its turn did to the same files.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/message/{messageID}/diff", operation_id = "sturdy.step.diff",
    params(("sessionID" = String, Path), ("messageID" = String, Path, description = "Of the step")),
    responses((status = 200, description = "Changed files", body = [FileDiff]),
        (status = 404, description = "No such session or message"),
        (status = 409, description = "Its trees are gone, or were captured by another program")))]
async fn step_diff(
    State(app): State<App>,
    OfMessage(session, step): OfMessage,
) -> Result<Response, ApiError> {
    let diffs = app.engine().step_diff(&session, &step).await.map_err(ApiError::of(&session))?;
    Ok(reply::json(&diffs.ok_or(ApiError::NoMessage(step))?))
}

/// Stops what runs. Never 404: nothing runs in an unknown session.
#[utoipa::path(post, path = "/session/{sessionID}/abort", operation_id = "session.abort",
    params(("sessionID" = String, Path)), responses((status = 200, description = "Nothing runs", body = bool)))]
async fn abort(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().abort(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::done())
}
