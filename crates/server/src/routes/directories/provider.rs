//! Providers and models.

use crate::described::{Routes, routes};
use crate::instance::Here;
use crate::reply;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use sturdy_llm::catalog::Provider;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(usable)).routes(routes!(all)).routes(routes!(logins))
}

#[derive(Serialize)]
struct Usable {
    /// Without secrets.
    providers: Value,
    default: BTreeMap<String, String>,
}

/// Providers that can be used now, and the model to pick of each.
#[utoipa::path(get, path = "/config/providers", operation_id = "config.providers",
    responses((status = 200, description = "Usable providers", body = Object)))]
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
    responses((status = 200, description = "Known providers", body = Object)))]
async fn all(Here(here): Here) -> Response {
    let catalog = here.catalog();
    let connected = catalog.providers.iter().map(|provider| provider.id.as_str()).collect();
    let all = here.settings.shown(&each(&catalog.known));
    reply::json(&All { all, default: catalog.default_models(), connected })
}

/// Ways to log in. There are none besides keys in the configuration and the environment.
#[utoipa::path(get, path = "/provider/auth", operation_id = "provider.auth",
    responses((status = 200, description = "Login methods by provider", body = Object)))]
async fn logins(_: Here) -> Response {
    reply::text("{}")
}

fn each(providers: &[Arc<Provider>]) -> Vec<&Provider> {
    providers.iter().map(AsRef::as_ref).collect()
}
