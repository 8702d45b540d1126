//! What every call about a share begins with: the service is on, which share, what right is shown, who calls.

use super::refuse::ShareFailure;
use crate::access::caller::{Caller, first_half};
use crate::access::door::Ends;
use crate::app::{App, Shares, WholeRoom};
use crate::extract::Params;
use axum::extract::FromRequestParts;
use http::header::{AUTHORIZATION, HeaderMap};
use http::request::Parts;
use sturdy_store::Store;
use sturdy_store::share::{Refusal, ShareAuth, ShareCall};

/// One call about one share.
pub(super) struct AtShare {
    pub(super) app: App,
    pub(super) share: String,
    pub(super) call: ShareCall,
    /// The right that the header shows.
    pub(super) bearer: Option<ShareAuth>,
}

impl FromRequestParts<App> for AtShare {
    type Rejection = ShareFailure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ShareFailure> {
        app.shares().ok_or(ShareFailure::Off)?;
        let params = Params::from_request_parts(parts, app).await?;
        let bearer = bearer(&parts.headers);
        let mut call = caller(app, parts);
        if let Some(auth) = &bearer {
            call.actor = actor_of(auth);
        }
        Ok(Self { app: app.clone(), share: params.get("shareID").to_owned(), call, bearer })
    }
}

impl AtShare {
    pub(super) fn store(&self) -> &Store {
        self.app.engine().store()
    }

    /// The right that is shown, in the header or in the body. What is done with it is done by its holder.
    pub(super) fn auth(&mut self, secret: Option<&str>) -> Result<ShareAuth, Refusal> {
        let auth = self.bearer.clone().or_else(|| secret.map(ShareAuth::parse));
        let auth = auth.ok_or(Refusal::Unauthorized)?;
        self.call.actor = actor_of(&auth);
        Ok(auth)
    }

    /// Counts a batch. Asked first: what comes too often costs no transaction.
    pub(super) fn count_batch(&self) -> Result<(), ShareFailure> {
        let shares = self.app.shares().ok_or(ShareFailure::Off)?;
        shares.batches.count(&self.share).map_err(ShareFailure::TooOften)
    }

    /// Room to send the share whole, if it holds this much.
    pub(super) fn room_for(&self, bytes: u64) -> Result<WholeRoom, ShareFailure> {
        let shares = self.app.shares().ok_or(ShareFailure::Off)?;
        shares.room_for(bytes).map_err(|_| ShareFailure::TooManyViewers)
    }

    /// Writes into the audit that the share is read by the right that is shown, if one is.
    /// A store that cannot write just now still lets people read.
    pub(super) async fn note_read(&self) {
        let Some(auth) = self.bearer.clone() else { return };
        if let Err(cause) = self.store().note_share_read(self.call.clone(), self.share.clone(), auth).await {
            tracing::warn!(%cause, "a read of a share could not be written to its audit log");
        }
    }

    /// Viewers look at the share, and at their right to see it.
    pub(super) fn wake(&self) {
        tracing::trace!("point srv.notify");
        self.app.engine().share_wakes().wake(&self.share);
    }
}

/// Whoever shows a right is known by it and by nothing else.
pub(super) fn actor_of(auth: &ShareAuth) -> String {
    match auth.capability() {
        Some(capability) => format!("cap:{capability}"),
        None => "cap:imported".to_owned(),
    }
}

pub(super) fn caller(app: &App, parts: &Parts) -> ShareCall {
    // The socket's, not what a forwarding header says: whoever calls can invent that.
    let peer = parts.extensions.get::<Ends>().map(|ends| ends.theirs.ip());
    ShareCall {
        now: app.engine().clock().now(),
        actor: Caller::of(parts).to_string(),
        transport: "rest",
        address: peer.map(first_half).unwrap_or_default(),
        budget: app.shares().and_then(Shares::budget),
        limits: app.shares().map(|shares| shares.limits.share).unwrap_or_default(),
    }
}

fn bearer(headers: &HeaderMap) -> Option<ShareAuth> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| ShareAuth::parse(token.trim()))
}
