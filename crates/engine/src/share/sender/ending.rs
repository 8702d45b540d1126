//! How a link ends: taken back by people, refused for good by its service, or not known there any more.
//!
//! Only people end a share at another service. That the service does not have it may be the word of a stranger at its
//! address, or of a service that was set up anew or restored from a time before the share: the link stays with its
//! secret, is shown as gone, and is taken up again when the share is there.

use super::{Next, Sender};
use crate::error::EngineError;
use crate::share::target::{SendError, Target};
use sturdy_store::outbox::{Contract, Link, LinkState};
use tokio::time::Instant;
use tracing::{info, warn};

/// What is said of a link whose share is not there.
const NOT_THERE: &str =
    "the service does not have this share any more; share the session again, or remove the link";

impl Sender {
    pub(super) async fn delete(&mut self, link: &Link) -> Result<Next, EngineError> {
        let deleted = {
            let _room = self.inner.sharing.room.acquire().await.map_err(|_| EngineError::Closing)?;
            Target::of(&self.inner, link).delete().await
        };
        match deleted {
            Ok(()) => self.deleted(link).await,
            Err(SendError::Refused { code, .. }) if matches!(code.as_str(), "gone" | "not_found") => {
                self.deleted(link).await
            }
            // Whoever shared it wants it gone, and the secret is all there is to have that done: it is kept, and shown
            // again, until the service says that the share is gone.
            Err(SendError::Refused { message, .. }) => self.failed_for_now(link, &message, None).await,
            Err(SendError::Later { why, wait }) => self.failed_for_now(link, &why, wait).await,
        }
    }

    async fn deleted(&mut self, link: &Link) -> Result<Next, EngineError> {
        // Whoever took it back may have died before the record said so.
        self.forget_url(link).await?;
        self.inner.store.forget_share(link).await?;
        Ok(Next::Over)
    }

    /// A link that failed waits for its session to be unshared or removed.
    pub(super) async fn failed(&mut self, link: &Link) -> Result<Next, EngineError> {
        if self.inner.is_shared_as(&self.session, &link.url).await? {
            return Ok(Next::Idle);
        }
        self.give_up(link).await
    }

    /// The session is not shared any more: the share goes as well.
    pub(super) async fn give_up(&mut self, link: &Link) -> Result<Next, EngineError> {
        self.inner.store.set_share_state(link, LinkState::Deleting, None).await?;
        Ok(Next::Now)
    }

    /// The service says that it does not have the share. This store is believed when it says so of itself.
    pub(super) async fn gone(&mut self, link: &Link) -> Result<Next, EngineError> {
        if link.target.is_empty() {
            info!(session = %self.session, "a share of this server was deleted");
            return self.deleted(link).await;
        }
        warn!(session = %self.session, "a service does not have its share any more; the link is kept");
        // The link first: an active one whose session does not carry its URL was taken back, and its share is deleted.
        if self.inner.store.lose_share(link, NOT_THERE).await? {
            self.forget_url(link).await?;
            self.heard = Some(Instant::now());
        }
        Ok(Next::Now)
    }

    /// Asks every so often whether the share is there again. If so the session is shared as it was: nobody has taken it
    /// back, and people still have its address.
    pub(super) async fn look_for_share(&mut self, link: &Link) -> Result<Next, EngineError> {
        if self.inner.store.session(&self.session).await?.is_none() {
            return self.give_up(link).await;
        }
        // Whoever lost it may have died before the record said so.
        self.forget_url(link).await?;
        // The old contract has no question that changes nothing.
        if link.contract == Contract::Sync || !self.is_reconciling_due() {
            return Ok(Next::Idle);
        }
        let seen = {
            let _room = self.inner.sharing.room.acquire().await.map_err(|_| EngineError::Closing)?;
            Target::of(&self.inner, link).redeem().await
        };
        match seen {
            Ok(_) => {
                info!(session = %self.session, "a share is there again at its service");
                self.inner.store.find_share_again(link).await?;
                self.heard = None;
                Ok(Next::Now)
            }
            Err(SendError::Later { wait, .. }) => Ok(Next::Later(self.back_off(wait))),
            Err(SendError::Refused { .. }) => {
                self.heard = Some(Instant::now());
                Ok(Next::Idle)
            }
        }
    }

    pub(super) async fn fail(&mut self, link: &Link, message: &str) -> Result<Next, EngineError> {
        warn!(session = %self.session, message, "a session is not shared any more");
        self.inner.store.set_share_state(link, LinkState::Failed, Some(message)).await?;
        Ok(Next::Now)
    }
}
