//! The task of one link: creates the share, sends what its session shows, deletes it in the end.
//!
//! Each step reads the link, does one thing, and stores what came of it; so the task may die anywhere, and the next
//! one goes on from what is stored.
//!
//! Not here: how a link ends (`ending.rs`).

mod ending;

use super::Inner;
use super::attempts::Attempt;
use super::flush::Flusher;
use super::ids::new_writer_id;
use super::known::{Known, models};
use super::retry::{left_to_wait, wait_after};
use super::target::{SendError, Target};
use crate::error::EngineError;
use futures_util::FutureExt as _;
use rand::RngExt as _;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::id::SessionId;
use sturdy_store::outbox::{
    Answered, Contract, Differences, Finding, Link, LinkState, Retry, is_explained, judge,
};
use sturdy_store::share::{Ack, Batch, Kind, Visibility};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tracing::{error, info, trace, warn};

/// A service that asks for everything anew this often in a row is not asked any more.
const STARTS_MAX: u32 = 5;
/// A changed epoch is met by sending again, this often in a row.
const EPOCHS_MAX: u32 = 3;

/// Why a link is given up.
const NEVER_PRIVATE: &str =
    "the service shows every share to whoever has its address; it has no private ones";

/// What comes next.
enum Next {
    Now,
    /// Nothing is to be sent: wait until the session moves, or so long.
    Idle,
    /// Something failed, now or in an earlier process.
    Later(Duration),
    Over,
}

pub(super) struct Sender {
    inner: Arc<Inner>,
    session: SessionId,
    moved: Arc<Notify>,
    attempt: Arc<Attempt>,
    /// The request of the link that the rest of this is about: a session may be taken back and shared again.
    request: String,
    known: Known,
    /// Where the pass through the conversation is.
    from: u64,
    /// When the service was last heard of.
    heard: Option<Instant>,
    /// In a row. Stored with the link as well.
    failures: u64,
    starts: u32,
    epochs: u32,
    /// By the last answer of the service.
    is_watched: bool,
    flusher: Flusher,
}

/// Runs until the link is gone or the engine closes.
pub(super) async fn run(inner: Arc<Inner>, session: SessionId, moved: Arc<Notify>) {
    let stop = inner.tasks.stopping().clone();
    let attempt = inner.sharing.attempts.join(&session);
    let mut sender = Sender::new(inner.clone(), session.clone(), moved, attempt.clone());
    // A request that is cut off is made again by the next start; a batch that is sealed stays sealed.
    let working = AssertUnwindSafe(stop.run_until_cancelled(Box::pin(sender.work())));
    let is_broken = working.catch_unwind().await.is_err();
    drop(sender);
    inner.sharing.moved.leave(&session);
    attempt.end();
    inner.sharing.attempts.leave(&session, attempt);
    if is_broken {
        error!(%session, "the task of a shared session panicked; it is started again");
        inner.tasks.pause(inner.pace.retry_first).await;
    }
    // Somebody may have shared the session again after this task saw that the link was gone, and found it still here.
    if !stop.is_cancelled() && matches!(inner.store.share_link(&session).await, Ok(Some(_))) {
        inner.start_sender(&session);
    }
}

impl Sender {
    fn new(inner: Arc<Inner>, session: SessionId, moved: Arc<Notify>, attempt: Arc<Attempt>) -> Self {
        Self {
            inner,
            session,
            moved,
            attempt,
            request: String::new(),
            known: Known::default(),
            from: 0,
            heard: None,
            failures: 0,
            starts: 0,
            epochs: 0,
            is_watched: false,
            flusher: Flusher::default(),
        }
    }

    async fn work(&mut self) {
        loop {
            let next = match self.step().await {
                Ok(next) => next,
                Err(cause) => {
                    warn!(session = %self.session, %cause, "a shared session cannot be read or its link not be written");
                    Next::Later(self.back_off(None))
                }
            };
            self.attempt.end();
            match next {
                Next::Now => {}
                Next::Idle => self.rest().await,
                Next::Later(wait) => {
                    // Somebody who shares or takes back does not wait for the end of the waiting.
                    if timeout(wait, self.attempt.asked()).await.is_ok() {
                        self.failures = 0;
                    }
                }
                Next::Over => return,
            }
        }
    }

