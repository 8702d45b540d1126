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
use sturdy_engine::feed::{Follower, NumberedEvent, Scope, Step, Tail};
use sturdy_engine::reads::ReadError;
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
    let first = VecDeque::from([connected, HEARTBEAT]);
    let heartbeat = spare_heartbeat(&app);
    let numbered = VecDeque::new();
    let following = Following { app, first, follower, tail, is_behind: false, numbered, heartbeat };
    let chunks = stream::unfold(following, |mut following| async move {
        let chunk = following.next().await?;
        Some((chunk, following))
    });
    event_stream(chunks)
}

/// A frame is made when its turn comes: a client that does not read holds one, and a page of what was read.
struct Following {
    app: App,
    first: VecDeque<Bytes>,
    /// What the v1 API shows too.
    follower: Follower,
    tail: Tail,
    /// The tail has not been read since the follower has.
    is_behind: bool,
    /// What was read of it.
    numbered: VecDeque<NumberedEvent>,
    heartbeat: Interval,
}

impl Following {
    async fn next(&mut self) -> Option<Bytes> {
        match self.next_frame().await {
            Ok(frame) => frame,
            Err(cause) => {
                warn!(%cause, "an event stream ends: the store cannot be read");
                None
            }
        }
    }

    async fn next_frame(&mut self) -> Result<Option<Bytes>, ReadError> {
        let closing = self.app.closing().clone();
        loop {
            let ready = self.first.pop_front().or_else(|| self.next_of_both());
            if ready.is_some() {
                return Ok(ready);
            }
            while let Some(numbered) = self.numbered.pop_front() {
                let directory = numbered.directory.clone();
                if let Ok(event) = wired(self.app.engine(), numbered).await {
                    return Ok(Some(event.at(directory).frame()));
                }
            }
            if self.is_behind {
                self.numbered = self.tail.ready().await?.into();
                self.is_behind = false;
                continue;
            }
            tokio::select! {
                biased;
                () = closing.cancelled() => return Ok(None),
                filled = self.follower.fill() => filled?,
                _ = self.heartbeat.tick() => return Ok(Some(HEARTBEAT)),
            }
            self.is_behind = true;
        }
    }

    /// The next frame of what both APIs show, if it is at hand.
    fn next_of_both(&mut self) -> Option<Bytes> {
        while let Some(step) = self.follower.ready() {
            if let Step::Event { shown, index, .. } = step
                && let Some(frame) = reshaped(&event(&shown, index), shown.directory.as_deref())
            {
                return Some(frame);
            }
        }
        None
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
