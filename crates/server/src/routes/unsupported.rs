//! What the wire has and this version has not. A client is told so, instead of being told nothing
//! or something untrue.

use crate::described::Routes;
use crate::error::ApiError;
use axum::extract::Request;
use axum::routing::{MethodFilter, on};

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;
const PUT: MethodFilter = MethodFilter::PUT;
const PATCH: MethodFilter = MethodFilter::PATCH;
const DELETE: MethodFilter = MethodFilter::DELETE;

const ABSENT: &[(&str, MethodFilter)] = &[
    ("/global/upgrade", POST),
    ("/experimental/control-plane/move-session", POST),
    ("/experimental/console/switch", POST),
    ("/experimental/worktree", GET.or(POST).or(DELETE)),
    ("/experimental/worktree/reset", POST),
    ("/experimental/session/{sessionID}/background", POST),
    ("/experimental/workspace", POST),
    ("/experimental/workspace/adapter", GET),
    ("/experimental/workspace/sync-list", POST),
    ("/experimental/workspace/warp", POST),
    ("/experimental/workspace/{id}", DELETE),
    ("/experimental/project/{projectID}/copy", POST.or(DELETE)),
    ("/experimental/project/{projectID}/copy/refresh", POST),
    ("/experimental/project/{projectID}/copy/generate-name", POST),
    ("/project/git/init", POST),
    ("/pty", POST),
    ("/pty/{ptyID}", GET.or(PUT).or(DELETE)),
    ("/pty/{ptyID}/connect-token", POST),
    ("/pty/{ptyID}/connect", GET),
    ("/provider/{providerID}/oauth/authorize", POST),
    ("/provider/{providerID}/oauth/callback", POST),
    ("/session/{sessionID}/share", POST.or(DELETE)),
    ("/session/{sessionID}/revert", POST),
    ("/session/{sessionID}/unrevert", POST),
    ("/sync/start", POST),
    ("/sync/replay", POST),
    ("/sync/steal", POST),
    ("/sync/history", POST),
    ("/tui/control/next", GET),
    ("/tui/control/response", POST),
    ("/api/session/{sessionID}/agent", POST),
    ("/api/session/{sessionID}/model", POST),
    ("/api/session/{sessionID}/prompt", POST),
    ("/api/session/{sessionID}/compact", POST),
    ("/api/session/{sessionID}/wait", POST),
    ("/api/session/{sessionID}/revert/stage", POST),
    ("/api/session/{sessionID}/revert/clear", POST),
    ("/api/session/{sessionID}/revert/commit", POST),
    ("/api/session/{sessionID}/context", GET),
    ("/api/session/{sessionID}/history", GET),
    ("/api/session/{sessionID}/event", GET),
    ("/api/session/{sessionID}/message/{messageID}", GET),
    ("/api/session/{sessionID}/message", GET),
    ("/api/session/{sessionID}/permission", POST.or(GET)),
    ("/api/session/{sessionID}/permission/{requestID}", GET),
    ("/api/session/{sessionID}/permission/{requestID}/reply", POST),
    ("/api/session/{sessionID}/question", GET),
    ("/api/session/{sessionID}/question/{requestID}/reply", POST),
    ("/api/session/{sessionID}/question/{requestID}/reject", POST),
    ("/api/integration/{integrationID}", GET),
    ("/api/integration/{integrationID}/connect/key", POST),
    ("/api/integration/{integrationID}/connect/oauth", POST),
    ("/api/integration/attempt/{attemptID}", GET.or(DELETE)),
    ("/api/integration/attempt/{attemptID}/complete", POST),
    ("/api/credential/{credentialID}", PATCH.or(DELETE)),
    ("/api/fs/read/{*path}", GET),
    ("/api/event", GET),
    ("/api/pty", GET.or(POST)),
    ("/api/pty/{ptyID}", GET.or(PUT).or(DELETE)),
    ("/api/pty/{ptyID}/connect-token", POST),
    ("/api/pty/{ptyID}/connect", GET),
];

/// Not part of the document: it describes what there is.
pub(super) fn routes() -> Routes {
    ABSENT.iter().fold(Routes::new(), |routes, (path, methods)| routes.route(path, on(*methods, not_built)))
}

async fn not_built(request: Request) -> ApiError {
    let (method, path) = (request.method(), request.uri().path());
    ApiError::NotBuilt(format!("{method} {path} is not available in this version of Sturdy."))
}
