//! What a screen wants first: all sessions, or one of them, as of one moment.
//!
//! Each answer is one transaction and carries its place in the log, in the form of an event's id. A client
//! that follows the events ignores those up to this place: its rows contain them already.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::OfSession;
use crate::reply::{self, POSITION};
use crate::wire::message::joined;
use crate::wire::page;
use crate::wire::query::Query;
use crate::wire::shapes::own::OpenedSession;
use crate::wire::shapes::own::Outline;
use crate::wire::shapes::own::Overview;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sturdy_engine::EngineError;
use sturdy_engine::reads::{OverviewQuery, RawAsk, ReadError, SessionGlance};
use sturdy_session::id::SessionId;
use sturdy_session::row::AskKind;
use sturdy_session::turn::Glance;
use sturdy_session::types::status::Status;

const SESSIONS_DEFAULT: u64 = 60;
const SESSIONS_MAX: u64 = 500;
const MESSAGES_DEFAULT: u64 = 40;
const MESSAGES_MAX: u64 = 500;
/// A conversation with more messages is outlined in part.
const OUTLINE_MAX: u32 = 20_000;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(overview)).routes(routes!(session)).routes(routes!(outline))
}

/// A session as a list shows it.
#[derive(Serialize)]
struct Row {
    info: Box<RawValue>,
    status: Status,
    /// Prompts nobody has begun to answer.
    waiting: usize,
}

/// Sessions of all projects, newest change first, with their status and what waits for a person.
#[utoipa::path(get, path = "/sturdy/overview", operation_id = "sturdy.overview", params(
    ("limit" = Option<u32>, Query, description = "Default 60, at most 500"),
    ("cursor" = Option<String>, Query, description = "Of the page before"),
    ("project" = Option<String>, Query, description = "Only sessions of this project"),
    ("archived" = Option<bool>, Query, description = "Only archived ones, or none of them"),
), responses((status = 200, description = "`{position, sessions, projects, asks, cursor?, features, server}`", body = Overview),
    (status = 400, description = "Bad query")))]
async fn overview(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let limit = query.within("limit", 1, SESSIONS_MAX)?.unwrap_or(SESSIONS_DEFAULT);
    let after = match query.get("cursor") {
        None => None,
        Some(text) => Some(read_cursor(text).ok_or(ApiError::Handler)?),
    };
    let wanted = OverviewQuery {
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        after,
        project: query.get("project").map(str::to_owned),
        archived: query.boolean("archived")?,
    };
    let found = app.engine().reads().overview(wanted).await?;
    let cursor = found.sessions.last().filter(|_| found.more).map(cursor_of);
    let projects = found.projects.iter().map(|project| raw(project)).collect::<Result<Vec<_>, _>>()?;
    let mut answer = json!({
        "position": app.place(found.position),
        "sessions": rows(&app, &found.sessions)?,
        "projects": projects,
        "asks": asks(unstored(&app, |_| true), &found.asks)?,
        "features": features(&app),
        "server": {
            "version": env!("CARGO_PKG_VERSION"),
            "wire": app.engine().options().wire_version,
            "directory": app.engine().options().directory,
            "now": app.engine().clock().now(),
            "boot": app.boot(),
            "page": crate::ui::build(),
        },
    });
    if let (Some(cursor), Some(answer)) = (cursor, answer.as_object_mut()) {
        answer.insert("cursor".to_owned(), Value::String(cursor));
    }
    Ok(placed(&app, found.position, &answer))
}

/// One session with the newest of its messages, its todos, its family, and what all of them ask.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}", operation_id = "sturdy.session", params(
    ("sessionID" = String, Path), ("limit" = Option<u32>, Query, description = "Messages; default 40, at most 500"),
    ("large" = Option<String>, Query, description = "`link`: large values as `{$blob, bytes}`, see `/sturdy/blob/{hash}`"),
), responses((status = 200, description = "`{position, session, status, messages, cursor?, todos, asks, queue, family}`",
    body = OpenedSession), (status = 400, description = "Bad query"), (status = 404, description = "No such session")))]
