//! What the calls of a step changed on the disk: heard while they run, written down when the step ends.

use super::state::OpenStep;
use super::{Decision, Diffed, State, StepFiles};
use crate::fact::Fact;
use crate::id::MessageId;
use crate::records::Owner;
use crate::stamp::Stamp;
use crate::types::part::{PartBody, PatchPart, SnapshotPart};

/// A call has ended: this is what the step has changed so far.
pub(super) fn changed(state: &State, message: &MessageId, files: StepFiles, out: &mut Decision) {
    // Late news is no news: whoever undoes asks the ledger for what was not heard.
    let Some(step) = state.open_step().filter(|step| step.message == *message) else { return };
    if step.files.as_ref() != Some(&files) {
        out.fact(Fact::FilesChanged { message: message.clone(), files });
    }
}

/// What a turn changed was worked out. While its step is open, nobody removes its prompt.
pub(super) fn diffed(state: &State, diffed: Box<Diffed>, stamp: &Stamp, out: &mut Decision) {
    if state.open_step().is_some_and(|step| step.user == diffed.prompt.id) {
        out.fact(Fact::TurnDiffed { diffed, updated: stamp.now() });
    }
}

/// Whether the step has a part that names the tree after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Finished,
    CutShort,
}

/// Writes down what the step changed, as its last part.
pub(super) fn write_down(
    state: &State,
    step: &OpenStep,
    ended: Ended,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    let (Some(info), Some(files)) = (state.info.as_deref(), &step.files) else { return };
    let owner = Owner { session: &info.id, message: &step.message };
    let mut write = |body| {
        let part = Box::new(owner.part(&stamp.part_id(), body));
        out.fact(Fact::PartWritten { part });
    };
    if ended == Ended::CutShort {
        write(PartBody::Snapshot(SnapshotPart { snapshot: files.after.clone() }));
    }
    write(PartBody::Patch(PatchPart { hash: files.before.clone(), files: files.files.clone() }));
}
