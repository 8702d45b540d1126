//! Sharing a session, taking that back, and which sessions are shared.

use super::ids::{new_request_id, new_secret, new_writer_id};
use super::target::{Target, Unsent};
use super::{Wakes, sender};
use crate::directory::config::ShareMode;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_session::turn::{Input, SessionPatch};
use sturdy_session::types::session::{Session, Share};
use sturdy_store::outbox::{Link, LinkSecret, LinkState};
use sturdy_store::share::ShareLimits;
use tracing::{error, warn};

impl Engine {
    /// From now on this store receives shares, and their links begin with this.
    pub fn receive_shares(&self, public_url: &str, limits: ShareLimits) {
        let _ = self.inner.sharing.limits.set(limits);
        // Set once, by whoever serves.
        let _ = self.inner.sharing.own_url.set(public_url.trim_end_matches('/').to_owned());
    }

    /// Whoever watches shares of this store is woken by it.
    #[must_use]
    pub fn share_wakes(&self) -> &Wakes {
        &self.inner.sharing.wakes
    }

    /// Shares a session, and answers with its URL. Shared already, it stays as it is.
    pub async fn share_session(&self, session: &SessionId) -> Result<String, EngineError> {
        let instance = self.inner.instance_of(session).await?;
        if instance.settings.share() == ShareMode::Disabled {
            return Err(EngineError::Bad("Sharing is disabled by \"share\": \"disabled\"".to_owned()));
        }
        let target = match (self.inner.sharing.own_url.get(), instance.settings.share_service()) {
            (Some(_), _) => String::new(),
            (None, Some(service)) => service.map_err(EngineError::Bad)?,
            (None, None) => return Err(EngineError::Bad(NOWHERE.to_owned())),
        };
        if let Some(link) = self.inner.store.share_link(session).await? {
            match link.state {
                LinkState::Creating => {}
                LinkState::Active if self.inner.is_shared_as(session, &link.url).await? => {
                    return Ok(link.url);
                }
                LinkState::Active | LinkState::Deleting | LinkState::Failed => self.end_link(link).await?,
            }
        }
        let secret = LinkSecret::new(new_secret());
        let now = self.inner.clock.now();
        let link = self
            .inner
            .store
            .want_share(session, &target, &new_request_id(), &secret, &new_writer_id(), now)
            .await?;
        match self.inner.make_share(&link).await {
            Ok(link) => {
                self.inner.start_sender(session);
                Ok(link.url)
            }
            Err(cause) => {
                // What the service may have made is empty, and empty shares do not stay.
                self.inner.store.forget_share(&link).await?;
                Err(cause)
            }
        }
    }

    /// An older link of a session is gone before there is a new one.
    async fn end_link(&self, link: Link) -> Result<(), EngineError> {
        match Target::of(&self.inner, &link).delete().await {
            Ok(()) | Err(Unsent::Refused { .. }) => Ok(self.inner.store.forget_share(&link).await?),
            Err(Unsent::Later { why, .. }) => Err(EngineError::ShareUnavailable(format!(
                "The old link of this session cannot be removed yet: {why}"
            ))),
        }
    }

    /// Takes a session back. Its URL is forgotten at once; the share is deleted as soon as its service answers.
    pub async fn unshare_session(&self, session: &SessionId) -> Result<(), EngineError> {
        self.session_record(session).await?;
        self.inner.say_shared(session, None).await?;
        if let Some(link) = self.inner.store.share_link(session).await? {
            self.inner.store.set_share_state(&link, LinkState::Deleting, None).await?;
            self.inner.start_sender(session);
        }
        Ok(())
    }

    /// Every session that is shared.
    pub async fn share_links(&self) -> Result<Vec<Link>, EngineError> {
        Ok(self.inner.store.share_links().await?)
    }

    /// The link of one.
    pub async fn share_link(&self, session: &SessionId) -> Result<Option<Link>, EngineError> {
        Ok(self.inner.store.share_link(session).await?)
    }

    /// Shares a new session if its directory says that all are shared.
    pub(crate) fn share_if_automatic(&self, session: &Session, mode: ShareMode) {
        if mode != ShareMode::Auto || session.parent_id.is_some() {
            return;
        }
        let engine = self.clone();
        let id = session.id.clone();
        self.inner.tasks.spawn("share", async move {
            if let Err(cause) = engine.share_session(&id).await {
                warn!(session = %id, %cause, "a new session is not shared");
            }
        });
    }
}

/// Why a session cannot be shared, and what helps.
const NOWHERE: &str = "There is no place to share sessions to. Start the server with `sturdy serve --share`, \
    or name a service in the configuration: \"enterprise\": { \"url\": \"https://…\" }";

impl Inner {
    /// Starts what the last process left: links are created, sent and deleted further.
    pub(crate) async fn resume_shares(self: &Arc<Self>) {
        match self.store.share_links().await {
            Ok(links) => links.iter().for_each(|link| self.start_sender(&link.session)),
            Err(cause) => error!(%cause, "shared sessions cannot be read; nothing is sent"),
        }
    }

    /// One task for each link; if there is one it is told to look.
    fn start_sender(self: &Arc<Self>, session: &SessionId) {
        if let Some(moved) = self.sharing.moved.join(session) {
            self.tasks.spawn("share", sender::run(self.clone(), session.clone(), moved));
        }
    }

    /// Has the share made, and tells the session. Done before, it is done again without another effect.
    pub(super) async fn make_share(self: &Arc<Self>, link: &Link) -> Result<Link, EngineError> {
        let session = link.session.clone();
        let made = {
            let _room = self.sharing.room.acquire().await.map_err(|_| EngineError::Closing)?;
            Target::of(self, link).create().await
        };
        let made = made.map_err(|unsent| EngineError::ShareUnavailable(unsent.to_string()))?;
        // The record first: a link is active when its session says so.
        self.say_shared(&session, Some(&made.url)).await?;
        Ok(self.store.share_was_made(link, made).await?)
    }

    /// Writes the URL into the session's record, or takes it out.
    pub(super) async fn say_shared(
        self: &Arc<Self>,
        session: &SessionId,
        url: Option<&str>,
    ) -> Result<(), EngineError> {
        let share = url.map(|url| Share { url: url.to_owned() });
        let patch = SessionPatch { share: Some(share), ..SessionPatch::default() };
        self.say(session, vec![Input::Edit(patch)]).await
    }

    /// Whether the session's record carries this URL.
    pub(super) async fn is_shared_as(&self, session: &SessionId, url: &str) -> Result<bool, EngineError> {
        let Some(record) = self.store.session(session).await? else { return Ok(false) };
        let damaged = |cause: serde_json::Error| EngineError::Damaged {
            session: session.clone(),
            what: cause.to_string(),
            place: "its record".to_owned(),
        };
        let record: Session = serde_json::from_str(&record).map_err(damaged)?;
        Ok(record.share.is_some_and(|share| share.url == url))
    }
}
