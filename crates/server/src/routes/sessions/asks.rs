//! What waits for a person, and their answers.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, Params, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::body::{ReplyPermission, ReplyQuestion, RespondPermission};
use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use sturdy_engine::EngineError;
use sturdy_engine::reads::AskQuery;
use sturdy_session::id::{PermissionId, QuestionId};
use sturdy_session::row::AskKind;
use sturdy_session::turn::{Answer, Refusal};
use sturdy_session::types::ask::PermissionRequest;
use sturdy_session::types::ask::QuestionRequest;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(permissions))
        .routes(routes!(reply_permission))
        .routes(routes!(respond_permission))
        .routes(routes!(questions))
        .routes(routes!(reply_question))
        .routes(routes!(reject_question))
}

/// Permissions the directory's sessions wait for.
#[utoipa::path(get, path = "/permission", operation_id = "permission.list",
    responses((status = 200, description = "Requests", body = [PermissionRequest])))]
async fn permissions(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    open(&app, AskKind::Permission, &here.directory).await
}

/// Questions the directory's sessions wait for.
#[utoipa::path(get, path = "/question", operation_id = "question.list",
    responses((status = 200, description = "Requests", body = [QuestionRequest])))]
async fn questions(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    open(&app, AskKind::Question, &here.directory).await
}

/// Allows or refuses a call.
#[utoipa::path(post, path = "/permission/{requestID}/reply", operation_id = "permission.reply",
    params(("requestID" = String, Path)), request_body = ReplyPermission,
    responses((status = 200, description = "Answered", body = bool), (status = 404, description = "No such request")))]
async fn reply_permission(
    State(app): State<App>,
    params: Params,
    Payload(body): Payload<ReplyPermission>,
) -> Result<Response, ApiError> {
    let id = params.id("requestID", PermissionId::parse)?;
    answer(&app, AskKind::Permission, id.as_str(), body.into()).await
}

/// The same in an older form.
#[utoipa::path(post, path = "/session/{sessionID}/permissions/{permissionID}", operation_id = "permission.respond",
    params(("sessionID" = String, Path), ("permissionID" = String, Path)), request_body = RespondPermission,
    responses((status = 200, description = "Answered", body = bool), (status = 404, description = "No such request")))]
async fn respond_permission(
    State(app): State<App>,
    OfSession(session): OfSession,
    params: Params,
    Payload(body): Payload<RespondPermission>,
) -> Result<Response, ApiError> {
    let id = params.id("permissionID", PermissionId::parse)?;
    app.engine().session_record(&session).await?;
    answer(&app, AskKind::Permission, id.as_str(), body.into()).await
}

/// Answers a question.
#[utoipa::path(post, path = "/question/{requestID}/reply", operation_id = "question.reply",
    params(("requestID" = String, Path)), request_body = ReplyQuestion,
    responses((status = 200, description = "Answered", body = bool), (status = 404, description = "No such request")))]
async fn reply_question(
    State(app): State<App>,
    params: Params,
    Payload(body): Payload<ReplyQuestion>,
) -> Result<Response, ApiError> {
    let id = params.id("requestID", QuestionId::parse)?;
    answer(&app, AskKind::Question, id.as_str(), body.into()).await
}

/// Refuses to answer.
#[utoipa::path(post, path = "/question/{requestID}/reject", operation_id = "question.reject",
    params(("requestID" = String, Path)),
    responses((status = 200, description = "Rejected", body = bool), (status = 404, description = "No such request")))]
async fn reject_question(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let id = params.id("requestID", QuestionId::parse)?;
    answer(&app, AskKind::Question, id.as_str(), Answer::Dismissed).await
}

async fn open(app: &App, kind: AskKind, directory: &str) -> Result<Response, ApiError> {
    let wanted = AskQuery { kind: Some(kind), directory: Some(directory.to_owned()), session: None };
    let asks = app.engine().reads().asks(wanted).await?;
    let mut texts: Vec<String> = asks.into_iter().map(|ask| ask.data).collect();
    if kind == AskKind::Permission {
        let unstored = app.engine().unstored_requests(Some(directory));
        texts.extend(unstored.iter().map(|request| json!(request).to_string()));
    }
    Ok(reply::text(reply::array(texts.iter())))
}

/// An answer to a request that is not open is told so: somebody looks at an old screen.
async fn answer(app: &App, kind: AskKind, id: &str, answer: Answer) -> Result<Response, ApiError> {
    match (app.engine().answer_ask(id, answer).await, kind) {
        (Ok(()), _) => Ok(reply::done()),
        (Err(EngineError::Refused(Refusal::UnknownAsk(_))), AskKind::Permission) => {
            Err(ApiError::NoPermission(id.to_owned()))
        }
        (Err(EngineError::Refused(Refusal::UnknownAsk(_))), AskKind::Question) => {
            Err(ApiError::NoQuestion(id.to_owned()))
        }
        (Err(cause), _) => Err(cause.into()),
    }
}
