//! Keys and tokens for providers. They come in and never go out.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::{Params, Payload};
use crate::reply;
use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use sturdy_llm::auth::Credential;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(set, remove))
}

/// Stores a credential for a provider. It is used from the next prompt on.
#[utoipa::path(put, path = "/auth/{providerID}", operation_id = "auth.set", request_body = crate::wire::shapes::own::CredentialGiven,
    params(("providerID" = String, Path, description = "Provider")),
    responses((status = 200, description = "Kept", body = bool), (status = 400, description = "Not a credential")))]
async fn set(
    State(app): State<App>,
    params: Params,
    Payload(body): Payload<Value>,
) -> Result<Response, ApiError> {
    // What was sent is not repeated: it may be a key that was put into the wrong field.
    let credential = Credential::from_json(&body).ok_or_else(|| {
        ApiError::schema(
            Kind::Payload,
            "Expected {type: \"api\", key}, {type: \"oauth\", refresh, access, expires} or {type: \"wellknown\", key, token}",
        )
    })?;
    app.engine().keep_credential(provider(&params), credential).await?;
    Ok(reply::json(&true))
}

/// Forgets the credential of a provider, if it has one.
#[utoipa::path(delete, path = "/auth/{providerID}", operation_id = "auth.remove",
    params(("providerID" = String, Path, description = "Provider")),
    responses((status = 200, description = "Forgotten", body = bool)))]
async fn remove(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    app.engine().forget_credential(provider(&params)).await?;
    Ok(reply::json(&true))
}

/// Addresses are written with and without a slash at the end; they are the same issuer.
fn provider(params: &Params) -> &str {
    params.get("providerID").trim_end_matches('/')
}
