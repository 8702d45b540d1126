//! One session. Whoever holds this object reaches this session and no other.

use super::sessions::bad_argument;
use super::{failure, subscription, value};
use crate::app::App;
use crate::wire::message::joined;
use crate::wire::page;
use serde::Deserialize;
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Call, Interface, Object, Outcome, Stub, Value, from_value};
use sturdy_engine::reads::MessageQuery;
use sturdy_session::id::SessionId;

pub(super) struct Session {
    app: App,
    id: SessionId,
}

/// Which messages are wanted: as the query of `GET /session/{id}/message`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Page {
    /// 0 or absent: all.
    limit: Option<u64>,
    /// `next` of the page before.
    before: Option<String>,
}

static SESSION: LazyLock<Arc<Interface<Session>>> = LazyLock::new(|| {
    Interface::named("Session")
        .method("info", |this: Arc<Session>, _| async move { this.info().await })
        .method("messages", |this, mut call: Call| async move { this.messages(call.arg()).await })
        .method("subscribe", |this, call| async move {
            // Up to here nothing has waited: a subscription begins where the call stands among others.
            let wanted = subscription::Wanted::read(&this.app, &this.id, call)?;
            this.record().await?;
            Ok(wanted.begin(&this.app).into())
        })
        .build()
});

pub(super) fn stub(app: &App, id: SessionId) -> Stub {
    SESSION.stub(Session { app: app.clone(), id })
}

/// The same for another object that answers for it.
pub(super) fn plain(app: &App, id: &SessionId) -> Session {
    Session { app: app.clone(), id: id.clone() }
}

impl Session {
    async fn record(&self) -> Result<String, sturdy_capnweb::Thrown> {
        match self.app.engine().session_record(&self.id).await {
            Ok(record) => Ok(record),
            Err(cause) => Err(failure::thrown(cause).await),
        }
    }

    pub(super) async fn info(&self) -> Outcome {
        value::record(&self.record().await?).await
    }

    pub(super) async fn messages(&self, wanted: Value) -> Outcome {
        let wanted: Page = if wanted.is_nothing() { Page::default() } else { from_value(wanted)? };
        let limit = wanted.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        let before = match (wanted.before, limit) {
            (None, _) => None,
            (Some(_), None | Some(0)) => return Err(bad_argument("`before` goes with a `limit`.").await),
            (Some(text), Some(_)) => match page::read_cursor(&text) {
                Some(before) => Some(before),
                None => return Err(bad_argument("`before` is not the `next` of a page.").await),
            },
        };
        self.record().await?;
        let found = match self.app.engine().reads().messages(&self.id, MessageQuery { limit, before }).await {
            Ok(found) => found,
            Err(cause) => return Err(failure::thrown(cause).await),
        };

        let mut items = Vec::with_capacity(found.items.len());
        for message in &found.items {
            items.push(value::record(&joined(message)).await?);
        }
        let mut answer = Object::new();
        answer.insert("items", Value::Array(items));
        if let (true, Some(oldest)) = (found.more, found.items.first()) {
            answer.insert("next", page::cursor_of(oldest));
        }
        Ok(answer.into())
    }
}
