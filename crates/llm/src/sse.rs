//! A provider's answer as server-sent events, with limits on size and silence.
//!
//! The rules of the format are `sse-stream`'s; here is what it leaves open: how large one event
//! may grow (a single delta of 10 MB is fine, an endless line is not), how long the provider may
//! be silent, and what a break means.

use crate::failure::{self, Broken};
use crate::http::{self, Timeouts, earlier, never};
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use sse_stream::{Sse, SseByteStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use sturdy_session::types::failure::Failure;
use tokio::time::{Instant, timeout_at};

/// Bytes that may come before an event is complete.
const EVENT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Events of one answer.
pub(crate) struct Events {
    events: SseByteStream<Bounded>,
    /// Bytes since the last complete event, counted by `Bounded`, cleared here.
    pending: Arc<AtomicUsize>,
    timeouts: Timeouts,
    deadline: Option<Instant>,
}

impl Events {
    pub(crate) fn new(response: reqwest::Response, timeouts: Timeouts, deadline: Option<Instant>) -> Self {
        let pending = Arc::new(AtomicUsize::new(0));
        let chunks = response.bytes_stream().boxed();
        let bounded = Bounded { chunks, pending: Arc::clone(&pending) };
        Self { events: SseByteStream::new(bounded), pending, timeouts, deadline }
    }

    /// The next event; `None` when the provider closed the stream properly.
    pub(crate) async fn next(&mut self) -> Option<Result<Sse, Failure>> {
        let chunk_limit = self.timeouts.chunk_ms.map(http::after);
        let event = match earlier(chunk_limit, self.deadline) {
            None => self.events.next().await,
            Some(limit) => match timeout_at(limit.min(never()), self.events.next()).await {
                Ok(event) => event,
                Err(_) => return Some(Err(failure::broken(self.timed_out()))),
            },
        };
        self.pending.store(0, Ordering::Relaxed);
        Some(event?.map_err(|error| failure::broken(meaning(error))))
    }

    fn timed_out(&self) -> Broken {
        let whole_is_over = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match (self.timeouts.chunk_ms, self.timeouts.request_ms) {
            (Some(timeout_ms), _) if !whole_is_over => Broken::ChunkTimeout { timeout_ms },
            (_, request) => Broken::Timeout { timeout_ms: request.unwrap_or_default() },
        }
    }
}

/// Why no more bytes come.
#[derive(Debug, thiserror::Error)]
enum BytesError {
    #[error("one event of the provider is larger than {EVENT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("connection broken")]
    Broken(Broken),
}

fn meaning(error: sse_stream::Error) -> Broken {
    match error {
        sse_stream::Error::Body(cause) => match cause.downcast::<BytesError>() {
            Ok(error) => match *error {
                BytesError::Broken(broken) => broken,
                BytesError::TooLarge => Broken::Stream { message: BytesError::TooLarge.to_string() },
            },
            Err(cause) => Broken::Stream { message: cause.to_string() },
        },
        other => Broken::Stream { message: format!("Provider stream is damaged: {other}") },
    }
}

/// The bytes of an answer, refused when one event takes too many.
struct Bounded {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    pending: Arc<AtomicUsize>,
}

impl Stream for Bounded {
    type Item = Result<Bytes, BytesError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(chunk) = ready!(self.chunks.poll_next_unpin(context)) else { return Poll::Ready(None) };
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => return Poll::Ready(Some(Err(BytesError::Broken(http::broken_by(error))))),
        };
        let pending = self.pending.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
        if pending > EVENT_BYTES_MAX {
            return Poll::Ready(Some(Err(BytesError::TooLarge)));
        }
        Poll::Ready(Some(Ok(chunk)))
    }
}
