//! Sessions in the spelling of the v2 API: create, list, get, interrupt.
//!
//! The list is by creation time. A cursor carries the filters of its page, so that a client that
//! follows it need not repeat them.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, V2Error};
use crate::extract::{Params, Payload, Query};
use crate::instance::percent_decode;
use crate::reply;
use crate::wire::v2::SessionV2;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use sturdy_engine::{EngineError, NewSession};
use sturdy_session::id::SessionId;
use sturdy_session::types::session::{Session, SessionModel};
use sturdy_store::{ReadError, SessionQuery};

const LIMIT_DEFAULT: u32 = 50;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list, create))
        .routes(routes!(active))
        .routes(routes!(get))
        .routes(routes!(interrupt))
}

/// What a page is made of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Filter {
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<Anchor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subpath: Option<String>,
}

/// The session at the edge of a page, and which side of it is wanted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Anchor {
    id: SessionId,
    time: u64,
    direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Previous,
    Next,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    #[default]
    Desc,
}

/// Sessions of all projects, by creation time.
#[utoipa::path(get, path = "/api/session", operation_id = "v2.session.list", params(
    ("limit" = Option<u32>, Query), ("order" = Option<String>, Query), ("search" = Option<String>, Query),
    ("directory" = Option<String>, Query), ("project" = Option<String>, Query), ("subpath" = Option<String>, Query),
    ("cursor" = Option<String>, Query)),
    responses((status = 200, description = "A page of sessions", body = Object), (status = 400, description = "Bad query")))]
async fn list(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let filter = filter(&query)?;
    let limit = query.limit().map_err(ApiError::in_v2)?.unwrap_or(LIMIT_DEFAULT) as usize;
    let wanted = SessionQuery {
        project: filter.project.clone(),
        directory: filter.directory.clone(),
        path: filter.subpath.clone(),
        search: filter.search.clone(),
        ..SessionQuery::default()
    };
    let mut sessions = Vec::new();
    for text in app.engine().store().sessions(wanted).await? {
        sessions.push(read(&text)?);
    }
    let page = page(sessions, &filter, limit);
    let edge = |session: Option<&Session>, direction| {
        let session = session?;
        let anchor = Anchor { id: session.id.clone(), time: session.time.created, direction };
        let filter = Filter { anchor: Some(anchor), ..filter.clone() };
        let json = serde_json::to_vec(&filter).expect("BUG: a cursor is always JSON");
        Some(BASE64_URL_SAFE_NO_PAD.encode(json))
    };
    let cursor = json!({
        "previous": edge(page.first(), Direction::Previous),
        "next": edge(page.last(), Direction::Next),
    });
    let data: Vec<SessionV2> = page.into_iter().map(SessionV2::from).collect();
    Ok(reply::json(&json!({ "data": data, "cursor": cursor })))
}

fn filter(query: &Query) -> Result<Filter, ApiError> {
    if let Some(cursor) = query.get("cursor") {
        if query.get("order").is_some() {
            return Err(V2Error::Cursor("Cursor cannot be combined with order").into());
        }
        let json = BASE64_URL_SAFE_NO_PAD.decode(cursor.trim_end_matches('=')).ok();
        let filter: Option<Filter> = json.and_then(|json| serde_json::from_slice(&json).ok());
        let filter = filter.filter(|filter| filter.anchor.is_some());
        return filter.ok_or_else(|| V2Error::Cursor("Invalid cursor").into());
    }
    let order = match query.get("order") {
        None | Some("desc") => None,
        Some("asc") => Some(Order::Asc),
        Some(other) => {
            let message = format!("Expected \"asc\" | \"desc\", got {}\n  at [\"order\"]", json!(other));
            return Err(V2Error::Request { kind: crate::error::Kind::Query, message }.into());
        }
    };
    let text = |name: &str| query.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let directory = text("directory").map(|directory| percent_decode(&directory));
    let (search, project, subpath) = (text("search"), text("project"), text("subpath"));
    Ok(Filter { anchor: None, order, search, directory, project, subpath })
}

/// The store lists by last change, so the order by creation is made here.
fn page(mut sessions: Vec<Session>, filter: &Filter, limit: usize) -> Vec<Session> {
    let key = |session: &Session| (session.time.created, session.id.clone());
    sessions.sort_by_key(key);
    if filter.order.unwrap_or_default() == Order::Desc {
        sessions.reverse();
    }
    let Some(anchor) = &filter.anchor else {
        sessions.truncate(limit);
        return sessions;
    };
    let edge = (anchor.time, anchor.id.clone());
    let is_beyond = |session: &Session| match filter.order.unwrap_or_default() {
        Order::Asc => key(session) > edge,
        Order::Desc => key(session) < edge,
    };
    match anchor.direction {
        Direction::Next => sessions.into_iter().filter(is_beyond).take(limit).collect(),
        Direction::Previous => {
            let mut before: Vec<_> = sessions
                .into_iter()
                .take_while(|session| key(session) != edge && !is_beyond(session))
                .collect();
            before.split_off(before.len().saturating_sub(limit))
        }
    }
}

/// A new session.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct Create {
    /// The same one again is the same session.
    id: Option<String>,
    agent: Option<String>,
    #[schema(value_type = Option<Object>)]
    model: Option<SessionModel>,
    location: Option<CreateAt>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct CreateAt {
    directory: String,
}

/// Creates a session.
#[utoipa::path(post, path = "/api/session", operation_id = "v2.session.create", request_body = Create,
    responses((status = 200, description = "The session", body = Object), (status = 400, description = "Bad body")))]
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
        && let Some(known) = app.engine().store().session(id).await?
    {
        // Sent again by a client that did not hear the answer.
        return Ok(reply::json(&json!({ "data": SessionV2::from(read(&known)?) })));
    }
    let new = NewSession { id, agent: body.agent, model: body.model, ..NewSession::default() };
    let session = app.engine().create_session(&here, new).await?;
    Ok(reply::json(&json!({ "data": SessionV2::from(session) })))
}

/// Sessions that are at work.
#[utoipa::path(get, path = "/api/session/active", operation_id = "v2.session.active",
    responses((status = 200, description = "Sessions at work", body = Object)))]
async fn active(State(app): State<App>) -> Response {
    let active: BTreeMap<_, _> =
        app.engine().statuses().into_iter().map(|(id, _)| (id, json!({ "type": "running" }))).collect();
    reply::json(&json!({ "data": active }))
}

/// Gets a session.
#[utoipa::path(get, path = "/api/session/{sessionID}", operation_id = "v2.session.get",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "The session", body = Object), (status = 404, description = "No such session")))]
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
        Ok(text) => read(&text),
        Err(EngineError::NoSession(id)) => Err(V2Error::NoSession(id).into()),
        Err(cause) => Err(cause.into()),
    }
}

fn read(text: &str) -> Result<Session, ApiError> {
    serde_json::from_str(text)
        .map_err(|cause| ReadError::Broken { what: cause.to_string(), place: "a session".to_owned() }.into())
}
