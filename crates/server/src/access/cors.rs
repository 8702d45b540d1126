//! Which web pages may use the API, and what their browsers are told.
//!
//! An origin is parsed and compared part by part; a text that only begins like a known one is another.
//!
//! Not here: what is refused because of it (`door.rs`).

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use url::{Host, Url};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, PUT, PATCH, POST, DELETE");
const MAX_AGE_SECONDS: HeaderValue = HeaderValue::from_static("86400");
const ON_ORIGIN: HeaderValue = HeaderValue::from_static("Origin");
const ON_HEADERS: HeaderValue = HeaderValue::from_static("Access-Control-Request-Headers");
const ON_BOTH: HeaderValue = HeaderValue::from_static("Access-Control-Request-Headers, Origin");
const ON_ENCODING: HeaderValue = HeaderValue::from_static("Accept-Encoding");
const ON_ORIGIN_AND_ENCODING: HeaderValue = HeaderValue::from_static("Origin, Accept-Encoding");

/// Desktop programs that show a web page of their own.
const DESKTOP: [&str; 4] =
    ["tauri://localhost", "http://tauri.localhost", "https://tauri.localhost", "oc://renderer"];
const HOSTED: &str = "opencode.ai";

/// Origins that were allowed by name, and the rules for all others.
#[derive(Debug)]
pub(crate) struct Origins {
    named: Vec<Site>,
}

/// What a request says about where it comes from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// No browser, or a page of our own.
    Absent,
    Allowed(HeaderValue),
    Other,
}

/// The parts of an origin. Two origins are the same if all three are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    scheme: String,
    host: Host<String>,
    port: Option<u16>,
}

impl Site {
    /// Reads `scheme://host[:port]`. None for anything that has more, or less: a path, a user, `null`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let (_, rest) = text.split_once("://")?;
        if rest.is_empty() || rest.contains(['/', '?', '#', '@', '\\']) {
            return None;
        }
        let host = match url.host()?.to_owned() {
            // Hosts of schemes that the URL standard does not know are opaque text, kept as written.
            Host::Domain(name) => Host::parse(&name).ok()?,
            address => address,
        };
        Some(Self { scheme: url.scheme().to_owned(), host, port: url.port_or_known_default() })
    }

    /// A page that was served by this machine, whatever its port.
    fn is_loopback(&self) -> bool {
        matches!(self.scheme.as_str(), "http" | "https") && is_loopback(&self.host)
    }

    fn is_hosted(&self) -> bool {
        let Host::Domain(name) = &self.host else { return false };
        let below = |name: &str| name.strip_suffix(HOSTED).is_some_and(|labels| labels.ends_with('.'));
        self.scheme == "https" && self.port == Some(443) && (name == HOSTED || below(name))
    }

    /// Whether a page of this origin was served under this `Host`.
    pub(crate) fn is_served_as(&self, host: &Authority) -> bool {
        let usual = if self.scheme == "https" { 443 } else { 80 };
        self.host == host.host && self.port == Some(host.port.unwrap_or(usual))
    }
}

/// A `Host` header: a name or an address, and maybe a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) host: Host<String>,
    pub(crate) port: Option<u16>,
}

impl Authority {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let authority: http::uri::Authority = text.parse().ok()?;
        if authority.as_str().contains('@') {
            return None;
        }
        let host = Host::parse(authority.host()).ok()?;
        Some(Self { host, port: authority.port_u16() })
    }
}

/// A name or address that never leaves this machine.
pub(crate) fn is_loopback(host: &Host<String>) -> bool {
    match host {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
    }
}

impl Origins {
    /// What is no origin allows nobody; the program refuses it before.
    pub(crate) fn new(named: &[String]) -> Self {
        Self { named: named.iter().filter_map(|origin| Site::parse(origin)).collect() }
    }

    pub(crate) fn judge(&self, headers: &HeaderMap) -> Origin {
        let Some(origin) = headers.get(header::ORIGIN) else { return Origin::Absent };
        match origin.to_str().ok().and_then(Site::parse) {
            Some(site) if self.allow(&site) => Origin::Allowed(origin.clone()),
            _ => Origin::Other,
        }
    }

    fn allow(&self, site: &Site) -> bool {
        let is_desktop = || DESKTOP.iter().any(|desktop| Site::parse(desktop).as_ref() == Some(site));
        site.is_loopback() || site.is_hosted() || self.named.contains(site) || is_desktop()
    }
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
