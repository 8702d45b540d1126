//! From what a tool gave back to what is stored.

use super::Run;
use crate::clock::Clock;
use sturdy_session::fact::Outcome;
use sturdy_session::types::part::FilePart;
use sturdy_session::types::tool::{Attachment, FileTag};
use sturdy_worktree::tool::{Done, FailureKind, ToolFailure};

pub(super) fn done(done: Done, run: &Run, clock: &Clock) -> Outcome {
    let mut stamp = clock.stamp();
    let attach = |file: sturdy_worktree::tool::Attached| Attachment {
        id: stamp.part_id(),
        session_id: run.session.clone(),
        message_id: run.call.step.clone(),
        kind: FileTag::File,
        file: FilePart { mime: file.mime, filename: file.filename, url: file.url, source: None },
    };
    let attachments = done.attachments.into_iter().map(attach).collect();
    Outcome::Done { output: done.output, title: done.title, metadata: done.metadata, attachments }
}

pub(super) fn failed(failure: ToolFailure, continue_on_deny: bool) -> Outcome {
    let ToolFailure { text, metadata, kind } = failure;
    match kind {
        FailureKind::Rejected { feedback: None } | FailureKind::Dismissed if !continue_on_deny => {
            Outcome::Blocked { error: text }
        }
        FailureKind::Aborted => Outcome::Interrupted { error: text },
        FailureKind::Failed
        | FailureKind::Denied { .. }
        | FailureKind::Rejected { .. }
        | FailureKind::Dismissed => {
            Outcome::Failed { error: text, metadata: (!metadata.is_empty()).then_some(*metadata) }
        }
    }
}
