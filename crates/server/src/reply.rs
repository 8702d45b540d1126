//! Answers: JSON text as it was stored, small values, nothing.

use axum::BoxError;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response as HttpResponse, StatusCode};
use serde::Serialize;

/// Put on an answer that goes out as it is, whatever its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeverPacked;

/// Where the log ended when an answer was read: a client that also follows the events knows which of them the
/// answer already contains.
pub(crate) const POSITION: HeaderName = HeaderName::from_static("x-sturdy-position");

/// Without a charset: JSON has only one.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// JSON that is text already.
pub(crate) fn text(json: impl Into<Bytes>) -> Response {
    with_type(StatusCode::OK, JSON, Body::from(json.into()))
}

pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Response {
    json_with(StatusCode::OK, value)
}

pub(crate) fn json_with<T: Serialize + ?Sized>(status: StatusCode, value: &T) -> Response {
    let text = serde_json::to_vec(value).expect("BUG: an answer is always JSON");
    with_type(status, JSON, Body::from(text))
}

/// The same, and holds something until it is sent.
pub(crate) fn json_holding<T: Serialize + ?Sized, H: Send + 'static>(value: &T, held: Option<H>) -> Response {
    let response = json(value);
    let Some(held) = held else { return response };
    response.map(|body| {
        let chunks = body.into_data_stream().map(move |chunk| {
            // Goes with the stream, of which no more is asked for before this piece is on its way.
            let _ = &held;
            chunk
        });
        Body::from_stream(chunks)
    })
}

/// JSON whose length is not said beforehand, as clients of long requests are used to.
pub(crate) fn streamed(json: String) -> Response {
    let once =
        futures_util::stream::once(async move { Ok::<_, std::convert::Infallible>(Bytes::from(json)) });
    with_type(StatusCode::OK, JSON, Body::from_stream(once))
}

/// JSON that is read as it is sent.
pub(crate) fn chunks<S, E>(chunks: S) -> Response
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: Into<BoxError>,
{
    with_type(StatusCode::OK, JSON, Body::from_stream(chunks))
}

pub(crate) fn plain(status: StatusCode, text: String) -> Response {
    with_type(status, HeaderValue::from_static("text/plain"), Body::from(text))
}

pub(crate) fn patch(text: Vec<u8>) -> Response {
    with_type(StatusCode::OK, HeaderValue::from_static("text/x-diff; charset=utf-8"), Body::from(text))
}

/// `true`: done, and nothing else to say.
pub(crate) fn done() -> Response {
    text("true")
}

pub(crate) fn no_content() -> Response {
    let mut response = HttpResponse::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A JSON array of texts that are JSON already.
pub(crate) fn array<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut joined = "[".to_owned();
    for item in items {
        if joined.len() > 1 {
            joined.push(',');
        }
        joined.push_str(item.as_ref());
    }
    joined.push(']');
    joined
}

fn with_type(status: StatusCode, kind: HeaderValue, body: Body) -> Response {
    let mut response = HttpResponse::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
