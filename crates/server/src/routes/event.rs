//! The two event streams.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::extract::Query;
use crate::instance::Here;
use crate::sse::{cursor, follow};
use crate::wire::event::Stream;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(of_instance)).routes(routes!(of_server))
}

/// Events of one directory. `Last-Event-ID` goes on where a stream broke off.
#[utoipa::path(get, path = "/event", operation_id = "event.subscribe", params(
    ("directory" = Option<String>, Query), ("lastEventId" = Option<String>, Query), ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, description = "Event stream", content_type = "text/event-stream", body = String)))]
async fn of_instance(State(app): State<App>, Here(here): Here, query: Query, headers: HeaderMap) -> Response {
    let cursor = cursor(&headers, &query);
    follow(&app, Stream::Instance, Some(here.directory.clone()), cursor.as_deref())
}

/// Events of all directories, each with its own.
#[utoipa::path(get, path = "/global/event", operation_id = "global.event", params(
    ("lastEventId" = Option<String>, Query), ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, description = "Event stream", content_type = "text/event-stream", body = String)))]
async fn of_server(State(app): State<App>, query: Query, headers: HeaderMap) -> Response {
    follow(&app, Stream::Global, None, cursor(&headers, &query).as_deref())
}
