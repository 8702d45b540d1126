//! Which web pages may use the API (spec: http-api §1.2).

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, PUT, PATCH, POST, DELETE");
const MAX_AGE_SECONDS: HeaderValue = HeaderValue::from_static("86400");
const ON_ORIGIN: HeaderValue = HeaderValue::from_static("Origin");
const ON_HEADERS: HeaderValue = HeaderValue::from_static("Access-Control-Request-Headers");
const ON_BOTH: HeaderValue = HeaderValue::from_static("Access-Control-Request-Headers, Origin");
const ON_ENCODING: HeaderValue = HeaderValue::from_static("Accept-Encoding");
const ON_ORIGIN_AND_ENCODING: HeaderValue = HeaderValue::from_static("Origin, Accept-Encoding");

/// Pages on this machine, whatever their port.
const LOCAL: [&str; 2] = ["http://localhost:", "http://127.0.0.1:"];
/// Desktop programs that show a web page of their own.
const DESKTOP: [&str; 3] = ["tauri://localhost", "http://tauri.localhost", "https://tauri.localhost"];
const DESKTOP_SCHEME: &str = "oc://renderer";
const HOSTED: &str = "opencode.ai";

/// Origins that were allowed by name, and the rules for all others.
#[derive(Debug)]
pub(crate) struct Origins {
    named: Vec<String>,
}

/// What a request says about where it comes from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// No browser, or a page of our own.
    Absent,
    Allowed(HeaderValue),
    Other,
}

impl Origins {
    pub(crate) fn new(named: Vec<String>) -> Self {
        Self { named }
    }

    pub(crate) fn judge(&self, headers: &HeaderMap) -> Origin {
        let Some(origin) = headers.get(header::ORIGIN) else { return Origin::Absent };
        match origin.to_str() {
            Ok(text) if self.allow(text) => Origin::Allowed(origin.clone()),
            _ => Origin::Other,
        }
    }

    fn allow(&self, origin: &str) -> bool {
        let is_hosted = || {
            let host = origin.strip_prefix("https://");
            host.is_some_and(|host| host == HOSTED || host.strip_suffix(HOSTED).is_some_and(is_subdomain))
        };
        LOCAL.iter().any(|local| origin.starts_with(local))
            || DESKTOP.contains(&origin)
            || origin.starts_with(DESKTOP_SCHEME)
            || is_hosted()
            || self.named.iter().any(|named| named == origin)
    }
}

/// What stands before the domain: one or more labels, each with its dot.
fn is_subdomain(labels: &str) -> bool {
    labels.ends_with('.')
        && labels.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
}

/// The answer to a browser that asks before it sends. Needs no password.
pub(crate) fn preflight<B: Default>(origin: &Origin, asked: &HeaderMap) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    if let Origin::Allowed(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    if let Some(wanted) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_SECONDS);
    let varies = if matches!(origin, Origin::Other) { ON_HEADERS } else { ON_BOTH };
    headers.insert(header::VARY, varies);
    response
}

/// Adds to an ordinary answer what a browser wants to know.
pub(crate) fn stamp(origin: Origin, headers: &mut HeaderMap) {
    const ENCODING: HeaderName = header::CONTENT_ENCODING;
    let is_encoded = headers.contains_key(ENCODING);
    let varies = match (&origin, is_encoded) {
        (Origin::Other, false) => None,
        (Origin::Other, true) => Some(ON_ENCODING),
        (_, false) => Some(ON_ORIGIN),
        (_, true) => Some(ON_ORIGIN_AND_ENCODING),
    };
    match varies {
        Some(varies) => headers.insert(header::VARY, varies),
        None => headers.remove(header::VARY),
    };
    if let Origin::Allowed(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
}
