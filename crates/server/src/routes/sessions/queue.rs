//! Waiting prompts: list them, withdraw one, resume them.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfMessage, OfSession};
use crate::reply;
use crate::wire::message::joined;
use axum::extract::State;
use axum::response::Response;
use sturdy_session::types::message::MessageWithParts;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list)).routes(routes!(withdraw)).routes(routes!(resume))
}

/// The waiting prompts, in the order they will be answered.
#[utoipa::path(get, path = "/sturdy/session/{sessionID}/queue", operation_id = "sturdy.session.queue",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "Messages with parts", body = [MessageWithParts]),
        (status = 404, description = "No such session")))]
async fn list(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    let waiting = app.engine().waiting(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::text(reply::array(waiting.iter().map(joined))))
}

/// Withdraws a waiting prompt and removes its message.
#[utoipa::path(delete, path = "/sturdy/session/{sessionID}/queue/{messageID}", operation_id = "sturdy.session.withdraw",
    params(("sessionID" = String, Path), ("messageID" = String, Path)),
    responses((status = 200, description = "Taken back", body = bool), (status = 404, description = "It does not wait"),
        (status = 409, description = "It is being taken up this moment")))]
async fn withdraw(
    State(app): State<App>,
    OfMessage(session, message): OfMessage,
) -> Result<Response, ApiError> {
    app.engine().withdraw(&session, &message).await.map_err(ApiError::of(&session))?;
    Ok(reply::done())
}

/// Answers prompts that a restart or a stop left waiting.
#[utoipa::path(post, path = "/sturdy/session/{sessionID}/resume", operation_id = "sturdy.session.resume",
    params(("sessionID" = String, Path)),
    responses((status = 200, description = "They are being answered, or none waits", body = bool),
        (status = 404, description = "No such session")))]
async fn resume(State(app): State<App>, OfSession(id): OfSession) -> Result<Response, ApiError> {
    app.engine().resume(&id).await.map_err(ApiError::of(&id))?;
    Ok(reply::done())
}
