//! Shares of old stores, taken over by whoever runs the server.

use super::at::caller;
use crate::access::caller::Caller;
use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::ApiError;
use crate::extract::{PROMPT_BYTES_MAX, Payload};
use crate::reply;
use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use serde::Deserialize;
use serde_json::json;
use sturdy_engine::share::{new_capability_id, new_secret};
use sturdy_store::share::{LegacyItem, OldShare, Refusal, ShareAuth, ShareCall, ShareError, SturdyRef};
use utoipa::ToSchema;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(import))
}

/// A share as an old store has it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OldShareBody {
    /// It stays, so that links go on working.
    id: String,
    #[serde(rename = "sessionID")]
    session: String,
    /// As it was stored, unhashed. From now on only its hash is stored.
    secret: String,
    #[schema(value_type = Vec<Object>)]
    data: Vec<LegacyItem>,
    /// Put a reference in the place of the secret at once; whoever has the old one has nothing any more.
    #[serde(default)]
    rotate: bool,
}

/// Imports a share of an old store, completely or not at all. Repeating it changes nothing.
#[utoipa::path(post, path = "/sturdy/share/import", operation_id = "sturdy.share.import", request_body = OldShareBody,
    responses((status = 200, description = "`{id, isNew, cursor, secret?, isRotated?}`", body = Object),
        (status = 400, description = "Bad body"), (status = 409, description = "There is another share of this id"),
        (status = 413, description = "Too large")))]
async fn import(
    State(app): State<App>,
    parts: Parts,
    Payload(old): Payload<OldShareBody, PROMPT_BYTES_MAX>,
) -> Result<Response, ApiError> {
    // Whoever may do this runs the server: its budget is for strangers.
    let actor = Caller::of(&parts).to_string();
    let call = ShareCall { actor, budget: None, ..caller(&app, &parts) };
    let store = app.engine().store();
    let auth = ShareAuth::parse(&old.secret);
    let wanted = OldShare {
        share: old.id.clone(),
        session: old.session,
        secret: auth.clone(),
        capability: new_capability_id(),
        items: old.data,
    };
    let imported = store.import_share(call.clone(), wanted).await?;
    let mut answer = json!({ "id": old.id, "isNew": imported.is_new, "cursor": imported.cursor });
    if old.rotate {
        let fresh = SturdyRef::new(&old.id, new_capability_id(), new_secret());
        match store.rotate_share(call, old.id, auth, fresh.clone()).await {
            Ok(_) => answer["secret"] = json!(fresh.reveal()),
            // Asked again after it was replaced: whoever asked first was shown the new secret.
            Err(ShareError::Refused(Refusal::Revoked)) => answer["isRotated"] = json!(true),
            Err(cause) => return Err(cause.into()),
        }
    }
    Ok(reply::json(&answer))
}
