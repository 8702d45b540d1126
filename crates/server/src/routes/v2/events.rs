//! The stream of the whole server in the spelling of the v2 API: what sessions show, step by step, and what else happens.
//!
//! Nothing is told again here: a client that comes back reads what there is, or the history of a session.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::sse::{event_stream, spare_heartbeat};
use crate::wire::event::{event, v2_connected};
use crate::wire::event_v2::wired;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::VecDeque;
use sturdy_engine::feed::{Follower, Scope, Step, Tail};
use tokio::time::Interval;
use tracing::warn;

const HEARTBEAT: Bytes = Bytes::from_static(b": heartbeat\n\n");

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(of_server))
}

/// Events of the whole server.
#[utoipa::path(get, path = "/api/event", operation_id = "v2.event.subscribe",
    responses((status = 200, description = "Events", content_type = "text/event-stream", body = crate::wire::shapes::next::ServerEvent)))]
async fn of_server(State(app): State<App>) -> Response {
    let feed = app.engine().feed();
    // Both attached before the first frame is written: nothing that happens from now on is missed.
    let tail = Tail::of_all(feed);
    let follower = Follower::new(feed, Scope::All, None, None);
    let connected = v2_connected(app.engine().clock().now());
    let held = VecDeque::from([connected, HEARTBEAT]);
    let following = Following { heartbeat: spare_heartbeat(&app), app, follower, tail, held };
    let chunks = stream::unfold(following, |mut following| async move {
        let chunk = following.next().await?;
        Some((chunk, following))
    });
    event_stream(chunks)
}

struct Following {
    app: App,
    /// What the v1 API shows too.
    follower: Follower,
    tail: Tail,
    held: VecDeque<Bytes>,
    heartbeat: Interval,
}

impl Following {
    async fn next(&mut self) -> Option<Bytes> {
        let closing = self.app.closing().clone();
        loop {
            if let Some(frame) = self.held.pop_front() {
                return Some(frame);
            }
            tokio::select! {
                biased;
                () = closing.cancelled() => return None,
                filled = self.follower.fill() => if let Err(cause) = filled {
                    warn!(%cause, "an event stream ends: the store cannot be read");
                    return None;
                },
                _ = self.heartbeat.tick() => return Some(HEARTBEAT),
            }
            while let Some(step) = self.follower.ready() {
                if let Step::Event { shown, index, .. } = step
                    && let Some(frame) = reshaped(&event(&shown, index), shown.directory.as_deref())
                {
                    self.held.push_back(frame);
                }
            }
            match self.tail.ready().await {
                Ok(events) => {
                    for numbered in events {
                        let directory = numbered.directory.clone();
                        if let Ok(event) = wired(self.app.engine(), numbered).await {
                            self.held.push_back(event.at(directory).frame());
                        }
                    }
                }
                Err(cause) => {
                    warn!(%cause, "an event stream ends: the store cannot be read");
                    return None;
                }
            }
        }
    }
}

/// An event of the v1 API with the names of this one: what it says stands in `data`.
fn reshaped(event: &str, directory: Option<&str>) -> Option<Bytes> {
    let mut event: Value = serde_json::from_str(event).ok()?;
    // Said by `session.next.…` here.
    if event["type"] == "message.part.delta" {
        return None;
    }
    let mut out = json!({ "id": event["id"], "type": event["type"], "data": event["properties"].take() });
    if let Some(directory) = directory {
        out["location"] = json!({ "directory": directory });
    }
    Some(Bytes::from(format!("data: {out}\n\n")))
}
