//! Following a share: a snapshot for newcomers, then what is applied after it, until it ends.
//!
//! A follower holds a cursor and nothing else. It is woken by a hint and reads the store, together with everybody who was
//! woken with it; it ends when the share is deleted or the right it was opened with does not stand any more. That right
//! is looked at again when the share's epoch changed or the right runs out. Server-sent events, a WebSocket and
//! Cap'n Web say what it finds in their own ways.

use super::limits::PAGE;
use super::refuse::ShareFailure;
use crate::app::{App, Page, Reader, WholeRoom};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sturdy_store::share::{ShareAuth, ShareError, ShareUpdate, Standing, ViewPage};
use tokio::sync::watch;
use tokio::time::timeout;

/// What comes next.
#[derive(Debug)]
pub(super) enum ViewerUpdate {
    /// Everything, or what was applied.
    Page(Arc<Page>),
    /// Nothing, for a while.
    Silence,
    /// Nothing any more, and why.
    Closed(&'static str),
    /// Nothing by this stream, because the store did not answer; opened again from the cursor it may go on.
    Lost,
}

pub(super) struct Follower {
    app: App,
    share: String,
    auth: Option<ShareAuth>,
    standing: Standing,
    moved: watch::Receiver<u64>,
    /// The wake-up that is being answered.
    wake: u64,
    /// None before the snapshot was sent.
    cursor: Option<u64>,
    /// Everything that there was at the last wake-up has been said.
    is_current: bool,
    is_over: bool,
    heartbeat: Duration,
    /// Held until everything was sent.
    room: WholeRoom,
    /// Counted as long as it follows.
    _reader: Reader,
}

impl Follower {
    /// Follows from a cursor on, or from the beginning. Whoever may not read is refused at once.
    pub(super) async fn new(
        app: &App,
        share: String,
        auth: Option<ShareAuth>,
        cursor: Option<u64>,
    ) -> Result<Self, ShareFailure> {
        let wakes = app.engine().share_wakes();
        let shares = app.shares().ok_or(ShareFailure::Off)?;
        let limits = shares.limits;
        if wakes.count() >= limits.viewers {
            return Err(ShareFailure::TooManyViewers);
        }
        let now = app.engine().clock().now();
        let standing = app.engine().store().share_standing(now, share.clone(), auth.clone()).await?;
        let room = match cursor {
            Some(_) => None,
            None => {
                let weight = app.engine().store().share_weight(share.clone()).await?;
                let room = shares.room_for(weight.map_or(0, |weight| weight.bytes));
                room.map_err(|_| ShareFailure::TooManyViewers)?
            }
        };
        let moved = wakes.watch(&share);
        let reader = shares.readers().enter(&share, auth.as_ref().and_then(ShareAuth::capability));
        Ok(Self {
            app: app.clone(),
            share,
            auth,
            standing,
            moved,
            wake: 0,
            cursor,
            is_current: false,
            is_over: false,
            heartbeat: limits.heartbeat,
            room,
            _reader: reader,
        })
    }

    /// The next thing to say; none when it is over or the server closes.
    pub(super) async fn next(&mut self) -> Option<ViewerUpdate> {
        if self.is_over {
            return None;
        }
        // Whoever asks for more has been sent what came before.
        if self.cursor.is_some() {
            drop(self.room.take());
        }
        let closing = self.app.closing().clone();
        loop {
            if !self.is_current
                && let Some(update) = self.read_or_end().await
            {
                return Some(update);
            }
            tokio::select! {
                () = closing.cancelled() => return None,
                woken = timeout(self.heartbeat, self.moved.changed()) => {
                    self.is_current = false;
                    if woken.is_err() {
                        // Silence is also the moment to notice that a right has expired.
                        return Some(self.read_or_end().await.unwrap_or(ViewerUpdate::Silence));
                    }
                }
            }
        }
    }

    async fn read_or_end(&mut self) -> Option<ViewerUpdate> {
        // Before the read: what is applied during it wakes the next round.
        self.wake = *self.moved.borrow_and_update();
        match self.read().await {
            Ok(update) => update,
            Err(why) => {
                self.is_over = true;
                Some(match why {
                    ShareError::Refused(refusal) => ViewerUpdate::Closed(refusal.code()),
                    ShareError::Store(cause) => {
                        tracing::warn!(%cause, "a share could not be read for a viewer, who may come back");
                        ViewerUpdate::Lost
                    }
                })
            }
        }
    }

    /// Everything after the cursor, if there is anything.
    async fn read(&mut self) -> Result<Option<ViewerUpdate>, ShareError> {
        let page = self.page().await?;
        let now = self.app.engine().clock().now();
        if !self.standing.holds(page.epoch, now) {
            let store = self.app.engine().store();
            self.standing = store.share_standing(now, self.share.clone(), self.auth.clone()).await?;
        }
        self.cursor = Some(page.cursor);
        self.is_current = !page.more;
        let is_empty = page.whole.is_none() && page.ops.is_empty();
        Ok((!is_empty).then_some(ViewerUpdate::Page(page)))
    }

    /// Read once for all who were woken together and stand at the same cursor.
    async fn page(&self) -> Result<Arc<Page>, ShareError> {
        let after = self.cursor;
        let store = self.app.engine().store();
        let read = async { Ok(paged(store.share_update(self.share.clone(), after, PAGE).await?)) };
        match self.app.shares() {
            Some(shares) => {
                let wakes = self.app.engine().share_wakes();
                let moment = shares.pages().moment(self.wake, self.heartbeat, after);
                shares.pages().at(&self.share, moment, wakes, read).await
            }
            None => read.await,
        }
    }
}

fn paged(update: ShareUpdate) -> Arc<Page> {
    let frames = OnceLock::new();
    Arc::new(match update {
        ShareUpdate::Whole(info, ops) => {
            let cursor = info.cursor;
            let epoch = info.epoch;
            Page { whole: Some(info), ops, cursor, more: false, epoch, frames }
        }
        ShareUpdate::Ops(ViewPage { ops, cursor, more, epoch, .. }) => {
            Page { whole: None, ops, cursor, more, epoch, frames }
        }
    })
}
