//! The server as a whole.

use super::openapi;
use crate::app::{App, ClientLine};
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::Payload;
use crate::instance::Here;
use crate::reply;
use crate::wire::body::{LogLevel, LogLine};
use crate::wire::shapes::catalog::Health;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use sturdy_engine::Damage;
use sturdy_session::json::Nothing;
use sturdy_session::types::event::Event;
use tracing::{debug, error, info, warn};

/// What is kept of a client's line.
const LINE_CHARS_MAX: usize = 2000;

pub(super) fn routes() -> Routes {
    health_routes()
        .routes(routes!(dispose_all))
        .routes(routes!(dispose))
        .routes(routes!(log))
        .routes(routes!(doc))
}

pub(crate) fn health_routes() -> Routes {
    Routes::new().routes(routes!(health)).routes(routes!(short_health))
}

/// The same under the name that some published clients ask before anything else.
#[utoipa::path(get, path = "/health", operation_id = "sturdy.health",
    responses((status = 200, description = "Health and wire version", body = Health),
        (status = 503, description = "Nothing can be stored any more", body = Health)))]
async fn short_health(state: State<App>) -> Response {
    health(state).await
}

/// Health check: 503 when nothing can be stored any more.
#[utoipa::path(get, path = "/global/health", operation_id = "global.health",
    responses((status = 200, description = "Health and wire version", body = Health),
        (status = 503, description = "Nothing can be stored any more", body = Health)))]
async fn health(State(app): State<App>) -> Response {
    let engine = app.engine();
    let is_healthy = engine.is_healthy();
    let status = if is_healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let version = &engine.options().wire_version;
    let mut health = json!({ "healthy": is_healthy, "version": version });
    let damaged = engine.damaged();
    if !damaged.is_empty() {
        let one = |damage: &Damage| json!({ "sessionID": damage.session, "what": damage.what, "place": damage.place });
        health["damaged"] = damaged.iter().map(one).collect();
    }
    reply::json_with(status, &health)
}

/// Drops the cached state of every directory; it is read again when it is needed.
#[utoipa::path(post, path = "/global/dispose", operation_id = "global.dispose",
    responses((status = 200, description = "Done", body = bool)))]
async fn dispose_all(State(app): State<App>) -> Response {
    let engine = app.engine();
    engine.dispose_all();
    engine.feed().tell(engine.clock().now(), None, None, Event::GlobalDisposed(Nothing {}));
    reply::done()
}

/// Drops the cached state of one directory. Its event streams end.
#[utoipa::path(post, path = "/instance/dispose", operation_id = "instance.dispose",
    responses((status = 200, description = "Done", body = bool)))]
async fn dispose(State(app): State<App>, Here(here): Here) -> Response {
    disposed(&app, &here.directory, &here.project.id);
    reply::done()
}

/// Forgets a directory and tells those who look at it.
pub(in crate::routes) fn disposed(app: &App, directory: &str, project: &str) {
    let engine = app.engine();
    engine.dispose(directory);
    let event = Event::InstanceDisposed { directory: directory.to_owned() };
    engine.feed().tell(engine.clock().now(), Some(directory), Some(project), event);
}

/// Writes a client's line to the server's log. Lines above the limit per minute are dropped, which is logged once.
#[utoipa::path(post, path = "/log", operation_id = "app.log", request_body = LogLine,
    responses((status = 200, description = "Written", body = bool), (status = 400, description = "Bad body")))]
async fn log(State(app): State<App>, Payload(line): Payload<LogLine>) -> Result<Response, ApiError> {
    match app.client_lines().count(app.engine().clock().now()) {
        ClientLine::Written => {}
        ClientLine::FirstLeftOut => {
            warn!("clients log too much; their log lines are dropped until the next minute");
            return Ok(reply::done());
        }
        ClientLine::LeftOut => return Ok(reply::done()),
    }
    let cut = |text: &str| text.chars().take(LINE_CHARS_MAX).collect::<String>();
    let client = cut(&line.service);
    let text = cut(&line.message);
    match line.level {
        LogLevel::Debug => debug!(client, text, "log line from a client"),
        LogLevel::Info => info!(client, text, "log line from a client"),
        LogLevel::Warn => warn!(client, text, "log line from a client"),
        LogLevel::Error => error!(client, text, "log line from a client"),
    }
    Ok(reply::done())
}

/// This document.
#[utoipa::path(get, path = "/doc", operation_id = "app.doc",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn doc(asked: HeaderMap) -> Response {
    openapi::send(&asked)
}
