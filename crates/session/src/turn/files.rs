//! What the calls of a step changed on the disk: heard while they run, written down when the step ends.

use super::deciding::Deciding;
use super::state::OpenStep;
use super::{Diffed, StepFiles};
use crate::fact::Fact;
use crate::id::MessageId;
use crate::records::Owner;
use crate::types::part::{PartBody, PatchPart, SnapshotPart};

impl Deciding<'_> {
    /// A call has ended: this is what the step has changed so far.
    pub(super) fn files_changed(&mut self, message: &MessageId, files: StepFiles) {
        let state = self.now();
        // A stale report is dropped: an undo finds these changes in the ledger.
        let Some(step) = state.open_step().filter(|step| step.message == *message) else { return };
        if step.files.as_ref() != Some(&files) {
            self.fact(Fact::FilesChanged { message: message.clone(), files });
        }
    }

    /// What a turn changed was worked out. While its step is open, nobody removes its prompt.
    pub(super) fn diffed(&mut self, diffed: Box<Diffed>) {
        let state = self.now();
        if state.open_step().is_some_and(|step| step.user == diffed.prompt.id) {
            self.fact(Fact::TurnDiffed { diffed, updated: self.stamp.now() });
        }
    }
}

/// Whether the step has a part that names the tree after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Finished,
    CutShort,
}

impl Deciding<'_> {
    /// Writes down what the step changed, as its last part.
    pub(super) fn write_down_files(&mut self, step: &OpenStep, ended: Ended) {
        let state = self.now();
        let (Some(info), Some(files)) = (state.info.as_deref(), &step.files) else { return };
        let owner = Owner { session: &info.id, message: &step.message };
        let mut write = |body| {
            let part = Box::new(owner.part(&self.stamp.part_id(), body));
            self.fact(Fact::PartWritten { part });
        };
        if ended == Ended::CutShort {
            write(PartBody::Snapshot(SnapshotPart { snapshot: files.after.clone() }));
        }
        let StepFiles { before, files, shared, .. } = files.clone();
        write(PartBody::Patch(PatchPart { hash: before, files, shared }));
    }
}
