//! A viewer's stream: server-sent events, or the same over a WebSocket, one object per message.

use super::follow::{Follower, ViewerUpdate};
use super::refuse::ShareFailure;
use crate::app::App;
use crate::reply::NeverPacked;
use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::header::{self, HeaderValue};
use serde_json::{Value, json};
use std::convert::Infallible;
use sturdy_store::share::{ShareAuth, ShareInfo, ShownOp};

/// Answers with a stream that begins after `cursor`, or with everything.
pub(super) async fn follow(
    app: App,
    share: String,
    auth: Option<ShareAuth>,
    cursor: Option<u64>,
) -> Result<Response, ShareFailure> {
    let follower = Follower::new(&app, share, auth, cursor).await?;
    let chunks = stream::unfold(follower, |mut follower| async move {
        let update = follower.next().await?;
        Some((Ok::<_, Infallible>(frames(&update)), follower))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    response.extensions_mut().insert(NeverPacked);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    Ok(response)
}

/// The same over a WebSocket.
pub(super) async fn converse(
    app: App,
    share: String,
    auth: Option<ShareAuth>,
    cursor: Option<u64>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, ShareFailure> {
    let follower = Follower::new(&app, share, auth, cursor).await?;
    Ok(upgrade.max_message_size(HEARD_BYTES_MAX).max_frame_size(HEARD_BYTES_MAX).on_upgrade(
        move |socket| async move {
            let telling = app.engine().tasks().spawn("viewer", tell(follower, socket));
            let _ = telling.await;
        },
    ))
}

/// A viewer has nothing to say but that it is there.
const HEARD_BYTES_MAX: usize = 4096;

async fn tell(mut follower: Follower, mut socket: WebSocket) {
    loop {
        let update = tokio::select! {
            update = follower.next() => update,
            heard = socket.recv() => match heard {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        let Some(update) = update else { break };
        for message in messages(&update) {
            if socket.send(message).await.is_err() {
                return;
            }
        }
    }
    // It may be gone already.
    let _ = socket.send(Message::Close(None)).await;
}

fn messages(update: &ViewerUpdate) -> Vec<Message> {
    let text = |value: Value| Message::Text(value.to_string().into());
    match update {
        ViewerUpdate::Page(page) => match &page.whole {
            Some(info) => {
                vec![text(json!({ "kind": "snapshot", "cursor": info.cursor, "items": page.ops }))]
            }
            None => page.ops.iter().map(|op| Message::Text(written(op).into())).collect(),
        },
        ViewerUpdate::Silence => vec![Message::Ping(Bytes::new())],
        ViewerUpdate::Closed(code) => vec![text(json!({ "kind": "closed", "code": code }))],
        // The socket is closed without a word about the share.
        ViewerUpdate::Lost => Vec::new(),
    }
}

fn frames(update: &ViewerUpdate) -> Bytes {
    match update {
        ViewerUpdate::Page(page) => {
            let made = page.frames.get_or_init(|| match &page.whole {
                Some(info) => snapshot(info, &page.ops),
                None => page.ops.iter().map(frame).collect::<String>().into(),
            });
            made.clone()
        }
        ViewerUpdate::Silence => Bytes::from_static(b": alive\n\n"),
        ViewerUpdate::Closed(code) => {
            Bytes::from(format!("event: closed\ndata: {}\n\n", json!({ "code": code })))
        }
        ViewerUpdate::Lost => Bytes::from_static(b": the store does not respond; reconnect\n\n"),
    }
}

fn snapshot(info: &ShareInfo, ops: &[ShownOp]) -> Bytes {
    let data = json!({ "cursor": info.cursor, "items": ops });
    Bytes::from(format!("id: {}\nevent: snapshot\ndata: {data}\n\n", info.cursor))
}

fn frame(op: &ShownOp) -> String {
    format!("id: {}\nevent: op\ndata: {}\n\n", op.cursor, written(op))
}

fn written(op: &ShownOp) -> String {
    serde_json::to_string(op).expect("BUG: an operation is always JSON")
}
