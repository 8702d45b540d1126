//! Changes that are not turns: create, rename, describe, archive, remove.

use super::deciding::Deciding;
use super::state::OpenStep;
use super::{CommittedCut, Effect, NewRevert, Refusal, State};
use crate::fact::{Edit, Fact};
use crate::fork::Copied;
use crate::id::{MessageId, PartId};
use crate::json::{Map, Num};
use crate::title::is_default_title;
use crate::types::failure::Failure;
use crate::types::part::Part;
use crate::types::session::{Rule, Session, SessionModel, Share};
use crate::types::usage::Tokens;

/// Rules of one session. They stand in its record, which every turn writes anew, and are looked through for every call.
pub const RULES_MAX: usize = 1_000;
/// And all that they say: looking for a long pattern in a long text takes the one times the other.
pub const RULES_BYTES_MAX: usize = 128 * 1024;

/// What a client wants changed; unset fields stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPatch {
    pub title: Option<String>,
    /// Replaces the old object as a whole.
    pub metadata: Option<Map>,
    /// Added after the existing rules.
    pub permission: Option<Vec<Rule>>,
    /// Of prompts that name none.
    pub agent: Option<String>,
    pub model: Option<SessionModel>,
    /// `Some(None)` takes a session out of the archive again.
    pub archived: Option<Option<Num>>,
    /// Where it is shared; `Some(None)`: nowhere any more.
    pub share: Option<Option<Share>>,
    /// The project its directory belongs to now.
    pub project: Option<ProjectPlace>,
}

/// A project, and where a session's directory lies below its worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectPlace {
    pub id: String,
    pub path: String,
    /// The directory itself, when it was moved.
    pub directory: Option<String>,
}

/// Whether a session may have all of these.
fn has_room_for_rules<const N: usize>(lists: [Option<&[Rule]>; N]) -> bool {
    let rules = || lists.iter().flatten().copied().flatten();
    let bytes: usize = rules().map(|rule| rule.permission.len() + rule.pattern.len()).sum();
    rules().count() <= RULES_MAX && bytes <= RULES_BYTES_MAX
}

