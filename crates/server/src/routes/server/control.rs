//! A program that embeds a terminal asks what it is to do: what others told terminals by `/tui/…`.
//!
//! It waits for one request after the other and may say what became of each. What is told while nobody has asked yet is not
//! kept; after that a few requests are, so that none is missed between two questions.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::Payload;
use crate::instance::Here;
use crate::reply;
use crate::wire::shapes::catalog::ControlRequest;
use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use sturdy_engine::EngineError;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(next)).routes(routes!(response))
}

/// Waits for the next request.
#[utoipa::path(get, path = "/tui/control/next", operation_id = "tui.control.next",
    responses((status = 200, description = "What to do", body = ControlRequest)))]
async fn next(State(app): State<App>, _: Here) -> Result<Response, ApiError> {
    let told = app.controls().next();
    match app.closing().run_until_cancelled(told).await {
        Some(told) => Ok(reply::json(&told)),
        None => Err(ApiError::Engine(EngineError::Closing)),
    }
}

/// Reports the outcome of a request. It is ignored: the clients that made requests were answered at once.
#[utoipa::path(post, path = "/tui/control/response", operation_id = "tui.control.response",
    request_body = Value, responses((status = 200, description = "Heard", body = bool)))]
async fn response(_: Here, Payload(_): Payload<Value>) -> Response {
    reply::done()
}
