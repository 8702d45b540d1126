//! Moving a readable of ours into a pipe of the peer's.

use std::{future::poll_fn, sync::Arc};

use super::{Mode, import::ImportRef, remote::PeerStream};
use crate::{
    Readable, Thrown,
    stream::answered,
    value::reference::{cell::Task, ends::RemoteWriter},
};

/// Pumps until the stream ends, either side fails, or the session is over. The pipe is
/// released when the task is dropped.
pub(super) fn pump(readable: Readable, pipe: Arc<ImportRef>) -> Task {
    let readable = readable.moved();
    Box::pin(async move {
        let writer = PeerStream::new(pipe);
        // Nobody is left to tell: the reader knows why the stream broke off.
        let _ = run(readable, &writer).await;
    })
}

async fn run(mut readable: Readable, writer: &PeerStream) -> Result<(), Thrown> {
    loop {
        poll_fn(|cx| writer.poll_room(cx)).await.inspect_err(|reason| readable.cancel(reason.clone()))?;
        let Some(chunk) = next(&mut readable, writer).await? else { break };
        match chunk {
            Ok(value) => writer.write(value).inspect_err(|reason| readable.cancel(reason.clone()))?,
            Err(reason) => {
                writer.abort(&reason);
                return Err(reason);
            }
        }
    }
    let closing = writer.close()?;
    if writer.mode() == Mode::BatchClient {
        return Ok(());
    }
    answered(closing).await
}

type Chunk = Option<Result<crate::Value, Thrown>>;

/// The next chunk, unless a write fails while the source is silent.
async fn next(readable: &mut Readable, writer: &PeerStream) -> Result<Chunk, Thrown> {
    use futures_util::stream::StreamExt;
    use std::task::Poll;

    let chunk = poll_fn(|cx| {
        if let Some(reason) = writer.failure() {
            return Poll::Ready(Err(reason));
        }
        writer.wake_on_failure(cx);
        readable.poll_next_unpin(cx).map(Ok)
    })
    .await;
    if let Err(reason) = &chunk {
        readable.cancel(reason.clone());
    }
    chunk
}
