//! What every call about a share begins with: the service is on, which share, what right is shown, who calls.

use super::refuse::Unmet;
use crate::access::door::Ends;
use crate::app::{App, Shares};
use crate::extract::Params;
use axum::extract::FromRequestParts;
use http::header::{AUTHORIZATION, HeaderMap};
use http::request::Parts;
use std::net::IpAddr;
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
    type Rejection = Unmet;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Unmet> {
        app.shares().ok_or(Unmet::Off)?;
        let params = Params::from_request_parts(parts, app).await?;
        Ok(Self {
            app: app.clone(),
            share: params.get("shareID").to_owned(),
            call: caller(app, parts),
            bearer: bearer(&parts.headers),
        })
    }
}

impl AtShare {
    pub(super) fn store(&self) -> &Store {
        self.app.engine().store()
    }

    /// The right that is shown, in the header or in the body.
    pub(super) fn auth(&self, secret: Option<&str>) -> Result<ShareAuth, Refusal> {
        self.bearer.clone().or_else(|| secret.map(ShareAuth::parse)).ok_or(Refusal::Unauthorized)
    }

    /// Counts a batch. Asked first: what comes too often costs no transaction.
    pub(super) fn count_batch(&self) -> Result<(), Unmet> {
        let shares = self.app.shares().ok_or(Unmet::Off)?;
        shares.batches.count(&self.share).map_err(Unmet::TooOften)
    }

    /// Viewers look at the share, and at their right to see it.
    pub(super) fn wake(&self) {
        self.app.engine().share_wakes().wake(&self.share);
    }
}

pub(super) fn caller(app: &App, parts: &Parts) -> ShareCall {
    // The socket's, not what a forwarding header says: whoever calls can invent that.
    let peer = parts.extensions.get::<Ends>().map(|ends| ends.theirs.ip());
    ShareCall {
        now: app.engine().clock().now(),
        actor: "http".to_owned(),
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

/// Enough to tell networks apart, too little to tell people apart.
pub(crate) fn first_half(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            format!("{a}.{b}")
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
    }
}
