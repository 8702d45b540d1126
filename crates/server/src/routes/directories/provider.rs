//! Providers and models.

use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::shapes::catalog::KnownProviders;
use crate::wire::shapes::catalog::LoginMethod;
use crate::wire::shapes::catalog::LoginStart;
use crate::wire::shapes::catalog::UsableProviders;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use sturdy_llm::catalog::Provider;
use sturdy_session::json::Num;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(usable))
        .routes(routes!(all))
        .routes(routes!(logins))
        .routes(routes!(start_login))
        .routes(routes!(finish_login))
}

#[derive(Serialize)]
struct Usable {
    /// Without secrets.
    providers: Value,
    default: BTreeMap<String, String>,
}

/// Providers that can be used now, and the model to pick of each.
#[utoipa::path(get, path = "/config/providers", operation_id = "config.providers",
    responses((status = 200, description = "Usable providers", body = UsableProviders)))]
async fn usable(Here(here): Here) -> Response {
    let catalog = here.catalog();
    let providers = &catalog.providers;
    let mut default = catalog.default_models();
    default.retain(|id, _| providers.iter().any(|provider| provider.id == *id));
    reply::json(&Usable { providers: here.settings.shown(&each(providers)), default })
}

#[derive(Serialize)]
struct All<'a> {
    /// Without secrets.
    all: Value,
    default: BTreeMap<String, String>,
    connected: Vec<&'a str>,
}

/// Every provider that is known, and which of them can be used.
#[utoipa::path(get, path = "/provider", operation_id = "provider.list",
    responses((status = 200, description = "Known providers", body = KnownProviders)))]
async fn all(Here(here): Here) -> Response {
    let catalog = here.catalog();
    let connected = catalog.providers.iter().map(|provider| provider.id.as_str()).collect();
    let all = here.settings.shown(&each(&catalog.known));
    reply::json(&All { all, default: catalog.default_models(), connected })
}

/// Ways to log in. There are none besides keys in the configuration and the environment.
#[utoipa::path(get, path = "/provider/auth", operation_id = "provider.auth",
    responses((status = 200, description = "Login methods by provider", body = HashMap<String, Vec<LoginMethod>>)))]
async fn logins(_: Here) -> Response {
    reply::text("{}")
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StartLogin {
    /// Place of the method in the list of the provider.
    #[serde(rename = "method")]
    _method: Num,
    #[serde(rename = "inputs")]
    _inputs: Option<HashMap<String, String>>,
}

/// Starts a login by browser. No provider offers one; providers take keys.
#[utoipa::path(post, path = "/provider/{providerID}/oauth/authorize", operation_id = "provider.oauth.authorize",
    params(("providerID" = String, Path)), request_body = StartLogin,
    responses((status = 200, description = "Never", body = LoginStart), (status = 400, description = "No login by browser")))]
async fn start_login(_: Here, params: Params, Payload(_): Payload<StartLogin>) -> ApiError {
    ApiError::NoBrowserLogin(params.get("providerID").to_owned())
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FinishLogin {
    #[serde(rename = "method")]
    _method: Num,
    #[serde(rename = "code")]
    _code: Option<String>,
}

/// Completes a login by browser. None can be started.
#[utoipa::path(post, path = "/provider/{providerID}/oauth/callback", operation_id = "provider.oauth.callback",
    params(("providerID" = String, Path)), request_body = FinishLogin,
    responses((status = 200, description = "Never", body = bool), (status = 400, description = "No login by browser")))]
async fn finish_login(_: Here, params: Params, Payload(_): Payload<FinishLogin>) -> ApiError {
    ApiError::NoBrowserLogin(params.get("providerID").to_owned())
}

fn each(providers: &[Arc<Provider>]) -> Vec<&Provider> {
    providers.iter().map(AsRef::as_ref).collect()
}