    /// Waits for the session to move, then a moment for more of it.
    async fn rest(&mut self) {
        let pace = self.inner.pace;
        tokio::select! {
            () = self.moved.notified() => {}
            () = self.attempt.asked() => return,
            () = tokio::time::sleep(pace.reconcile) => return,
        }
        let link = self.inner.store.share_link(&self.session).await.ok().flatten();
        let is_watched_here = link.is_some_and(|link| self.inner.sharing.wakes.is_watched(&link.share));
        let is_watched = self.is_watched || is_watched_here;
        tokio::time::sleep(if is_watched { pace.gather_watched } else { pace.gather }).await;
    }

    /// Counts a failure, and says how long to wait after it.
    fn back_off(&mut self, asked: Option<Duration>) -> Duration {
        let drawn = rand::rng().random_range(0.0..=1.0);
        let wait = wait_after(self.failures, asked, drawn, &self.inner.pace);
        self.failures = self.failures.saturating_add(1);
        wait
    }

    async fn step(&mut self) -> Result<Next, EngineError> {
        self.inner.sessions.panics.come_true("share");
        let Some(link) = self.inner.store.share_link(&self.session).await? else { return Ok(Next::Over) };
        if link.request != self.request {
            self.begin(&link);
            let left = left_to_wait(link.retry, self.inner.clock.now(), &self.inner.pace);
            if let Some(wait) = left {
                return Ok(Next::Later(wait));
            }
        }
        match link.state {
            LinkState::Creating | LinkState::Deleting if link.share.is_empty() => self.create(&link).await,
            LinkState::Creating => self.announce(&link).await,
            LinkState::Active => self.send(&link).await,
            LinkState::Deleting => self.delete(&link).await,
            LinkState::Failed => self.failed(&link).await,
            LinkState::Gone => self.look_for_share(&link).await,
        }
    }

    /// Another link than before: nothing that was said of the old one holds for it.
    fn begin(&mut self, link: &Link) {
        self.request.clone_from(&link.request);
        self.attempt.set_refusal(None);
        self.known.forget();
        self.from = 0;
        self.heard = None;
        self.failures = link.retry.failures;
        self.starts = 0;
        self.epochs = 0;
        self.is_watched = false;
        self.flusher = Flusher::default();
    }

    /// Has the share made. A link that is to be deleted may have been made by a request whose answer was lost; asked
    /// again under the same request, the service says which share that was.
    async fn create(&mut self, link: &Link) -> Result<Next, EngineError> {
        let made = {
            let _room = self.inner.sharing.room.acquire().await.map_err(|_| EngineError::Closing)?;
            Target::of(&self.inner, link).create().await
        };
        match made {
            Ok(made) => {
                self.inner.store.share_was_made(link, made).await?;
                self.failures = 0;
                Ok(Next::Now)
            }
            Err(SendError::Later { why, wait }) => self.failed_for_now(link, &why, wait).await,
            // It was not made, and will not be.
            Err(SendError::Refused { .. }) if link.state == LinkState::Deleting => {
                self.inner.store.forget_share(link).await?;
                Ok(Next::Over)
            }
            // Somebody may wait for this answer; nobody: a key or a configuration may be changed.
            Err(SendError::Refused { message, .. }) => self.failed_for_now(link, &message, None).await,
        }
    }

    /// Writes the URL into the session's record, then calls the link active: in this order, because an active link
    /// whose session does not carry its URL was taken back.
    async fn announce(&mut self, link: &Link) -> Result<Next, EngineError> {
        let store = &self.inner.store;
        if link.visibility == Visibility::Private && link.contract == Contract::Sync {
            self.attempt.set_refusal(Some(NEVER_PRIVATE));
            store.set_share_state(link, LinkState::Deleting, Some(NEVER_PRIVATE)).await?;
            return Ok(Next::Now);
        }
        let said = self.inner.say_shared_by(&link.actor, &self.session, Some(&link.url)).await;
        match said {
            Ok(()) => {}
            // Removed while it was being shared.
            Err(EngineError::NoSession(_)) => return self.give_up(link).await,
            // Whoever waits for the link is told.
            Err(cause) => return self.failed_for_now(link, &cause.to_string(), None).await,
        }
        if !store.move_share(link, LinkState::Creating, LinkState::Active).await? {
            // Taken back meanwhile, before or after the URL was written.
            self.forget_url(link).await?;
        }
        Ok(Next::Now)
    }

