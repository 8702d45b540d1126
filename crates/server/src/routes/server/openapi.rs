//! The OpenAPI document.
//!
//! It is a file of the repository, `openapi.json`, that is packed into the program: code that could write it anew would
//! be a twentieth of the program, for an answer that is always the same. A test compares the file with what handlers and
//! types say of themselves (`openapi/write.rs`), which is compiled only with the feature `describe`.

#[cfg(feature = "describe")]
mod write;

use crate::packed::Packed;
use axum::response::Response;
use http::header::{self, HeaderMap, HeaderValue};
use serde_json::Value;

#[cfg(feature = "describe")]
pub use write::described_document;

include!(concat!(env!("OUT_DIR"), "/openapi.rs"));

/// The whole document. Nobody keeps it: it is asked for once in a while and is large.
#[must_use]
pub fn document() -> Value {
    serde_json::from_slice(&DOCUMENT.unpack()).expect("BUG: the document is always JSON")
}

pub(super) fn send(asked: &HeaderMap) -> Response {
    let mut response = DOCUMENT.answer(asked);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
