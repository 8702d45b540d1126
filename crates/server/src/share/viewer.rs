//! A viewer's event stream: a snapshot for newcomers, then what is applied after it.
//!
//! The stream holds a cursor and nothing else. It is woken by a hint and reads the store; it ends when the share
//! is deleted or the capability it was opened with does not stand any more.

use super::limits::{HEARTBEAT, PAGE, VIEWERS_MAX};
use super::refuse::Unmet;
use crate::app::App;
use crate::edge::NeverPacked;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::header::{self, HeaderValue};
use serde_json::{Value, json};
use std::convert::Infallible;
use sturdy_store::share::{ShareAuth, ShareError, ShareInfo, ShownOp, ViewPage};
use tokio::sync::watch;
use tokio::time::timeout;

struct Viewer {
    app: App,
    share: String,
    auth: Option<ShareAuth>,
    moved: watch::Receiver<u64>,
    /// None before the snapshot was sent.
    cursor: Option<u64>,
    is_over: bool,
}

/// Answers with a stream that begins after `cursor`, or with everything.
pub(super) async fn follow(
    app: App,
    share: String,
    auth: Option<ShareAuth>,
    cursor: Option<u64>,
) -> Result<Response, Unmet> {
    if app.engine().share_wakes().count() >= VIEWERS_MAX {
        return Err(Unmet::TooManyViewers);
    }
    // Whoever may not read is told so by a status, before a stream begins.
    let store = app.engine().store();
    store.share_ops(app.engine().clock().now(), share.clone(), auth.clone(), 0, 1).await?;
    let moved = app.engine().share_wakes().watch(&share);
    let viewer = Viewer { app: app.clone(), share, auth, moved, cursor, is_over: false };
    let chunks = stream::unfold(viewer, |mut viewer| async move {
        let chunk = viewer.next().await?;
        Some((Ok::<_, Infallible>(chunk), viewer))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    response.extensions_mut().insert(NeverPacked);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    Ok(response)
}

impl Viewer {
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let closing = self.app.closing().clone();
        loop {
            // Before the read: what is applied during it wakes the next round.
            self.moved.borrow_and_update();
            match self.read().await {
                Ok(Some(chunk)) => return Some(chunk),
                Ok(None) => {}
                Err(why) => {
                    self.is_over = true;
                    return Some(closed(&why));
                }
            }
            tokio::select! {
                () = closing.cancelled() => return None,
                woken = timeout(HEARTBEAT, self.moved.changed()) => match woken {
                    Ok(_) => {}
                    // Silence is also the moment to notice that a capability has expired.
                    Err(_) => {
                        if let Some(chunk) = self.read().await.unwrap_or_else(|why| Some(self.end(&why))) {
                            return Some(chunk);
                        }
                        return Some(Bytes::from_static(b": alive\n\n"));
                    }
                },
            }
        }
    }

    fn end(&mut self, why: &ShareError) -> Bytes {
        self.is_over = true;
        closed(why)
    }

    /// Everything after the cursor, if there is anything.
    async fn read(&mut self) -> Result<Option<Bytes>, ShareError> {
        let now = self.app.engine().clock().now();
        let store = self.app.engine().store();
        let Some(cursor) = self.cursor else {
            let (info, ops) = store.share_snapshot(now, self.share.clone(), self.auth.clone()).await?;
            self.cursor = Some(info.cursor);
            return Ok(Some(snapshot(&info, &ops)));
        };
        let page = store.share_ops(now, self.share.clone(), self.auth.clone(), cursor, PAGE).await?;
        let ViewPage { ops, cursor: reached, is_behind, .. } = page;
        // A cursor that the log no longer reaches, or of another service; and a snapshot replaces everything.
        if is_behind || ops.iter().any(|op| op.kind == "snapshot.end") {
            self.cursor = None;
            return Box::pin(self.read()).await;
        }
        self.cursor = Some(reached);
        if ops.is_empty() {
            return Ok(None);
        }
        Ok(Some(ops.iter().map(frame).collect::<String>().into()))
    }
}

fn snapshot(info: &ShareInfo, ops: &[ShownOp]) -> Bytes {
    let data = json!({ "cursor": info.cursor, "items": ops });
    Bytes::from(format!("id: {}\nevent: snapshot\ndata: {data}\n\n", info.cursor))
}

fn frame(op: &ShownOp) -> String {
    let data = serde_json::to_string(op).expect("BUG: an operation is always JSON");
    format!("id: {}\nevent: op\ndata: {data}\n\n", op.cursor)
}

fn closed(why: &ShareError) -> Bytes {
    let code = match why {
        ShareError::Refused(refusal) => refusal.code(),
        ShareError::Store(_) => "overloaded",
    };
    let data: Value = json!({ "code": code });
    Bytes::from(format!("event: closed\ndata: {data}\n\n"))
}
