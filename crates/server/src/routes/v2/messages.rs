//! The messages of a session in the spelling of the v2 API: pages both ways, one, and what the model would see.
//!
//! Between what was said stands when another agent or model was chosen: a client that shows a prompt nobody has answered yet
//! knows from there who will. It is read from the log and is no message in the v1 API.
//!
//! A cursor is the message at the edge of a page, the order of the pages, and the direction to go.

use super::sessions::find;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, V2Error};
use crate::extract::Params;
use crate::reply;
use crate::wire::message_v2::{self, SummaryReason};
use crate::wire::query::Query;
use crate::wire::shapes::v2::Data;
use crate::wire::shapes::v2::MessageV2;
use crate::wire::shapes::v2::PageOf;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashSet;
use sturdy_engine::reads::{MessagePlace, PlacedMessage, RawMessage, ReadDirection, Switch};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::revert::Boundary;
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::session::Session;
use utoipa::ToSchema;

const LIMIT_DEFAULT: u64 = 50;
const LIMIT_MAX: u64 = 200;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list)).routes(routes!(one)).routes(routes!(context))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    ("sessionID" = String, Path), ("limit" = Option<u32>, Query), ("order" = inline(Option<Order>), Query),
    ("cursor" = Option<String>, Query)),
    responses((status = 200, description = "A page of messages", body = PageOf<MessageV2>), (status = 400, description = "Bad query"),
        (status = 404, description = "No such session")))]
async fn list(State(app): State<App>, params: Params, query: Query) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let limit =
        query.within("limit", 1, LIMIT_MAX).map_err(ApiError::in_v2)?.unwrap_or(LIMIT_DEFAULT) as usize;
    let cursor = match query.get("cursor").filter(|text| !text.is_empty()) {
        None => None,
        Some(_) if query.get("order").is_some() => {
            return Err(V2Error::Cursor("Cursor cannot be combined with order").into());
        }
        Some(text) => Some(Cursor::parse(text).ok_or(V2Error::Cursor("Invalid cursor"))?),
    };
    let order = match &cursor {
        Some(cursor) => cursor.order,
        None => query.word("order", &["asc", "desc"]).map_err(ApiError::in_v2)?.unwrap_or_default(),
    };
    let page = page(&app, &session, cursor.as_ref(), order, limit).await?;
    let edge = |item: Option<&Item>, direction| {
        Some(Cursor { id: item?.place().id.clone(), order, direction }.text())
    };
    let cursor = json!({
        "previous": edge(page.first(), Direction::Previous),
        "next": edge(page.last(), Direction::Next),
    });
    Ok(reply::json(&json!({ "data": shown(&app, &session, &page).await?, "cursor": cursor })))
}

/// What stands in a list of messages.
enum Item {
    Message(PlacedMessage),
    Switch(Switch),
}

impl Item {
    fn place(&self) -> &MessagePlace {
        match self {
            Self::Message(placed) => &placed.place,
            Self::Switch(switch) => &switch.place,
        }
    }
}

/// In the order that was asked for. Behind a message that is gone there is nothing.
async fn page(
    app: &App,
    session: &SessionId,
    cursor: Option<&Cursor>,
    order: Order,
    limit: usize,
) -> Result<Vec<Item>, ApiError> {
    let store = app.engine().reads();
    let toward = match (order, cursor.map(|cursor| cursor.direction)) {
        (Order::Asc, None | Some(Direction::Next)) | (Order::Desc, Some(Direction::Previous)) => {
            ReadDirection::Newer
        }
        (Order::Desc, None | Some(Direction::Next)) | (Order::Asc, Some(Direction::Previous)) => {
            ReadDirection::Older
        }
    };
    let switches = store.switches(session).await?;
    let from = match cursor {
        None => None,
        Some(cursor) => match switches.iter().find(|switch| switch.place.id == cursor.id) {
            Some(switch) => Some(switch.place.clone()),
            None => match store.message_place(session, &cursor.id).await? {
                Some(place) => Some(place),
                None => return Ok(Vec::new()),
            },
        },
    };
    let messages = store.messages_beyond(session, from.as_ref(), toward, limit).await?;
    let is_beyond = |switch: &Switch| match (&from, toward) {
        (None, _) => true,
        (Some(from), ReadDirection::Newer) => switch.place > *from,
        (Some(from), ReadDirection::Older) => switch.place < *from,
    };
    let mut found: Vec<Item> = messages.into_iter().map(Item::Message).collect();
    found.extend(switches.into_iter().filter(is_beyond).map(Item::Switch));
    found.sort_by(|one, other| one.place().cmp(other.place()));
    if toward == ReadDirection::Older {
        found.reverse();
    }
    found.truncate(limit);
    if (toward == ReadDirection::Older) != (order == Order::Desc) {
        found.reverse();
    }
    Ok(found)
}

