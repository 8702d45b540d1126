//! What the holder of a grant is told when it does not allow something.

use super::tagged;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use sturdy_store::share::Refusal;

/// The body has the refusal's code beside its message, so that programs can tell an expired grant from one that is too narrow.
pub(super) fn answer(refusal: &Refusal) -> Response {
    let (status, message) = match refusal {
        Refusal::Revoked => (StatusCode::FORBIDDEN, "This grant was revoked.".to_owned()),
        Refusal::Expired => (StatusCode::FORBIDDEN, "This grant has expired.".to_owned()),
        Refusal::ForbiddenScope(what) => {
            (StatusCode::FORBIDDEN, format!("This grant does not allow {what}."))
        }
        Refusal::NotFound | Refusal::Gone => {
            (StatusCode::NOT_FOUND, "There is no such session or grant.".to_owned())
        }
        Refusal::Unauthorized => (StatusCode::UNAUTHORIZED, "There is no grant with this secret.".to_owned()),
        Refusal::TooLarge(why) => (StatusCode::CONFLICT, format!("Refused: {why}.")),
        Refusal::Malformed(why) => (StatusCode::BAD_REQUEST, format!("Refused: {why}.")),
        Refusal::StaleEpoch { .. }
        | Refusal::CursorMismatch { .. }
        | Refusal::RequestConflict
        | Refusal::Gap { .. }
        | Refusal::Diverged { .. }
        | Refusal::ChainMismatch
        | Refusal::WriterForbidden
        | Refusal::MustRotate
        | Refusal::Full => (StatusCode::CONFLICT, format!("Refused: {refusal}.")),
    };
    tagged(status, json!({ "name": "GrantError", "data": { "message": message, "code": refusal.code() } }))
}
