//! What the calls of a step changed on the disk: heard while they run, written down when the step ends.

use super::state::OpenStep;
use super::step::write_part;
use super::{Decision, Diffed, State, StepFiles};
use crate::fact::{Edit, Fact};
use crate::id::MessageId;
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
pub(super) fn diffed(state: &State, diffed: Diffed, stamp: &Stamp, out: &mut Decision) {
    let is_open = state.open_step().is_some_and(|step| step.user == diffed.prompt.id);
    let Some(info) = state.info.as_deref().filter(|_| is_open) else { return };
    let Diffed { prompt, summary, session } = diffed;
    let mut record = info.clone();
    record.summary = Some(summary);
    record.time.updated = stamp.now().max(record.time.updated);
    out.fact(Fact::SessionEdited { edit: Edit::Summarised, info: Box::new(record) });
    out.fact(Fact::SessionDiffed { diff: session });
    out.fact(Fact::TurnDiffed { info: Box::new(prompt) });
}

/// Whether the step has a part that names the tree after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Finished,
    CutShort,
}

/// Writes down what the step changed, as its last part.
pub(super) fn write_down(step: &OpenStep, ended: Ended, stamp: &mut Stamp, out: &mut Decision) {
    let Some(files) = &step.files else { return };
    if ended == Ended::CutShort {
        let after = SnapshotPart { snapshot: files.after.clone() };
        write_part(step, PartBody::Snapshot(after), stamp, out);
    }
    let patch = PatchPart { hash: files.before.clone(), files: files.files.clone() };
    write_part(step, PartBody::Patch(patch), stamp, out);
}
