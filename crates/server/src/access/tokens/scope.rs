//! What a token allows.
//!
//! Whoever may prompt may run commands: that is what an agent does. So there is no scope between reading and writing; what
//! stands above writing is who may use the server, with which secrets, and whether it runs.

use http::request::Parts;
use http::{Method, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// `/metrics` and the health of the server.
    Metrics,
    /// Everything that reads.
    Read,
    /// Sessions, prompts, files and terminals as well.
    Write,
    /// Everything, also tokens, stored keys, settings and the end of the server.
    Admin,
}

/// Changed only by an administrator, and the first of them read only by one.
const FOR_ADMINS: [&str; 12] = [
    "/sturdy/grant",
    "/sturdy/token",
    "/sturdy/devices",
    "/sturdy/login",
    "/sturdy/share/import",
    "/auth",
    "/api/credential",
    "/api/integration",
    "/config",
    "/global",
    "/instance/dispose",
    "/sturdy/trust",
];
/// How many of them are not for the eyes of others either.
const HIDDEN: usize = 4;

impl Scope {
    pub(crate) fn allows(self, request: &Parts) -> bool {
        let path = request.uri.path();
        match self {
            Self::Metrics => reads(request) && matches!(path, "/metrics" | "/global/health" | "/api/health"),
            Self::Read => (reads(request) || makes_ticket(request)) && !is_below(path, &FOR_ADMINS[..HIDDEN]),
            Self::Write => {
                !is_below(path, &FOR_ADMINS[..HIDDEN]) && (reads(request) || !is_below(path, &FOR_ADMINS))
            }
            Self::Admin => true,
        }
    }
}

/// A ticket opens nothing that whoever fetches it cannot read.
fn makes_ticket(request: &Parts) -> bool {
    request.method == Method::POST && request.uri.path() == "/sturdy/ticket"
}

fn is_below(path: &str, prefixes: &[&str]) -> bool {
    prefixes
        .iter()
        .any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Takes what it answers away from whoever it was meant for.
const TAKES: &str = "/tui/control/next";

/// A connection that is upgraded carries whatever its ends like.
fn reads(request: &Parts) -> bool {
    matches!(request.method, Method::GET | Method::HEAD)
        && !request.headers.contains_key(header::UPGRADE)
        && request.uri.path() != TAKES
}
