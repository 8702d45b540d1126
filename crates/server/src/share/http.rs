//! The share service over plain HTTP, and the contract of OpenCode's own client beside it.

use super::at::{AtShare, caller};
use super::limits::{BODY_BYTES_MAX, PAGE};
use super::refuse::ShareFailure;
use super::{grants, import, rpc, viewer};
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::{Optional, Payload};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::share_link::visibility;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{FromRequestParts, State};
use axum::response::Response;
use http::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderName, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sturdy_engine::share::{new_capability_id, new_secret, new_share_id};
use sturdy_store::share::{Batch, LegacyItem, NewShare, ShareCall, SturdyRef};
use utoipa::ToSchema;

/// Says that this service knows more than OpenCode's contract.
const ANNOUNCE: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-sturdy-share"), HeaderValue::from_static("ops/1 rpc/1"));

/// How many watch a share, beside the answer to a batch.
const VIEWERS: HeaderName = HeaderName::from_static("x-sturdy-share-viewers");

pub(crate) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(create))
        .routes(routes!(remove))
        .routes(routes!(sync))
        .routes(routes!(data))
        .routes(routes!(redeem))
        .routes(routes!(append, read_ops))
        .routes(routes!(events))
        .routes(routes!(socket))
        .merge(grants::routes())
        // Clients with an organisation account ask there.
        .also_below("/api/share", "/api/shares")
        .merge(rpc::routes())
        .merge(import::routes())
}

pub(super) fn announced(mut response: Response) -> Response {
    let (name, value) = ANNOUNCE;
    response.headers_mut().insert(name, value);
    response
}

/// A share that is wanted.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateShare {
    #[serde(rename = "sessionID")]
    pub(super) session_id: String,
    /// Repeated with the same id and secret, the same share is answered.
    pub(super) request_id: Option<String>,
    /// The owner's secret; without it the service makes one.
    pub(super) secret: Option<String>,
    /// `link` (whoever has the address may read) or `private`.
    pub(super) visibility: Option<String>,
    /// What the owner's capability is called in lists; `owner` without it.
    pub(super) title: Option<String>,
}

/// Creates a share. The answer's `secret` is the owner's capability and is shown once.
#[utoipa::path(post, path = "/api/share", operation_id = "share.create", request_body = CreateShare,
    responses((status = 200, description = "The share", body = Object), (status = 409, description = "Another secret")))]
async fn create(
    State(app): State<App>,
    MayCreate(call): MayCreate,
    Payload(wanted): Payload<CreateShare>,
) -> Result<Response, ShareFailure> {
    let made = created(&app, call, wanted).await?;
    Ok(announced(reply::json(&made)))
}

/// Whoever has the gateway key, where there is one. Asked before the body is read.
struct MayCreate(ShareCall);

impl FromRequestParts<App> for MayCreate {
    type Rejection = ShareFailure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ShareFailure> {
        let shares = app.shares().ok_or(ShareFailure::Off)?;
        if !shares.may_create(parts) {
            return Err(ShareFailure::Gateway);
        }
        Ok(Self(caller(app, parts)))
    }
}

/// Makes a share, and answers what its owner needs.
pub(super) async fn created(app: &App, call: ShareCall, wanted: CreateShare) -> Result<Value, ShareFailure> {
    let shares = app.shares().ok_or(ShareFailure::Off)?;
    shares.creates.count(&call.address).map_err(ShareFailure::TooOften)?;
    let visibility = visibility(wanted.visibility.as_deref().unwrap_or("link"))?;
    let share = new_share_id();
    let secret = match wanted.secret {
        Some(secret) => checked_secret(secret)?,
        None => new_secret(),
    };
    let new = NewShare {
        owner: SturdyRef::new(&share, new_capability_id(), &secret),
        share,
        session: wanted.session_id,
        request: wanted.request_id,
        visibility,
        label: wanted.title.unwrap_or_else(|| "owner".to_owned()),
    };
    let made = app.engine().store().create_share(call, new).await?;
    let reference = SturdyRef::new(&made.share, &made.capability, secret);
    Ok(json!({
        "id": made.share,
        "url": shares.url(&made.share),
        "secret": reference.reveal(),
        "cap_id": made.capability,
        "epoch": made.epoch,
        "cursor": made.cursor,
    }))
}

