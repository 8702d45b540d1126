//! One operation: a keyed replace or remove with an identity and a number.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sturdy_session::depth::{LEVELS_MAX, is_text_deeper};

/// The form of payloads that is written today.
pub const SCHEMA: u64 = 1;
/// Keys are made of ids, which are short.
const KEY_BYTES_MAX: usize = 512;
const OP_ID_BYTES_MAX: usize = 64;
const DEPENDENCIES_MAX: usize = 64;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Session,
    Message,
    Part,
    SessionDiff,
    Model,
    MessageRemove,
    PartRemove,
    SnapshotBegin,
    SnapshotEnd,
}

impl Kind {
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "session" => Self::Session,
            "message" => Self::Message,
            "part" => Self::Part,
            "session_diff" => Self::SessionDiff,
            "model" => Self::Model,
            "message.remove" => Self::MessageRemove,
            "part.remove" => Self::PartRemove,
            "snapshot.begin" => Self::SnapshotBegin,
            "snapshot.end" => Self::SnapshotEnd,
            _ => return None,
        })
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Message => "message",
            Self::Part => "part",
            Self::SessionDiff => "session_diff",
            Self::Model => "model",
            Self::MessageRemove => "message.remove",
            Self::PartRemove => "part.remove",
            Self::SnapshotBegin => "snapshot.begin",
            Self::SnapshotEnd => "snapshot.end",
        }
    }

    /// Of a removal, what is removed.
    pub(crate) fn of_row(self) -> Self {
        match self {
            Self::MessageRemove => Self::Message,
            Self::PartRemove => Self::Part,
            Self::Session
            | Self::Message
            | Self::Part
            | Self::SessionDiff
            | Self::Model
            | Self::SnapshotBegin
            | Self::SnapshotEnd => self,
        }
    }

    pub(crate) fn carries_payload(self) -> bool {
        match self {
            Self::Session | Self::Message | Self::Part | Self::SessionDiff | Self::Model => true,
            Self::MessageRemove | Self::PartRemove | Self::SnapshotBegin | Self::SnapshotEnd => false,
        }
    }

    /// Whether a key is one that such an operation may have.
    fn fits_key(self, key: &str) -> bool {
        let steps: Vec<&str> = key.split('/').collect();
        let is_named = |step: &&str| !step.is_empty();
        match self {
            Self::Session => key == "session",
            Self::SessionDiff => key == "session_diff",
            Self::Message | Self::MessageRemove => {
                steps.len() == 2 && steps[0] == "message" && steps.iter().all(is_named)
            }
            Self::Part | Self::PartRemove => {
                steps.len() == 3 && steps[0] == "part" && steps.iter().all(is_named)
            }
            // A model's id may have slashes of its own.
            Self::Model => steps.len() >= 3 && steps[0] == "model" && steps.iter().all(is_named),
            Self::SnapshotBegin | Self::SnapshotEnd => {
                steps.len() == 2 && steps[0] == "snapshot" && steps.iter().all(is_named)
            }
        }
    }
}

/// An operation as it travels. The payload is text, so that every transport and every hash sees the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub op_id: String,
    pub seq: u64,
    pub kind: String,
    pub key: String,
    #[serde(default)]
    pub version: u64,
    #[serde(default)]
    pub schema: u64,
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_json: Option<String>,
}

/// Why one operation has no effect. Its number is used up; the rest of the batch goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpRefusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl OpRefusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Operation {
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload_json.as_ref().map_or(0, String::len)
    }

    /// What cannot be hashed or stored at all makes the whole batch malformed.
    pub(crate) fn is_well_formed(&self) -> bool {
        let is_plain = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        let id_fits = self.op_id.len() <= OP_ID_BYTES_MAX && is_plain(&self.op_id);
        let key_fits = self.key.len() <= KEY_BYTES_MAX && is_plain(&self.key);
        let dependencies_fit = self.depends_on.len() <= DEPENDENCIES_MAX
            && self.depends_on.iter().all(|entry| entry.len() <= 2 * OP_ID_BYTES_MAX && is_plain(entry));
        id_fits && key_fits && dependencies_fit && self.kind.len() <= OP_ID_BYTES_MAX && is_plain(&self.kind)
    }

    /// The kind, when the operation may be applied as it stands.
    pub(crate) fn check(&self, op_bytes_max: usize) -> Result<Kind, OpRefusal> {
        let unknown = || OpRefusal::new("unknown_kind", format!("there is no kind {:?}", self.kind));
        let kind = Kind::parse(&self.kind).ok_or_else(unknown)?;
        let invalid = |why: &str| OpRefusal::new("invalid_payload", why);
        if !kind.fits_key(&self.key) {
            return Err(invalid("the key does not fit the kind"));
        }
        if self.schema > SCHEMA {
            return Err(invalid("the payload has a schema this service does not know"));
        }
        if self.payload_bytes() > op_bytes_max {
            return Err(OpRefusal::new("too_large", format!("a payload has at most {op_bytes_max} bytes")));
        }
        match (&self.payload_json, kind.carries_payload()) {
            (None, true) => Err(invalid("the payload is missing")),
            (Some(_), false) => Err(invalid("a removal has no payload")),
            (Some(text), true) if serde_json::from_str::<&RawValue>(text).is_err() => {
                Err(invalid("the payload is not JSON"))
            }
            (Some(text), true) if is_text_deeper(text.as_bytes(), LEVELS_MAX) => {
                Err(invalid("the payload nests lists and objects too deep"))
            }
            _ => Ok(kind),
        }
    }
}
