//! Replays events: facts are read forward from a position where the state is known.
//!
//! A session's state is known at its beginning and at each keyframe. From there its entries are applied in
//! order and shown as they were when they happened. Growth that was folded away is not missed: nothing that
//! is shown later is made of it.

use super::{NextEvent, show, show_next};
use crate::fact::Fact;
use crate::stamp::Millis;
use crate::turn::{RestoreError, State};
use crate::types::event::Event;

/// One session, read again.
#[derive(Debug, Default)]
pub struct Replay {
    state: State,
}

/// A keyframe cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("a keyframe is not readable")]
    Unreadable(#[source] serde_json::Error),
    #[error("a keyframe does not fit together")]
    Misfit(#[source] RestoreError),
}

impl Replay {
    /// From the first fact of a session on.
    #[must_use]
    pub fn from_start() -> Self {
        Self::default()
    }

    pub fn from_keyframe(keyframe: &str) -> Result<Self, ReplayError> {
        let frame = crate::depth::read_stored(keyframe).map_err(ReplayError::Unreadable)?;
        let state = State::from_keyframe(frame).map_err(ReplayError::Misfit)?;
        Ok(Self { state })
    }

    /// A fact that the reader has seen.
    pub fn pass(&mut self, fact: &Fact) {
        self.state.apply(fact);
    }

    /// A fact that the reader has missed.
    pub fn show(&mut self, fact: &Fact, at: Millis) -> Vec<Event> {
        let events = show(&self.state, fact, at);
        self.state.apply(fact);
        events
    }

    /// The same in the words of the v2 API.
    pub fn show_next(&mut self, fact: &Fact, at: Millis) -> Vec<NextEvent> {
        let events = show_next(&self.state, fact, at);
        self.state.apply(fact);
        events
    }
}