/// A secret that a caller made.
pub(super) fn checked_secret(secret: String) -> Result<String, ApiError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if secret.len() < 32 || secret.len() > 128 || !secret.chars().all(is_plain) {
        let message = "Expected 32 to 128 letters of base64url\n  at [\"secret\"]";
        return Err(ApiError::schema(Kind::Payload, message));
    }
    Ok(secret)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct WithSecret {
    secret: Option<String>,
    writer_id: Option<String>,
}

/// Deletes a share and everything in it.
#[utoipa::path(delete, path = "/api/share/{shareID}", operation_id = "share.delete",
    params(("shareID" = String, Path)), request_body = WithSecret,
    responses((status = 200, description = "Gone", body = Object)))]
async fn remove(mut at: AtShare, Optional(body): Optional<WithSecret>) -> Result<Response, ShareFailure> {
    let auth = at.auth(body.secret.as_deref())?;
    at.store().delete_share(at.call.clone(), at.share.clone(), auth).await?;
    at.wake();
    Ok(announced(reply::json(&json!({ "success": true }))))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Sync {
    secret: Option<String>,
    #[schema(value_type = Vec<Object>)]
    data: Vec<LegacyItem>,
}

/// Stores values as OpenCode's client sends them.
#[utoipa::path(post, path = "/api/share/{shareID}/sync", operation_id = "share.sync",
    params(("shareID" = String, Path)), request_body = Sync,
    responses((status = 200, description = "Taken", body = Object)))]
async fn sync(
    mut at: AtShare,
    Payload(body): Payload<Sync, BODY_BYTES_MAX>,
) -> Result<Response, ShareFailure> {
    let auth = at.auth(body.secret.as_deref())?;
    at.count_batch()?;
    let (count, cursor) = at.store().sync_share(at.call.clone(), at.share.clone(), auth, body.data).await?;
    at.wake();
    Ok(announced(reply::json(&json!({ "success": true, "syncCount": count, "cursor": cursor }))))
}

/// Everything a share shows, as OpenCode's import reads it.
#[utoipa::path(get, path = "/api/share/{shareID}/data", operation_id = "share.data",
    params(("shareID" = String, Path)),
    responses((status = 200, description = "Values", body = [Object]), (status = 304, description = "As before")))]
async fn data(at: AtShare, headers: HeaderMap) -> Result<Response, ShareFailure> {
    at.note_read().await;
    let weight = at.store().share_weight(at.share.clone()).await?;
    let is_known = weight.is_some_and(|weight| headers.get(IF_NONE_MATCH) == Some(&tag_of(weight.cursor)));
    let (cursor, mut response) = match weight {
        Some(weight) if is_known => {
            // Who has the newest need not be read anything, only be allowed to know it.
            at.store().share_standing(at.call.now, at.share.clone(), at.bearer.clone()).await?;
            let mut unchanged = reply::no_content();
            *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
            (weight.cursor, unchanged)
        }
        _ => {
            let room = at.room_for(weight.map_or(0, |weight| weight.bytes))?;
            let found = at.store().share_snapshot(at.call.now, at.share.clone(), at.bearer.clone());
            let (info, items) = found.await?;
            (info.cursor, reply::json_holding(&in_wire_order(items), room))
        }
    };
    response.headers_mut().insert(ETAG, tag_of(cursor));
    // So that a deleted share stops being shown.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(announced(response))
}

fn tag_of(cursor: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{cursor}\"")).expect("BUG: a number is a header")
}

/// The session, messages, parts, one diff, one list of models.
fn in_wire_order(items: Vec<sturdy_store::share::ShownOp>) -> Vec<Value> {
    let mut ranked: Vec<(u8, Value)> = Vec::new();
    let mut models: Vec<Box<RawValue>> = Vec::new();
    for item in items {
        let rank = match item.kind.as_str() {
            "session" => 0,
            "message" => 1,
            "part" => 2,
            "session_diff" => 3,
            _ => {
                models.extend(item.data);
                continue;
            }
        };
        ranked.push((rank, json!({ "type": item.kind, "data": item.data })));
    }
    // Stable: within a kind the order of the keys stays.
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut values: Vec<Value> = ranked.into_iter().map(|(_, value)| value).collect();
    if !models.is_empty() {
        values.push(json!({ "type": "model", "data": models }));
    }
    values
}

