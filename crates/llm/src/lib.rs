//! Speaks to model providers and turns their streams into our words.
//!
//! A [`Catalog`] knows which providers and models there are; a [`ModelEntry`] of it connects to a
//! [`Model`], and a `Model` answers a `Request` with a stream of `Said`. Four wire protocols are
//! spoken (`openai_chat`, `openai_responses`, `anthropic`, `gemini`), and one provider needs no
//! network at all (`demo`).
//!
//! Not here: whether a failure is tried again and when (`sturdy-session`), who asks and when
//! (`sturdy-engine`). A failure leaves this crate as the fact clients will see.

use futures_util::stream::BoxStream;
pub(crate) use http::sse;
use std::fmt;
use sturdy_session::talk::{Request, Said};
use sturdy_session::types::failure::Failure;

mod adjust;
mod anthropic;
mod arguments;
pub mod auth;
mod call_ids;
pub mod catalog;
mod connect;
pub mod demo;
pub mod failure;
mod gemini;
pub mod http;
pub mod limits;
mod link;
mod listen;
mod media;
mod openai_chat;
mod openai_responses;
mod schema;
pub mod secret;

pub use crate::http::Http;
pub use catalog::{Catalog, ModelEntry, NotFound};
pub use secret::Secret;

/// Something that answers.
pub trait Model: Send + Sync {
    /// Begins to answer when the stream is first polled. Dropping the stream ends the request.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Said, ModelError>>;
}

/// A model could not answer, or stopped in the middle. Carries what clients are told;
/// it is the last item of its stream.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct ModelError(Box<Failure>);

impl ModelError {
    /// What a provider wrote may be shown by a terminal, so nothing is left in it that one would obey.
    #[must_use]
    pub fn new(failure: Failure) -> Self {
        Self(Box::new(failure::without_controls(failure)))
    }

    #[must_use]
    pub fn failure(&self) -> &Failure {
        &self.0
    }

    #[must_use]
    pub fn into_failure(self) -> Failure {
        *self.0
    }
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        Self::new(failure)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(failure::message(&self.0))
    }
}