    /// The session does not show the URL of this link any more.
    async fn forget_url(&mut self, link: &Link) -> Result<(), EngineError> {
        if !self.inner.is_shared_as(&self.session, &link.url).await? {
            return Ok(());
        }
        match self.inner.say_shared(&self.session, None).await {
            Ok(()) | Err(EngineError::NoSession(_)) => Ok(()),
            Err(cause) => Err(cause),
        }
    }

    async fn send(&mut self, link: &Link) -> Result<Next, EngineError> {
        if !self.inner.is_shared_as(&self.session, &link.url).await? {
            return self.give_up(link).await;
        }
        if self.is_reconciling_due() && link.contract == Contract::Ops {
            return self.reconcile(link).await;
        }
        if let Some((link, batch)) = self.inner.store.sealed_batch(&self.session).await? {
            return self.deliver(&link, batch).await;
        }
        let store = &self.inner.store;
        let found = if link.is_compared {
            store.share_changes(&self.session).await?
        } else {
            store.share_differences(&self.session, self.from).await?
        };
        let Some(found) = found else { return self.give_up(link).await };
        self.seal(link, found).await
    }

    async fn seal(&mut self, link: &Link, found: Differences) -> Result<Next, EngineError> {
        let Differences { drafts, position, next } = found;
        let drafts = self.known.add(&self.inner, &self.session, position, drafts).await;
        if drafts.is_empty() && next.is_none() && link.is_compared {
            self.from = 0;
            return Ok(Next::Idle);
        }
        let store = &self.inner.store;
        let sealed = store.seal_share(&self.session, &link.writer, drafts, next.is_none()).await?;
        if sealed.took_all {
            self.known.sealed();
            self.from = next.unwrap_or(0);
        }
        // What was noted while the whole session was compared is read next.
        let is_done = link.is_compared && !sealed.is_sealed && sealed.took_all && next.is_none();
        Ok(if is_done { Next::Idle } else { Next::Now })
    }

    async fn deliver(&mut self, link: &Link, batch: Batch) -> Result<Next, EngineError> {
        let last_seq = batch.last_seq;
        let count = batch.ops.len() as u64;
        let models = self.all_models(link, &batch).await?;
        trace!("point send.pre");
        let sent = {
            let _room = self.inner.sharing.room.acquire().await.map_err(|_| EngineError::Closing)?;
            match link.contract {
                Contract::Ops => {
                    let flushed = self.flusher.append(&self.inner, link, batch, self.is_watched).await;
                    flushed.map(|(ack, viewers)| {
                        self.is_watched = viewers > 0;
                        answered(last_seq, &ack)
                    })
                }
                Contract::Sync => {
                    let synced = Target::of(&self.inner, link).sync(&batch, models).await;
                    synced.map(|left_out| Answered {
                        last_seq,
                        cursor: link.cursor + count,
                        epoch: link.epoch,
                        count: link.acked_count + count,
                        error: left_out.map(|why| format!("the service does not take everything: {why}")),
                    })
                }
            }
        };
        match sent {
            // A repeat is answered whatever the share has become since: somebody else may have written to it.
            Ok(answered) if !is_explained(link, answered.cursor, answered.count) => {
                self.start_over(link, "cursor_mismatch").await
            }
            Ok(answered) => {
                self.inner.store.share_was_answered(&self.session, &link.writer, answered).await?;
                self.heard = Some(Instant::now());
                self.failures = 0;
                self.starts = 0;
                self.epochs = 0;
                Ok(Next::Now)
            }
            Err(unsent) => self.unsent(link, unsent).await,
        }
    }

    /// Every model that was said so far, for a service that keeps one list and replaces it whole.
    async fn all_models(&self, link: &Link, batch: &Batch) -> Result<Vec<Value>, EngineError> {
        let has_one = batch.ops.iter().any(|op| op.kind == Kind::Model.as_str());
        if link.contract == Contract::Ops || !has_one {
            return Ok(Vec::new());
        }
        let ids = self.inner.store.said_models(&self.session).await?;
        Ok(models(&self.inner, &self.session, &ids).await)
    }

