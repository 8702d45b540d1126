//! Mirroring between servers, as one server means it: what is stored can be read, and nothing of others comes in.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::Payload;
use crate::instance::Here;
use crate::reply;
use crate::wire::event::entry_event_id;
use crate::wire::shapes::catalog::{OfSyncedSession, SyncEvent};
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use sturdy_engine::feed::PastEntry;
use sturdy_engine::records::large::LargeValues;
use sturdy_session::id::SessionId;
use utoipa::ToSchema;

/// Rows of one answer, about. Whoever wants more asks again with what it knows by then.
const ROWS_MAX: usize = 1_000;
/// And what they hold, about.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Entries that are read at once.
const ENTRIES: usize = 500;

/// What is told again to who was away; growth is not, its end says everything.
const STORED: [&str; 7] = [
    "session.created",
    "session.updated",
    "session.deleted",
    "message.updated",
    "message.removed",
    "message.part.updated",
    "message.part.removed",
];

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(history))
        .routes(routes!(start))
        .routes(routes!(replay))
        .routes(routes!(steal))
}

#[derive(Serialize)]
struct Row {
    id: String,
    aggregate_id: String,
    seq: u64,
    #[serde(rename = "type")]
    kind: String,
    data: Value,
}

/// Stored events of the project's sessions after the given sequence numbers, oldest first; about a thousand, the
/// rest is asked for with the numbers known then.
#[utoipa::path(post, path = "/sync/history", operation_id = "sync.history.list",
    request_body(content = HashMap<String, u64>, description = "By session the last number that is known; `{}` for everything"),
    responses((status = 200, description = "Events", body = [SyncEvent])))]
async fn history(
    State(app): State<App>,
    Here(here): Here,
    Payload(known): Payload<HashMap<String, u64>>,
) -> Result<Response, ApiError> {
    let reads = app.engine().reads();
    let mut rows = Vec::new();
    let mut bytes = 0;
    for head in reads.session_heads(&here.project.id).await? {
        let session = head.id;
        let mut after = known.get(session.as_str()).copied().unwrap_or(0);
        if after >= head.position {
            continue;
        }
        if rows.len() >= ROWS_MAX || bytes >= BYTES_MAX {
            break;
        }
        while rows.len() < ROWS_MAX && bytes < BYTES_MAX {
            let page = reads.past(&session, after, ENTRIES, LargeValues::Whole).await?;
            bytes += page.entries.iter().flat_map(|entry| &entry.events).map(Bytes::len).sum::<usize>();
            rows.extend(page.entries.iter().flat_map(|entry| stored(&session, entry)));
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
    }
    rows.sort_by_key(|row| row.seq);
    Ok(reply::json(&rows))
}

/// The events of an entry that are kept for good.
fn stored(session: &SessionId, entry: &PastEntry) -> Vec<Row> {
    let read = |event: &Bytes| serde_json::from_slice::<Value>(event).ok();
    let events = entry.events.iter().enumerate().filter_map(|(index, event)| Some((index, read(event)?)));
    let row = |(index, mut event): (usize, Value)| Row {
        id: entry_event_id(entry.at, entry.position, index),
        aggregate_id: session.to_string(),
        seq: entry.position,
        kind: format!("{}.1", event["type"].as_str().unwrap_or_default()),
        data: event["properties"].take(),
    };
    let is_stored =
        |(_, event): &(usize, Value)| event["type"].as_str().is_some_and(|kind| STORED.contains(&kind));
    events.filter(is_stored).map(row).collect()
}

/// Starts mirroring workspaces. There are none, so this always succeeds.
#[utoipa::path(post, path = "/sync/start", operation_id = "sync.start",
    responses((status = 200, description = "Nothing to do", body = bool)))]
async fn start(_: Here) -> Response {
    reply::done()
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Replay {
    #[serde(rename = "directory")]
    _directory: String,
    events: Vec<ReplayedEvent>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReplayedEvent {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "aggregateID")]
    aggregate_id: String,
    #[serde(rename = "seq")]
    _seq: u64,
    #[serde(rename = "type")]
    _kind: String,
    #[schema(value_type = Object)]
    #[serde(rename = "data")]
    _data: serde_json::Map<String, Value>,
}

/// Imports events of another server. Refused: the log holds only what happened on this server.
#[utoipa::path(post, path = "/sync/replay", operation_id = "sync.replay", request_body = Replay,
    responses((status = 200, description = "Never", body = OfSyncedSession), (status = 400, description = "Events of other servers are not taken in")))]
async fn replay(_: Here, Payload(wanted): Payload<Replay>) -> ApiError {
    let Some(first) = wanted.events.first() else {
        return ApiError::schema(Kind::Payload, "Expected at least one event\n  at [\"events\"]");
    };
    let message = format!(
        "Events of another server are not taken in ({}): the log holds what happened on this one",
        json!(first.aggregate_id)
    );
    ApiError::schema(Kind::Payload, message)
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Steal {
    #[serde(rename = "sessionID")]
    #[schema(value_type = String)]
    _session_id: SessionId,
}

/// Moves a session to the workspace of this server. There are no workspaces, so this always fails.
#[utoipa::path(post, path = "/sync/steal", operation_id = "sync.steal", request_body = Steal,
    responses((status = 200, description = "Never", body = OfSyncedSession), (status = 400, description = "Not a workspace")))]
async fn steal(_: Here, body: Result<Payload<Steal>, ApiError>) -> Result<Response, ApiError> {
    body?;
    Err(ApiError::Handler)
}
