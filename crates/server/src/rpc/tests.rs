//! A sender that takes its time, with time that is paused.

use super::*;
use futures_util::{StreamExt as _, stream};
use std::convert::Infallible;

#[tokio::test(start_paused = true)]
async fn a_batch_that_does_not_arrive_is_not_waited_for() {
    let (parts, ()) = http::Request::new(()).into_parts();
    let limits = Limits::default();
    let begun = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"[\"push\","))]);
    let stalled = Body::from_stream(begun.chain(stream::pending()));
    let started = tokio::time::Instant::now();

    let nothing = arrived(&parts, stalled, &limits).await.unwrap();
    let all = arrived(&parts, Body::from("[\"push\",1]"), &limits).await.unwrap();

    assert_eq!(nothing, None);
    assert_eq!(started.elapsed(), limits.silence_max);
    assert_eq!(all.as_deref(), Some(&b"[\"push\",1]"[..]));
    assert_eq!(too_slow().status(), StatusCode::REQUEST_TIMEOUT);
}
