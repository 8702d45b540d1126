//! Permissions and questions of one session, in the spelling of the v2 API.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::reply;
use crate::wire::body::{ReplyPermission, ReplyQuestion};
use crate::wire::shapes::v2::Data;
use crate::wire::shapes::v2::PermissionEffectV2;
use crate::wire::v2;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use sturdy_engine::EngineError;
use sturdy_engine::WantedPermission;
use sturdy_engine::reads::{AskQuery, RawAsk};
use sturdy_engine::records::{self, DamagedRecord};
use sturdy_session::id::{PermissionId, QuestionId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::row::AskKind;
use sturdy_session::turn::{Answer, Refusal};
use sturdy_session::types::ask::PermissionRequest;
use sturdy_session::types::ask::PermissionSource;
use sturdy_session::types::ask::PermissionV2Request;
use sturdy_session::types::ask::QuestionRequest;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(permissions, ask_permission))
        .routes(routes!(permission))
        .routes(routes!(reply_permission))
        .routes(routes!(questions))
        .routes(routes!(reply_question))
        .routes(routes!(reject_question))
}

/// Permissions the session waits for.
#[utoipa::path(get, path = "/api/session/{sessionID}/permission", operation_id = "v2.session.permission.list",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Requests", body = Data<Vec<PermissionV2Request>>), (status = 404, description = "No such session")))]
async fn permissions(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let asks = open(&app, &session, AskKind::Permission).await?;
    let requests: Result<Vec<_>, _> = asks.iter().map(read_permission).collect();
    let requests: Vec<_> = requests?.into_iter().map(v2::permission).collect();
    Ok(reply::json(&json!({ "data": requests })))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AskPermission {
    #[schema(value_type = Option<String>)]
    id: Option<PermissionId>,
    action: String,
    resources: Vec<String>,
    #[serde(default)]
    save: Vec<String>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map>,
    source: Option<PermissionSource>,
    agent: Option<String>,
}

/// Asks for permission in the name of the session, for something the client means to do itself. Rules answer at once; what
/// they leave to a person waits among the other requests, and the answer is told as an event.
#[utoipa::path(post, path = "/api/session/{sessionID}/permission", operation_id = "v2.session.permission.create",
    params(("sessionID" = String, Path)), request_body = AskPermission,
    responses((status = 200, description = "What the rules say", body = Data<PermissionEffectV2>),
        (status = 400, description = "Bad body or unknown agent"), (status = 404, description = "No such session")))]
async fn ask_permission(
    State(app): State<App>,
    params: Params,
    body: Result<Payload<AskPermission>, ApiError>,
) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?;
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    let wanted = WantedPermission {
        id: body.id,
        action: body.action,
        resources: body.resources,
        save: body.save,
        metadata: body.metadata.unwrap_or_default(),
        source: body.source.map(|PermissionSource::Tool(call)| call),
        agent: body.agent,
    };
    let of = ApiError::of(&session.id);
    let asked = app.engine().request_permission(&session, wanted).await.map_err(of);
    let (id, effect) = asked.map_err(ApiError::in_v2)?;
    Ok(reply::json(&json!({ "data": { "id": id, "effect": effect } })))
}

/// One of them.
#[utoipa::path(get, path = "/api/session/{sessionID}/permission/{requestID}", operation_id = "v2.session.permission.get",
    params(("sessionID" = String, Path), ("requestID" = String, Path)),
    responses((status = 200, description = "The request", body = Data<PermissionV2Request>), (status = 404, description = "No such request")))]
async fn permission(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let id = params.id("requestID", PermissionId::parse).map_err(ApiError::in_v2)?;
    let asks = open(&app, &session, AskKind::Permission).await?;
    let ask = asks.iter().find(|ask| ask.id == id.as_str());
    let ask = ask.ok_or_else(|| ApiError::NoPermission(id.to_string()))?;
    Ok(reply::json(&json!({ "data": v2::permission(read_permission(ask)?) })))
}

