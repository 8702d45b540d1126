//! How a session is to be shared, and a link as clients see it.

use crate::error::{ApiError, Kind};
use serde::Deserialize;
use serde_json::{Value, json};
use sturdy_engine::share::OwnerRequest;
use sturdy_store::outbox::Link;
use sturdy_store::share::Visibility;
use utoipa::ToSchema;

/// How to share a session. Clients of OpenCode send nothing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ShareRequest {
    /// `link` (whoever has the address may read) or `private` (nobody without a right made of it).
    visibility: Option<String>,
}

impl ShareRequest {
    pub(crate) fn visibility(&self) -> Result<Visibility, ApiError> {
        visibility(self.visibility.as_deref().unwrap_or("link"))
    }
}

/// Who may read by the address alone.
pub(crate) fn visibility(name: &str) -> Result<Visibility, ApiError> {
    let unknown = || ApiError::schema(Kind::Payload, "Expected link or private\n  at [\"visibility\"]");
    Visibility::parse(name).ok_or_else(unknown)
}

/// What the owner of a share asks of the service that keeps it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnerRequestBody {
    /// `GET`, `POST`, `PUT` or `DELETE`.
    method: String,
    /// What follows the address of the share there: `/capabilities`, `/capabilities/{id}`, `/rotate`, `/visibility`,
    /// `/audit?after=`, `/readers`, `/redeem`.
    path: String,
    #[schema(value_type = Object)]
    body: Option<Value>,
}

impl OwnerRequestBody {
    pub(crate) fn request(self) -> Result<OwnerRequest, ApiError> {
        let body = self.body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let unknown = || {
            ApiError::schema(
                Kind::Payload,
                "Expected the path of a request that a share's owner can make\n  at [\"path\"]",
            )
        };
        OwnerRequest::parse(&self.method, &self.path, body).ok_or_else(unknown)
    }
}

/// Which links are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LinkQuery {
    /// Only those that somebody made.
    pub(crate) actor: Option<String>,
}

impl LinkQuery {
    pub(crate) fn pick(&self, links: &[Link]) -> Vec<Value> {
        let is_wanted = |link: &&Link| self.actor.as_ref().is_none_or(|actor| link.actor == *actor);
        links.iter().filter(is_wanted).map(shown).collect()
    }
}

/// A link without its secret.
fn shown(link: &Link) -> Value {
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
        "isDegraded": link.retry.is_degraded(),
        "retryAt": (link.retry.at > 0).then_some(link.retry.at),
        "created": link.created,
        "actor": link.actor,
    })
}

/// The same with the owner's reference, which opens everything.
pub(crate) fn owned(link: &Link) -> Value {
    let mut shown = shown(link);
    shown["reference"] = json!(link.secret.reveal());
    shown
}
