//! What every request passes on its way in and out: who may ask, cross-origin rules, password, compression, panics.

use crate::access::auth::{self, Refused};
use crate::access::caller::Caller;
use crate::access::devices::PAGE_HEADER;
use crate::access::door::{Ends, Forbidden};
use crate::access::tokens::Presented;
use crate::access::{cors, door};
use crate::app::App;
use crate::error::{self, ApiError, Dialect, no_route};
use crate::grants::standing;
use crate::reply::NeverPacked;
use crate::routes::server::login;
use crate::routes::sessions::ticket;
use crate::streams::{Program, stream_until};
use crate::wire::query::Query;
use crate::{grants, reply, share, sse, ui};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::header::{self, HeaderMap};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Extensions, HeaderValue, Method, StatusCode, Uri, Version};
use serde_json::json;
use std::any::Any;
use std::net::IpAddr;
use std::time::Instant;
use sturdy_engine::behalf::on_behalf;
use sturdy_store::share::SturdyRef;
use tower::ServiceBuilder;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate as _, SizeAbove};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, debug, info_span};

/// `00-<trace>-<span>-<flags>`, as the W3C has it.
const TRACEPARENT_CHARS: usize = 55;

/// Smaller bodies go out as they are: packing them costs more than sending them.
const COMPRESS_BYTES_MIN: u16 = 1024;

/// Names a request in its answer and in the lines that are logged about it.
const REQUEST_ID: &str = "x-request-id";
const REQUEST_ID_BYTES_MAX: usize = 64;

/// Wraps the routes.
pub(crate) fn around(routes: Router, app: &App) -> Router {
    // The quickest way to pack: whoever asks waits for it, and most of them are on this machine.
    let packing = CompressionLayer::new().quality(CompressionLevel::Fastest);
    // Around all routes together: `Router::layer` would wrap each of them.
    let inside = ServiceBuilder::new()
        .layer(from_fn_with_state(app.clone(), gate))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(packing.compress_when(SizeAbove::new(COMPRESS_BYTES_MIN).and(is_packable)))
        .service(routes.fallback(no_route));
    Router::new().fallback_service(inside)
}

async fn gate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    // Before anybody judges the path.
    if let Some(plain) = without_empty_segments(request.uri()) {
        *request.uri_mut() = plain;
    }
    let path = request.uri().path().to_owned();
    let id = request_id(request.headers());
    let answered = answer_admitted(app, request, &id, next).await;
    let mut answered = error::in_words_of(&path, answered);
    // Whoever is turned away at the door may name it too.
    if let Ok(id) = HeaderValue::from_str(&id) {
        answered.headers_mut().insert(REQUEST_ID, id);
    }
    answered
}

/// The same address without empty segments: a client that is given `http://host/` as its base asks for `//session`.
/// None if there are none.
fn without_empty_segments(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if path == "/" || !(path.ends_with('/') || path.contains("//")) {
        return None;
    }
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let mut plain: String = segments.flat_map(|segment| ["/", segment]).collect();
    if plain.is_empty() {
        plain.push('/');
    }
    if let Some(query) = uri.query() {
        plain.push('?');
        plain.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(plain).ok()?);
    Uri::from_parts(parts).ok()
}

