//! Collecting a blob that arrives in pieces.

use crate::{
    Blob, ErrorValue, Promise, Readable, Thrown, Value,
    value::reference::cell::{Cell, Task, poll_once},
    value::reference::hook::{Hook, Ref},
    value::reference::turn,
};

/// A promise of the blob whose bytes come out of `readable`.
pub(crate) fn collect_blob(readable: Readable, mime: String, bytes_max: usize) -> Value {
    let (cell, resolver) = Cell::pending();
    let mut task: Task = Box::pin(async move {
        let collected = collect(readable, bytes_max).await;
        resolver.settle(collected.map(|data| Value::Blob(Blob::new(mime, data))));
    });
    if !poll_once(&mut task) {
        match turn::origin() {
            // A pump, not a call: it must go on while no more calls are taken.
            Some(session) => session.spawn_pump(task),
            None => cell.keep(task),
        }
    }
    Value::Promise(Promise(Ref::from(Hook::Cell(cell))))
}

async fn collect(mut readable: Readable, bytes_max: usize) -> Result<Vec<u8>, Thrown> {
    let mut data = Vec::new();
    while let Some(chunk) = readable.next().await {
        let Value::Bytes(piece) = chunk? else {
            return Err(ErrorValue::type_error("a blob is made of bytes").into());
        };
        if data.len() + piece.as_slice().len() > bytes_max {
            return Err(ErrorValue::range_error("the blob is too large").code("blob_too_large").into());
        }
        data.extend_from_slice(piece.as_slice());
    }
    Ok(data)
}
