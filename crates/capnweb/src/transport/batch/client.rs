//! Asking with a batch.

use std::{future::poll_fn, task::Poll};

use super::lines;
use crate::{Connection, ErrorValue, Options, Stub, Thrown, session::Mode};

/// One batch: make calls on its root, take the request, give it the response.
///
/// Results that are wanted are asked for before the request is taken:
///
/// ```
/// # futures_util::FutureExt::now_or_never(async {
/// use sturdy_capnweb::{Options, Value, batch::Batch};
///
/// let mut batch = Batch::new(Options::default());
/// let sum = batch.root().call("add", [1.into(), 2.into()]).ask();
/// let body = batch.request().await;
/// assert_eq!(body, "[\"push\",[\"pipeline\",0,[\"add\"],[1,2]]]\n[\"pull\",1]");
///
/// batch.response(200, "OK", b"[\"resolve\",1,3]").await;
/// assert_eq!(sum.await, Ok(Value::Number(3.0)));
/// # }).expect("nothing waits here");
/// ```
#[derive(Debug)]
pub struct Batch {
    connection: Connection,
    root: Stub,
}

impl Batch {
    pub fn new(mut options: Options) -> Batch {
        options.mode = Mode::BatchClient;
        let connection = Connection::new(None, options);
        let root = connection.remote();
        Batch { connection, root }
    }

    /// The server's main object.
    pub fn root(&self) -> Stub {
        self.root.clone()
    }

    /// The body of the request: everything said so far, and the streams that go with it.
    pub async fn request(&mut self) -> String {
        poll_fn(|cx| {
            self.connection.poll_work(cx);
            if self.connection.is_pumped() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self.connection.drain().join("\n")
    }

    /// Takes the response, and runs what the server called in it. Whatever is unanswered then
    /// never will be.
    pub async fn response(mut self, status: u16, status_text: &str, body: &[u8]) {
        let ended = match (200..300).contains(&status) {
            true => self.take(body),
            false => ErrorValue::new(format!("RPC request failed: {status} {status_text}")).into(),
        };
        poll_fn(|cx| {
            self.connection.poll_work(cx);
            Poll::Ready(())
        })
        .await;
        self.connection.handle().lost(ended);
        poll_fn(|cx| {
            self.connection.poll_work(cx);
            if self.connection.is_idle() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// The longest response that is read.
    #[cfg(feature = "http")]
    pub(crate) fn response_bytes_max(&self) -> usize {
        self.connection.shared().limits().batch_bytes_max
    }

    /// The request could not be made.
    pub fn failed(self, reason: impl Into<Thrown>) {
        self.connection.handle().lost(reason);
    }

    fn take(&mut self, body: &[u8]) -> Thrown {
        let Ok(text) = std::str::from_utf8(body) else {
            return ErrorValue::type_error("the response is not text").into();
        };
        for message in lines(text) {
            self.connection.receive(message);
        }
        ErrorValue::new("Batch RPC request ended.").into()
    }
}