async fn answer_admitted(app: App, request: Request, id: &str, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let names = app.password().is_none().then(|| app.names());
    if let Err(refused) = door::refuse(names, app.origins(), &parts) {
        return forbidden(parts.uri.path(), &refused);
    }
    if let Err(refused) = door::refuse_own_command(&parts).await {
        return forbidden(parts.uri.path(), &refused);
    }
    let origin = app.origins().judge(&parts.headers);
    if parts.method == Method::OPTIONS {
        return cors::preflight(&origin, &parts.headers);
    }
    let peer = parts.extensions.get::<Ends>().map(|ends| ends.theirs.ip());
    let is_open = ui::is_open_to_all(&parts.method, parts.uri.path(), &parts.headers)
        || share::concerns(&app, parts.uri.path())
        || parts.uri.path() == login::OPEN_TO_ALL
        || is_read_with_ticket(&parts);
    let is_page = parts.headers.contains_key(PAGE_HEADER);
    let admitted = if is_open { Ok(Admission::of(Caller::Anyone)) } else { admit(&app, &parts, peer).await };
    let mut response = match admitted {
        Ok(Admission { caller, renewed }) => {
            let span = request_span(id, &caller, &parts);
            let behalf = grants::behalf(&caller, &parts);
            parts.extensions.insert(caller.clone());
            let answered = on_behalf(behalf, answer(&app, parts, body, next)).instrument(span);
            let mut response = match caller {
                Caller::Grant(granted) => grants::while_it_stands(&app, &granted, answered).await,
                // An event stream ends with the token or the login that opened it.
                Caller::Device(_) | Caller::Token { .. } => {
                    stream_until(answered.await, standing::ended(app.clone(), caller).map(drop))
                }
                Caller::Anyone | Caller::User(_) | Caller::Ticket => answered.await,
            };
            if let Some(cookie) = renewed {
                // An answer that takes the cookie away, or gives another, has the last word.
                response.headers_mut().entry(header::SET_COOKIE).or_insert(cookie);
            }
            response
        }
        Err(Refused::Unknown) => unauthorised(parts.uri.path(), is_page),
        Err(Refused::TooMany) => ApiError::TooManyAttempts.into_response(),
        Err(Refused::TooOften(wait)) => ApiError::TooOften { wait }.into_response(),
        Err(Refused::Scope) => ApiError::Scope.into_response(),
        Err(Refused::Grant(refusal)) => ApiError::Grant(refusal).into_response(),
        Err(Refused::Unanswered) => {
            let why = "The store does not respond. Try again in a moment.";
            ApiError::Overloaded(why.to_owned()).into_response()
        }
    };
    cors::stamp(origin, response.headers_mut());
    response
}

/// Somebody who is let in.
struct Admission {
    caller: Caller,
    /// The cookie of a browser that comes again, for another while.
    renewed: Option<HeaderValue>,
}

impl Admission {
    fn of(caller: Caller) -> Self {
        Self { caller, renewed: None }
    }
}

/// A download that shows a ticket and nothing else.
fn is_read_with_ticket(request: &Parts) -> bool {
    let is_read = matches!(request.method, Method::GET | Method::HEAD);
    is_read && request.uri.path().starts_with(ticket::OPEN_TO_ALL)
}

/// What log lines and traces say of a request. A client that traces what it does names its own span.
fn request_span(id: &str, caller: &Caller, parts: &Parts) -> Span {
    let method = &parts.method;
    let span = info_span!(
        "request",
        id,
        actor = %caller,
        %method,
        route = Empty,
        status = Empty,
        traceparent = Empty
    );
    let parent = parts.headers.get("traceparent").and_then(|value| value.to_str().ok());
    let is_wellformed = |text: &&str| {
        text.len() == TRACEPARENT_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    };
    if let Some(parent) = parent.filter(is_wellformed) {
        span.record("traceparent", parent);
    }
    span
}

async fn answer(app: &App, parts: Parts, body: Body, next: Next) -> Response {
    let begun = Instant::now();
    let response = if is_stream(&parts) {
        stream(app, Request::from_parts(parts, body), next).await
    } else {
        next.run(Request::from_parts(parts, body)).await
    };
    let status = response.status().as_u16();
    Span::current().record("status", status);
    let took_ms = begun.elapsed().as_millis() as u64;
    // Without the path: it may hold what a user wrote.
    debug!(took_ms, "answered");
    response
}