async fn shown(app: &App, session: &SessionId, items: &[Item]) -> Result<Vec<Value>, ApiError> {
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Item::Message(PlacedMessage { message, .. }) => {
                let reason = reason(app, session, message).await?;
                all.extend(message_v2::message(message, reason)?);
            }
            Item::Switch(switch) => all.push(message_v2::switched(switch)),
        }
    }
    Ok(all)
}

/// Why a summary was made, which only the message says that asked for it.
async fn reason(app: &App, session: &SessionId, raw: &RawMessage) -> Result<SummaryReason, ApiError> {
    let Some(request) = message_v2::request_of(raw) else { return Ok(SummaryReason::Manual) };
    let request = app.engine().reads().message(session, &request).await?;
    Ok(request.as_ref().map_or(SummaryReason::Manual, SummaryReason::of))
}

/// One message.
#[utoipa::path(get, path = "/api/session/{sessionID}/message/{messageID}", operation_id = "v2.session.message",
    params(("sessionID" = String, Path), ("messageID" = String, Path)),
    responses((status = 200, description = "The message", body = Data<MessageV2>), (status = 404, description = "No such message")))]
async fn one(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let session = find(&app, &params).await?.id;
    let id = params.id("messageID", MessageId::parse).map_err(ApiError::in_v2)?;
    let raw = app.engine().reads().message(&session, &id).await?;
    let message = match &raw {
        Some(raw) => message_v2::message(raw, reason(&app, &session, raw).await?)?,
        None => {
            let switches = app.engine().reads().switches(&session).await?;
            switches.iter().find(|switch| switch.place.id == id).map(message_v2::switched)
        }
    };
    let message = message.ok_or(V2Error::NoMessage { session, message: id })?;
    Ok(reply::json(&json!({ "data": message })))
}

/// What the model would see: everything since the newest summary, which stands first, without what is undone.
#[utoipa::path(get, path = "/api/session/{sessionID}/context", operation_id = "v2.session.context",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Messages", body = Data<Vec<MessageV2>>), (status = 404, description = "No such session")))]
async fn context(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let Session { id: session, revert, .. } = find(&app, &params).await?;
    let seen =
        app.engine().context(&session).await.map_err(ApiError::of(&session)).map_err(ApiError::in_v2)?;
    let mut all = Vec::with_capacity(seen.len());
    let mut reason = SummaryReason::Manual;
    for MessageWithParts { info, parts } in &seen {
        let parts: Vec<Value> = parts.iter().map(|part| json!(part)).collect();
        if matches!(info, Message::User(_)) {
            // A summary stands right behind the message that asked for it.
            reason = SummaryReason::by_parts(&parts);
        }
        all.extend(message_v2::shown(&json!(info), &parts, reason));
    }
    let created = |message: &Value| message["time"]["created"].as_u64().unwrap_or_default();
    // Those before a summary are part of what it sums up.
    let summed_up = all.first().filter(|first| first["type"] == "compaction").map(created);
    let store = app.engine().reads();
    let undone: HashSet<MessageId> = match &revert {
        Some(revert) => {
            let behind = store.switches_behind(&session, &Boundary::of(revert)).await?;
            behind.into_iter().collect()
        }
        None => HashSet::new(),
    };
    let mut switches = store.switches(&session).await?;
    switches.retain(|switch| {
        let is_in_summary = summed_up.is_some_and(|summed_up| switch.at < summed_up);
        !is_in_summary && !undone.contains(&switch.place.id)
    });
    let times: Vec<u64> = all.iter().map(created).collect();
    let places = places_between(&times, switches.iter().map(|switch| switch.at));
    let mut data = Vec::with_capacity(all.len() + switches.len());
    let mut placed = places.into_iter().zip(&switches).peekable();
    for (at, message) in all.into_iter().enumerate() {
        while let Some((_, switch)) = placed.next_if(|(place, _)| *place <= at) {
            data.push(message_v2::switched(switch));
        }
        data.push(message);
    }
    data.extend(placed.map(|(_, switch)| message_v2::switched(switch)));
    Ok(reply::json(&json!({ "data": data })))
}

/// Where things that happened at some times, oldest first, stand between messages that were created at others: each
/// behind the last message that is older. Messages may be out of order; both may be many.
fn places_between(messages: &[u64], times: impl Iterator<Item = u64>) -> Vec<usize> {
    let mut oldest_from: Vec<u64> = messages.to_vec();
    for at in (1..oldest_from.len()).rev() {
        oldest_from[at - 1] = oldest_from[at - 1].min(oldest_from[at]);
    }
    let mut last = 0;
    let place = |time: u64| {
        last = oldest_from.partition_point(|oldest| *oldest < time).max(last);
        last
    };
    times.map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::places_between;

    #[test]
    fn a_choice_stands_behind_the_last_message_that_is_older_and_choices_keep_their_order() {
        // The second message waited, and was taken up behind the third.
        let messages = [10, 30, 20, 40];

        let places = places_between(&messages, [5, 15, 25, 25, 35, 50].into_iter());

        assert_eq!(places, [0, 1, 3, 3, 3, 4]);
        assert_eq!(places_between(&[], [1, 2].into_iter()), [0, 0]);
    }
}
