//! Files that are in the program, packed when it is built (`build.rs`).
//!
//! They are sent as they are to whoever takes gzip and unpacked for the others, so a server that is never asked for
//! them spends no time and no memory on them.

use crate::reply::NeverPacked;
use axum::body::Body;
use axum::response::Response;
use flate2::read::GzDecoder;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::io::Read as _;

/// A file as it is in the program.
pub(crate) struct Packed {
    pub(crate) name: &'static str,
    /// Unpacked.
    pub(crate) bytes: usize,
    pub(crate) gzip: &'static [u8],
}

impl Packed {
    /// The file for whoever asked with these headers. What it is, the caller says.
    pub(crate) fn answer(&self, asked: &HeaderMap) -> Response {
        let mut response = Response::new(Body::empty());
        if says(asked, &header::ACCEPT_ENCODING, "gzip") {
            *response.body_mut() = Body::from(self.gzip);
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        } else {
            *response.body_mut() = Body::from(self.unpack());
        }
        response.extensions_mut().insert(NeverPacked);
        response
    }

    pub(crate) fn unpack(&self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.bytes);
        GzDecoder::new(self.gzip)
            .read_to_end(&mut whole)
            .expect("BUG: a file in the program does not unpack");
        whole
    }
}

/// Whether a list in a header names this, and does not rule it out with a weight of nothing.
pub(crate) fn says(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let mut words = item.split(';').map(str::trim);
        let is_named = words.next().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        is_named && !words.any(|word| word == "q=0")
    })
}
