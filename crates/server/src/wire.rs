//! Shapes of the wire that differ from ours, both ways.
//!
//! `schema` reads bodies and says what is wrong with them, `body` is what clients may send,
//! `event` is what a fact looks like on a stream, `listing` is which sessions a client wants, `page` is where a page of messages goes on,
//! `message` joins the rows of a message, `query` reads a query, `redaction` is what an export leaves out, `v2` is how the v2 API spells what v1 calls otherwise, `message_v2` how it spells messages,
//! `event_v2` how it spells events, `error_schema` describes what errors look like.

pub(crate) mod body;
pub(crate) mod commands;
pub(crate) mod error_schema;
pub(crate) mod event;
pub(crate) mod event_v2;
pub(crate) mod listing;
pub(crate) mod message;
pub(crate) mod message_v2;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod redaction;
pub(crate) mod schema;
pub(crate) mod shapes;
pub(crate) mod share_link;
pub(crate) mod v2;