/// Who asks, if they are let in.
async fn admit(app: &App, request: &Parts, peer: Option<IpAddr>) -> Result<Admission, Refused> {
    let now = app.engine().clock().now();
    if let Some(secret) = auth::bearer(request) {
        if let Some(reference) = SturdyRef::parse(&secret) {
            return grants::admit(app, reference, request).await.map(Admission::of);
        }
        let caller = match app.tokens().present(&secret, now) {
            Presented::Known { token, needs_saving } => {
                if needs_saving {
                    app.write_down(|app| app.tokens().save_uses());
                }
                Caller::token(token)
            }
            Presented::Unknown => return Err(Refused::Unknown),
            Presented::TooOften(wait) => return Err(Refused::TooOften(wait)),
        };
        return if caller.may(request) { Ok(Admission::of(caller)) } else { Err(Refused::Scope) };
    }
    if let Some(device) = app.devices().admits(&request.headers, now) {
        let renewed = device.needs_saving.then(|| login::renewed_cookie(app, request)).flatten();
        if device.needs_saving {
            app.write_down(|app| app.devices().save());
        }
        return Ok(Admission { caller: Caller::Device(device.id), renewed });
    }
    let Some(password) = app.password() else { return Ok(Admission::of(Caller::Anyone)) };
    // A ticket is not a guess at the password; the handler checks the rest of it.
    if app.terminals().admits(request) {
        return Ok(Admission::of(Caller::Ticket));
    }
    password.admits(request, app.guesses(), peer).await?;
    Ok(Admission::of(Caller::User(password.user().to_owned())))
}

/// The id a client gave its request, if it is one that can be repeated in a log line; else a fresh one.
fn request_id(headers: &HeaderMap) -> String {
    let is_plain = |id: &&str| {
        let letters = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        letters && (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
    };
    let said = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(is_plain);
    said.map_or_else(|| format!("req_{:016x}", rand::random::<u64>()), str::to_owned)
}

/// Whether this is answered with an event stream.
fn is_stream(request: &Parts) -> bool {
    let path = request.uri.path();
    let is_of_a_share = path.starts_with("/api/share/") && path.ends_with("/events");
    request.method == Method::GET && (path.ends_with("/event") || is_of_a_share)
}

async fn stream(app: &App, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // A client that knows our events goes on listening after its answer.
    let program = (!sse::is_ours(&Query::of(&parts))).then(|| Program::of(&parts));
    let Some(place) = app.streams().open(program) else {
        let why = "Too many event streams are open. Close one, or try again later.";
        return ApiError::Overloaded(why.to_owned()).into_response();
    };
    next.run(Request::from_parts(parts, body)).await.map(|body| place.watch(body))
}

/// The page asks for the password itself; a challenge would make the browser ask first.
fn unauthorised(path: &str, is_page: bool) -> Response {
    let mut response = match Dialect::of(path) {
        Dialect::First => StatusCode::UNAUTHORIZED.into_response(),
        Dialect::Second => {
            let body = json!({ "_tag": "UnauthorizedError", "message": "Authentication required" });
            reply::json_with(StatusCode::UNAUTHORIZED, &body)
        }
    };
    if is_page {
        return response;
    }
    let challenge = HeaderValue::from_static("Basic realm=\"Secure Area\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

fn forbidden(path: &str, why: &Forbidden) -> Response {
    let message = error::shown(&why.to_string());
    let body = match Dialect::of(path) {
        Dialect::First => json!({ "name": "ForbiddenError", "data": { "message": message } }),
        Dialect::Second => json!({ "_tag": "ForbiddenError", "message": message }),
    };
    reply::json_with(StatusCode::FORBIDDEN, &body)
}

/// A bug of ours costs one answer, and its text stays in our log.
fn panicked(cause: Box<dyn Any + Send + 'static>) -> Response {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("(no text)");
    let reference = error::reference();
    tracing::error!(%reference, text, "a handler panicked");
    ApiError::Unforeseen { reference }.into_response()
}

/// Text worth packing that nobody forbade to change.
fn is_packable(_: StatusCode, _: Version, headers: &HeaderMap, extensions: &Extensions) -> bool {
    extensions.get::<NeverPacked>().is_none() && is_text(headers) && !forbids_change(headers)
}

fn is_text(headers: &HeaderMap) -> bool {
    const APPLICATIONS: [&str; 4] =
        ["application/json", "application/javascript", "application/xml", "application/wasm"];
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    (kind.starts_with("text/") && kind != "text/event-stream")
        || APPLICATIONS.contains(&kind)
        || kind.starts_with("font/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

fn forbids_change(headers: &HeaderMap) -> bool {
    let control = headers.get(header::CACHE_CONTROL).and_then(|control| control.to_str().ok());
    control.is_some_and(|control| control.split(',').any(|word| word.trim() == "no-transform"))
}

#[cfg(test)]
mod tests;
