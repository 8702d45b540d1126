//! How one logs in to providers, in the spelling of the v2 API: keys. A connection is the stored key of a provider, and its
//! id is the provider's.
//!
//! No provider offers a login by browser here; so asking for one is a request for a method that is not listed.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind, V2Error};
use crate::extract::{Params, Payload};
use crate::instance::Location;
use crate::reply;
use crate::wire::shapes::v2::AtLocation;
use crate::wire::shapes::v2::IntegrationV2;
use crate::wire::v2::{self, Located};
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use sturdy_llm::auth::Credential;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(one))
        .routes(routes!(connect_key))
        .routes(routes!(connect_oauth))
        .routes(routes!(attempt, cancel))
        .routes(routes!(complete))
        .routes(routes!(label, forget))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectKey {
    key: String,
    /// Read and not kept: a provider has one key.
    #[allow(dead_code, reason = "accepted from clients that send it")]
    label: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectOAuth {
    #[serde(rename = "methodID")]
    method: String,
    #[allow(dead_code, reason = "accepted from clients that send it")]
    #[schema(value_type = Object)]
    inputs: serde_json::Map<String, Value>,
    #[allow(dead_code, reason = "accepted from clients that send it")]
    label: Option<String>,
}

/// How one could log in to a provider.
#[utoipa::path(get, path = "/api/integration/{integrationID}", operation_id = "v2.integration.get",
    params(("integrationID" = String, Path)),
    responses((status = 200, description = "The provider, or null if there is none", body = AtLocation<Option<IntegrationV2>>)))]
async fn one(State(app): State<App>, Location(here): Location, params: Params) -> Result<Response, ApiError> {
    let id = params.get("integrationID");
    let catalog = here.catalog();
    let Some(provider) = catalog.known_provider(id) else {
        return Ok(reply::json(&Located::at(&here, Value::Null)));
    };
    let stored = app.engine().providers_with_credentials().await?;
    let shown = v2::integration(provider, &stored, &app.engine().options().environment);
    Ok(reply::json(&Located::at(&here, shown)))
}

/// Stores a key for a provider. It is used from the next prompt on.
#[utoipa::path(post, path = "/api/integration/{integrationID}/connect/key", operation_id = "v2.integration.connect.key",
    params(("integrationID" = String, Path)), request_body = ConnectKey,
    responses((status = 204, description = "Kept"), (status = 400, description = "Not a key")))]
async fn connect_key(
    State(app): State<App>,
    _: Location,
    params: Params,
    body: Result<Payload<ConnectKey>, ApiError>,
) -> Result<Response, ApiError> {
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    let credential = Credential::from_json(&json!({ "type": "api", "key": body.key }));
    let credential = credential.filter(|_| !body.key.trim().is_empty());
    let credential = credential.ok_or_else(|| V2Error::Request {
        kind: Kind::Payload,
        message: "Expected a key\n  at [\"key\"]".to_owned(),
    })?;
    app.engine().keep_credential(params.get("integrationID"), credential).await?;
    Ok(reply::no_content())
}

/// A login by browser: no provider lists one.
#[utoipa::path(post, path = "/api/integration/{integrationID}/connect/oauth", operation_id = "v2.integration.connect.oauth",
    params(("integrationID" = String, Path)), request_body = ConnectOAuth,
    responses((status = 400, description = "No such method")))]
async fn connect_oauth(
    _: Location,
    body: Result<Payload<ConnectOAuth>, ApiError>,
) -> Result<Response, ApiError> {
    let Payload(body) = body.map_err(ApiError::in_v2)?;
    Err(unknown("method", &body.method))
}

/// The status of a login by browser. There are no such logins.
#[utoipa::path(get, path = "/api/integration/attempt/{attemptID}", operation_id = "v2.integration.attempt.status",
    params(("attemptID" = String, Path)), responses((status = 400, description = "No such login")))]
async fn attempt(_: Location, params: Params) -> ApiError {
    unknown("attempt", params.get("attemptID"))
}

/// Cancels a login by browser. There are no such logins, so this always succeeds.
#[utoipa::path(delete, path = "/api/integration/attempt/{attemptID}", operation_id = "v2.integration.attempt.cancel",
    params(("attemptID" = String, Path)), responses((status = 204, description = "It does not run")))]
async fn cancel(_: Location, _: Params) -> Response {
    reply::no_content()
}

/// Completes a login by browser with a code. There are no such logins.
#[utoipa::path(post, path = "/api/integration/attempt/{attemptID}/complete", operation_id = "v2.integration.attempt.complete",
    params(("attemptID" = String, Path)), responses((status = 400, description = "No such login")))]
async fn complete(_: Location, params: Params) -> ApiError {
    unknown("attempt", params.get("attemptID"))
}

/// Names a credential: a provider has one, and its name is the provider's.
#[utoipa::path(patch, path = "/api/credential/{credentialID}", operation_id = "v2.credential.update",
    params(("credentialID" = String, Path)), responses((status = 400, description = "It has no other name")))]
async fn label(_: Location, params: Params) -> ApiError {
    let id = params.get("credentialID");
    V2Error::Request { kind: Kind::Payload, message: format!("The credential of {id} has no label") }.into()
}

/// Forgets a credential, if there is one.
#[utoipa::path(delete, path = "/api/credential/{credentialID}", operation_id = "v2.credential.remove",
    params(("credentialID" = String, Path)), responses((status = 204, description = "Forgotten")))]
async fn forget(State(app): State<App>, _: Location, params: Params) -> Result<Response, ApiError> {
    app.engine().forget_credential(params.get("credentialID")).await?;
    Ok(reply::no_content())
}

fn unknown(what: &str, id: &str) -> ApiError {
    V2Error::Request { kind: Kind::Params, message: format!("Unknown {what}: {id}") }.into()
}
