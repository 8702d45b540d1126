//! Cap'n Web at `/rpc`: a POST is a whole session, an upgrade is a WebSocket, anything else is refused.
//!
//! Whoever connects gets a root and nothing else; every other object is reached through one that was
//! handed out before, and answers for itself alone. Passwords and origins are checked by `edge.rs`
//! before a request comes here.
//!
//! Children: `root` (the first object), `granted` (the same for whoever shows a grant), `sessions`, `session` and `grants` (what it leads to), `subscription`
//! (events to a callback), `socket` (the WebSocket), `caller` (on whose behalf a call is made), `value`
//! (records as values), `failure` (errors as values).
//!
//! Not here: the protocol (`sturdy-capnweb`), the words of errors (`error.rs`).

mod caller;
mod failure;
mod granted;
mod grants;
mod root;
mod session;
mod sessions;
mod shares;
mod socket;
mod subscription;
mod value;

pub(crate) use failure::thrown;

use crate::access::caller::Caller as Asking;
use crate::app::App;
use crate::connections::SOCKETS_MAX;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract;
use crate::grants::address;
use crate::reply;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodFilter, get};
use caller::{Caller, Transport};
use http::StatusCode;
use http::header::{self, HeaderValue};
use http::request::Parts;
use serde_json::json;
use sturdy_capnweb::wire::READ_BUFFER_BYTES;
use sturdy_capnweb::{Limits, Options, Stub, batch};
use sturdy_session::depth::LEVELS_MAX;
use tokio::sync::OwnedSemaphorePermit;

/// A message a little over the limit gets an answer that says so, and not a torn line.
const FRAME_SLACK_BYTES: usize = 64 * 1024;

/// Arguments are as deep as a body may be. A list in them is two brackets, and the call around them some more.
const BRACKETS_MAX: usize = 2 * LEVELS_MAX + 18;

/// Methods that mean nothing here.
const OTHERS: MethodFilter = MethodFilter::PUT
    .or(MethodFilter::PATCH)
    .or(MethodFilter::DELETE)
    .or(MethodFilter::TRACE)
    .or(MethodFilter::CONNECT);

pub(crate) fn routes() -> Routes {
    Routes::new().routes(routes!(post)).route("/rpc", get(upgrade).on(OTHERS, refuse))
}

/// A Cap'n Web session in one request. An upgrade of the same address is one over a WebSocket.
#[utoipa::path(post, path = "/rpc", operation_id = "rpc.batch",
    request_body(content = String, content_type = "text/plain", description = "Messages, one per line"),
    responses((status = 200, description = "Messages, one per line", content_type = "text/plain", body = String),
        (status = 403, description = "A page of another site"),
        (status = 408, description = "The body did not arrive in time"), (status = 413, description = "Too large"),
        (status = 415, description = "Not text")))]
async fn post(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let root = first_object(&app, &parts);
    answer_batch(&app, Request::from_parts(parts, body), root).await
}

/// Serves a batch whose first object is `root`.
pub(crate) async fn answer_batch(app: &App, request: Request, root: Stub) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let options = options(Caller::new(asking(&parts), Transport::Batch));
    let patience = options.limits.batch_deadline;
    let body = extract::read(&parts, body, options.limits.batch_bytes_max).await;
    let body = body.map_err(|unread| unread.refuse(app))?;

    let deadline = async {
        tokio::select! {
            () = tokio::time::sleep(patience) => {}
            () = app.closing().cancelled() => {}
        }
    };
    Ok(match batch::serve_until(root, &body, options, deadline).await {
        Ok(answer) => {
            let mut response = Response::new(answer.into());
            let kind = HeaderValue::from_static(batch::CONTENT_TYPE);
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Err(refused) => {
            let status = StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::BAD_REQUEST);
            reply::plain(status, refused.to_string())
        }
    })
}

async fn upgrade(
    State(app): State<App>,
    parts: Parts,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let root = first_object(&app, &parts);
    let place = app.sockets().take();
    answer_upgrade(app, upgrade, root, asking(&parts), place).await
}

/// The first object of a connection: everything, or one session for whoever shows a grant.
fn first_object(app: &App, request: &Parts) -> Stub {
    match asking(request) {
        Asking::Grant(granted) => granted::stub(app, granted, address(request)),
        who => root::stub(app, who, address(request)),
    }
}

/// Who asks, as the edge found out.
fn asking(request: &Parts) -> Asking {
    request.extensions.get::<Asking>().cloned().unwrap_or(Asking::Anyone)
}

/// Talks over a WebSocket, with `root` as the first object, as long as there is a place for one more.
pub(crate) async fn answer_upgrade(
    app: App,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    root: Stub,
    who: Asking,
    place: Option<OwnedSemaphorePermit>,
) -> Response {
    let Ok(upgrade) = upgrade else { return refuse().await };
    let Some(place) = place else { return come_back() };

    let frame_bytes_max = Limits::default().message_bytes_max + FRAME_SLACK_BYTES;
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(frame_bytes_max)
        .max_frame_size(frame_bytes_max);
    upgrade.on_upgrade(move |socket| async move {
        let talk = socket::converse(app.clone(), socket, root, who);
        // In a task of the engine, so that its end is waited for when the server closes.
        let talking = app.engine().tasks().spawn("rpc", async move {
            talk.await;
            drop(place);
        });
        let _ = talking.await;
    })
}

/// How a session with this caller behaves.
fn options(caller: Caller) -> Options {
    let mut options = Options::default().with_context(caller);
    // A record may hold any name a person or a model wrote. An npm client leaves out the few that
    // every object has; to refuse the whole record for one of them would help nobody.
    options.allow_dropped_names = true;
    options.limits.bracket_depth_max = BRACKETS_MAX;
    options
}

async fn refuse() -> Response {
    let message = "This URL accepts a POST with a Cap'n Web batch, or a WebSocket connection.";
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowedError", message);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, POST"));
    response
}

fn come_back() -> Response {
    let message =
        format!("{SOCKETS_MAX} WebSockets are open, which is the most. Close one, or try again later.");
    let mut response = refusal(StatusCode::SERVICE_UNAVAILABLE, "OverloadedError", &message);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn refusal(status: StatusCode, name: &str, message: &str) -> Response {
    reply::json_with(status, &json!({ "name": name, "data": { "message": message } }))
}
