//! Changes that are not turns: create, rename, describe, archive, remove.

use super::{Decision, Effect, Refusal, State, stop};
use crate::fact::{Edit, Fact};
use crate::id::MessageId;
use crate::json::{Map, Num};
use crate::stamp::Stamp;
use crate::title::is_default_title;
use crate::types::failure::Failure;
use crate::types::session::{Rule, Session};
use crate::types::usage::Tokens;

/// What a client wants changed; unset fields stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPatch {
    pub title: Option<String>,
    /// Replaces the old object as a whole.
    pub metadata: Option<Map>,
    /// Added after the existing rules.
    pub permission: Option<Vec<Rule>>,
    /// `Some(None)` takes a session out of the archive again.
    pub archived: Option<Option<Num>>,
}

pub(super) fn create(state: &State, info: Box<Session>, out: &mut Decision) {
    if state.info.is_some() {
        return out.refuse(Refusal::Exists);
    }
    out.fact(Fact::SessionCreated { info });
}

/// One fact per field, in this order: a title and the archive do not touch `time.updated`.
pub(super) fn patch(state: &State, patch: SessionPatch, stamp: &Stamp, out: &mut Decision) {
    let Some(info) = state.info.as_deref() else { return out.refuse(Refusal::Gone) };
    let mut record = info.clone();
    if let Some(title) = patch.title {
        record.title = title;
        edited(out, Edit::Renamed, &record);
    }
    if let Some(metadata) = patch.metadata {
        record.metadata = Some(metadata);
        record.time.updated = stamp.now();
        edited(out, Edit::Described, &record);
    }
    if let Some(rules) = patch.permission {
        record.permission.get_or_insert_default().extend(rules);
        record.time.updated = stamp.now();
        edited(out, Edit::Permitted, &record);
    }
    if let Some(archived) = patch.archived {
        record.time.archived = archived;
        edited(out, Edit::Archived, &record);
    }
}

/// A generated title comes late; one that a person chose meanwhile is kept.
pub(super) fn titled(state: &State, title: String, out: &mut Decision) {
    let Some(info) = state.info.as_deref().filter(|info| is_default_title(&info.title)) else { return };
    let mut record = info.clone();
    record.title = title;
    edited(out, Edit::Titled, &record);
}

/// What runs is stopped and closed first, so that nothing writes into a session that is gone.
pub(super) fn remove(state: &State, stamp: &mut Stamp, out: &mut Decision) {
    let Some(info) = state.info.clone() else { return out.refuse(Refusal::Gone) };
    stop::settle(state, Failure::aborted(), stamp, out);
    out.effect(Effect::StopAll);
    out.fact(Fact::SessionRemoved { info });
}

pub(super) fn remove_message(
    state: &State,
    message: MessageId,
    cost: Num,
    tokens: Tokens,
    out: &mut Decision,
) {
    if !state.is_idle() {
        return out.refuse(Refusal::Busy);
    }
    out.fact(Fact::MessageRemoved { message, cost, tokens });
}

fn edited(out: &mut Decision, edit: Edit, record: &Session) {
    out.fact(Fact::SessionEdited { edit, info: Box::new(record.clone()) });
}
