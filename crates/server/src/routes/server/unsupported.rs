//! What the wire has and this version has not. A client is told so, instead of being told nothing
//! or something untrue.

use crate::described::Routes;
use crate::error::ApiError;
use axum::extract::Request;
use axum::routing::{MethodFilter, on};

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;
const DELETE: MethodFilter = MethodFilter::DELETE;

const ABSENT: &[(&str, MethodFilter)] = &[
    ("/experimental/control-plane/move-session", POST),
    ("/experimental/workspace", POST),
    ("/experimental/workspace/warp", POST),
    ("/experimental/workspace/{id}", DELETE),
    ("/experimental/project/{projectID}/copy", POST.or(DELETE)),
    ("/experimental/project/{projectID}/copy/refresh", POST),
    ("/experimental/project/{projectID}/copy/generate-name", POST),
    ("/provider/{providerID}/oauth/authorize", POST),
    ("/provider/{providerID}/oauth/callback", POST),
    ("/sync/replay", POST),
    ("/sync/history", POST),
    ("/tui/control/next", GET),
    ("/tui/control/response", POST),
    ("/api/session/{sessionID}/permission", POST),
];

/// Not part of the document: it describes what there is.
pub(super) fn routes() -> Routes {
    ABSENT.iter().fold(Routes::new(), |routes, (path, methods)| routes.route(path, on(*methods, not_built)))
}

async fn not_built(request: Request) -> ApiError {
    let method = request.method();
    let path = request.uri().path();
    ApiError::NotBuilt(format!("{method} {path} is not available in this version of Sturdy."))
}
