//! The reading end of a stream.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use super::{Blob, Bytes, ErrorValue, Thrown, Value, reference::ends::PipeReader};

/// A stream of values to read. Clones share it. Dropping the last one unread tells the writer
/// that nobody wants the rest.
#[derive(Clone)]
pub struct Readable(Arc<Mutex<Source>>);

enum Source {
    Pipe(Arc<dyn PipeReader>),
    Local(BoxStream<'static, Result<Value, Thrown>>),
    /// Read to its end, cancelled, or handed to somebody else.
    Spent,
}

impl Readable {
    /// A stream of this process. It is read when the peer reads.
    pub fn new(chunks: impl Stream<Item = Result<Value, Thrown>> + Send + 'static) -> Readable {
        Readable(Arc::new(Mutex::new(Source::Local(chunks.boxed()))))
    }

    /// A stream of values that are there already.
    pub fn of(chunks: impl IntoIterator<Item = Value>) -> Readable {
        let chunks: Vec<Value> = chunks.into_iter().collect();
        Readable::new(stream::iter(chunks.into_iter().map(Ok)))
    }

    pub(crate) fn from_pipe(pipe: Arc<dyn PipeReader>) -> Readable {
        Readable(Arc::new(Mutex::new(Source::Pipe(pipe))))
    }

    /// The bytes of a blob in pieces, so that no message is too long.
    pub(crate) fn from_blob(blob: &Blob) -> Readable {
        const PIECE: usize = 64 * 1024;
        let data = blob.shared();
        let pieces = data.len().div_ceil(PIECE);
        Readable::new(stream::iter((0..pieces).map(move |at| {
            let end = data.len().min((at + 1) * PIECE);
            Ok(Value::Bytes(Bytes::new(data[at * PIECE..end].to_vec())))
        })))
    }

    /// The next chunk; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Value, Thrown>> {
        StreamExt::next(self).await
    }

    /// All chunks to the end.
    pub async fn read_all(mut self) -> Result<Vec<Value>, Thrown> {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.next().await {
            chunks.push(chunk?);
        }
        Ok(chunks)
    }

    /// All bytes to the end, text as UTF-8.
    pub async fn read_bytes(mut self) -> Result<Vec<u8>, Thrown> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await {
            match chunk? {
                Value::Bytes(piece) => bytes.extend_from_slice(piece.as_slice()),
                Value::String(text) => bytes.extend_from_slice(text.as_bytes()),
                other => {
                    let text = format!("expected bytes in the stream, found {}", other.kind());
                    return Err(ErrorValue::type_error(text).into());
                }
            }
        }
        Ok(bytes)
    }

    /// Wants no more, and says why.
    pub fn cancel(&self, reason: impl Into<Thrown>) {
        cancel(self.take(), reason.into());
    }

    /// The stream itself, leaving nothing for other clones.
    fn take(&self) -> Source {
        std::mem::replace(&mut *self.lock(), Source::Spent)
    }

    /// The same stream with a handle of its own: what others still hold finds nothing.
    pub(crate) fn moved(&self) -> Readable {
        Readable(Arc::new(Mutex::new(self.take())))
    }

    fn lock(&self) -> MutexGuard<'_, Source> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cancel(source: Source, reason: Thrown) {
    if let Source::Pipe(pipe) = &source {
        pipe.refuse(reason);
    }
}

impl Stream for Readable {
    type Item = Result<Value, Thrown>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (next, spent) = {
            let mut source = self.lock();
            let next = match &mut *source {
                Source::Pipe(pipe) => pipe.poll_take(cx),
                Source::Local(chunks) => chunks.poll_next_unpin(cx),
                Source::Spent => return Poll::Ready(None),
            };
            let over = matches!(next, Poll::Ready(None | Some(Err(_))));
            (next, over.then(|| std::mem::replace(&mut *source, Source::Spent)))
        };
        drop(spent);
        next
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Source::Pipe(pipe) = self {
            let text = "ReadableStream RPC stub was disposed without being consumed";
            pipe.refuse(ErrorValue::new(text).into());
        }
    }
}

impl PartialEq for Readable {
    fn eq(&self, other: &Readable) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Readable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Readable")
    }
}
