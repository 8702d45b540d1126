//! When a prompt joins the conversation of a session that is at work.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// With the next step of the turn that runs.
    #[default]
    Steer,
    /// In a turn of its own, behind the one that runs.
    Queue,
}

impl Delivery {
    /// As on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Queue => "queue",
        }
    }

    pub(crate) fn is_steer(&self) -> bool {
        *self == Self::Steer
    }
}
