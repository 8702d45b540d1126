//! Following a share: a snapshot for newcomers, then what is applied after it, until it ends.
//!
//! A follower holds a cursor and nothing else. It is woken by a hint and reads the store; it ends when the share is
//! deleted or the right it was opened with does not stand any more. Server-sent events, a WebSocket and Cap'n Web
//! say what it finds in their own ways.

use super::limits::PAGE;
use super::refuse::Unmet;
use crate::app::{App, Page};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sturdy_session::stamp::Millis;
use sturdy_store::share::{ShareAuth, ShareError, ShareInfo, ShownOp, ViewPage};
use tokio::sync::watch;
use tokio::time::timeout;

/// What comes next.
#[derive(Debug)]
pub(super) enum News {
    /// Everything; what was known before is dropped.
    Snapshot(ShareInfo, Vec<ShownOp>),
    Ops(Arc<Page>),
    /// Nothing, for a while.
    Silence,
    /// Nothing any more, and why.
    Closed(&'static str),
}

pub(super) struct Follower {
    app: App,
    share: String,
    auth: Option<ShareAuth>,
    moved: watch::Receiver<u64>,
    /// The wake-up that is being answered.
    wake: u64,
    /// None before the snapshot was sent.
    cursor: Option<u64>,
    is_over: bool,
    heartbeat: Duration,
}

impl Follower {
    /// Follows from a cursor on, or from the beginning. Whoever may not read is refused at once.
    pub(super) async fn new(
        app: &App,
        share: String,
        auth: Option<ShareAuth>,
        cursor: Option<u64>,
    ) -> Result<Self, Unmet> {
        let wakes = app.engine().share_wakes();
        let limits = app.shares().ok_or(Unmet::Off)?.limits;
        if wakes.count() >= limits.viewers {
            return Err(Unmet::TooManyViewers);
        }
        let store = app.engine().store();
        store.share_ops(app.engine().clock().now(), share.clone(), auth.clone(), 0, 1).await?;
        let moved = wakes.watch(&share);
        Ok(Self {
            app: app.clone(),
            share,
            auth,
            moved,
            wake: 0,
            cursor,
            is_over: false,
            heartbeat: limits.heartbeat,
        })
    }

    /// The next thing to say; none when it is over or the server closes.
    pub(super) async fn next(&mut self) -> Option<News> {
        if self.is_over {
            return None;
        }
        let closing = self.app.closing().clone();
        loop {
            // Before the read: what is applied during it wakes the next round.
            self.wake = *self.moved.borrow_and_update();
            if let Some(news) = self.read_or_end().await {
                return Some(news);
            }
            tokio::select! {
                () = closing.cancelled() => return None,
                woken = timeout(self.heartbeat, self.moved.changed()) => if woken.is_err() {
                    // Silence is also the moment to notice that a right has expired.
                    return Some(self.read_or_end().await.unwrap_or(News::Silence));
                },
            }
        }
    }

    async fn read_or_end(&mut self) -> Option<News> {
        match self.read().await {
            Ok(news) => news,
            Err(why) => {
                self.is_over = true;
                Some(News::Closed(match why {
                    ShareError::Refused(refusal) => refusal.code(),
                    ShareError::Store(_) => "overloaded",
                }))
            }
        }
    }

    /// What was applied after the cursor. Whoever follows without a right of its own reads together with the others.
    async fn page(&self, now: Millis, after: u64) -> Result<Arc<Page>, ShareError> {
        let read = async || {
            let store = self.app.engine().store();
            let page = store.share_ops(now, self.share.clone(), self.auth.clone(), after, PAGE).await?;
            let ViewPage { ops, cursor, is_behind, .. } = page;
            Ok(Arc::new(Page { ops, cursor, is_behind, frames: OnceLock::new() }))
        };
        match (self.app.shares(), &self.auth) {
            (Some(shares), None) => {
                let wakes = self.app.engine().share_wakes();
                let moment = shares.pages().moment(self.wake, self.heartbeat);
                let cell = shares.pages().cell(&self.share, moment, after, wakes);
                cell.get_or_try_init(read).await.cloned()
            }
            _ => read().await,
        }
    }

    /// Everything after the cursor, if there is anything.
    async fn read(&mut self) -> Result<Option<News>, ShareError> {
        let now = self.app.engine().clock().now();
        let store = self.app.engine().store();
        if let Some(cursor) = self.cursor {
            let page = self.page(now, cursor).await?;
            // A snapshot that a writer ended replaces everything.
            if !page.is_behind && !page.ops.iter().any(|op| op.kind == "snapshot.end") {
                self.cursor = Some(page.cursor);
                return Ok((!page.ops.is_empty()).then_some(News::Ops(page)));
            }
        }
        // New, or with a cursor that the log does not reach any more or that is of another service.
        let (info, ops) = store.share_snapshot(now, self.share.clone(), self.auth.clone()).await?;
        self.cursor = Some(info.cursor);
        Ok(Some(News::Snapshot(info, ops)))
    }
}
