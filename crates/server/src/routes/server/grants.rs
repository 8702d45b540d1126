//! Grants: create, list, narrow and revoke them, and read their audit log.

use crate::access::caller::Caller;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::grants::make::{GrantLimits, WantedGrant, made, narrowed, revoked};
use crate::wire::query::Query;
use crate::wire::shapes::own::{GrantShown, GrantUse, RevokedGrants};
use crate::{grants, reply};
use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use serde_json::json;
use sturdy_store::grants::GrantQuery;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list, create))
        .routes(routes!(narrow))
        .routes(routes!(revoke))
        .routes(routes!(audit))
}

/// The grants there are, without their secrets.
#[utoipa::path(get, path = "/sturdy/grant", operation_id = "sturdy.grant.list", params(
    ("sessionID" = Option<String>, Query, description = "Only those of one session"),
    ("actor" = Option<String>, Query, description = "Only those somebody made")),
    responses((status = 200, description = "Grants", body = [GrantShown])))]
async fn list(State(app): State<App>, parts: Parts) -> Result<Response, ApiError> {
    let query = Query::of(&parts);
    let text = |name: &str| query.get(name).map(str::to_owned);
    let keeper = grants::keeper(&Caller::of(&parts));
    let query = GrantQuery { session: text("sessionID"), actor: text("actor") };
    let now = app.engine().clock().now();
    Ok(reply::json(&app.engine().store().grants(now, keeper, query).await?))
}

/// Creates a grant to one session. Its reference is a bearer token, and what `redeem` of `/rpc` takes.
#[utoipa::path(post, path = "/sturdy/grant", operation_id = "sturdy.grant.create", request_body = WantedGrant,
    responses((status = 200, description = "The grant and its reference", body = GrantShown),
        (status = 400, description = "Bad body"), (status = 404, description = "No such session")))]
async fn create(
    State(app): State<App>,
    parts: Parts,
    Payload(wanted): Payload<WantedGrant>,
) -> Result<Response, ApiError> {
    let call = grants::call(&app, &parts, &Caller::of(&parts));
    Ok(reply::json(&made(&app, call, wanted).await?))
}

/// Derives a narrower grant from one.
#[utoipa::path(post, path = "/sturdy/grant/{grantID}/narrow", operation_id = "sturdy.grant.narrow",
    params(("grantID" = String, Path)), request_body = GrantLimits,
    responses((status = 200, description = "The new grant and its reference", body = GrantShown),
        (status = 403, description = "Wider than the grant it is derived from"), (status = 404, description = "No such grant")))]
async fn narrow(
    State(app): State<App>,
    params: Params,
    parts: Parts,
    Payload(wanted): Payload<GrantLimits>,
) -> Result<Response, ApiError> {
    let caller = Caller::of(&parts);
    let call = grants::call(&app, &parts, &caller);
    let id = params.get("grantID");
    Ok(reply::json(&narrowed(&app, call, grants::keeper(&caller), id, wanted).await?))
}

/// Revokes a grant and everything derived from it. Its open connections are closed at once.
#[utoipa::path(delete, path = "/sturdy/grant/{grantID}", operation_id = "sturdy.grant.revoke",
    params(("grantID" = String, Path)),
    responses((status = 200, description = "How many were valid until now", body = RevokedGrants),
        (status = 404, description = "No such grant")))]
async fn revoke(State(app): State<App>, params: Params, parts: Parts) -> Result<Response, ApiError> {
    let caller = Caller::of(&parts);
    let call = grants::call(&app, &parts, &caller);
    let revoked = revoked(&app, call, grants::keeper(&caller), params.get("grantID")).await?;
    Ok(reply::json(&json!({ "revoked": revoked })))
}

/// What was done with a grant and those made of it.
#[utoipa::path(get, path = "/sturdy/grant/{grantID}/audit", operation_id = "sturdy.grant.audit",
    params(("grantID" = String, Path), ("after" = Option<u64>, Query, description = "`id` of the last row of the page before")),
    responses((status = 200, description = "Rows, oldest first, at most 500", body = [GrantUse]),
        (status = 404, description = "No such grant")))]
async fn audit(State(app): State<App>, params: Params, parts: Parts) -> Result<Response, ApiError> {
    let after = Query::of(&parts).number("after")?.unwrap_or(0);
    let keeper = grants::keeper(&Caller::of(&parts));
    let now = app.engine().clock().now();
    let rows = app.engine().store().grant_audit(now, keeper, params.get("grantID").to_owned(), after).await?;
    Ok(reply::json(&rows))
}
