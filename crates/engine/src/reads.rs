//! Reads of what is stored, for the server. Nothing here writes.
//!
//! Rows leave as the text they were stored as; whoever needs more than text reads it there. A row that cannot be read is
//! answered with one that says so, or left out of a list, and its session is listed as damaged; the rest is served.
//! Damage below the rows is an error and never an empty answer.
//!
//! Not here: changing something, which is asked of the engine (`requests/`); following what happens (`feed/`).

mod switches;

pub use switches::Switch;

use crate::feed::{PastPage, past};
use crate::records::large::LargeValues;
use crate::records::readable_record;
use std::sync::Arc;
use sturdy_session::fact::Fact;
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::row::{ApprovalRow, seq_of_place};
use sturdy_session::types::delivery::Delivery;
use sturdy_store::Store;

pub use sturdy_store::{
    AskQuery, Before, CommitError, CreatedEdge, DriverError, DriverErrorKind, Found, FoundPart, MessagePage,
    MessagePlace, MessageQuery, Opening, Outline, Overview, OverviewQuery, PagePlaces, PageWithin,
    PlacedMessage, RawAsk, RawMessage, ReadDirection, ReadError, SearchQuery, SessionGlance, SessionHead,
    SessionOrder, SessionQuery, Slice, StoreMeters,
};

/// The reading half of the store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Reads(Store);

/// How far behind a prompt its answer is looked for.
const ANSWER_WITHIN: usize = 8;

/// How a prompt came into its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The number of the event that told of it.
    pub told: u64,
    pub delivery: Delivery,
    /// Of what the client sent, if it may send it again.
    pub digest: Option<String>,
}

impl Reads {
    pub(crate) fn new(store: Store) -> Self {
        Self(store)
    }

    /// What happened in a session after a position, shown again.
    pub async fn past(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
        large: LargeValues,
    ) -> Result<PastPage, ReadError> {
        past(&self.0, session, after, limit, large).await
    }

