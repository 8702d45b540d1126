//! Sending a prompt: the request waits for the answer, or only until the prompt is stored.
//!
//! It is durable before anybody is answered. Whoever waits may go away: the turn goes on.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{OfSession, PROMPT_BYTES_MAX, Payload};
use crate::reply;
use crate::reply::NeverPacked;
use crate::streams::Program;
use crate::wire::body::Prompt;
use crate::wire::message::joined;
use axum::extract::State;
use axum::response::Response;
use sturdy_session::types::message::MessageWithParts;

type PromptPayload = Payload<Prompt, PROMPT_BYTES_MAX>;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(prompt)).routes(routes!(prompt_async))
}

/// Asks, waits for the end of the turn, and answers with its last message.
#[utoipa::path(post, path = "/session/{sessionID}/message", operation_id = "session.prompt",
    params(("sessionID" = String, Path)), request_body = Prompt,
    responses((status = 200, description = "Message with parts", body = MessageWithParts),
        (status = 400, description = "Bad body, unknown agent or model"), (status = 404, description = "No such session"),
        (status = 409, description = "The message id is taken"), (status = 413, description = "Body too large")))]
async fn prompt(
    State(app): State<App>,
    program: Program,
    OfSession(id): OfSession,
    Payload(body): PromptPayload,
) -> Result<Response, ApiError> {
    let engine = app.engine();
    let wants_reply = body.wants_reply();
    let asked = engine.prompt(&id, body.into()).await.map_err(ApiError::of(&id))?;
    let answer = if wants_reply {
        let answer = engine.answer(&id, &asked).await.map_err(ApiError::of(&id))?;
        // The command line client stops listening when it has its answer.
        app.streams().sent(&program).await;
        answer
    } else {
        engine.reads().message(&id, &asked).await?.ok_or(ApiError::NoMessage(asked))?
    };
    let mut response = reply::streamed(joined(&answer));
    response.extensions_mut().insert(NeverPacked);
    Ok(response)
}

/// Sends a prompt and answers as soon as it is stored; the answer to it comes on the event stream.
#[utoipa::path(post, path = "/session/{sessionID}/prompt_async", operation_id = "session.prompt_async",
    params(("sessionID" = String, Path)), request_body = Prompt,
    responses((status = 204, description = "Stored"), (status = 400, description = "Bad body, unknown agent or model"),
        (status = 404, description = "No such session"), (status = 409, description = "The message id is taken"),
        (status = 413, description = "Body too large")))]
async fn prompt_async(
    State(app): State<App>,
    OfSession(id): OfSession,
    Payload(body): PromptPayload,
) -> Result<Response, ApiError> {
    app.engine().prompt(&id, body.into()).await.map_err(ApiError::of(&id))?;
    Ok(reply::no_content())
}
