//! Grants: make one, list them, narrow one, take one back, and who used which.

use crate::access::caller::Caller;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::{Params, Payload};
use crate::wire::query::Query;
use crate::{grants, reply};
use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sturdy_engine::share::{new_capability_id, new_secret};
use sturdy_session::id::SessionId;
use sturdy_session::stamp::Millis;
use sturdy_store::grants::{GrantCall, GrantKeeper, GrantQuery, GrantRow, NewGrant, Rights};
use sturdy_store::share::{Refusal, ShareError, SturdyRef};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list, create))
        .routes(routes!(narrow))
        .routes(routes!(revoke))
        .routes(routes!(audit))
}

/// A grant that is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedGrant {
    #[serde(rename = "sessionID")]
    session: String,
    /// `read`, `prompt`, `answer`.
    rights: Vec<String>,
    /// When it stops to count, in milliseconds by the server's clock.
    expires: Option<Millis>,
    /// Prompts and answers.
    #[serde(rename = "maxUses")]
    max_uses: Option<u64>,
    /// For people: who has it.
    label: Option<String>,
}

/// A narrower grant. What is left out is as the grant it is made of has it, except the label.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantLimits {
    rights: Option<Vec<String>>,
    expires: Option<Millis>,
    #[serde(rename = "maxUses")]
    max_uses: Option<u64>,
    label: Option<String>,
}

/// A grant that was just made. Its reference is told here and never again.
#[derive(Serialize)]
pub(crate) struct CreatedGrant {
    #[serde(flatten)]
    grant: GrantRow,
    reference: String,
}

/// Who asks, as the edge found out.
pub(crate) fn caller(parts: &Parts) -> Caller {
    parts.extensions.get::<Caller>().cloned().unwrap_or(Caller::Anyone)
}

/// The grants there are, without their secrets.
#[utoipa::path(get, path = "/sturdy/grant", operation_id = "sturdy.grant.list", params(
    ("sessionID" = Option<String>, Query, description = "Only those of one session"),
    ("actor" = Option<String>, Query, description = "Only those somebody made")),
    responses((status = 200, description = "Grants", body = [Object])))]
async fn list(State(app): State<App>, parts: Parts) -> Result<Response, ApiError> {
    let query = Query::of(&parts);
    let text = |name: &str| query.get(name).map(str::to_owned);
    let keeper = grants::keeper(&caller(&parts));
    let query = GrantQuery { session: text("sessionID"), actor: text("actor") };
    let now = app.engine().clock().now();
    Ok(reply::json(&app.engine().store().grants(now, keeper, query).await?))
}

/// Makes a grant to one session. Its reference is a bearer, and what `redeem` of `/rpc` takes.
#[utoipa::path(post, path = "/sturdy/grant", operation_id = "sturdy.grant.create", request_body = WantedGrant,
    responses((status = 200, description = "The grant and its reference", body = Object),
        (status = 400, description = "Bad body"), (status = 404, description = "No such session")))]
async fn create(
    State(app): State<App>,
    parts: Parts,
    Payload(wanted): Payload<WantedGrant>,
) -> Result<Response, ApiError> {
    let call = grants::call(&app, &parts, &caller(&parts));
    Ok(reply::json(&made(&app, call, wanted).await?))
}

/// Makes a narrower grant of one.
#[utoipa::path(post, path = "/sturdy/grant/{grantID}/narrow", operation_id = "sturdy.grant.narrow",
    params(("grantID" = String, Path)), request_body = GrantLimits,
    responses((status = 200, description = "The new grant and its reference", body = Object),
        (status = 403, description = "Wider than the grant it is made of"), (status = 404, description = "No such grant")))]
async fn narrow(
    State(app): State<App>,
    params: Params,
    parts: Parts,
    Payload(wanted): Payload<GrantLimits>,
) -> Result<Response, ApiError> {
    let caller = caller(&parts);
    let call = grants::call(&app, &parts, &caller);
    let id = params.get("grantID");
    Ok(reply::json(&narrowed(&app, call, grants::keeper(&caller), id, wanted).await?))
}

