//! A provider's answer as server-sent events, with limits on size and silence.
//!
//! The rules of the format are `sse-stream`'s; here is what it leaves open: how large one event
//! may grow (a delta of megabytes is fine, an endless line is not), how long the provider may
//! be silent, and what a break means.

use crate::failure::{self, Broken};
use crate::http::{self, Timeouts};
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use sse_stream::{Sse, SseByteStream};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use sturdy_session::types::failure::Failure;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

/// Bytes that may come before an event is complete.
const EVENT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Events of one answer.
pub(crate) struct Events {
    events: SseByteStream<Bounded>,
    /// Bytes since the last complete event, counted by `Bounded`, cleared here.
    pending: Arc<AtomicUsize>,
    /// When the whole answer must be over, and how long that is.
    deadline: Option<(Instant, u64)>,
}

impl Events {
    pub(crate) fn new(response: reqwest::Response, timeouts: Timeouts, deadline: Option<Instant>) -> Self {
        let pending = Arc::new(AtomicUsize::new(0));
        let bounded = Bounded {
            chunks: response.bytes_stream().boxed(),
            pending: Arc::clone(&pending),
            silence: timeouts.chunk_ms.map(Silence::new),
        };
        let deadline = deadline.zip(timeouts.request_ms);
        Self { events: SseByteStream::new(bounded), pending, deadline }
    }

    /// The next event; `None` when the provider closed the stream properly.
    pub(crate) async fn next(&mut self) -> Option<Result<Sse, Failure>> {
        let event = match self.deadline {
            None => self.events.next().await,
            Some((limit, timeout_ms)) => match timeout_at(limit, self.events.next()).await {
                Ok(event) => event,
                Err(_) => return Some(Err(failure::broken(Broken::Timeout { timeout_ms }))),
            },
        };
        self.pending.store(0, Ordering::Relaxed);
        Some(event?.map_err(|error| failure::broken(meaning(error))))
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

/// The bytes of an answer, refused when one event takes too many or nothing comes for too long.
struct Bounded {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    pending: Arc<AtomicUsize>,
    silence: Option<Silence>,
}

/// How long nothing may come. Any bytes count, also those of half an event or a comment.
struct Silence {
    limit_ms: u64,
    over: Pin<Box<Sleep>>,
}

impl Silence {
    fn new(limit_ms: u64) -> Self {
        Self { limit_ms, over: Box::pin(sleep_until(http::after(limit_ms))) }
    }

    fn heard(&mut self) {
        self.over.as_mut().reset(http::after(self.limit_ms));
    }
}

impl Bounded {
    /// Nothing is there yet: has it been too long?
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BytesError>>> {
        let Some(silence) = &mut self.silence else { return Poll::Pending };
        ready!(silence.over.as_mut().poll(context));
        Poll::Ready(Some(Err(BytesError::Broken(Broken::ChunkTimeout { timeout_ms: silence.limit_ms }))))
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, BytesError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = match self.chunks.poll_next_unpin(context) {
            Poll::Pending => return self.wait(context),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => {
                return Poll::Ready(Some(Err(BytesError::Broken(http::broken_by(error)))));
            }
            Poll::Ready(Some(Ok(chunk))) => chunk,
        };
        if let Some(silence) = &mut self.silence {
            silence.heard();
        }
        let pending = self.pending.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
        if pending > EVENT_BYTES_MAX {
            return Poll::Ready(Some(Err(BytesError::TooLarge)));
        }
        Poll::Ready(Some(Ok(chunk)))
    }
}
