//! Sharing a session, taking that back, and which sessions are shared.

use super::attempts::Attempt;
use super::ids::{new_request_id, new_secret, new_writer_id};
use super::target::{SendError, Target};
use super::{Inner, Shares, Wakes, sender};
use crate::behalf::{self, Behalf, on_behalf};
use crate::directory::config::ShareMode;
use crate::error::EngineError;
use crate::records::{self, readable_record};
use std::sync::Arc;
use sturdy_session::id::SessionId;
use sturdy_session::turn::{Input, SessionPatch};
use sturdy_session::types::session::{Session, Share};
use sturdy_store::outbox::{Contract, Link, LinkSecret, LinkState, WantedLink};
use sturdy_store::share::{ShareLimits, Visibility};
use tracing::{error, warn};

impl Shares {
    /// Starts what the last process left: links are created, sent and deleted further.
    pub(crate) async fn resume(&self) {
        match self.inner.store.share_links().await {
            Ok(links) => links.iter().for_each(|link| self.inner.start_sender(&link.session)),
            Err(cause) => error!(%cause, "shared sessions cannot be read; nothing is sent"),
        }
    }

    /// From now on this store receives shares, and their links begin with this.
    pub(crate) fn receive_shares(&self, public_url: &str, limits: ShareLimits) {
        let _ = self.inner.sharing.limits.set(limits);
        // Set once, by whoever serves.
        let _ = self.inner.sharing.own_url.set(public_url.trim_end_matches('/').to_owned());
    }

    /// Whoever watches shares of this store is woken by it.
    pub(crate) fn share_wakes(&self) -> &Wakes {
        &self.inner.sharing.wakes
    }

    /// Shares a session, and answers with its URL. Shared already, it stays as it is.
    ///
    /// If the service does not answer, nothing is shared: what it may have made after all is deleted as soon as it
    /// answers, and the next wish goes by the same request, so that there is never a second share.
    pub(crate) async fn share_session(
        &self,
        session: &SessionId,
        visibility: Visibility,
    ) -> Result<String, EngineError> {
        if let Some(url) = self.want_link(session, visibility).await? {
            return Ok(url);
        }
        let attempt = self.inner.sharing.attempts.join(session);
        let url = self.wait_for_link(session, &attempt).await;
        self.inner.sharing.attempts.leave(session, attempt);
        url
    }

    /// Writes down that a session is to be shared. Its URL, if it is already.
    async fn want_link(
        &self,
        session: &SessionId,
        visibility: Visibility,
    ) -> Result<Option<String>, EngineError> {
        let instance = self.inner.directories.instance_of(session).await?;
        if instance.settings.share() == ShareMode::Disabled {
            return Err(EngineError::Bad("Sharing is disabled by \"share\": \"disabled\"".to_owned()));
        }
        let target = match (self.inner.sharing.own_url.get(), instance.settings.share_service()) {
            (Some(_), _) => String::new(),
            (None, Some(service)) => service.map_err(EngineError::Bad)?,
            (None, None) => return Err(EngineError::Bad(NOWHERE.to_owned())),
        };
        while let Some(link) = self.inner.store.share_link(session).await? {
            if link.state == LinkState::Active && self.inner.is_shared_as(session, &link.url).await? {
                return Ok(Some(link.url));
            }
            let is_the_same = link.target == target && link.visibility == visibility;
            if is_the_same && self.inner.store.want_share_again(&link).await? {
                return Ok(None);
            }
            if is_the_same && self.is_there_again(&link).await? {
                if self.inner.store.find_share_again(&link).await? {
                    return Ok(None);
                }
                // Its task has found it this moment, or somebody has taken it back.
                continue;
            }
            let is_undecided = link.state == LinkState::Creating || link.share.is_empty();
            if !is_undecided {
                self.end_link(&link).await?;
                break;
            }
            // Its task hears of the share this moment, or it is another share than the one that is wanted now.
            if !is_the_same {
                return Err(not_yet("its service has not answered"));
            }
        }
        let wanted = WantedLink {
            session: session.clone(),
            target,
            request: new_request_id(),
            secret: LinkSecret::new(new_secret()),
            writer: new_writer_id(),
            visibility,
            actor: behalf::current().map(|behalf| behalf.actor.to_string()).unwrap_or_default(),
        };
        self.inner.store.want_share(wanted, self.inner.clock.now()).await?;
        Ok(None)
    }

    /// Waits for the link's task to have the share made.
    async fn wait_for_link(&self, session: &SessionId, attempt: &Attempt) -> Result<String, EngineError> {
        let stopping = self.inner.tasks.stopping().clone();
        let mut ended = attempt.watch();
        self.inner.start_sender(session);
        attempt.ask();
        loop {
            ended.borrow_and_update();
            let gone = || {
                let why = attempt.refusal().unwrap_or("it was taken back meanwhile");
                EngineError::ShareUnavailable(why.to_owned())
            };
            let link = self.inner.store.share_link(session).await?.ok_or_else(gone)?;
            let unavailable = |link: &Link| match (attempt.refusal(), &link.error) {
                (None, Some(why)) => EngineError::ShareUnavailable(why.clone()),
                (Some(_), _) | (None, None) => gone(),
            };
            match link.state {
                LinkState::Active => return Ok(link.url),
                LinkState::Creating if link.error.is_some() => {
                    // Whoever is told that it failed does not find it shared later.
                    let store = &self.inner.store;
                    if store.move_share(&link, LinkState::Creating, LinkState::Deleting).await? {
                        return Err(unavailable(&link));
                    }
                    continue;
                }
                LinkState::Creating => {}
                LinkState::Deleting | LinkState::Failed | LinkState::Gone => return Err(unavailable(&link)),
            }
            tokio::select! {
                changed = ended.changed() => changed.map_err(|_| EngineError::Closing)?,
                () = stopping.cancelled() => return Err(EngineError::Closing),
            }
        }
    }

