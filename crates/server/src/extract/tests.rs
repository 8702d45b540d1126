//! Bodies that come slowly, break off or are too large, with time that is paused.

use super::{BYTES_PER_SECOND_MIN, HEAD_START, SILENCE_MAX, Unread, read};
use crate::error::{ApiError, Kind};
use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::request::Parts;
use std::convert::Infallible;
use std::io;
use std::time::Duration;
use tokio::time::Instant;

fn head(length: Option<usize>) -> Parts {
    let mut request = http::Request::new(());
    if let Some(length) = length {
        request.headers_mut().insert("content-length", length.into());
    }
    request.into_parts().0
}

/// A sender that sends so many bytes at once, and then waits so long, again and again.
fn trickle(bytes: usize, wait: Duration) -> Body {
    let chunks = stream::repeat(()).then(move |()| async move {
        tokio::time::sleep(wait).await;
        Ok::<_, Infallible>(Bytes::from(vec![b' '; bytes]))
    });
    Body::from_stream(chunks)
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_in_is_not_waited_for() {
    let begun = Instant::now();

    let trickled = read(&head(None), trickle(1, Duration::from_secs(1)), 1024).await;

    assert!(matches!(trickled, Err(Unread { why: ApiError::TooSlow, rest: None })), "{trickled:?}");
    assert_eq!(begun.elapsed(), HEAD_START);
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_falls_silent_is_given_up() {
    let large = Bytes::from(vec![b' '; 1024 * 1024]);
    let silent = Body::from_stream(stream::iter([Ok::<_, Infallible>(large)]).chain(stream::pending()));
    let begun = Instant::now();

    let read = read(&head(None), silent, 2 * 1024 * 1024).await;

    assert!(matches!(read, Err(Unread { why: ApiError::TooSlow, .. })), "{read:?}");
    assert_eq!(begun.elapsed(), SILENCE_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_slow_sender_that_gets_on_is_waited_for() {
    let bytes = 2 * usize::try_from(BYTES_PER_SECOND_MIN).expect("small");
    let slow = trickle(bytes, Duration::from_secs(1)).into_data_stream().take(120);

    let read = read(&head(None), Body::from_stream(slow), 120 * bytes).await;

    assert_eq!(read.expect("all of it").len(), 120 * bytes);
}

// Was: 413, as if it had been too large.
#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_request() {
    let cut = stream::iter([Ok(Bytes::from_static(b"{")), Err(io::Error::other("gone"))]);

    let read = read(&head(None), Body::from_stream(cut), 1024).await;

    let Err(Unread { why: ApiError::Schema { kind, message }, rest: None }) = read else {
        panic!("{read:?}");
    };
    assert_eq!((kind, message.as_str()), (Kind::Body, "The body ended before it was complete"));
}

// Was: up to 128 MB were read before it was refused.
#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_any_of_it_comes() {
    let never = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());

    let refused = read(&head(Some(1025)), never, 1024).await;

    assert!(matches!(refused, Err(Unread { why: ApiError::TooLarge { bytes_max: 1024 }, rest: Some(_) })));
}
