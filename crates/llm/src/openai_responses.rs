//! OpenAI Responses.
//!
//! `request.rs` writes the body, `stream.rs` reads the answer. Nothing is stored at the provider
//! unless the user asks for it; reasoning travels with us, encrypted.

use crate::ModelError;
use crate::catalog::ModelInfo;
use crate::link::{KeyIn, Link};
use crate::listen;
use futures_util::stream::BoxStream;
use sturdy_session::talk::{Request, Said};

mod request;
mod stream;

pub(crate) fn stream(
    link: &Link,
    model: &ModelInfo,
    request: &Request,
) -> BoxStream<'static, Result<Said, ModelError>> {
    let body = request::body(request, model);
    let call = link.call("/responses", KeyIn::Bearer, &[], &request.headers, &body);
    listen::answer(call, stream::Decoder::default())
}
