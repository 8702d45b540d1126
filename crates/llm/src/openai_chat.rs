//! OpenAI chat completions, and everything that calls itself compatible with it.
//!
//! `request.rs` writes the body, `stream.rs` reads the answer, `wire.rs` holds the shapes read,
//! which forgive what compatible servers get wrong, `details.rs` and `thinking.rs` what has to come back as it was told.

use crate::ModelError;
use crate::link::{KeyIn, Link};
use crate::listen;
use futures_util::stream::BoxStream;
use sturdy_session::talk::{Request, Said};

mod details;
mod request;
mod stream;
mod thinking;
mod wire;

/// What differs between compatible servers.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    pub(crate) thoughts: Thoughts,
    pub(crate) include_usage: bool,
    pub(crate) takes_top_k: bool,
    /// Whether the first system texts and the last messages carry a cache mark.
    pub(crate) marks_cache: bool,
}

/// How reasoning is replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thoughts {
    /// In this field, also when there is none.
    Always(String),
    /// In this field, when there is some.
    IfAny(&'static str),
    /// As `reasoning_details`, in the pieces in which they were told.
    Details,
    /// As blocks among the content, as they were told.
    Blocks,
    Never,
}

pub(crate) fn stream(
    link: &Link,
    dialect: &Dialect,
    request: &Request,
) -> BoxStream<'static, Result<Said, ModelError>> {
    let body = request::body(request, dialect);
    let call = link.call("/chat/completions", KeyIn::Bearer, &[], &request.headers, &body);
    let keeps_details = dialect.thoughts == Thoughts::Details;
    listen::answer(call, stream::Decoder::new(keeps_details))
}
