//! Rows: the current value of a session, message, part, ask, prompt, todo list.
//!
//! A row is what the API returns, as JSON text, with the few columns a query needs beside
//! it. `rows.rs` computes them from facts; the store writes what it is told.

use crate::id::{MessageId, PartId, SessionId};
use crate::stamp::Millis;
use crate::types::session::Session;

/// One change of one row, as part of a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct RowWrite {
    /// Which entry of the commit caused it; the row is stamped with that entry's position.
    pub entry: usize,
    pub change: RowChange,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RowChange {
    Session(SessionRow),
    /// Only what the machine has open changed, not what anybody sees.
    Machine {
        session: SessionId,
        machine: String,
    },
    /// The session with everything in it. Its log before this entry goes as well.
    RemoveSession(SessionId),
    /// `ord` counts on creation only: a row keeps its place when it is written again.
    Message(MessageRow),
    /// A message that waited at the end of the conversation takes its place in it.
    PlaceMessage {
        id: MessageId,
        ord: u64,
    },
    /// With its parts.
    RemoveMessage(MessageId),
    Part(PartRow),
    RemovePart(PartId),
    Ask(AskRow),
    RemoveAsk {
        id: String,
    },
    /// Allowed for good. It belongs to a project and not to the session in which it was said: it outlives
    /// the session, and a person may take it back.
    Approval(ApprovalRow),
    /// What the session is right after this entry, for readers that were away: they read the log from here.
    Keyframe {
        session: SessionId,
        data: String,
    },
    /// The whole list, as one JSON array.
    Todos {
        session: SessionId,
        data: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    pub id: SessionId,
    pub project_id: String,
    pub directory: String,
    pub path: Option<String>,
    pub parent_id: Option<SessionId>,
    pub title: String,
    pub created: Millis,
    pub updated: Millis,
    pub is_archived: bool,
    /// The wire record.
    pub data: String,
    /// What the machine has open, for the next start; empty when it is idle with nothing waiting.
    pub machine: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    pub id: MessageId,
    pub session_id: SessionId,
    /// Place in the conversation: the seq of the fact that created it, and the place in that fact.
    pub ord: u64,
    pub created: Millis,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartRow {
    pub id: PartId,
    pub message_id: MessageId,
    pub session_id: SessionId,
    pub ord: u64,
    /// Its text still grows: the growth in the log after this row belongs to it.
    pub is_open: bool,
    pub data: String,
}

/// A permission or question that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct AskRow {
    pub id: String,
    pub session_id: SessionId,
    pub kind: AskKind,
    pub data: String,
}

/// What a person allowed with "always".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRow {
    pub id: String,
    pub project_id: String,
    /// The top of the checkout it was given in, or the directory where there is no repository: there
    /// it counts, and in no copy.
    pub directory: String,
    pub permission: String,
    pub pattern: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskKind {
    Permission,
    Question,
}

impl AskKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Question => "question",
        }
    }
}

/// Room for the parts of one fact in the order of their message.
pub(crate) const PARTS_OF_ONE_FACT: u32 = 20;

/// Behind every place that a fact gives: of prompts that wait for a turn of their own, in their order.
pub(crate) const AT_THE_END: u64 = 1 << 62;

/// The place in its conversation of what a fact of this seq made.
#[must_use]
pub fn place_of_seq(seq: u64) -> u64 {
    seq << PARTS_OF_ONE_FACT
}

/// The seq of the fact that gave a message or a part this place in its conversation.
#[must_use]
pub fn seq_of_place(ord: u64) -> u64 {
    (ord & !AT_THE_END) >> PARTS_OF_ONE_FACT
}

impl SessionRow {
    /// The row of a session; `data` is its record as JSON.
    pub(super) fn of(info: &Session, machine: String, data: String) -> Self {
        Self {
            id: info.id.clone(),
            project_id: info.project_id.clone(),
            directory: info.directory.clone(),
            path: info.path.clone(),
            parent_id: info.parent_id.clone(),
            title: info.title.clone(),
            created: info.time.created,
            updated: info.time.updated,
            is_archived: info.time.archived.is_some(),
            data,
            machine,
        }
    }
}