/// What a capability is good for, and how far a writer has come.
#[utoipa::path(post, path = "/api/share/{shareID}/redeem", operation_id = "share.redeem",
    params(("shareID" = String, Path)), request_body = WithSecret,
    responses((status = 200, description = "The capability", body = Object), (status = 401, description = "Wrong secret")))]
async fn redeem(mut at: AtShare, Optional(body): Optional<WithSecret>) -> Result<Response, ShareFailure> {
    let auth = at.auth(body.secret.as_deref())?;
    let redeemed = at.store().redeem_share(at.call.clone(), at.share.clone(), auth, body.writer_id).await?;
    Ok(announced(reply::json(&redeemed)))
}

/// Applies a batch of operations, exactly once.
#[utoipa::path(post, path = "/api/share/{shareID}/ops", operation_id = "share.append",
    params(("shareID" = String, Path)), request_body = Object,
    responses((status = 200, description = "The outcome of each operation", body = Object),
        (status = 409, description = "Redeem first")))]
async fn append(
    mut at: AtShare,
    Payload(batch): Payload<Batch, BODY_BYTES_MAX>,
) -> Result<Response, ShareFailure> {
    let auth = at.auth(None)?;
    at.count_batch()?;
    let ack = at.store().append_share(at.call.clone(), at.share.clone(), auth, batch).await?;
    at.wake();
    let mut response = announced(reply::json(&ack));
    // So that a sender gathers for a shorter time while somebody watches.
    let viewers = at.app.shares().ok_or(ShareFailure::Off)?.readers().of(&at.share).values().sum::<usize>();
    response.headers_mut().insert(VIEWERS, HeaderValue::from(viewers));
    Ok(response)
}

/// What was applied after a cursor.
#[utoipa::path(get, path = "/api/share/{shareID}/ops", operation_id = "share.ops",
    params(("shareID" = String, Path), ("after" = Option<u64>, Query), ("limit" = Option<u64>, Query)),
    responses((status = 200, description = "Operations", body = Object)))]
async fn read_ops(at: AtShare, query: Query) -> Result<Response, ShareFailure> {
    let after = query.number("after")?.unwrap_or(0);
    let limit = query.within("limit", 1, 1000)?.unwrap_or(PAGE);
    at.note_read().await;
    let page = at.store().share_ops(at.call.now, at.share.clone(), at.bearer.clone(), after, limit).await?;
    if page.is_behind {
        let body = json!({ "ops": [], "cursor": page.cursor, "more": false, "reset": true });
        return Ok(announced(reply::json(&body)));
    }
    Ok(announced(reply::json(&page)))
}

/// The share, live.
#[utoipa::path(get, path = "/api/share/{shareID}/events", operation_id = "share.events",
    params(("shareID" = String, Path), ("after" = Option<u64>, Query)),
    responses((status = 200, description = "Events", content_type = "text/event-stream")))]
async fn events(at: AtShare, query: Query, headers: HeaderMap) -> Result<Response, ShareFailure> {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let cursor = match last {
        Some(cursor) => Some(cursor),
        None => query.number("after")?,
    };
    at.note_read().await;
    viewer::follow(at.app, at.share, at.bearer, cursor).await
}

/// The share, live, over a WebSocket: one object per message.
#[utoipa::path(get, path = "/api/share/{shareID}/ws", operation_id = "share.socket",
    params(("shareID" = String, Path), ("after" = Option<u64>, Query)),
    responses((status = 101, description = "A WebSocket"), (status = 400, description = "Not an upgrade")))]
async fn socket(
    at: AtShare,
    query: Query,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ShareFailure> {
    let after = query.number("after")?;
    let Ok(upgrade) = upgrade else {
        return Err(ApiError::schema(Kind::Query, "This URL accepts only WebSocket connections").into());
    };
    at.note_read().await;
    viewer::converse(at.app, at.share, at.bearer, after, upgrade).await
}
