//! The two event streams of the v1 API.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::instance::Here;
use crate::sse::follow;
use crate::wire::error_schema::NamedError;
use crate::wire::event::Stream;
use crate::wire::query::Query;
use crate::wire::shapes::next::{EventFrame, GlobalEvent};
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(of_instance)).routes(routes!(of_server))
}

/// Events of one directory. `Last-Event-ID` or `after` goes on where a stream broke off; `session`, `tree` and `outline` say
/// which of them are wanted.
#[utoipa::path(get, path = "/event", operation_id = "event.subscribe", params(
    ("directory" = Option<String>, Query), ("after" = Option<String>, Query), ("lastEventId" = Option<String>, Query),
    ("session" = Option<Vec<String>>, Query), ("tree" = Option<String>, Query), ("outline" = Option<String>, Query),
    ("sturdy" = Option<String>, Query),
    ("large" = Option<String>, Query, description = "`link`: large values as `{$blob, bytes}`, see `/sturdy/blob/{hash}`"),
    ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, description = "Event stream", content_type = "text/event-stream", body = EventFrame),
        (status = 400, description = "Bad query", body = NamedError)))]
async fn of_instance(
    State(app): State<App>,
    Here(here): Here,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    follow(&app, Stream::Instance, Some(here.directory.clone()), &query, &headers).await
}

/// Events of all directories, each with its own.
#[utoipa::path(get, path = "/global/event", operation_id = "global.event", params(
    ("after" = Option<String>, Query), ("lastEventId" = Option<String>, Query),
    ("session" = Option<Vec<String>>, Query), ("tree" = Option<String>, Query), ("outline" = Option<String>, Query),
    ("sturdy" = Option<String>, Query),
    ("large" = Option<String>, Query, description = "`link`: large values as `{$blob, bytes}`, see `/sturdy/blob/{hash}`"),
    ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, description = "Event stream", content_type = "text/event-stream", body = GlobalEvent),
        (status = 400, description = "Bad query", body = NamedError)))]
async fn of_server(State(app): State<App>, query: Query, headers: HeaderMap) -> Result<Response, ApiError> {
    follow(&app, Stream::Global, None, &query, &headers).await
}
