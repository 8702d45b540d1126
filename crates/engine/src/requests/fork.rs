//! A copy of a conversation, as a session of its own.
//!
//! The new session and everything in it is one commit. So a copy is there whole or not at all: there is
//! no moment, and no crash, after which half a conversation looks like one.

use crate::directory::instance::Instance;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::requests::sessions::NewSession;
use crate::run::registry::parse_message;
use crate::run::request;
use serde_json::json;
use sturdy_session::fork::{Copied, copy};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::stamp::Stamp;
use sturdy_session::title::fork_title;
use sturdy_session::turn::Input;
use sturdy_session::types::session::Session;
use sturdy_store::{Before, MessageQuery, RawMessage, ReadError};

/// The key in a session's metadata.
const FORK: &str = "sturdy.fork";

impl Engine {
    /// Copies the messages before one, or all of them; also of a session that is busy. Gives the record
    /// as it was created: its totals follow from what was copied.
    pub async fn fork(
        &self,
        session: &SessionId,
        before: Option<&MessageId>,
    ) -> Result<Session, EngineError> {
        let origin = request::session_info(&self.inner, session).await?;
        let instance = self.inner.instance(&origin.directory).await?;
        let before = match before {
            Some(id) => self.inner.store.message(session, id).await?,
            None => None,
        };
        let before = before.map(|raw| Before { id: raw.id, time: raw.created });
        let page =
            self.inner.store.messages(session, MessageQuery { limit: None, before: before.clone() }).await?;
        let new = NewSession {
            title: Some(fork_title(&origin.title)),
            metadata: Some(came_from(&origin, before.as_ref())),
            workspace: origin.workspace_id.clone(),
            ..NewSession::default()
        };
        let info = self.new_record(&instance, new);

        let id = info.id.clone();
        let stamp = self.inner.clock.stamp();
        // A long conversation takes a while to read; others should not wait for it.
        let copied = tokio::task::spawn_blocking(move || copies(&page.items, &id, stamp)).await;
        let copied = copied.map_err(|_| EngineError::Closing)??;
        let messages = copied.into_iter().map(|copied| Input::CopyMessage(Box::new(copied))).collect();
        let _unborn = self.inner.unborn(&info.id);
        self.keep_trees(&instance, session, &info.id).await?;
        self.inner.create(info.clone(), messages).await?;
        Ok(info)
    }

    /// Invariant I15: the copy names the trees of the origin, so they are kept for it too, before anybody sees it.
    async fn keep_trees(
        &self,
        instance: &Instance,
        origin: &SessionId,
        copy: &SessionId,
    ) -> Result<(), EngineError> {
        let Some(worktree) = self.inner.trees_of(instance).await else { return Ok(()) };
        let origin = origin.clone();
        let copy = copy.clone();
        let keep = move || worktree.store.keep_also(origin.as_str(), copy.as_str());
        Ok(tokio::task::spawn_blocking(keep).await.map_err(|_| EngineError::Closing)??)
    }
}

/// The metadata of the origin, and where the copy left it. The session id of a fork of a fork is that of the nearer one.
fn came_from(origin: &Session, before: Option<&Before>) -> Map {
    let mut metadata = origin.metadata.clone().unwrap_or_default();
    let mut fork = json!({ "sessionID": origin.id });
    if let Some(before) = before {
        fork["messageID"] = json!(before.id);
    }
    metadata.insert(FORK.to_owned(), fork);
    metadata
}

fn copies(raw: &[RawMessage], session: &SessionId, mut stamp: Stamp) -> Result<Vec<Copied>, ReadError> {
    let parse = |raw: &RawMessage| {
        parse_message(raw).map_err(|cause| {
            let what = cause.to_string();
            let place = format!("message {}", raw.id);
            ReadError::Broken { what, place }
        })
    };
    let messages = raw.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    Ok(copy(messages, session, &mut stamp))
}
