//! Bounds of a line: silence, and a peer that does not read.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Sink, SinkExt, Stream, StreamExt, stream};
use sturdy_capnweb::{
    Connection, Interface, Limits, Options, Reply,
    wire::{Incoming, Outgoing, drive},
};

use crate::service::Service;

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_pinged_and_then_left() {
    let connection = Connection::new(Some(Service::root()), Options::default());
    let silent = stream::pending::<Result<Incoming, ()>>();
    let (sent, mut outgoing) = futures_channel();

    let started = tokio::time::Instant::now();
    let ended = drive(connection, Halves { incoming: silent, outgoing: sent }).await;

    assert_eq!((ended.close_code, ended.reason.code()), (1001, Some("silent")));
    assert!(started.elapsed() >= Duration::from_secs(90));
    let mut frames = Vec::new();
    while let Some(frame) = outgoing.next().await {
        frames.push(frame);
    }
    assert_eq!(frames.iter().filter(|frame| **frame == Outgoing::Ping).count(), 2);
    assert!(matches!(frames.last(), Some(Outgoing::Close { code: 1001, .. })));
}

/// A line made of two.
struct Halves<S, K> {
    incoming: S,
    outgoing: K,
}

impl<S: Stream + Unpin, K: Unpin> Stream for Halves<S, K> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.incoming.poll_next_unpin(cx)
    }
}

impl<S: Unpin, K: Sink<Outgoing> + Unpin> Sink<Outgoing> for Halves<S, K> {
    type Error = K::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), K::Error>> {
        self.outgoing.poll_ready_unpin(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, frame: Outgoing) -> Result<(), K::Error> {
        self.outgoing.start_send_unpin(frame)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), K::Error>> {
        self.outgoing.poll_flush_unpin(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), K::Error>> {
        self.outgoing.poll_close_unpin(cx)
    }
}

/// A bounded sink and what went into it.
fn futures_channel() -> (impl Sink<Outgoing, Error = ()> + Unpin, impl Stream<Item = Outgoing> + Unpin) {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Outgoing>(16);
    let sink = Box::pin(futures_util::sink::unfold(sender, async |sender, frame| {
        sender.send(frame).await.map(|()| sender).map_err(drop)
    }));
    let stream = Box::pin(stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|frame| (frame, receiver))
    }));
    (sink.sink_map_err(drop), stream)
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_left_too() {
    let root = Interface::named("Root")
        .quick("echo", |_: Arc<()>, mut call| Reply::Now(Ok(call.arg())))
        .build()
        .stub(());
    let connection = Connection::new(Some(root), Options::default());
    let asks = stream::iter([
        Ok::<_, ()>(Incoming::Text("[\"push\",5]".to_owned())),
        Ok(Incoming::Text("[\"pull\",1]".to_owned())),
    ]);
    let stuck =
        Box::pin(futures_util::sink::unfold((), |(), _: Outgoing| std::future::pending::<Result<(), ()>>()));

    let ended = drive(connection, Halves { incoming: asks.chain(stream::pending()), outgoing: stuck }).await;

    assert_eq!(ended.close_code, 1001);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_read_from_a_peer_that_does_not_read() {
    let limits = Limits { outbox_bytes_max: 1000, ..Limits::default() };
    let connection = Connection::new(Some(Service::root()), Options::default().with_limits(limits));
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    // A peer that asks for ever: each message asks for the next answer of 400 bytes.
    let asks = stream::unfold(1usize, move |at| {
        counted.fetch_add(1, Ordering::Relaxed);
        let text = match at % 2 {
            1 => format!("[\"push\",\"{}\"]", "x".repeat(400)),
            _ => format!("[\"pull\",{}]", at / 2),
        };
        std::future::ready(Some((Ok::<_, ()>(Incoming::Text(text)), at + 1)))
    });
    let stuck =
        Box::pin(futures_util::sink::unfold((), |(), _: Outgoing| std::future::pending::<Result<(), ()>>()));

    let ended = drive(connection, Halves { incoming: asks, outgoing: stuck }).await;

    assert_eq!((ended.close_code, ended.reason.code()), (1001, Some("silent")));
    // Three answers fill the outbox, one more is in the hands of the line, one message is held.
    assert!(read.load(Ordering::Relaxed) <= 10, "{read:?}");
}