    /// Whether a share that was gone is there after all: then its address stays the one that people have.
    async fn is_there_again(&self, link: &Link) -> Result<bool, EngineError> {
        if link.state != LinkState::Gone || link.contract == Contract::Sync {
            return Ok(false);
        }
        match Target::of(&self.inner, link).redeem().await {
            Ok(_) => Ok(true),
            Err(SendError::Refused { .. }) => Ok(false),
            Err(SendError::Later { why, .. }) => Err(EngineError::ShareUnavailable(why)),
        }
    }

    /// An older link of a session is gone before there is a new one. One that its service refuses to delete is not
    /// ours any more, whatever the reason.
    async fn end_link(&self, link: &Link) -> Result<(), EngineError> {
        match Target::of(&self.inner, link).delete().await {
            Ok(()) | Err(SendError::Refused { .. }) => Ok(self.inner.store.forget_share(link).await?),
            Err(SendError::Later { why, .. }) => Err(not_yet(&why)),
        }
    }

    /// Takes a session back. Its URL is forgotten at once; the share is deleted as soon as its service answers.
    pub(crate) async fn unshare_session(&self, session: &SessionId) -> Result<(), EngineError> {
        let gone = || EngineError::NoSession(session.clone());
        readable_record(&self.inner.store, session).await?.ok_or_else(gone)?;
        let link = self.inner.store.share_link(session).await?;
        // The link first: a share that is made this moment sees that nobody wants it any more and takes its URL out of
        // the record itself. If the process dies in between, the link's task does.
        if let Some(link) = &link {
            self.inner.store.set_share_state(link, LinkState::Deleting, None).await?;
        }
        self.inner.say_shared(session, None).await?;
        if link.is_some() {
            self.inner.start_sender(session);
            let attempt = self.inner.sharing.attempts.join(session);
            attempt.ask();
            self.inner.sharing.attempts.leave(session, attempt);
        }
        Ok(())
    }

    /// Every session that is shared.
    pub(crate) async fn share_links(&self) -> Result<Vec<Link>, EngineError> {
        Ok(self.inner.store.share_links().await?)
    }

    /// The link of one.
    pub(crate) async fn share_link(&self, session: &SessionId) -> Result<Option<Link>, EngineError> {
        Ok(self.inner.store.share_link(session).await?)
    }

    /// How many changes of a shared session its service has not taken yet.
    pub(crate) async fn share_waiting(&self, session: &SessionId) -> Result<u64, EngineError> {
        Ok(self.inner.store.share_waiting(session).await?)
    }

    /// Shares a new session if its directory says that all are shared.
    pub(crate) fn share_if_automatic(&self, session: &Session, mode: ShareMode) {
        if mode != ShareMode::Auto || session.parent_id.is_some() {
            return;
        }
        let shares = self.clone();
        let id = session.id.clone();
        // Nobody waits: what does not succeed now is tried until it does.
        self.inner.tasks.spawn("share", async move {
            match shares.want_link(&id, Visibility::Link).await {
                Ok(_) => shares.inner.start_sender(&id),
                Err(cause) => warn!(session = %id, %cause, "a new session is not shared"),
            }
        });
    }
}

fn not_yet(why: &str) -> EngineError {
    EngineError::ShareUnavailable(format!("The old link of this session cannot be removed yet: {why}"))
}

/// Why a session cannot be shared, and what helps.
const NOWHERE: &str = "There is no place to share sessions to. Start the server with `sturdy serve --share`, \
    or name a service in the configuration: \"enterprise\": { \"url\": \"https://…\" }";

impl Inner {
    /// One task for each link; if there is one it is told to look.
    pub(super) fn start_sender(self: &Arc<Self>, session: &SessionId) {
        if let Some(moved) = self.sharing.moved.join(session) {
            self.tasks.spawn("share", sender::run(self.clone(), session.clone(), moved));
        }
    }

    /// Writes the URL into the session's record, or takes it out.
    pub(super) async fn say_shared(
        self: &Arc<Self>,
        session: &SessionId,
        url: Option<&str>,
    ) -> Result<(), EngineError> {
        let share = url.map(|url| Share { url: url.to_owned() });
        let patch = SessionPatch { share: Some(share), ..SessionPatch::default() };
        self.sessions.say(session, vec![Input::Edit(patch)]).await
    }

    /// The same on the behalf of whoever asked for it.
    pub(super) async fn say_shared_by(
        self: &Arc<Self>,
        actor: &str,
        session: &SessionId,
        url: Option<&str>,
    ) -> Result<(), EngineError> {
        if actor.is_empty() {
            return self.say_shared(session, url).await;
        }
        let behalf = Behalf { actor: actor.into(), grant: None };
        on_behalf(behalf, self.say_shared(session, url)).await
    }

    /// Whether the session's record carries this URL.
    pub(super) async fn is_shared_as(&self, session: &SessionId, url: &str) -> Result<bool, EngineError> {
        let Some(record) = self.store.session(session).await? else { return Ok(false) };
        let record = records::session(session, &record)?;
        Ok(record.share.is_some_and(|share| share.url == url))
    }
}