/// Takes a grant back with everything made of it. Whatever it opened is closed at once.
#[utoipa::path(delete, path = "/sturdy/grant/{grantID}", operation_id = "sturdy.grant.revoke",
    params(("grantID" = String, Path)),
    responses((status = 200, description = "How many stood until now: `{revoked}`", body = Object),
        (status = 404, description = "No such grant")))]
async fn revoke(State(app): State<App>, params: Params, parts: Parts) -> Result<Response, ApiError> {
    let caller = caller(&parts);
    let call = grants::call(&app, &parts, &caller);
    let revoked = revoked(&app, call, grants::keeper(&caller), params.get("grantID")).await?;
    Ok(reply::json(&json!({ "revoked": revoked })))
}

/// What was done with a grant and those made of it.
#[utoipa::path(get, path = "/sturdy/grant/{grantID}/audit", operation_id = "sturdy.grant.audit",
    params(("grantID" = String, Path), ("after" = Option<u64>, Query, description = "`id` of the last row of the page before")),
    responses((status = 200, description = "Rows, oldest first, at most 500", body = [Object]),
        (status = 404, description = "No such grant")))]
async fn audit(State(app): State<App>, params: Params, parts: Parts) -> Result<Response, ApiError> {
    let after = Query::of(&parts).number("after")?.unwrap_or(0);
    let keeper = grants::keeper(&caller(&parts));
    let now = app.engine().clock().now();
    let rows = app.engine().store().grant_audit(now, keeper, params.get("grantID").to_owned(), after).await?;
    Ok(reply::json(&rows))
}

pub(crate) async fn made(app: &App, call: GrantCall, wanted: WantedGrant) -> Result<CreatedGrant, ApiError> {
    let session = SessionId::parse(&wanted.session)
        .map_err(|cause| ApiError::schema(Kind::Payload, format!("{cause}\n  at [\"sessionID\"]")))?;
    let rights = read_rights(&wanted.rights)?;
    let new = NewGrant {
        reference: new_reference(session.as_str()),
        rights,
        expires: wanted.expires,
        max_uses: wanted.max_uses,
        label: wanted.label.unwrap_or_default(),
    };
    let reference = new.reference.reveal();
    let grant = app.engine().store().create_grant(call, new).await?;
    Ok(CreatedGrant { grant, reference })
}

pub(crate) async fn narrowed(
    app: &App,
    call: GrantCall,
    keeper: GrantKeeper,
    parent: &str,
    wanted: GrantLimits,
) -> Result<CreatedGrant, ApiError> {
    let store = app.engine().store();
    let all = store.grants(call.now, keeper.clone(), GrantQuery::default()).await?;
    let found = all.into_iter().find(|row| row.id == parent);
    let found = found.ok_or(ApiError::Grant(Refusal::NotFound))?;
    let new = NewGrant {
        reference: new_reference(&found.session),
        rights: wanted.rights.map_or(Ok(found.rights), |rights| read_rights(&rights))?,
        expires: wanted.expires,
        max_uses: wanted.max_uses,
        label: wanted.label.unwrap_or_default(),
    };
    let reference = new.reference.reveal();
    let grant = store.narrow_grant(call, keeper, parent.to_owned(), new).await?;
    Ok(CreatedGrant { grant, reference })
}

pub(crate) async fn revoked(
    app: &App,
    call: GrantCall,
    keeper: GrantKeeper,
    id: &str,
) -> Result<u64, ApiError> {
    let revoked = app.engine().store().revoke_grant(call, keeper, id.to_owned()).await?;
    app.grants().changed();
    Ok(revoked)
}

fn new_reference(session: &str) -> SturdyRef {
    SturdyRef::new(session, format!("grt{}", new_capability_id()), new_secret())
}

fn read_rights(names: &[String]) -> Result<Rights, ApiError> {
    let unknown = "Expected \"read\", \"prompt\" or \"answer\"\n  at [\"rights\"]";
    Rights::parse(names.iter().map(String::as_str)).ok_or_else(|| ApiError::schema(Kind::Payload, unknown))
}

impl From<ShareError> for ApiError {
    fn from(cause: ShareError) -> Self {
        match cause {
            ShareError::Refused(refusal) => Self::Grant(refusal),
            ShareError::Store(cause) => cause.into(),
        }
    }
}
