//! Where something stands in a conversation.

use sturdy_session::id::MessageId;

/// By its place, and by its id where two have one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessagePlace {
    pub ord: u64,
    pub id: MessageId,
}

impl MessagePlace {
    /// As the columns of a row have it. None without an id that can be read: such a message is left out everywhere.
    pub(crate) fn parse(id: &str, ord: i64) -> Option<Self> {
        Some(Self { ord: ord.cast_unsigned(), id: MessageId::parse(id).ok()? })
    }
}

/// A cursor: the oldest message of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    pub id: MessageId,
    /// Counts when there is no message of that id any more.
    pub time: u64,
}

/// Where the messages of a page stand, without the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePlaces {
    /// Oldest first.
    pub places: Vec<MessagePlace>,
    /// A cursor at the oldest, if older ones remain.
    pub next: Option<Before>,
}
