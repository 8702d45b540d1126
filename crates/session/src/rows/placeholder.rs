//! What is shown in place of a stored row that cannot be read.
//!
//! One spoilt row must not take the answer it stands in with it: a list, a conversation, an export. Each of these is
//! a valid record for every client, carries the id of its row, so that what is left can be looked at and removed,
//! and says to people that something is missing.
//!
//! Not here: finding the damage, and telling of it (`sturdy-store`, `read/damaged.rs`).

use crate::id::SessionId;
use crate::json::Num;
use crate::stamp::Millis;
use crate::types::session::{Session, SessionTime};
use crate::types::usage::Tokens;
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// In place of a part.
pub const PART_TEXT: &str = "[This part is damaged and cannot be read.]";
/// As the error of a message whose header is lost.
const MESSAGE_TEXT: &str = "The header of this message is damaged and cannot be read.";

/// What the columns beside a session's record still know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionColumns {
    pub project: String,
    pub directory: String,
    pub parent: Option<String>,
    pub title: String,
    pub created: Millis,
    pub updated: Millis,
}

/// Whether a stored text is a record with this id. Nothing else of it is looked at: this is asked of every row that
/// is sent to somebody.
#[must_use]
pub fn is_record(text: &str, id: &str) -> bool {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    serde_json::from_str::<Named<'_>>(text).is_ok_and(|named| named.id == id)
}

/// Whether a stored text is JSON at all.
#[must_use]
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A session as far as it is known without its record.
#[must_use]
pub fn session(id: &SessionId, columns: SessionColumns) -> Session {
    let SessionColumns { project, directory, parent, title, created, updated } = columns;
    Session {
        id: id.clone(),
        slug: String::new(),
        project_id: project,
        workspace_id: None,
        directory,
        path: None,
        parent_id: parent.and_then(|id| SessionId::parse(&id).ok()),
        summary: None,
        cost: Num::ZERO,
        tokens: Tokens::default(),
        share: None,
        title,
        agent: None,
        model: None,
        version: String::new(),
        metadata: None,
        time: SessionTime { created, updated, compacting: None, archived: None },
        permission: None,
        revert: None,
    }
}

/// The header of a message: an answer that failed, since nobody knows whose it was. It is its own parent, because
/// that is the one message it is known to belong to.
#[must_use]
pub fn message(session: &str, id: &str, created: Millis) -> String {
    let error = json!({ "name": "UnknownError", "data": { "message": MESSAGE_TEXT } });
    json!({
        "id": id,
        "sessionID": session,
        "role": "assistant",
        "time": { "created": created, "completed": created },
        "error": error,
        "parentID": id,
        "modelID": "",
        "providerID": "",
        "mode": "",
        "agent": "",
        "path": { "cwd": "", "root": "" },
        "cost": 0,
        "tokens": Tokens::default(),
    })
    .to_string()
}

/// A part: a text that says so.
#[must_use]
pub fn part(session: &str, message: &str, id: &str) -> String {
    json!({ "id": id, "sessionID": session, "messageID": message, "type": "text", "text": PART_TEXT })
        .to_string()
}
