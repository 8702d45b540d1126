//! Which events of a stream a client wants: those of some sessions, of their descendants too, and the outline of the rest.
//!
//! A descendant that is born later is noticed by its first event. Sessions that are followed are bounded: a client that
//! names more than that follows everything.

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::wire::query::Query;
use serde::Deserialize;
use std::collections::HashSet;
use sturdy_engine::feed::{Body, Shown};
use sturdy_session::id::SessionId;

const NAMED_MAX: usize = 64;
const FOLLOWED_MAX: usize = 10_000;

/// What a list of sessions is made of: enough to know which of them want something from a person.
const OUTLINE: [&str; 12] = [
    "session.created",
    "session.updated",
    "session.deleted",
    "session.status",
    "session.idle",
    "session.error",
    "permission.asked",
    "permission.replied",
    "question.asked",
    "question.replied",
    "question.rejected",
    "sturdy.resync",
];

/// None of it set: everything.
#[derive(Debug, Default)]
pub(crate) struct EventFilter {
    /// Events of these only.
    sessions: Option<HashSet<SessionId>>,
    /// Also of those below them.
    has_tree: bool,
    /// Of the others, what their outline is made of.
    has_outline: bool,
}

impl EventFilter {
    /// `session=` (several), `tree=1`, `outline=1`.
    pub(crate) async fn of(app: &App, query: &Query) -> Result<Self, ApiError> {
        let is_set = |name: &str| matches!(query.get(name), Some("1" | "true"));
        let mut sessions = HashSet::new();
        for text in query.all("session").flat_map(|list| list.split(',')).filter(|text| !text.is_empty()) {
            let id = SessionId::parse(text);
            let id =
                id.map_err(|cause| ApiError::schema(Kind::Query, format!("{cause}\n  at [\"session\"]")))?;
            sessions.insert(id);
        }
        if sessions.len() > NAMED_MAX {
            let message = format!("At most {NAMED_MAX} sessions are followed by name\n  at [\"session\"]");
            return Err(ApiError::schema(Kind::Query, message));
        }
        let has_outline = is_set("outline");
        if sessions.is_empty() {
            // An outline alone is an outline of everything.
            let sessions = has_outline.then(HashSet::new);
            return Ok(Self { sessions, has_tree: false, has_outline });
        }
        let has_tree = is_set("tree");
        if has_tree {
            add_descendants(app, &mut sessions).await?;
        }
        Ok(Self { sessions: Some(sessions), has_tree, has_outline })
    }

    /// Whether this event is wanted; a new descendant is remembered.
    pub(crate) fn wants(&mut self, shown: &Shown, index: usize) -> bool {
        let Some(sessions) = &mut self.sessions else { return true };
        let Body::Entry(entry) = &shown.body else {
            // Not about one session: settings, projects, the server itself.
            return self.has_outline;
        };
        if sessions.contains(&entry.session) {
            return true;
        }
        let text = &shown.events[index];
        if self.has_tree && sessions.len() < FOLLOWED_MAX && text.starts_with(CREATED) {
            let parent =
                serde_json::from_slice::<Born>(text).ok().and_then(|born| born.properties.info.parent_id);
            if parent.is_some_and(|parent| sessions.contains(&parent)) {
                sessions.insert(entry.session.clone());
                return true;
            }
        }
        self.has_outline && OUTLINE.contains(&kind(text))
    }
}

const CREATED: &[u8] = b"{\"type\":\"session.created\"";

#[derive(Deserialize)]
struct Born {
    properties: BornProperties,
}

#[derive(Deserialize)]
struct BornProperties {
    info: BornInfo,
}

#[derive(Deserialize)]
struct BornInfo {
    #[serde(rename = "parentID")]
    parent_id: Option<SessionId>,
}

/// The type of an event, which its text begins with.
fn kind(text: &[u8]) -> &str {
    let rest = text.strip_prefix(b"{\"type\":\"").unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'"').unwrap_or(0);
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}

async fn add_descendants(app: &App, sessions: &mut HashSet<SessionId>) -> Result<(), ApiError> {
    let mut unseen: Vec<SessionId> = sessions.iter().cloned().collect();
    while let Some(parent) = unseen.pop() {
        for child in app.engine().reads().children(&parent).await? {
            if sessions.len() < FOLLOWED_MAX && sessions.insert(child.clone()) {
                unseen.push(child);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
