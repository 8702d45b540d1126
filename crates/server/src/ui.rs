//! The web page: its shell at the addresses a person opens, and its files.
//!
//! Only a navigation (`GET` that accepts HTML) to one of the page's addresses is answered with the shell;
//! everything else stays API. The shell holds nothing of anybody, so it needs no password. Files stand
//! below `/ui/{build}/`, where `build` names what is in them: they never change and are kept for ever.
//!
//! Not here: how its files are in the program (`packed.rs`), what the page asks for (`routes/`), the page itself (`web/`).

use crate::described::Routes;
use crate::error::no_route;
use crate::packed::{Packed, says};
use crate::reply::NeverPacked;
use axum::body::Body;
use axum::extract::{Path, Request};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Where a person can be on the page. An address below `/s/` names a session.
const ADDRESSES: [&str; 10] =
    ["/", "/board", "/asks", "/s/{sessionID}", "/new", "/search", "/usage", "/shares", "/settings", "/login"];

/// Where a person with a link looks at somebody's session: a page of its own, without a way into this one.
const SHARE: &str = "/share/{shareID}";

/// What a browser asks for by itself, beside the shell.
const AT_THE_ROOT: [&str; 6] = [
    "site.webmanifest",
    "favicon.svg",
    "icon-192.png",
    "icon-512.png",
    "icon-maskable.png",
    "apple-touch-icon.png",
];

/// Nothing but our own files, no framing, no forms, no markup from elsewhere.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
     worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

pub(crate) fn routes() -> Routes {
    let mut routes = share_routes();
    for address in ADDRESSES {
        routes = routes.route(address, get(shell));
    }
    routes
}

/// The page of a share, and the files it needs.
pub(crate) fn share_routes() -> Routes {
    let mut routes = Routes::new().route("/ui/{build}/{file}", get(asset)).route(SHARE, get(share_shell));
    for name in AT_THE_ROOT {
        routes = routes.route(&format!("/{name}"), get(move |headers: HeaderMap| root_file(name, headers)));
    }
    routes
}

/// Whether a request can only be answered with a file of the page, which holds nothing of anybody.
pub(crate) fn is_open_to_all(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let is_read = *method == Method::GET || *method == Method::HEAD;
    let is_file =
        path.starts_with("/ui/") || AT_THE_ROOT.iter().any(|name| path.strip_prefix('/') == Some(name));
    let is_address = || {
        let is_named = |id: &str| !id.is_empty() && !id.contains('/');
        let named = ["/s/", "/share/"].iter().any(|at| path.strip_prefix(at).is_some_and(is_named));
        named || ADDRESSES.contains(&path)
    };
    is_read && (is_file || (accepts_html(headers) && is_address()))
}

/// Which build of the page this is; the page compares it with its own.
pub(crate) fn build() -> &'static str {
    env!("STURDY_PAGE_BUILD")
}

async fn shell(request: Request) -> Response {
    shell_of("index.html", request).await
}

async fn share_shell(request: Request) -> Response {
    let mut response = shell_of("share.html", request).await;
    let robots = HeaderName::from_static("x-robots-tag");
    response.headers_mut().insert(robots, HeaderValue::from_static("noindex"));
    response
}

async fn shell_of(name: &str, request: Request) -> Response {
    if !accepts_html(request.headers()) {
        return no_route(request).await.into_response();
    }
    let mut response = send(name, request.headers(), ASK_AGAIN);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
    response
}

/// The reader of an exported session, without the session.
pub(crate) fn viewer() -> String {
    let file = FILES.iter().find(|file| file.name == "viewer.html").expect("BUG: the page has a viewer");
    String::from_utf8(file.unpack()).expect("BUG: the viewer is text")
}

async fn root_file(name: &'static str, headers: HeaderMap) -> Response {
    send(name, &headers, ASK_AGAIN)
}

async fn asset(Path((wanted, file)): Path<(String, String)>, request: Request) -> Response {
    // The shell only names files of its own build; a page that was left open is told that it is old.
    if wanted != build() || file.ends_with(".html") {
        return no_route(request).await.into_response();
    }
    match FILES.iter().any(|packed| packed.name == file) {
        true => send(&file, request.headers(), FOR_EVER),
        false => no_route(request).await.into_response(),
    }
}

fn send(name: &str, asked: &HeaderMap, keep: HeaderValue) -> Response {
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = format!("\"{}\"", build());
    let is_known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known { not_modified() } else { file.answer(asked) };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind(name));
    headers.insert(header::CACHE_CONTROL, keep);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let same_origin = HeaderValue::from_static("same-origin");
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), same_origin.clone());
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), same_origin);
    response
}

fn not_modified() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.extensions_mut().insert(NeverPacked);
    response
}

fn kind(name: &str) -> HeaderValue {
    HeaderValue::from_static(match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        _ => "text/plain; charset=utf-8",
    })
}

fn accepts_html(headers: &HeaderMap) -> bool {
    says(headers, &header::ACCEPT, "text/html")
}
