//! From what a tool gave back to what is stored.

use super::Run;
use crate::clock::Clock;
use crate::directory::config::ImageLimits;
use crate::run::image::{self, Resized};
use serde_json::Value;
use sturdy_session::fact::Outcome;
use sturdy_session::json::Map;
use sturdy_session::revert::UNCAPTURED;
use sturdy_session::types::part::FilePart;
use sturdy_session::types::tool::{Attachment, FileTag};
use sturdy_worktree::tool::{Attached, Done, FailureKind, ToolFailure};

/// What a model is told of a command that printed nothing, and what such a command shows of itself.
const NOTHING: &str = "(no output)";

pub(super) fn done(done: Done, run: &Run, clock: &Clock) -> Outcome {
    let mut stamp = clock.stamp();
    let attach = |file: Attached| Attachment {
        id: stamp.part_id(),
        session_id: run.session.clone(),
        message_id: run.call.step.clone(),
        kind: FileTag::File,
        file: FilePart { mime: file.mime, filename: file.filename, url: file.url, source: None },
    };
    let attachments = done.attachments.into_iter().map(attach).collect();
    Outcome::Done { output: done.output, title: done.title, metadata: done.metadata, attachments }
}

/// Makes images smaller that a provider would refuse, or leaves them out and says why. Off the workers: they are
/// looked at to their end.
pub(super) async fn with_images_that_can_be_sent(mut done: Done, limits: ImageLimits) -> Done {
    let is_image = |file: &Attached| image::is_image(&file.mime);
    if !done.attachments.iter().any(is_image) {
        return done;
    }
    let attached = std::mem::take(&mut done.attachments);
    let look = move || {
        let mut notes = String::new();
        let sent = attached.into_iter().filter_map(|file| {
            let looked = if is_image(&file) { image::look(&file.url, &limits) } else { Ok(None) };
            match looked {
                Ok(None) => Some(file),
                Ok(Some(Resized { mime, url })) => Some(Attached { mime: mime.to_owned(), url, ..file }),
                Err(why) => {
                    let name = file.filename.as_deref().unwrap_or("An image");
                    notes.push_str(&format!("\n[{name} was left out. {why}]"));
                    None
                }
            }
        });
        (sent.collect(), notes)
    };
    match tokio::task::spawn_blocking(look).await {
        Ok((sent, notes)) => {
            done.attachments = sent;
            done.output.push_str(&notes);
        }
        Err(_) => done.output.push_str("\n[What was attached could not be looked at, and was left out.]"),
    }
    done
}

/// The output of a person's own command: what it printed, and nothing of how a model sees it.
pub(super) fn printed(done: Done) -> Outcome {
    let is_silent = done.metadata.get("output").and_then(Value::as_str) == Some(NOTHING);
    let output = match done.output {
        words if is_silent && words == NOTHING => String::new(),
        words => words,
    };
    let metadata = Map::from_iter([("output".to_owned(), Value::String(output.clone()))]);
    Outcome::Done { output, title: String::new(), metadata, attachments: Vec::new() }
}

/// An undo will not know what this call changed: whoever reads the call can see it.
pub(super) fn say_uncaptured(outcome: &mut Outcome, why: &str) {
    let metadata = match outcome {
        Outcome::Done { metadata, .. } => metadata,
        Outcome::Failed { metadata, .. } => metadata.get_or_insert_default(),
        Outcome::Blocked { .. } | Outcome::Interrupted { .. } => return,
    };
    metadata.insert(UNCAPTURED.to_owned(), Value::from(why));
}

pub(super) fn failed(failure: ToolFailure, continue_on_deny: bool) -> Outcome {
    let ToolFailure { text, metadata, kind } = failure;
    match kind {
        FailureKind::Rejected { feedback: None } | FailureKind::Dismissed if !continue_on_deny => {
            Outcome::Blocked { error: text }
        }
        FailureKind::Aborted => Outcome::Interrupted { error: text, raw: None },
        FailureKind::Failed
        | FailureKind::Denied { .. }
        | FailureKind::Rejected { .. }
        | FailureKind::Dismissed => {
            Outcome::Failed { error: text, metadata: (!metadata.is_empty()).then_some(*metadata) }
        }
    }
}
