//! A copy of a conversation, as a session of its own.
//!
//! A short one is one commit. A long one is copied in slices, so that others are not kept waiting for their
//! commits and little of it is in memory at a time; until its last slice is stored it is a copy that is not
//! finished, in which nothing happens and which a restart removes (`sturdy_session::turn`). Either way a copy is
//! there whole or not at all: there is no crash after which half a conversation looks like one.

use crate::behalf::{self, on_behalf, on_nobodys_behalf};
use crate::directory::instance::Instance;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::records::{self, readable};
use crate::requests::sessions::NewSession;
use crate::run::request;
use serde_json::json;
use std::mem;
use std::sync::Arc;
use sturdy_session::fork::{Copied, Copier, usage_of};
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::json::{Map, Num};
use sturdy_session::title::fork_title;
use sturdy_session::turn::Input;
use sturdy_session::types::part::Part;
use sturdy_session::types::session::Session;
use sturdy_session::types::usage::Tokens;
use sturdy_store::{Before, MessageQuery, RawMessage};
use tracing::warn;

/// The key in a session's metadata.
const FORK: &str = "sturdy.fork";

/// What one commit of a copy holds, unless a single part is larger.
const SLICE_BYTES: u64 = 512 * 1024;

impl Engine {
    /// Copies the messages before one, or all of them; also of a session that is busy. Gives the record
    /// as it was created: its totals follow from what was copied.
    pub async fn fork(
        &self,
        session: &SessionId,
        before: Option<&MessageId>,
    ) -> Result<Session, EngineError> {
        let origin = request::session_info(&self.inner.sessions, session).await?;
        let instance = self.inner.directories.instance(&origin.directory).await?;
        let before = match before {
            Some(id) => self.inner.store.message(session, id).await?,
            None => None,
        };
        let before = before.map(|raw| Before { id: raw.id, time: raw.created });
        let query = MessageQuery { limit: None, before: before.clone() };
        let heads = self.inner.store.message_heads(session, query).await?.items;
        let new = NewSession {
            title: Some(fork_title(&origin.title)),
            metadata: Some(came_from(&origin, before.as_ref())),
            workspace: origin.workspace_id.clone(),
            ..NewSession::default()
        };
        let info = self.new_record(&instance, new);

        let ids: Vec<MessageId> = heads.iter().map(|head| head.id.clone()).collect();
        let bytes: u64 = self.inner.store.parts_bytes(session, &ids).await?.iter().sum();
        let copier = Copier::new(&ids, info.id.clone(), self.inner.clock.stamp());
        let in_creation = self.inner.sessions.in_creation(&info.id);
        self.keep_trees(&instance, session, &info.id).await?;
        let mut copying = Copying {
            inner: self.inner.clone(),
            origin: session.clone(),
            copy: info.id.clone(),
            copier,
            slice: Vec::new(),
            slice_bytes: 0,
            is_long: bytes > SLICE_BYTES,
        };
        let record = info.clone();
        let copy = async move {
            // Until it is there or given up.
            let _in_creation = in_creation;
            copying.run(record, heads).await
        };
        // A task of its own: whoever stops waiting for the answer does not leave half a copy.
        let copied = match behalf::current() {
            Some(by) => self.inner.tasks.spawn("fork", on_behalf((*by).clone(), copy)),
            None => self.inner.tasks.spawn("fork", on_nobodys_behalf(copy)),
        };
        copied.await.map_err(|_| EngineError::Closing)??;
        Ok(info)
    }

    /// Invariant I15: the copy names the trees of the origin, so they are kept for it too, before anybody sees it.
    async fn keep_trees(
        &self,
        instance: &Instance,
        origin: &SessionId,
        copy: &SessionId,
    ) -> Result<(), EngineError> {
        let Some(worktree) = self.inner.sessions.trees_of(instance).await else { return Ok(()) };
        let origin = origin.clone();
        let copy = copy.clone();
        let keep = move || worktree.store.keep_also(origin.as_str(), copy.as_str());
        Ok(tokio::task::spawn_blocking(keep).await.map_err(|_| EngineError::Closing)??)
    }
}

/// A copy that is being made.
struct Copying {
    inner: Arc<Inner>,
    origin: SessionId,
    copy: SessionId,
    copier: Copier,
    /// What the next commit stores.
    slice: Vec<Input>,
    slice_bytes: u64,
    is_long: bool,
}

