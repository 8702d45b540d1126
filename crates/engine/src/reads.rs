//! Reading what is stored, for whoever serves it: everything here reads, and nothing changes a thing.
//!
//! Rows leave as the text they were stored as; whoever needs more than text reads it there. Damage is an error and never
//! an empty answer.
//!
//! Not here: changing something, which is asked of the engine (`requests/`); following what happens (`feed/`).

use crate::feed::{PastPage, past};
use std::sync::Arc;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::row::ApprovalRow;
use sturdy_store::Store;

pub use sturdy_store::{
    AskQuery, Before, CommitError, CreatedEdge, DriverError, DriverErrorKind, Found, FoundPart, MessagePage,
    MessageQuery, Opening, Outline, Overview, OverviewQuery, RawAsk, RawMessage, ReadError, SearchQuery,
    SessionGlance, SessionOrder, SessionQuery, StoreMeters,
};

/// The reading half of the store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Reads(Store);

impl Reads {
    pub(crate) fn new(store: Store) -> Self {
        Self(store)
    }

    /// What happened in a session after a position, shown again.
    pub async fn past(&self, session: &SessionId, after: u64, limit: usize) -> Result<PastPage, ReadError> {
        past(&self.0, session, after, limit).await
    }

    /// One message with its parts.
    pub async fn message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<RawMessage>, ReadError> {
        self.0.message(session, message).await
    }

    /// A page of messages with their parts.
    pub async fn messages(&self, session: &SessionId, query: MessageQuery) -> Result<MessagePage, ReadError> {
        self.0.messages(session, query).await
    }

    /// The same without parts.
    pub async fn message_heads(
        &self,
        session: &SessionId,
        query: MessageQuery,
    ) -> Result<MessagePage, ReadError> {
        self.0.message_heads(session, query).await
    }

    /// The messages behind one; none if there is no such message.
    pub async fn messages_after(
        &self,
        session: &SessionId,
        after: Option<&MessageId>,
        limit: usize,
    ) -> Result<Option<Vec<RawMessage>>, ReadError> {
        self.0.messages_after(session, after, limit).await
    }

    /// Message records of all sessions by their time.
    pub async fn messages_between(
        &self,
        since: u64,
        until: u64,
        limit: u32,
    ) -> Result<Vec<String>, ReadError> {
        self.0.messages_between(since, until, limit).await
    }

    /// Where in its session a message was written.
    pub async fn message_seq(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<u64>, ReadError> {
        self.0.message_seq(session, message).await
    }

    /// A session record.
    pub async fn session(&self, id: &SessionId) -> Result<Option<String>, ReadError> {
        self.0.session(id).await
    }

    /// Session records.
    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<String>, ReadError> {
        self.0.sessions(query).await
    }

    /// Sessions of a directory that have something open.
    pub async fn busy_sessions_in(&self, directory: &str) -> Result<Vec<SessionId>, ReadError> {
        self.0.busy_sessions_in(directory).await
    }

    /// What waits for a person.
    pub async fn asks(&self, query: AskQuery) -> Result<Vec<RawAsk>, ReadError> {
        self.0.asks(query).await
    }

    /// The list of a session.
    pub async fn todos(&self, session: &SessionId) -> Result<Option<String>, ReadError> {
        self.0.todos(session).await
    }

    /// Project records.
    pub async fn projects(&self) -> Result<Vec<String>, ReadError> {
        self.0.projects().await
    }

    /// A project record.
    pub async fn project(&self, id: &str) -> Result<Option<String>, ReadError> {
        self.0.project(id).await
    }

    /// What people allowed for always.
    pub async fn approvals(&self, project: Option<&str>) -> Result<Vec<ApprovalRow>, ReadError> {
        self.0.approvals(project).await
    }

    /// Words in the contents of all sessions.
    pub async fn search(&self, query: SearchQuery) -> Result<Found, ReadError> {
        self.0.search(query).await
    }

    /// All sessions as of one moment.
    pub async fn overview(&self, query: OverviewQuery) -> Result<Overview, ReadError> {
        self.0.overview(query).await
    }

    /// A session's messages in short, as of one moment.
    pub async fn outline(&self, session: &SessionId, limit: u32) -> Result<Outline, ReadError> {
        self.0.outline(session, limit).await
    }

    /// What a screen shows of a session first, as of one moment.
    pub async fn opening(&self, session: &SessionId, limit: u32) -> Result<Option<Opening>, ReadError> {
        self.0.opening(session, limit).await
    }

    /// The oldest position that can be replayed exactly.
    pub async fn horizon(&self) -> Result<u64, ReadError> {
        self.0.horizon().await
    }

    /// The newest position.
    #[must_use]
    pub fn head(&self) -> u64 {
        self.0.head()
    }

    /// Names the store; another one after it was restored.
    #[must_use]
    pub fn epoch(&self) -> Arc<str> {
        self.0.epoch()
    }

    /// Commits that wait to be written.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.0.queued()
    }

    /// What the store has counted.
    #[must_use]
    pub fn meters(&self) -> &StoreMeters {
        self.0.meters()
    }
}