    async fn unsent(&mut self, link: &Link, unsent: SendError) -> Result<Next, EngineError> {
        let (code, message, epoch) = match unsent {
            SendError::Later { why, wait } => return self.failed_for_now(link, &why, wait).await,
            SendError::Refused { code, message, epoch } => (code, message, epoch),
        };
        match (code.as_str(), epoch) {
            ("stale_epoch", Some(epoch)) if self.epochs < EPOCHS_MAX => {
                self.epochs += 1;
                self.inner.store.set_share_epoch(link, epoch).await?;
                Ok(Next::Now)
            }
            ("stale_epoch", _) => self.failed_for_now(link, &message, None).await,
            ("gone" | "not_found", _) => self.gone(link).await,
            // A service that knows no numbers cannot be asked how far it is.
            _ if link.contract == Contract::Sync => self.failed_for_now(link, &message, None).await,
            ("gap" | "cursor_mismatch" | "diverged" | "chain_mismatch" | "malformed" | "too_large", _) => {
                self.start_over(link, &code).await
            }
            _ => self.fail(link, &message).await,
        }
    }

    fn is_reconciling_due(&self) -> bool {
        self.heard.is_none_or(|heard| heard.elapsed() >= self.inner.pace.reconcile)
    }

    /// Compares the link with what the service knows: either side may have been restored from a backup.
    async fn reconcile(&mut self, link: &Link) -> Result<Next, EngineError> {
        let seen = {
            let _room = self.inner.sharing.room.acquire().await.map_err(|_| EngineError::Closing)?;
            Target::of(&self.inner, link).redeem().await
        };
        let seen = match seen {
            Ok(seen) => seen,
            Err(unsent) => return self.unsent(link, unsent).await,
        };
        self.heard = Some(Instant::now());
        self.failures = 0;
        match judge(link, &seen) {
            Finding::Agree => {
                // It is reached again, and nothing is missing there.
                if link.error.is_some() || link.retry.failures > 0 {
                    self.inner.store.set_share_state(link, link.state, None).await?;
                }
                if seen.epoch != link.epoch {
                    self.inner.store.set_share_epoch(link, seen.epoch).await?;
                }
                Ok(Next::Now)
            }
            finding => {
                info!(session = %self.session, ?finding, "a share is uploaded again from the start: the service has different content");
                self.begin_anew(link, seen.epoch, seen.cursor).await
            }
        }
    }

    /// The service does not take the batch as it is, and it never will.
    async fn start_over(&mut self, link: &Link, code: &str) -> Result<Next, EngineError> {
        self.starts += 1;
        if self.starts > STARTS_MAX {
            return self.fail(link, &format!("the service refuses what it is sent: {code}")).await;
        }
        let seen = {
            let _room = self.inner.sharing.room.acquire().await.map_err(|_| EngineError::Closing)?;
            Target::of(&self.inner, link).redeem().await
        };
        match seen {
            Ok(seen) => {
                info!(session = %self.session, code, "a share is uploaded again from the start: the service refused a batch");
                self.begin_anew(link, seen.epoch, seen.cursor).await
            }
            Err(SendError::Later { why, wait }) => self.failed_for_now(link, &why, wait).await,
            Err(SendError::Refused { code, .. }) if matches!(code.as_str(), "gone" | "not_found") => {
                self.gone(link).await
            }
            Err(SendError::Refused { message, .. }) => self.fail(link, &message).await,
        }
    }

    async fn begin_anew(&mut self, link: &Link, epoch: u64, cursor: u64) -> Result<Next, EngineError> {
        self.inner.store.start_share_over(link, &new_writer_id(), epoch, cursor).await?;
        self.known.forget();
        self.from = 0;
        self.heard = Some(Instant::now());
        Ok(Next::Now)
    }

    async fn failed_for_now(
        &mut self,
        link: &Link,
        why: &str,
        asked: Option<Duration>,
    ) -> Result<Next, EngineError> {
        if link.error.as_deref() != Some(why) {
            info!(session = %self.session, why, "the share service cannot be reached; retrying");
        }
        let wait = self.back_off(asked);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let at = self.inner.clock.now().saturating_add(wait_ms);
        let retry = Retry { failures: self.failures, at };
        self.inner.store.put_off_share(link, why, retry).await?;
        Ok(Next::Later(wait))
    }
}

fn answered(last_seq: u64, ack: &Ack) -> Answered {
    let error = ack.rejected.first().map(|first| {
        format!("the service refused {} operations; the first: {}", ack.rejected.len(), first.message)
    });
    Answered { last_seq, cursor: ack.cursor, epoch: ack.epoch, count: ack.applied_count, error }
}
