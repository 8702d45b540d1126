//! A stream that is asked whether it has sent everything, with time that is paused.

use super::{Program, READ_TIME, Streams, WAIT_MAX};
use axum::body::{Body, Bytes, HttpBody as _};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http::HeaderValue;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use tokio::sync::mpsc;
use tokio::time::Instant;

fn program(agent: &'static str) -> Program {
    Program { peer: Some(IpAddr::from([127, 0, 0, 1])), agent: Some(HeaderValue::from_static(agent)) }
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_until_the_streams_have_handed_out_everything() {
    let streams = Streams::new(1);
    let (say, said) = mpsc::channel::<Bytes>(4);
    let frames = stream::unfold(said, |mut said| async { said.recv().await.map(|frame| (frame, said)) });
    let body = Body::from_stream(frames.map(Ok::<_, Infallible>));
    let mut body = streams.open(Some(program("opencode/1.18.33"))).expect("room").watch(body);
    say.send(Bytes::from_static(b"last")).await.expect("room");
    let asking = program("opencode/1.18.33");
    let mut sent = Box::pin(streams.sent(&asking));

    // There is something to send, so it is not time yet.
    assert!((&mut sent).now_or_never().is_none());
    let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
    assert_eq!(frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()), Some("last".into()));
    assert!((&mut sent).now_or_never().is_none());

    // Whoever asks for more and gets nothing has sent everything; its client has a moment to read it.
    assert!(poll_fn(|context| Pin::new(&mut body).poll_frame(context)).now_or_never().is_none());
    let before = Instant::now();
    sent.await;
    assert_eq!(before.elapsed(), READ_TIME);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_waited_for_long_and_one_that_left_not_at_all() {
    let streams = Streams::new(1);
    let body = streams.open(Some(program("opencode/1.18.33"))).expect("room").watch(Body::from("x"));
    assert!(streams.open(None).is_none());
    let before = Instant::now();

    streams.sent(&program("opencode/1.18.33")).await;
    assert_eq!(before.elapsed(), WAIT_MAX);
    drop(body);

    assert!(streams.sent(&program("opencode/1.18.33")).now_or_never().is_some());
    assert!(streams.open(None).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_program_that_goes_on_listening_is_answered_at_once() {
    let streams = Streams::new(1);
    let _unread = streams.open(Some(program("node"))).expect("room").watch(Body::from("unread"));

    assert!(streams.sent(&program("node")).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_answer_does_not_wait_for_the_streams_of_another_program() {
    let streams = Streams::new(3);
    let _other = streams.open(Some(program("other/1"))).expect("room").watch(Body::from("unread"));
    let _ours = streams.open(None).expect("room").watch(Body::from("unread"));

    assert!(streams.sent(&program("opencode/1.18.33")).now_or_never().is_some());
}
