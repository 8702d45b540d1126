//! Google Gemini.
//!
//! `request.rs` writes the body, `stream.rs` reads the answer. Calls come whole and without
//! ids; thoughts carry signatures that must come back with the next request.

use crate::ModelError;
use crate::link::{KeyIn, Link};
use crate::listen;
use futures_util::stream::BoxStream;
use sturdy_session::talk::{Request, Said};

mod request;
mod stream;

pub(crate) fn stream(link: &Link, request: &Request) -> BoxStream<'static, Result<Said, ModelError>> {
    let body = request::body(request);
    // Tuned models are named with their collection.
    let model =
        if request.model.contains('/') { request.model.clone() } else { format!("models/{}", request.model) };
    let path = format!("/{model}:streamGenerateContent?alt=sse");
    let call = link.call(&path, KeyIn::Header("x-goog-api-key"), &[], &request.headers, &body);
    listen::answer(call, stream::Decoder::default())
}