impl Deciding<'_> {
    pub(super) fn create(&mut self, info: Box<Session>) {
        let state = self.now();
        if state.info.is_some() {
            return self.refuse(Refusal::Exists);
        }
        if !has_room_for_rules([info.permission.as_deref()]) {
            return self.refuse(Refusal::TooManyRules);
        }
        self.fact(Fact::SessionCreated { info });
    }

    /// One fact per field, in this order: a title and the archive do not touch `time.updated`.
    pub(super) fn patch(&mut self, patch: SessionPatch) {
        let state = self.now();
        let Some(info) = state.info.as_deref() else { return self.refuse(Refusal::Gone) };
        let rules = [info.permission.as_deref(), patch.permission.as_deref()];
        if patch.permission.is_some() && !has_room_for_rules(rules) {
            return self.refuse(Refusal::TooManyRules);
        }
        // The same value again changes nothing.
        let share = patch.share.filter(|share| *share != info.share);
        let project = patch.project.filter(|place| {
            let is_elsewhere = place.directory.as_ref().is_some_and(|directory| *directory != info.directory);
            place.id != info.project_id || is_elsewhere
        });
        let model = patch.model.filter(|model| info.model.as_ref().is_none_or(|old| !old.is_same(model)));
        let updated = self.stamp.now();
        let switched = (patch.agent.is_some() || model.is_some()).then(|| {
            let message = self.stamp.message_id();
            Edit::Switched { agent: patch.agent, model, message, updated }
        });
        let edits = [
            patch.title.map(|title| Edit::Renamed { title }),
            patch.metadata.map(|metadata| Edit::Described { metadata, updated }),
            patch.permission.map(|rules| Edit::Permitted { rules, updated }),
            switched,
            patch.archived.map(|archived| Edit::Archived { archived }),
            share.map(|share| Edit::Shared { share }),
            project.map(|place| Edit::Moved {
                project: place.id,
                path: place.path,
                directory: place.directory,
            }),
        ];
        for edit in edits.into_iter().flatten() {
            self.fact(Fact::SessionEdited { edit });
        }
    }

    /// A generated title comes late; one that a person chose meanwhile is kept.
    pub(super) fn titled(&mut self, title: String) {
        let state = self.now();
        if state.info.as_deref().is_some_and(|info| is_default_title(&info.title)) {
            self.fact(Fact::SessionEdited { edit: Edit::Titled { title } });
        }
    }

    /// What runs is stopped and closed first, so that nothing writes into a session that is gone.
    pub(super) fn remove(&mut self) {
        let state = self.now();
        let Some(info) = state.info.clone() else { return self.refuse(Refusal::Gone) };
        self.settle(Failure::aborted());
        self.effect(Effect::StopAll);
        self.fact(Fact::SessionRemoved { info });
    }

    pub(super) fn remove_message(&mut self, message: MessageId, cost: Num, tokens: Tokens) {
        let state = self.now();
        if !state.is_idle() {
            return self.refuse(Refusal::Busy);
        }
        self.fact(if state.machine.waiting.iter().any(|waiting| waiting.message == message) {
            Fact::PromptWithdrawn { message }
        } else {
            Fact::MessageRemoved { message, cost, tokens }
        });
    }

    /// The conversation was cut, the cut was moved or taken back.
    pub(super) fn revert(&mut self, new: NewRevert) {
        let state = self.now();
        if state.info.is_none() {
            return self.refuse(Refusal::Gone);
        }
        if !state.is_idle() {
            return self.refuse(Refusal::Busy);
        }
        let NewRevert { revert, totals, committed } = new;
        let committed = committed.map(|CommittedCut { message, switches: messages }| {
            if !messages.is_empty() {
                self.fact(Fact::SessionEdited { edit: Edit::Unswitched { messages } });
            }
            message
        });
        self.fact(Fact::SessionReverted {
            revert: revert.map(Box::new),
            totals: totals.map(Box::new),
            updated: self.stamp.now(),
            committed,
        });
    }

    pub(super) fn start_copy(&mut self) {
        let state = self.now();
        if !state.is_idle() {
            return self.refuse(Refusal::Busy);
        }
        self.fact(Fact::CopyStarted);
    }

    /// One message of a copy. Copies are made when a session is born, before anything runs in it.
    pub(super) fn copy_message(&mut self, copied: Copied) {
        let state = self.now();
        if !state.is_idle() && !state.is_copying() {
            return self.refuse(Refusal::Busy);
        }
        let Copied { info, parts, cost, tokens } = copied;
        // What is said behind the copy is later than all of it.
        self.stamp.tick(info.created() + 1);
        self.fact(Fact::MessageCopied { info: Box::new(info), cost, tokens });
        for part in parts {
            self.fact(Fact::PartWritten { part: Box::new(part) });
        }
    }

    pub(super) fn copy_part(&mut self, part: Box<Part>) {
        if !self.now().is_copying() {
            return self.refuse(Refusal::Busy);
        }
        self.fact(Fact::PartWritten { part });
    }

    pub(super) fn finish_copy(&mut self) {
        if self.now().is_copying() {
            self.fact(Fact::CopyFinished);
        }
    }

    /// Replaces a part, or adds one. What is still being written is not for others to write.
    pub(super) fn write_part(&mut self, part: Box<Part>) {
        let state = self.now();
        if is_open(&state, &part.id) {
            return self.refuse(Refusal::Busy);
        }
        self.fact(Fact::PartWritten { part });
    }

    pub(super) fn remove_part(&mut self, message: MessageId, part: PartId, cost: Num, tokens: Tokens) {
        let state = self.now();
        if is_open(&state, &part) {
            return self.refuse(Refusal::Busy);
        }
        self.fact(Fact::PartRemoved { message, part, cost, tokens });
    }
}

fn is_open(state: &State, part: &PartId) -> bool {
    let in_text = |step: &OpenStep| step.texts.iter().any(|text| text.part == *part);
    state.open_call(part).is_some() || state.open_step().is_some_and(in_text)
}
