//! The messages of a session in the spelling of the v2 API: pages both ways, one, and what the model would see.
//!
//! A cursor is the message at the edge of a page, the order of the pages, and the direction to go.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind, V2Error};
use crate::extract::Params;
use crate::reply;
use crate::wire::message_v2;
use crate::wire::query::Query;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sturdy_engine::reads::{Before, MessageQuery, RawMessage};
use sturdy_session::id::{MessageId, SessionId};

const LIMIT_DEFAULT: u64 = 50;
const LIMIT_MAX: u64 = 500;
/// Messages read at once on the way back to the newest summary.
const CONTEXT_STEP: u32 = 100;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list)).routes(routes!(one)).routes(routes!(context))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    #[default]
    Desc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Previous,
    Next,
}

#[derive(Debug, Serialize, Deserialize)]
struct Cursor {
    id: MessageId,
    time: u64,
    order: Order,
    direction: Direction,
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let json = BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
        serde_json::from_slice(&json).ok()
    }

    fn text(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).expect("BUG: a cursor is always JSON"))
    }
}

/// A page of messages, the newest first unless `order=asc`.
#[utoipa::path(get, path = "/api/session/{sessionID}/message", operation_id = "v2.session.messages", params(
    ("sessionID" = String, Path), ("limit" = Option<u32>, Query), ("order" = Option<String>, Query),
    ("cursor" = Option<String>, Query)),
    responses((status = 200, description = "A page of messages", body = Object), (status = 400, description = "Bad query"),
        (status = 404, description = "No such session")))]
async fn list(State(app): State<App>, params: Params, query: Query) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let limit =
        query.within("limit", 1, LIMIT_MAX).map_err(ApiError::in_v2)?.unwrap_or(LIMIT_DEFAULT) as usize;
    let cursor = match query.get("cursor") {
        None => None,
        Some(_) if query.get("order").is_some() => {
            return Err(V2Error::Cursor("Cursor cannot be combined with order").into());
        }
        Some(text) => Some(Cursor::parse(text).ok_or(V2Error::Cursor("Invalid cursor"))?),
    };
    let order = match &cursor {
        Some(cursor) => cursor.order,
        None => order(&query)?,
    };
    let page = page(&app, &session, cursor.as_ref(), order, limit).await?;
    let edge = |message: Option<&RawMessage>, direction| {
        message
            .map(|message| Cursor { id: message.id.clone(), time: message.created, order, direction }.text())
    };
    let cursor = json!({
        "previous": edge(page.first(), Direction::Previous),
        "next": edge(page.last(), Direction::Next),
    });
    Ok(reply::json(&json!({ "data": shown(&page)?, "cursor": cursor })))
}

fn order(query: &Query) -> Result<Order, ApiError> {
    match query.get("order") {
        None | Some("desc") => Ok(Order::Desc),
        Some("asc") => Ok(Order::Asc),
        Some(other) => {
            let message = format!("Expected \"asc\" | \"desc\", got {}\n  at [\"order\"]", json!(other));
            Err(V2Error::Request { kind: Kind::Query, message }.into())
        }
    }
}

/// In the order that was asked for.
async fn page(
    app: &App,
    session: &SessionId,
    cursor: Option<&Cursor>,
    order: Order,
    limit: usize,
) -> Result<Vec<RawMessage>, ApiError> {
    let store = app.engine().reads();
    // Towards what is newer, or towards what is older.
    let is_forward = match (order, cursor.map(|cursor| cursor.direction)) {
        (Order::Asc, None | Some(Direction::Next)) | (Order::Desc, Some(Direction::Previous)) => true,
        (Order::Desc, None | Some(Direction::Next)) | (Order::Asc, Some(Direction::Previous)) => false,
    };
    let mut found = if is_forward {
        let after = cursor.map(|cursor| &cursor.id);
        let found = store.messages_after(session, after, limit).await?;
        // The message the cursor names was removed.
        found.ok_or(V2Error::Cursor("Invalid cursor"))?
    } else {
        let before = cursor.map(|cursor| Before { id: cursor.id.clone(), time: cursor.time });
        let limit = u32::try_from(limit).ok();
        store.messages(session, MessageQuery { limit, before }).await?.items
    };
    if order == Order::Desc {
        found.reverse();
    }
    Ok(found)
}

fn shown(messages: &[RawMessage]) -> Result<Vec<Value>, ApiError> {
    let mut all = Vec::with_capacity(messages.len());
    for raw in messages {
        all.extend(message_v2::message(raw)?);
    }
    Ok(all)
}

/// One message.
#[utoipa::path(get, path = "/api/session/{sessionID}/message/{messageID}", operation_id = "v2.session.message",
    params(("sessionID" = String, Path), ("messageID" = String, Path)),
    responses((status = 200, description = "The message", body = Object), (status = 404, description = "No such message")))]
async fn one(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let id = params.id("messageID", MessageId::parse).map_err(ApiError::in_v2)?;
    let raw = app.engine().reads().message(&session, &id).await?;
    let message = raw.as_ref().map(message_v2::message).transpose()?.flatten();
    let message = message.ok_or(V2Error::NoMessage { session, message: id })?;
    Ok(reply::json(&json!({ "data": message })))
}

/// What the model would see: everything since the newest summary, which stands first.
#[utoipa::path(get, path = "/api/session/{sessionID}/context", operation_id = "v2.session.context",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Messages", body = Object), (status = 404, description = "No such session")))]
async fn context(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let mut seen: Vec<RawMessage> = Vec::new();
    loop {
        let before = seen.first().map(|oldest| Before { id: oldest.id.clone(), time: oldest.created });
        let query = MessageQuery { limit: Some(CONTEXT_STEP), before };
        let page = app.engine().reads().messages(&session, query).await?;
        let is_summary = |raw: &RawMessage| raw.info.contains("\"summary\":true");
        let start = page.items.iter().rposition(is_summary);
        let is_all = start.is_some() || !page.more;
        let mut older = page.items;
        older.drain(..start.unwrap_or_default());
        older.append(&mut seen);
        seen = older;
        if is_all {
            break;
        }
    }
    Ok(reply::json(&json!({ "data": shown(&seen)? })))
}
