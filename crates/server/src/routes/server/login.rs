//! Logging a browser in and out: by password, or by a code that is good once.

use crate::access::devices::{cookie, cookie_name};
use crate::access::door::Ends;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::reply;
use crate::wire::shapes::own::DeviceInfo;
use crate::wire::shapes::own::LoginCodeMade;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(login))
        .routes(routes!(login_once))
        .routes(routes!(code))
        .routes(routes!(logout))
        .routes(routes!(devices))
        .routes(routes!(forget))
}

/// Needs no password: the code is one.
pub(crate) const OPEN_TO_ALL: &str = "/sturdy/login/once";

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OneTimeCode {
    code: String,
}

/// Logs a browser in; the answer sets a cookie. The password is sent with the request as basic authentication, as anywhere else.
#[utoipa::path(post, path = "/sturdy/login", operation_id = "sturdy.login",
    responses((status = 200, description = "The cookie is set", body = bool), (status = 401, description = "Wrong password"),
        (status = 429, description = "Too many wrong passwords")))]
async fn login(
    State(app): State<App>,
    ends: Option<Extension<Ends>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    admit(&app, ends, &headers).await
}

/// Logs a browser in with a code of `/sturdy/login/code`; the answer sets a cookie.
#[utoipa::path(post, path = "/sturdy/login/once", operation_id = "sturdy.login.once", request_body = OneTimeCode,
    responses((status = 200, description = "The cookie is set", body = bool), (status = 401, description = "Used, or too old")))]
async fn login_once(
    State(app): State<App>,
    ends: Option<Extension<Ends>>,
    headers: HeaderMap,
    Payload(body): Payload<OneTimeCode>,
) -> Result<Response, ApiError> {
    if app.devices().redeem(&body.code, app.engine().clock().now()) {
        return admit(&app, ends, &headers).await;
    }
    let message = "The code was used already, or is older than two minutes";
    let body = json!({ "name": "LoginError", "data": { "message": message } });
    Ok(reply::json_with(StatusCode::UNAUTHORIZED, &body))
}

/// A code that logs in one more browser within two minutes.
#[utoipa::path(post, path = "/sturdy/login/code", operation_id = "sturdy.login.code",
    responses((status = 200, description = "`{code}`", body = LoginCodeMade)))]
async fn code(State(app): State<App>) -> Response {
    reply::json(&json!({ "code": app.devices().code(app.engine().clock().now()) }))
}

/// Logs the browser out and removes its cookie.
#[utoipa::path(post, path = "/sturdy/logout", operation_id = "sturdy.logout",
    responses((status = 200, description = "Whether this browser was logged in", body = bool)))]
async fn logout(
    State(app): State<App>,
    ends: Option<Extension<Ends>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let sent = headers.clone();
    let was_in = app.on_a_thread(move |app| app.devices().forget(None, &sent)).await?;
    let mut response = reply::json(&was_in);
    set_cookie(&mut response, ends, &headers, "");
    Ok(response)
}

/// Browsers that are logged in.
#[utoipa::path(get, path = "/sturdy/devices", operation_id = "sturdy.devices",
    responses((status = 200, description = "`[{id, label, created, seen}]`", body = [DeviceInfo])))]
async fn devices(State(app): State<App>) -> Response {
    let shown: Vec<Value> = app.devices().list().iter().map(|device| {
        json!({ "id": device.id, "label": device.label, "created": device.created, "seen": device.seen })
    }).collect();
    reply::json(&shown)
}

/// Logs another browser out.
#[utoipa::path(delete, path = "/sturdy/devices/{deviceID}", operation_id = "sturdy.devices.forget",
    params(("deviceID" = String, Path)),
    responses((status = 200, description = "Whether it was logged in", body = bool)))]
async fn forget(State(app): State<App>, params: Params) -> Result<Response, ApiError> {
    let id = params.get("deviceID").to_owned();
    let was_in = app.on_a_thread(move |app| app.devices().forget(Some(&id), &HeaderMap::new())).await?;
    Ok(reply::json(&was_in))
}

async fn admit(app: &App, ends: Option<Extension<Ends>>, headers: &HeaderMap) -> Result<Response, ApiError> {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let agent = agent.unwrap_or("unknown").to_owned();
    let now = app.engine().clock().now();
    let token = app.on_a_thread(move |app| app.devices().admit(&agent, now)).await?;
    let mut response = reply::done();
    set_cookie(&mut response, ends, headers, &token);
    Ok(response)
}

/// The cookie that a browser sent, good for another while: the server counts its life from its last use, and so
/// must the browser.
pub(crate) fn renewed_cookie(app: &App, request: &Parts) -> Option<HeaderValue> {
    let token = app.devices().known_token(&request.headers)?;
    Some(cookie_of(request.extensions.get::<Ends>(), &request.headers, token))
}

fn set_cookie(response: &mut Response, ends: Option<Extension<Ends>>, headers: &HeaderMap, token: &str) {
    let ends = ends.map(|Extension(ends)| ends);
    response.headers_mut().insert(header::SET_COOKIE, cookie_of(ends.as_ref(), headers, token));
}

fn cookie_of(ends: Option<&Ends>, headers: &HeaderMap, token: &str) -> HeaderValue {
    let is_secure = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let port = ends.map_or(0, |ends| ends.ours.port());
    let text = cookie(&cookie_name(port, is_secure), token, is_secure);
    HeaderValue::from_str(&text).expect("BUG: a cookie is plain text")
}
