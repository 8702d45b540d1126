//! Rows and pages, as JSON text: exactly what the API returns.
//!
//! `sessions` (searched with the help of `titles`) and `messages` are pages, `asks` and `projects` are short lists, `rows` is for those
//! who want the current value of certain rows, or all rows of a session. A reader may want parts in another `shape`.

pub(crate) mod approvals;
pub(crate) mod asks;
pub(crate) mod damaged;
mod message_head;
pub(crate) mod message_order;
pub(crate) mod messages;
pub(crate) mod moment;
mod parts;
pub(crate) mod place;
pub(crate) mod projects;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod shape;
pub(crate) mod titles;

use crate::error::{Failure, ReadError};
use sturdy_session::id::SessionId;

/// An id from the database; one of another form was not written by us.
pub(crate) fn session_id(text: &str) -> Result<SessionId, ReadError> {
    SessionId::parse(text).map_err(|error| Failure::broken("session", error).into())
}
