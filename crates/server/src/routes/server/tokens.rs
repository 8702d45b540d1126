//! Tokens for programs: create, list and revoke them.

use crate::access::tokens::{NewToken, Token, TokenError};
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::extract::{Params, Payload};
use crate::reply;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list, create)).routes(routes!(revoke))
}

/// A token that was just created. Its secret is only shown here.
#[derive(Serialize, ToSchema)]
struct CreatedToken {
    #[serde(flatten)]
    token: Token,
    secret: String,
}

/// The tokens there are, without their secrets.
#[utoipa::path(get, path = "/sturdy/token", operation_id = "sturdy.token.list",
    responses((status = 200, description = "Tokens", body = [Token])))]
async fn list(State(app): State<App>) -> Response {
    reply::json(&app.tokens().list())
}

/// Creates a token.
#[utoipa::path(post, path = "/sturdy/token", operation_id = "sturdy.token.create", request_body = NewToken,
    responses((status = 200, description = "The token and its secret", body = CreatedToken),
        (status = 400, description = "Bad body"), (status = 507, description = "It could not be written; there is no new token")))]
async fn create(State(app): State<App>, Payload(new): Payload<NewToken>) -> Result<Response, ApiError> {
    let now = app.engine().clock().now();
    let (token, secret) = app.on_a_thread(move |app| app.tokens().create(new, now)).await??;
    Ok(reply::json(&CreatedToken { token, secret }))
}

/// Revokes a token. Requests with it are refused from now on, and the streams and WebSockets it opened end.
#[utoipa::path(delete, path = "/sturdy/token/{tokenID}", operation_id = "sturdy.token.revoke",
    params(("tokenID" = String, Path)),
    responses((status = 200, description = "Whether there was one", body = bool)))]
async fn revoke(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let id = params.get("tokenID").to_owned();
    Ok(reply::json(&app.on_a_thread(move |app| app.tokens().revoke(&id)).await??))
}

impl From<TokenError> for ApiError {
    fn from(cause: TokenError) -> Self {
        match cause {
            TokenError::Bad(_) | TokenError::TooMany => Self::schema(Kind::Payload, cause.to_string()),
            TokenError::Unwritable(source) => Self::Unwritable { what: "tokens", source },
        }
    }
}
