//! How a session is to be shared, and a link as clients see it.

use crate::error::{ApiError, Kind};
use serde::Deserialize;
use serde_json::{Value, json};
use sturdy_store::outbox::Link;
use sturdy_store::share::Visibility;
use utoipa::ToSchema;

/// How a session is to be shared. Clients of OpenCode send nothing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ShareWish {
    /// `link` (whoever has the address may read) or `private` (nobody without a right made of it).
    visibility: Option<String>,
}

impl ShareWish {
    pub(crate) fn visibility(&self) -> Result<Visibility, ApiError> {
        visibility(self.visibility.as_deref().unwrap_or("link"))
    }
}

/// Who may read by the address alone.
pub(crate) fn visibility(name: &str) -> Result<Visibility, ApiError> {
    let unknown = || ApiError::schema(Kind::Payload, "Expected link or private\n  at [\"visibility\"]");
    Visibility::parse(name).ok_or_else(unknown)
}

/// A link without its secret.
pub(crate) fn shown(link: &Link) -> Value {
    json!({
        "sessionID": link.session,
        "shareID": link.share,
        "url": link.url,
        "state": link.state.as_str(),
        "contract": link.contract.as_str(),
        // None: this server itself.
        "service": (!link.target.is_empty()).then_some(&link.target),
        "sent": link.acked_seq,
        "error": link.error,
        // In a row; and until when it is left alone.
        "failures": link.retry.failures,
        "retryAt": (link.retry.at > 0).then_some(link.retry.at),
        "created": link.created,
    })
}

/// The same with the owner's reference, which opens everything.
pub(crate) fn owned(link: &Link) -> Value {
    let mut shown = shown(link);
    shown["reference"] = json!(link.secret.reveal());
    shown
}