/// Allows or refuses a call.
#[utoipa::path(post, path = "/api/session/{sessionID}/permission/{requestID}/reply",
    operation_id = "v2.session.permission.reply",
    params(("sessionID" = String, Path), ("requestID" = String, Path)), request_body = ReplyPermission,
    responses((status = 204, description = "Answered"), (status = 404, description = "No such request")))]
async fn reply_permission(
    State(app): State<App>,
    params: Params,
    body: Result<Payload<ReplyPermission>, ApiError>,
) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let id = params.id("requestID", PermissionId::parse).map_err(ApiError::in_v2)?;
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    answer(&app, &session, AskKind::Permission, id.as_str(), body.into()).await
}

/// Questions the session waits for.
#[utoipa::path(get, path = "/api/session/{sessionID}/question", operation_id = "v2.session.question.list",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Requests", body = Data<Vec<QuestionRequest>>), (status = 404, description = "No such session")))]
async fn questions(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let asks = open(&app, &session, AskKind::Question).await?;
    let requests: Result<Vec<Value>, _> = asks.iter().map(records::ask).collect();
    Ok(reply::json(&json!({ "data": requests? })))
}

/// Answers a question.
#[utoipa::path(post, path = "/api/session/{sessionID}/question/{requestID}/reply",
    operation_id = "v2.session.question.reply",
    params(("sessionID" = String, Path), ("requestID" = String, Path)), request_body = ReplyQuestion,
    responses((status = 204, description = "Answered"), (status = 404, description = "No such request")))]
async fn reply_question(
    State(app): State<App>,
    params: Params,
    body: Result<Payload<ReplyQuestion>, ApiError>,
) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let id = params.id("requestID", QuestionId::parse).map_err(ApiError::in_v2)?;
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    answer(&app, &session, AskKind::Question, id.as_str(), body.into()).await
}

/// Refuses to answer.
#[utoipa::path(post, path = "/api/session/{sessionID}/question/{requestID}/reject",
    operation_id = "v2.session.question.reject",
    params(("sessionID" = String, Path), ("requestID" = String, Path)),
    responses((status = 204, description = "Rejected"), (status = 404, description = "No such request")))]
async fn reject_question(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let id = params.id("requestID", QuestionId::parse).map_err(ApiError::in_v2)?;
    answer(&app, &session, AskKind::Question, id.as_str(), Answer::Dismissed).await
}

async fn open(app: &App, session: &SessionId, kind: AskKind) -> Result<Vec<RawAsk>, ApiError> {
    let wanted = AskQuery { kind: Some(kind), directory: None, session: Some(session.clone()) };
    let mut asks = app.engine().reads().asks(wanted).await?;
    if kind == AskKind::Permission {
        let unstored = app.engine().unstored_requests(None).into_iter();
        asks.extend(unstored.filter(|request| request.session_id == *session).map(|request| RawAsk {
            id: request.id.to_string(),
            session: session.clone(),
            kind,
            data: json!(request).to_string(),
            directory: None,
        }));
    }
    Ok(asks)
}

fn read_permission(ask: &RawAsk) -> Result<PermissionRequest, DamagedRecord> {
    records::ask(ask)
}

/// A request of another session is not known to this one.
async fn answer(
    app: &App,
    session: &SessionId,
    kind: AskKind,
    id: &str,
    answer: Answer,
) -> Result<Response, ApiError> {
    let unknown = || match kind {
        AskKind::Permission => ApiError::NoPermission(id.to_owned()),
        AskKind::Question => ApiError::NoQuestion(id.to_owned()),
    };
    if !open(app, session, kind).await?.iter().any(|ask| ask.id == id) {
        return Err(unknown());
    }
    match app.engine().answer_ask(id, answer).await {
        Ok(()) => Ok(reply::no_content()),
        Err(EngineError::Refused(Refusal::UnknownAsk(_))) => Err(unknown()),
        Err(cause) => Err(ApiError::of(session)(cause).in_v2()),
    }
}
