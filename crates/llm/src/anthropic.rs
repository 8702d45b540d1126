//! Anthropic Messages.
//!
//! `request.rs` writes the body with its cache marks, `stream.rs` reads the answer.

use crate::ModelError;
use crate::catalog::ModelInfo;
use crate::link::{KeyIn, Link};
use crate::listen;
use futures_util::stream::BoxStream;
use sturdy_session::talk::{Request, Said};

mod request;
mod stream;

/// Thinking between calls, and arguments that stream piece by piece.
const BETA: &str = "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14";

pub(crate) fn stream(
    link: &Link,
    model: &ModelInfo,
    request: &Request,
) -> BoxStream<'static, Result<Said, ModelError>> {
    let body = request::body(request, model);
    let mut headers = vec![("anthropic-version", "2023-06-01")];
    // Others that speak this protocol may refuse a beta they do not know.
    if link.provider == "anthropic" {
        headers.push(("anthropic-beta", BETA));
    }
    let call = link.call("/messages", KeyIn::Header("x-api-key"), &headers, &request.headers, &body);
    listen::answer(call, stream::Decoder::default())
}