    /// One message with its parts.
    pub async fn message(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<RawMessage>, ReadError> {
        self.0.message(session, message).await
    }

    /// The same, with what is large in it as it is wanted.
    pub async fn message_with(
        &self,
        session: &SessionId,
        message: &MessageId,
        large: LargeValues,
    ) -> Result<Option<RawMessage>, ReadError> {
        self.0.message_in(session, message, large.shape()).await
    }

    /// A part as it is stored; none if there is no such part.
    pub async fn part(&self, session: &SessionId, part: &PartId) -> Result<Option<String>, ReadError> {
        let rows = self.0.rows_of(session, &[], std::slice::from_ref(part)).await?;
        Ok(rows.parts.into_iter().next().map(|(_, text)| text))
    }

    /// A page of messages with their parts.
    pub async fn messages(&self, session: &SessionId, query: MessageQuery) -> Result<MessagePage, ReadError> {
        self.0.messages(session, query).await
    }

    /// The same, read until there are more bytes than these.
    pub async fn messages_within(
        &self,
        session: &SessionId,
        query: MessageQuery,
        large: LargeValues,
        bytes_max: usize,
    ) -> Result<PageWithin, ReadError> {
        self.0.messages_within(session, query, large.shape(), bytes_max).await
    }

    /// Where the messages of a page stand.
    pub async fn message_places(
        &self,
        session: &SessionId,
        query: MessageQuery,
    ) -> Result<PagePlaces, ReadError> {
        self.0.message_places(session, query).await
    }

    /// The messages from one place to another, read until there are more bytes than these. Those that are gone are
    /// left out.
    pub async fn slice_of_messages(
        &self,
        session: &SessionId,
        first: &MessagePlace,
        last: &MessagePlace,
        large: LargeValues,
        bytes_max: usize,
    ) -> Result<Slice, ReadError> {
        self.0.slice_of_messages(session, first, last, large.shape(), bytes_max).await
    }

    /// A page without the parts of its messages.
    pub async fn message_heads(
        &self,
        session: &SessionId,
        query: MessageQuery,
    ) -> Result<MessagePage, ReadError> {
        self.0.message_heads(session, query).await
    }

    /// Where a message stands in its conversation; None if there is no such message.
    pub async fn message_place(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<MessagePlace>, ReadError> {
        self.0.message_place(session, message).await
    }

    /// The messages beyond a place, or from the end, in the order in which they are met.
    pub async fn messages_beyond(
        &self,
        session: &SessionId,
        from: Option<&MessagePlace>,
        toward: ReadDirection,
        limit: usize,
    ) -> Result<Vec<PlacedMessage>, ReadError> {
        self.0.messages_beyond(session, from, toward, limit).await
    }

    /// Which messages are behind one, oldest first; none if there is no such message.
    pub async fn message_ids_after(
        &self,
        session: &SessionId,
        after: &MessageId,
        limit: usize,
    ) -> Result<Option<Vec<MessageId>>, ReadError> {
        self.0.message_ids_after(session, Some(after), limit).await
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

    /// How a prompt came into its session; None if there is no such message.
    pub async fn admission(
        &self,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<Admission>, ReadError> {
        let Some(seq) = self.0.message_seq(session, message).await? else { return Ok(None) };
        let entries = self.0.session_log(session, seq.saturating_sub(1), 1).await?;
        let entry = entries.first().filter(|entry| entry.seq == seq);
        let told = entry.map_or(0, |entry| entry.told);
        let fact = entry.and_then(|entry| Fact::parse(&entry.kind, &entry.data).ok());
        Ok(Some(match fact {
            Some(Fact::PromptAdmitted { delivery, digest, .. }) => Admission { told, delivery, digest },
            // A copy, or a message that wants no answer.
            Some(_) | None => Admission { told, delivery: Delivery::Steer, digest: None },
        }))
    }

    /// The number of the event that told that a prompt was taken up; None while it waits.
    pub async fn promoted(&self, session: &SessionId, message: &MessageId) -> Result<Option<u64>, ReadError> {
        let Some(place) = self.0.message_place(session, message).await? else { return Ok(None) };
        // Prompts that are taken up together stand between it and the answer.
        let behind =
            self.0.messages_beyond(session, Some(&place), ReadDirection::Newer, ANSWER_WITHIN).await?;
        for answer in behind {
            let seq = seq_of_place(answer.place.ord);
            let entries = self.0.session_log(session, seq.saturating_sub(1), 1).await?;
            let Some(entry) = entries.first().filter(|entry| entry.seq == seq) else { continue };
            if let Ok(Fact::StepStarted { takes, ready, .. }) = Fact::parse(&entry.kind, &entry.data)
                && let Some(index) = takes.iter().position(|taken| taken == message)
            {
                // Each is told of, and behind them that the step began, if it is one of a model.
                let began = u64::from(ready.kind.is_answer() || ready.kind.is_compaction());
                let behind = began + (takes.len() - 1 - index) as u64;
                return Ok(Some(entry.told.saturating_sub(behind)));
            }
        }
        Ok(None)
    }

    /// A session record; if it cannot be read, what is known without it.
    pub async fn session(&self, id: &SessionId) -> Result<Option<String>, ReadError> {
        readable_record(&self.0, id).await
    }

    /// The sessions right below one.
    pub async fn children(&self, parent: &SessionId) -> Result<Vec<SessionId>, ReadError> {
        self.0.children(parent).await
    }

    /// Notes that something of a session could not be read: it is listed as damaged.
    pub fn note_damage(&self, session: &SessionId, place: &str) {
        self.0.note_damage(session, place);
    }

    /// Session records.
    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<String>, ReadError> {
        self.0.sessions(query).await
    }

    /// The sessions of a project and where each stands in the log, without their records.
    pub async fn session_heads(&self, project: &str) -> Result<Vec<SessionHead>, ReadError> {
        self.0.session_heads(project).await
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
    pub async fn opening(
        &self,
        session: &SessionId,
        limit: u32,
        large: LargeValues,
    ) -> Result<Option<Opening>, ReadError> {
        self.0.opening(session, limit, large.shape()).await
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
