//! Sharing a session and taking that back, as people ask for it.
//!
//! Not here: how a link is made, kept and ended (`share`).

use crate::engine::Engine;
use crate::error::EngineError;
use crate::share::{OwnerRequest, ServiceAnswer, Wakes};
use sturdy_session::id::SessionId;
use sturdy_store::outbox::Link;
use sturdy_store::share::{ShareLimits, Visibility};

impl Engine {
    /// From now on this store receives shares, and their links begin with this.
    pub fn receive_shares(&self, public_url: &str, limits: ShareLimits) {
        self.inner.shares.receive_shares(public_url, limits);
    }

    /// Whoever watches shares of this store is woken by it.
    #[must_use]
    pub fn share_wakes(&self) -> &Wakes {
        self.inner.shares.share_wakes()
    }

    /// Shares a session, and answers with its URL. Shared already, it stays as it is.
    ///
    /// # Errors
    /// If the service does not answer, nothing is shared: what it may have made after all is deleted as soon as it
    /// answers.
    pub async fn share_session(
        &self,
        session: &SessionId,
        visibility: Visibility,
    ) -> Result<String, EngineError> {
        self.inner.shares.share_session(session, visibility).await
    }

    /// Takes a session back. Its URL is forgotten at once; the share is deleted as soon as its service answers.
    pub async fn unshare_session(&self, session: &SessionId) -> Result<(), EngineError> {
        self.inner.shares.unshare_session(session).await
    }

    /// Every session that is shared.
    pub async fn share_links(&self) -> Result<Vec<Link>, EngineError> {
        self.inner.shares.share_links().await
    }

    /// The link of one.
    pub async fn share_link(&self, session: &SessionId) -> Result<Option<Link>, EngineError> {
        self.inner.shares.share_link(session).await
    }

    /// Asks the service that has the share of a session, as its owner.
    ///
    /// # Errors
    /// Where this store has the share itself, or the service does not answer.
    pub async fn ask_share_service(
        &self,
        session: &SessionId,
        request: OwnerRequest,
    ) -> Result<ServiceAnswer, EngineError> {
        self.inner.shares.ask_service(session, request).await
    }

    /// How many changes of a shared session its service has not taken yet.
    pub async fn share_waiting(&self, session: &SessionId) -> Result<u64, EngineError> {
        self.inner.shares.share_waiting(session).await
    }
}
