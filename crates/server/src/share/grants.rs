//! Capabilities of a share over HTTP: narrower ones, taking them back, and who used which.

use super::at::AtShare;
use super::http::{announced, checked_secret};
use super::refuse::ShareFailure;
use crate::app::ReaderCounts;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::{Params, Payload};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::share_link::visibility;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use sturdy_engine::share::{new_capability_id, new_secret};
use sturdy_session::stamp::Millis;
use sturdy_store::share::{Attenuation, CapabilityRow, Scope, ShareAuth, SturdyRef};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(attenuate, capabilities))
        .routes(routes!(revoke))
        .routes(routes!(rotate))
        .routes(routes!(set_visibility))
        .routes(routes!(audit))
        .routes(routes!(readers))
}

/// A narrower capability.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Narrow {
    /// `read`, `append`, `admin`, or a preset: `viewer`, `writer`, `drop_box`, `owner`.
    scope: Vec<String>,
    kinds: Option<Vec<String>>,
    expires_at: Option<Millis>,
    max_ops: Option<u64>,
    label: Option<String>,
    /// Its secret, if the caller chooses it: a repeated request with the same secret returns the same capability.
    secret: Option<String>,
}

/// Derives a narrower capability from the one in the request.
#[utoipa::path(post, path = "/api/share/{shareID}/capabilities", operation_id = "share.attenuate",
    params(("shareID" = String, Path)), request_body = Narrow,
    responses((status = 201, description = "The capability; its reference is shown once", body = Object)))]
async fn attenuate(mut at: AtShare, Payload(wanted): Payload<Narrow>) -> Result<Response, ShareFailure> {
    let made = attenuated(&mut at, wanted).await?;
    Ok(announced(reply::json_with(StatusCode::CREATED, &made)))
}

/// Makes a narrower capability, and answers what its holder needs.
pub(super) async fn attenuated(at: &mut AtShare, wanted: Narrow) -> Result<Value, ShareFailure> {
    let auth = at.auth(None)?;
    let unknown = || ApiError::schema(Kind::Payload, "Expected names of rights\n  at [\"scope\"]");
    let scope = Scope::parse(&wanted.scope).ok_or_else(unknown)?;
    let reference = match wanted.secret {
        // Named after its secret, so that the same wish again is recognised.
        Some(secret) => SturdyRef::named_by_secret(&at.share, checked_secret(secret)?),
        None => SturdyRef::new(&at.share, new_capability_id(), new_secret()),
    };
    let attenuation = Attenuation {
        reference: reference.clone(),
        scope,
        kinds: wanted.kinds,
        expires: wanted.expires_at,
        max_ops: wanted.max_ops,
        label: wanted.label.unwrap_or_default(),
    };
    let made = at.store().attenuate_share(at.call.clone(), at.share.clone(), auth, attenuation).await?;
    let link = at.app.shares().ok_or(ShareFailure::Off)?.url(&at.share);
    Ok(json!({
        "cap_id": made.capability.cap_id,
        "sturdy_ref": reference.reveal(),
        // What follows the mark never reaches a server or its logs.
        "url": format!("{link}#{}", reference.reveal()),
        "capability": made.capability,
        "epoch": made.epoch,
    }))
}

/// The capabilities of a share.
#[utoipa::path(get, path = "/api/share/{shareID}/capabilities", operation_id = "share.capabilities",
    params(("shareID" = String, Path), ("actor" = Option<String>, Query)),
    responses((status = 200, description = "Capabilities; of one actor, if one is named", body = [Object])))]
async fn capabilities(mut at: AtShare, query: Query) -> Result<Response, ShareFailure> {
    let auth = at.auth(None)?;
    Ok(announced(reply::json(&listed(&at, auth, query.get("actor")).await?)))
}

/// The capabilities of a share; of one actor, if one is named.
pub(super) async fn listed(
    at: &AtShare,
    auth: ShareAuth,
    actor: Option<&str>,
) -> Result<Vec<CapabilityRow>, ShareFailure> {
    let mut all = at.store().share_capabilities(at.call.clone(), at.share.clone(), auth).await?;
    all.retain(|one| actor.is_none_or(|actor| one.actor == actor));
    Ok(all)
}

/// Revokes a capability and everything derived from it; `all` revokes every one but that of the request, and makes the share
/// private, so that the plain link opens nothing either.
#[utoipa::path(delete, path = "/api/share/{shareID}/capabilities/{capID}", operation_id = "share.revoke",
    params(("shareID" = String, Path), ("capID" = String, Path)),
    responses((status = 200, description = "The new epoch", body = Object)))]
async fn revoke(mut at: AtShare, params: Params) -> Result<Response, ShareFailure> {
    let auth = at.auth(None)?;
    let call = at.call.clone();
    let share = at.share.clone();
    let epoch = match params.get("capID") {
        "all" => at.store().revoke_all_share_capabilities(call, share, auth).await?,
        one => at.store().revoke_share_capability(call, share, auth, one.to_owned()).await?,
    };
    // Open viewers look at their capability again, and end if it does not stand.
    at.wake();
    Ok(announced(reply::json(&json!({ "epoch": epoch }))))
}

