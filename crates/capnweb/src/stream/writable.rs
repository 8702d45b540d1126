//! Writing to a stream, here or at a peer.

use std::{future::poll_fn, sync::Arc, task::Poll};

use super::{
    Pipe,
    sink::{Op, Sink},
};
use crate::{
    Call, ErrorValue, Limits, Member, PathPart, Reply, Target, Thrown, Value, Writable,
    value::WritingEnd,
    value::reference::{
        caller::Origin,
        cell::{Cell, Stage},
        ends::{LocalWriter, RemoteObject, RemoteWriter},
        hook::Hook,
        turn,
    },
};

impl Writable {
    /// A stream into `target`, which is asked to `write(chunk)`, then to `close()` or to
    /// `abort(reason)`, one at a time and in order.
    pub fn new(target: impl Target) -> Writable {
        Writable::local(Arc::new(Writer(Into::Sink(Sink::new(Arc::new(target))))))
    }

    /// What to export when this is sent. A peer's stream is passed on through us.
    pub(crate) fn hook(&self) -> Hook {
        match &self.0 {
            WritingEnd::Local(writer) => Hook::Writer(Arc::clone(writer)),
            WritingEnd::Remote(writer) => {
                let relay = Sink::new(Arc::new(Relay(Arc::clone(writer))));
                Hook::Writer(Arc::new(Writer(Into::Sink(relay))))
            }
        }
    }

    /// Sends a chunk. Returns when the next one may follow, which is usually at once, and with
    /// the first error once a chunk was refused.
    pub async fn write(&self, chunk: impl std::convert::Into<Value>) -> Result<(), Thrown> {
        let chunk = chunk.into();
        match &self.0 {
            WritingEnd::Remote(writer) => {
                writer.write(chunk)?;
                poll_fn(|cx| writer.poll_room(cx)).await
            }
            WritingEnd::Local(writer) => wait(writer, "write", vec![chunk]).await,
        }
    }

    /// Ends the stream. Returns when everything was accepted, with the first error otherwise.
    pub async fn close(&self) -> Result<(), Thrown> {
        match &self.0 {
            WritingEnd::Remote(writer) => {
                let closed = answered(writer.close()?).await;
                writer.failure().map_or(closed, Err)
            }
            WritingEnd::Local(writer) => wait(writer, "close", Vec::new()).await,
        }
    }

    /// Gives the stream up.
    pub fn abort(&self, reason: impl std::convert::Into<Thrown>) {
        let reason = reason.into();
        match &self.0 {
            WritingEnd::Remote(writer) => writer.abort(&reason),
            WritingEnd::Local(writer) => {
                drop(writer.call(&[PathPart::from("abort")], vec![reason.0], &turn::origin()));
            }
        }
    }
}

async fn wait(writer: &Arc<dyn LocalWriter>, method: &str, args: Vec<Value>) -> Result<(), Thrown> {
    let answer = writer.call(&[PathPart::from(method)], args, &turn::origin());
    crate::Promise(answer.into()).await.map(drop)
}

/// Waits for the answer to a `stream` message.
pub(crate) async fn answered(import: Arc<dyn RemoteObject>) -> Result<(), Thrown> {
    let cell: &Arc<Cell> = import.cell();
    poll_fn(|cx| match cell.stage_when_served() {
        Stage::Pending => {
            cell.watch(cx.waker());
            if matches!(cell.stage_when_served(), Stage::Pending) { Poll::Pending } else { Poll::Ready(()) }
        }
        Stage::Linked(_) | Stage::Settled => Poll::Ready(()),
    })
    .await;
    match cell.value() {
        Some(Err(reason)) => Err(reason.clone()),
        _ => Ok(()),
    }
}

/// The writing end of a stream of this process, as others reach it.
pub(crate) struct Writer(Into);

enum Into {
    Pipe(Arc<Pipe>),
    Sink(Arc<Sink>),
}

impl Writer {
    pub(crate) fn pipe(pipe: Arc<Pipe>) -> Writer {
        Writer(Into::Pipe(pipe))
    }
}

impl LocalWriter for Writer {
    /// Exactly three things can be asked of a stream, by a path of one name.
    fn call(&self, path: &[PathPart], args: Vec<Value>, origin: &Origin) -> Hook {
        let mut args = args.into_iter();
        let op = match path {
            [PathPart::Name(name)] => match name.as_str() {
                "write" => Some(Op::Write(args.next().unwrap_or_default())),
                "close" => Some(Op::Close),
                "abort" => Some(Op::Abort(args.next().map_or_else(unnamed_abort, Thrown))),
                _ => None,
            },
            _ => None,
        };
        let Some(op) = op else {
            return Hook::rejected(ErrorValue::type_error("a writable stream can write, close and abort"));
        };
        let (cell, done) = Cell::pending();
        match &self.0 {
            Into::Sink(sink) => {
                let most = origin
                    .as_ref()
                    .map_or(Limits::default().pipe_bytes_max, |session| session.limits().pipe_bytes_max);
                if let Some(task) = sink.ask(op, done, most, origin) {
                    cell.keep(task);
                }
            }
            Into::Pipe(pipe) => match op {
                Op::Write(value) => pipe.write(value, done),
                Op::Close => pipe.close(done),
                Op::Abort(reason) => {
                    pipe.fail(reason);
                    done.settle(Ok(Value::Undefined));
                }
            },
        }
        Hook::Cell(cell)
    }
}

fn unnamed_abort() -> Thrown {
    ErrorValue::new("the stream was aborted").into()
}

impl Drop for Writer {
    fn drop(&mut self) {
        let left = || -> Thrown {
            ErrorValue::new("WritableStream RPC stub was disposed without calling close()").into()
        };
        match &self.0 {
            Into::Pipe(pipe) => pipe.dropped(left()),
            Into::Sink(sink) if !sink.is_over() => {
                let (_, done) = Cell::pending();
                drop(sink.ask(Op::Abort(left()), done, usize::MAX, &turn::origin()));
            }
            Into::Sink(_) => {}
        }
    }
}

/// Passes what is written on to a stream of another peer.
struct Relay(Arc<dyn RemoteWriter>);

impl Target for Relay {
    fn member(&self, _: &str) -> Member {
        Member::Method
    }

    fn call(self: Arc<Self>, name: &str, mut call: Call) -> Reply {
        let stream = Writable::remote(Arc::clone(&self.0));
        match name {
            "write" => {
                let chunk = call.arg();
                Reply::later(async move { stream.write(chunk).await.map(Value::from) })
            }
            "close" => Reply::later(async move { stream.close().await.map(Value::from) }),
            _ => {
                stream.abort(Thrown(call.arg()));
                Reply::value(())
            }
        }
    }
}