async fn session(
    State(app): State<App>,
    OfSession(id): OfSession,
    query: Query,
) -> Result<Response, ApiError> {
    let limit = query.within("limit", 1, MESSAGES_MAX)?.unwrap_or(MESSAGES_DEFAULT);
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let found = app.engine().reads().opening(&id, limit, query.large()?).await?;
    let found = found.ok_or_else(|| EngineError::NoSession(id.clone()))?;
    let glance = glance(&app, &found.session);
    let messages = found.messages.items.iter().map(|message| raw(&joined(message)));
    let family: Vec<&str> = found.family.iter().map(|one| one.id.as_str()).collect();
    let is_of_family = |asking: &SessionId| *asking == id || family.contains(&asking.as_str());
    let todos = found.todos.as_deref().unwrap_or("[]");
    let oldest = found.messages.items.first().filter(|_| found.messages.more);
    let mut answer = json!({
        "position": app.place(found.position),
        "session": raw(&found.session.data)?,
        "status": glance.status,
        "messages": messages.collect::<Result<Vec<_>, _>>()?,
        "todos": raw(todos)?,
        "asks": asks(unstored(&app, is_of_family), &found.asks)?,
        "queue": glance.waiting,
        "family": rows(&app, &found.family)?,
    });
    if let (Some(oldest), Some(answer)) = (oldest, answer.as_object_mut()) {
        answer.insert("cursor".to_owned(), Value::String(page::cursor_of(oldest)));
    }
    Ok(placed(&app, found.position, &answer))
}

/// Every message of a session without its parts, oldest first.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/outline", operation_id = "sturdy.session.outline",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "`{position, messages}`", body = Outline),
        (status = 404, description = "No such session")))]
async fn outline(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().session_record(&id).await?;
    let found = app.engine().reads().outline(&id, OUTLINE_MAX).await?;
    let messages = found.messages.iter().map(|(_, data)| raw(data)).collect::<Result<Vec<_>, _>>()?;
    let answer = json!({ "position": app.place(found.position), "messages": messages });
    Ok(placed(&app, found.position, &answer))
}

/// What this server can do beyond the plain wire; a screen leaves out what it cannot. `share` says that it keeps
/// shares itself; another service is named in the configuration of a directory.
fn features(app: &App) -> Value {
    let share = app.shares().is_some();
    json!({ "undo": true, "share": share, "search": true, "travel": true, "push": false })
}

fn placed(app: &App, position: u64, answer: &Value) -> Response {
    let mut response = reply::json(answer);
    response.headers_mut().insert(POSITION, app.position(position));
    response
}

fn rows(app: &App, sessions: &[SessionGlance]) -> Result<Vec<Row>, ApiError> {
    let row = |session: &SessionGlance| {
        let Glance { status, waiting } = glance(app, session);
        Ok(Row { info: raw(&session.data)?, status, waiting: waiting.len() })
    };
    sessions.iter().map(row).collect()
}

/// What cannot be read does not run: it is shown as idle, and listed as damaged.
fn glance(app: &App, session: &SessionGlance) -> Glance {
    Glance::of(&session.machine).unwrap_or_else(|_| {
        if let Ok(id) = SessionId::parse(&session.id) {
            app.engine().reads().note_damage(&id, &format!("session {id}"));
        }
        Glance::default()
    })
}

/// Requests that are not in the log, such as whether a project is trusted: a screen shows them all the same.
fn unstored(app: &App, is_wanted: impl Fn(&SessionId) -> bool) -> Vec<Value> {
    let mut open = app.engine().unstored_requests(None);
    open.retain(|request| is_wanted(&request.session_id));
    open.iter().map(|request| json!({ "kind": "permission", "request": request })).collect()
}

/// What the sessions wait for; `first` is not stored.
fn asks(first: Vec<Value>, asks: &[RawAsk]) -> Result<Vec<Value>, ApiError> {
    let ask = |ask: &RawAsk| {
        let kind = match ask.kind {
            AskKind::Permission => "permission",
            AskKind::Question => "question",
        };
        Ok(json!({ "kind": kind, "request": raw(&ask.data)?, "directory": ask.directory }))
    };
    first.into_iter().map(Ok).chain(asks.iter().map(ask)).collect()
}

/// A stored text as it is.
fn raw(text: &str) -> Result<Box<RawValue>, ApiError> {
    RawValue::from_string(text.to_owned())
        .map_err(|cause| ReadError::Broken { what: cause.to_string(), place: "a row".to_owned() }.into())
}

fn cursor_of(last: &SessionGlance) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{} {}", last.updated, last.id))
}

/// `None` if this server did not make the cursor.
fn read_cursor(text: &str) -> Option<(u64, String)> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (updated, id) = text.split_once(' ')?;
    Some((updated.parse().ok()?, id.to_owned()))
}