/// Who may read by the address alone.
#[derive(Debug, Deserialize, ToSchema)]
struct SetVisibility {
    /// `link` (whoever has the address) or `private` (nobody without a capability).
    visibility: String,
}

/// Sets who may read by the plain link. Viewers who no longer may are disconnected at once.
#[utoipa::path(put, path = "/api/share/{shareID}/visibility", operation_id = "share.visibility",
    params(("shareID" = String, Path)), request_body = SetVisibility,
    responses((status = 200, description = "The epoch", body = Object)))]
async fn set_visibility(
    mut at: AtShare,
    Payload(wanted): Payload<SetVisibility>,
) -> Result<Response, ShareFailure> {
    let auth = at.auth(None)?;
    Ok(announced(reply::json(&visible(&at, auth, &wanted.visibility).await?)))
}

/// Sets the visibility, and answers with the epoch.
pub(super) async fn visible(at: &AtShare, auth: ShareAuth, wanted: &str) -> Result<Value, ShareFailure> {
    let wanted = visibility(wanted)?;
    let epoch = at.store().set_share_visibility(at.call.clone(), at.share.clone(), auth, wanted).await?;
    at.wake();
    Ok(json!({ "epoch": epoch, "visibility": wanted.as_str() }))
}

/// Makes every writer authenticate again.
#[utoipa::path(post, path = "/api/share/{shareID}/rotate", operation_id = "share.rotate",
    params(("shareID" = String, Path)), responses((status = 200, description = "The new epoch", body = Object)))]
async fn rotate(mut at: AtShare) -> Result<Response, ShareFailure> {
    let auth = at.auth(None)?;
    Ok(announced(reply::json(&rotated(&at, auth).await?)))
}

/// Rotates, and answers with the reference that replaces a secret from before there were any.
pub(super) async fn rotated(at: &AtShare, auth: ShareAuth) -> Result<Value, ShareFailure> {
    let fresh = SturdyRef::new(&at.share, new_capability_id(), new_secret());
    let done = at.store().rotate_share(at.call.clone(), at.share.clone(), auth, fresh.clone()).await?;
    let mut answer = json!({ "epoch": done.epoch });
    if done.is_replaced {
        answer["cap_id"] = json!(fresh.capability);
        answer["secret"] = json!(fresh.reveal());
        // Whoever watches with the old secret ends.
        at.wake();
    }
    Ok(answer)
}

/// Who used which capability for what.
#[utoipa::path(get, path = "/api/share/{shareID}/audit", operation_id = "share.audit",
    params(("shareID" = String, Path), ("after" = Option<u64>, Query), ("actor" = Option<String>, Query)),
    responses((status = 200, description = "Rows; of one actor, if one is named", body = [Object])))]
async fn audit(mut at: AtShare, query: Query) -> Result<Response, ShareFailure> {
    let auth = at.auth(None)?;
    let after = query.number("after")?.unwrap_or(0);
    let actor = query.get("actor").map(str::to_owned);
    let rows = at.store().share_audit(at.call.clone(), at.share.clone(), auth, after, actor).await?;
    Ok(announced(reply::json(&rows)))
}

/// Who follows the share now, as far as the capability of the request may know: itself and those derived from it, and for
/// an owner also viewers with the plain link.
#[utoipa::path(get, path = "/api/share/{shareID}/readers", operation_id = "share.readers",
    params(("shareID" = String, Path)),
    responses((status = 200, description = "Open streams by capability; `null` is the link without one", body = [Object])))]
async fn readers(mut at: AtShare) -> Result<Response, ShareFailure> {
    let auth = at.auth(None)?;
    Ok(announced(reply::json(&reading(&at, auth).await?)))
}

/// Open streams by the capability they were opened with.
pub(super) async fn reading(at: &AtShare, auth: ShareAuth) -> Result<Vec<Value>, ShareFailure> {
    let own = auth.capability().map(str::to_owned);
    let known = at.store().share_capabilities(at.call.clone(), at.share.clone(), auth).await?;
    let is_owner =
        known.iter().any(|one| Some(&one.cap_id) == own.as_ref() && one.scope.contains(Scope::ADMIN));
    let counts: ReaderCounts = at.app.shares().ok_or(ShareFailure::Off)?.readers().of(&at.share);
    let may_know = |capability: &Option<String>| match capability {
        None => is_owner,
        Some(id) => known.iter().any(|one| one.cap_id == *id),
    };
    Ok(counts
        .into_iter()
        .filter(|(capability, _)| may_know(capability))
        .map(|(capability, count)| json!({ "cap_id": capability, "count": count }))
        .collect())
}
