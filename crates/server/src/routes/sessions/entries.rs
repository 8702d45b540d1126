//! A session's log as clients were told of it: for time travel, and for whoever wants to know what happened when.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::OfSession;
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::own::Entries;
use axum::extract::State;
use axum::response::Response;
use std::fmt::Write as _;
use sturdy_engine::feed::PastEntry;

const ENTRIES_DEFAULT: u64 = 500;
const ENTRIES_MAX: u64 = 2_000;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(entries))
}

/// What happened in a session, oldest first, each entry with the events that clients were sent of it.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/entries", operation_id = "sturdy.session.entries", params(
    ("sessionID" = String, Path),
    ("after" = Option<u64>, Query, description = "A position; `cursor` of the page before"),
    ("actor" = Option<String>, Query, description = "Only what was done on this one's behalf: `local`, `user:…`, `token:…`, `grant:…`"),
    ("large" = Option<String>, Query, description = "`link`: large values as `{$blob, bytes}`, see `/sturdy/blob/{hash}`"),
    ("limit" = Option<u64>, Query, description = "About so many entries; default 500, at most 2000; fewer when they are large"),
), responses((status = 200, description = "`{entries: [{position, at, actor, events}], cursor?, horizon}`; `actor` is empty for what the session did by itself", body = Entries),
    (status = 400, description = "Bad query"), (status = 404, description = "No such session")))]
async fn entries(
    State(app): State<App>,
    OfSession(id): OfSession,
    query: Query,
) -> Result<Response, ApiError> {
    let after = query.number("after")?.unwrap_or(0);
    let limit = query.within("limit", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES_DEFAULT);
    let large = query.large()?;
    app.engine().session_record(&id).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = app.engine().reads().past(&id, after, limit, large).await?;
    let mut out = "{\"entries\":".to_owned();
    let actor = query.get("actor");
    let wanted = page.entries.iter().filter(|entry| actor.is_none_or(|actor| entry.actor == actor));
    out.push_str(&reply::array(wanted.map(|entry| text(&app, entry))));
    if let Some(next) = page.next {
        let _ = write!(out, ",\"cursor\":\"{next}\"");
    }
    let _ = write!(out, ",\"horizon\":{}}}", page.horizon);
    Ok(reply::text(out))
}

fn text(app: &App, entry: &PastEntry) -> String {
    let events = entry.events.iter().map(|event| String::from_utf8_lossy(event));
    format!(
        "{{\"position\":\"{}\",\"at\":{},\"actor\":{},\"events\":{}}}",
        app.place(entry.position),
        entry.at,
        serde_json::Value::from(entry.actor.as_str()),
        reply::array(events)
    )
}
