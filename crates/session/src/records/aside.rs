//! The text of a failed attempt: kept in the metadata of its part, not shown as part of the answer.

use crate::json::Map;
use crate::types::part::{Part, PartBody};
use serde_json::Value;

/// Where a part keeps what was said in an attempt that failed.
const ASIDE: &str = "sturdy";
const FAILED_ATTEMPT: &str = "failedAttempt";

/// A text or thought that is no part of the answer: it reads as empty, and its words are in its metadata. None
/// when there is nothing to set aside.
pub(crate) fn set_aside(mut part: Part) -> Option<Part> {
    let (text, metadata) = match &mut part.body {
        PartBody::Text(body) => {
            body.ignored = Some(true);
            (&mut body.text, &mut body.metadata)
        }
        PartBody::Reasoning(body) => (&mut body.text, &mut body.metadata),
        PartBody::Subtask(_)
        | PartBody::File(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_) => return None,
    };
    if text.is_empty() {
        return None;
    }
    let words = Value::String(std::mem::take(text));
    let aside = Map::from_iter([(FAILED_ATTEMPT.to_owned(), words)]);
    metadata.get_or_insert_default().insert(ASIDE.to_owned(), Value::Object(aside));
    Some(part)
}

/// Whether a thought was said in an attempt that failed.
pub(crate) fn is_set_aside(metadata: Option<&Map>) -> bool {
    metadata.and_then(|map| map.get(ASIDE)?.get(FAILED_ATTEMPT)).is_some()
}