impl Copying {
    async fn run(&mut self, info: Session, heads: Vec<RawMessage>) -> Result<(), EngineError> {
        if !self.is_long {
            self.gather(heads).await?;
            return self.inner.sessions.create(info, mem::take(&mut self.slice)).await.map(|_| ());
        }
        self.inner.sessions.create(info, vec![Input::StartCopy]).await?;
        let copied = self.copy_in_slices(heads).await;
        if copied.is_err()
            && let Err(cause) = self.inner.sessions.say(&self.copy, vec![Input::Remove]).await
        {
            // The next start removes it.
            warn!(session = %self.copy, %cause, "a copy that failed could not be removed");
        }
        copied
    }

    async fn copy_in_slices(&mut self, heads: Vec<RawMessage>) -> Result<(), EngineError> {
        self.gather(heads).await?;
        self.slice.push(Input::FinishCopy);
        self.store_slice().await
    }

    /// Reads messages that fit into a slice together at once, and large ones part by part.
    async fn gather(&mut self, heads: Vec<RawMessage>) -> Result<(), EngineError> {
        let ids: Vec<MessageId> = heads.iter().map(|head| head.id.clone()).collect();
        let sizes = self.inner.store.parts_bytes(&self.origin, &ids).await?;
        let mut next = Vec::new();
        let mut next_bytes = 0;
        for (head, bytes) in heads.into_iter().zip(sizes) {
            if next_bytes + bytes > SLICE_BYTES {
                self.copy_whole(mem::take(&mut next), mem::take(&mut next_bytes)).await?;
            }
            if bytes > SLICE_BYTES {
                self.copy_part_by_part(&head).await?;
            } else {
                next.push(head.id);
                next_bytes += bytes;
            }
        }
        self.copy_whole(next, next_bytes).await
    }

    async fn copy_whole(&mut self, messages: Vec<MessageId>, bytes: u64) -> Result<(), EngineError> {
        self.make_room(bytes).await?;
        for raw in self.inner.store.messages_of(&self.origin, messages).await? {
            let copied = self.copier.copy(records::message_with_parts(&raw)?);
            self.slice.push(Input::CopyMessage(Box::new(copied)));
        }
        Ok(())
    }

    async fn copy_part_by_part(&mut self, head: &RawMessage) -> Result<(), EngineError> {
        let parts = self.inner.store.part_sizes(&self.origin, &head.id).await?;
        let (cost, tokens) = self.usage(&parts).await?;
        let info = self.copier.message(records::message(&head.id, &head.info)?);
        let message = info.id().clone();
        let copied = Copied { info, parts: Vec::new(), cost, tokens };
        self.slice.push(Input::CopyMessage(Box::new(copied)));
        for (id, bytes) in parts {
            self.make_room(bytes).await?;
            // One that was removed meanwhile is not copied.
            let Some(part) = self.part(&id).await? else { continue };
            let copy = self.copier.part(part, &message);
            self.slice.push(Input::CopyPart(Box::new(copy)));
        }
        Ok(())
    }

    /// What a message used stands in its small parts, and is counted when the message is copied.
    async fn usage(&self, parts: &[(PartId, u64)]) -> Result<(Num, Tokens), EngineError> {
        let small = parts.iter().filter(|(_, bytes)| *bytes < STEP_FINISH_BYTES_MAX);
        let ids: Vec<PartId> = small.map(|(id, _)| id.clone()).collect();
        let found = self.inner.store.rows_of(&self.origin, &[], &ids).await?.parts;
        let parts = found.iter().filter_map(|(id, text)| readable(records::part(id, text)));
        let bodies: Vec<_> = parts.map(|part| part.body).collect();
        Ok(usage_of(&bodies))
    }

    async fn part(&self, id: &PartId) -> Result<Option<Part>, EngineError> {
        let found = self.inner.store.rows_of(&self.origin, &[], std::slice::from_ref(id)).await?.parts;
        let Some((_, text)) = found.first() else { return Ok(None) };
        Ok(Some(records::part(id, text)?))
    }

    /// Stores what was gathered if it would become more than a slice.
    async fn make_room(&mut self, bytes: u64) -> Result<(), EngineError> {
        if self.is_long && self.slice_bytes + bytes > SLICE_BYTES && !self.slice.is_empty() {
            self.store_slice().await?;
        }
        self.slice_bytes += bytes;
        Ok(())
    }

    async fn store_slice(&mut self) -> Result<(), EngineError> {
        self.slice_bytes = 0;
        self.inner.sessions.say(&self.copy, mem::take(&mut self.slice)).await
    }
}

/// A step's account is a few numbers and a hash.
const STEP_FINISH_BYTES_MAX: u64 = 4096;

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
