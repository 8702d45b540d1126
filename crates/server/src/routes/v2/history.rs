//! What happened in a session, event by event, in the spelling of the v2 API: a page of it, or a stream that goes on.
//!
//! An event has a number that grows within its session. `after` is such a number: who was away says the last one it saw and
//! is told everything behind it, by either route, before and after a restart alike.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind, V2Error};
use crate::extract::Params;
use crate::reply;
use crate::sse::{event_stream, spare_heartbeat};
use crate::wire::error_schema::{InvalidRequestError, SessionNotFoundError};
use crate::wire::event_v2::{NextWire, wired};
use crate::wire::query::Query;
use crate::wire::shapes::next::SessionEvent;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use std::collections::VecDeque;
use sturdy_engine::feed::Tail;
use tokio::time::Interval;
use tracing::warn;
use utoipa::ToSchema;

const LIMIT_DEFAULT: u64 = 50;
const LIMIT_MAX: u64 = 100;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(history)).routes(routes!(events))
}

/// A page of what happened.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SessionHistory {
    #[schema(value_type = Vec<SessionEvent>)]
    data: Vec<NextWire>,
    has_more: bool,
}

/// What happened in a session, oldest first, from the event after `after` on.
#[utoipa::path(get, path = "/api/session/{sessionID}/history", operation_id = "v2.session.history",
    params(("sessionID" = String, Path), ("limit" = Option<u32>, Query), ("after" = Option<u64>, Query)),
    responses((status = 200, description = "Events", body = SessionHistory),
        (status = 400, description = "Bad query", body = InvalidRequestError),
        (status = 404, description = "No such session", body = SessionNotFoundError)))]
async fn history(State(app): State<App>, params: Params, query: Query) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let limit =
        query.within("limit", 1, LIMIT_MAX).map_err(ApiError::in_v2)?.unwrap_or(LIMIT_DEFAULT) as usize;
    let mut tail = Tail::of_session(app.engine().feed(), &session, after(&query)?).await?;
    let mut found = Vec::new();
    // One more than wanted tells whether there are more.
    while found.len() <= limit {
        let events = tail.ready().await?;
        if events.is_empty() {
            break;
        }
        found.extend(events.into_iter().filter(|numbered| numbered.seq.is_some()));
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    let mut data = Vec::with_capacity(found.len());
    for numbered in found {
        data.push(wired(app.engine(), numbered).await?);
    }
    Ok(reply::json(&SessionHistory { data, has_more }))
}

/// The same as a stream that goes on with what happens.
#[utoipa::path(get, path = "/api/session/{sessionID}/event", operation_id = "v2.session.events",
    params(("sessionID" = String, Path), ("after" = Option<u64>, Query)),
    responses((status = 200, description = "Events", content_type = "text/event-stream", body = SessionEvent),
        (status = 400, description = "Bad query", body = InvalidRequestError),
        (status = 404, description = "No such session", body = SessionNotFoundError)))]
async fn events(State(app): State<App>, params: Params, query: Query) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let tail = Tail::of_session(app.engine().feed(), &session, after(&query)?).await?;
    let following = Following { heartbeat: spare_heartbeat(&app), app, tail, held: VecDeque::new() };
    let chunks = stream::unfold(following, |mut following| async move {
        let chunk = following.next().await?;
        Some((chunk, following))
    });
    Ok(event_stream(chunks))
}

fn after(query: &Query) -> Result<u64, ApiError> {
    let Some(text) = query.get("after").filter(|text| !text.is_empty()) else { return Ok(0) };
    text.parse().map_err(|_| {
        let message = "Expected a number of an event\n  at [\"after\"]".to_owned();
        V2Error::Request { kind: Kind::Query, message }.into()
    })
}

struct Following {
    app: App,
    tail: Tail,
    held: VecDeque<Bytes>,
    heartbeat: Interval,
}

impl Following {
    /// The next frame; none when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        let closing = self.app.closing().clone();
        loop {
            if let Some(frame) = self.held.pop_front() {
                return Some(frame);
            }
            if let Err(cause) = self.fill().await {
                // The client comes back with its number and misses nothing.
                warn!(?cause, "an event stream ends: the store cannot be read");
                return None;
            }
            if !self.held.is_empty() {
                continue;
            }
            tokio::select! {
                biased;
                () = closing.cancelled() => return None,
                changed = self.tail.changed() => changed.ok()?,
                _ = self.heartbeat.tick() => return Some(Bytes::from_static(b": heartbeat\n\n")),
            }
        }
    }

    async fn fill(&mut self) -> Result<(), ApiError> {
        for numbered in self.tail.ready().await? {
            if numbered.seq.is_some() {
                let event = wired(self.app.engine(), numbered).await?;
                self.held.push_back(event.frame());
            }
        }
        Ok(())
    }
}
