//! OpenAI chat completions, and everything that calls itself compatible with it.
//!
//! `request.rs` writes the body, `stream.rs` reads the answer, `wire.rs` holds the shapes read,
//! which forgive what compatible servers get wrong.

use crate::ModelError;
use crate::link::{KeyIn, Link};
use crate::listen;
use futures_util::stream::BoxStream;
use sturdy_session::talk::{Request, Said};

mod request;
mod stream;
mod wire;

/// What differs between compatible servers.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    /// The field reasoning is replayed in; always written when set.
    pub(crate) reasoning_field: Option<String>,
    pub(crate) include_usage: bool,
    /// Whether the first system texts and the last messages carry a cache mark.
    pub(crate) marks_cache: bool,
}

pub(crate) fn stream(
    link: &Link,
    dialect: &Dialect,
    request: &Request,
) -> BoxStream<'static, Result<Said, ModelError>> {
    let body = request::body(request, dialect);
    let call = link.call("/chat/completions", KeyIn::Bearer, &[], &request.headers, &body);
    listen::answer(call, stream::Decoder::default())
}
