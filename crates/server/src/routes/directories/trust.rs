//! Trust in the settings of a directory, given or taken back without being asked.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::instance::Chosen;
use crate::reply;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(add, remove))
}

/// What is trusted.
#[derive(Serialize, ToSchema)]
struct TrustedCheckout {
    path: String,
    /// Over everything in its settings that needs trust.
    hash: String,
    /// The same in sentences.
    enables: Vec<String>,
}

/// Trusts the settings of the checkout as they are now.
#[utoipa::path(post, path = "/sturdy/trust", operation_id = "sturdy.trust.add",
    responses((status = 200, description = "What is trusted", body = TrustedCheckout), (status = 400, description = "A file is wrong")))]
async fn add(State(app): State<App>, Chosen(directory): Chosen) -> Result<Response, ApiError> {
    let trust = app.engine().trust(&directory).await?;
    let path = trust.key.checkout.display().to_string();
    let enables = trust.sentences();
    Ok(reply::json(&TrustedCheckout { path, hash: trust.key.hash, enables }))
}

/// What is not trusted any more.
#[derive(Serialize, ToSchema)]
struct DistrustedCheckout {
    path: String,
    /// Whether it was trusted.
    removed: bool,
}

/// Stops trusting the checkout; programs that were started because of its settings are ended.
#[utoipa::path(delete, path = "/sturdy/trust", operation_id = "sturdy.trust.remove",
    responses((status = 200, description = "What is not trusted any more", body = DistrustedCheckout), (status = 400, description = "A file is wrong")))]
async fn remove(State(app): State<App>, Chosen(directory): Chosen) -> Result<Response, ApiError> {
    let (checkout, removed) = app.engine().distrust(&directory).await?;
    Ok(reply::json(&DistrustedCheckout { path: checkout.display().to_string(), removed }))
}
