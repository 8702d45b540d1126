//! When somebody chose another agent or model, which the v2 API lists between the messages.
//!
//! A choice is an edit of the session record and no message: it is read from the log. Those that an undo took away with the
//! messages around them are named by a later edit, and left out.

use super::Reads;
use std::collections::HashSet;
use sturdy_session::fact::{Edit, Fact};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::revert::Boundary;
use sturdy_session::row::place_of_seq;
use sturdy_session::types::session::SessionModel;
use sturdy_store::{LogEntry, MessagePlace, ReadError};

/// A choice for the prompts that follow: of an agent, or of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Where it stands between the messages, with the id it has there.
    pub place: MessagePlace,
    pub at: u64,
    pub agent: Option<String>,
    pub model: Option<SessionModel>,
}

impl Reads {
    /// When somebody chose another agent or model for a session, oldest first.
    pub async fn switches(&self, session: &SessionId) -> Result<Vec<Switch>, ReadError> {
        let mut switches = Vec::new();
        let mut removed = HashSet::new();
        for entry in self.0.edits_of(session).await? {
            match Fact::parse(&entry.kind, &entry.data) {
                Ok(Fact::SessionEdited { edit: Edit::Switched { agent, model, message, .. } }) => {
                    let place = MessagePlace { ord: place_of_seq(entry.seq), id: message };
                    switches.push(Switch { place, at: entry.at, agent, model });
                }
                Ok(Fact::SessionEdited { edit: Edit::Unswitched { messages } }) => removed.extend(messages),
                Ok(_) | Err(_) => {}
            }
        }
        switches.retain(|switch| !removed.contains(&switch.place.id));
        Ok(switches)
    }

    /// The choices that go when the cut of a session is made final: those that stand behind it. One that was made since the
    /// conversation was cut is for what comes next, and stays.
    pub async fn switches_behind(
        &self,
        session: &SessionId,
        cut: &Boundary,
    ) -> Result<Vec<MessageId>, ReadError> {
        let mut switches = self.switches(session).await?;
        let Some(place) = self.0.message_place(session, &cut.message).await? else { return Ok(Vec::new()) };
        switches.retain(|switch| switch.place > place);
        if switches.is_empty() {
            return Ok(Vec::new());
        }
        let cut_at = self.cut_since(session).await?.map_or(u64::MAX, place_of_seq);
        switches.retain(|switch| switch.place.ord < cut_at);
        Ok(switches.into_iter().map(|switch| switch.place.id).collect())
    }

    /// The seq at which the conversation was cut; a cut that was moved since was made when it was made first.
    async fn cut_since(&self, session: &SessionId) -> Result<Option<u64>, ReadError> {
        let mut first = None;
        while let Some(entry) = self.0.newest_of_kind(session, REVERTED, first).await? {
            if !is_cut(&entry) {
                break;
            }
            first = Some(entry.seq);
        }
        Ok(first)
    }
}

const REVERTED: &str = "session.reverted.1";

fn is_cut(entry: &LogEntry) -> bool {
    matches!(Fact::parse(&entry.kind, &entry.data), Ok(Fact::SessionReverted { revert: Some(_), .. }))
}
