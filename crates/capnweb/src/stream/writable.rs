//! The writing end of a stream.

use std::{future::poll_fn, sync::Arc};

use super::{
    Pipe, RemoteWriter,
    remote::answered,
    sink::{Op, Sink},
};
use crate::{
    Call, ErrorValue, Limits, Member, Reply, Target, Thrown, Value,
    value::reference::cell::Cell,
    value::reference::hook::Hook,
    value::reference::path::PathPart,
    value::reference::turn::{self, Origin},
};

/// A stream to write to: here, or at a peer. Clones share it. Dropping the last one without
/// closing it aborts the stream.
#[derive(Clone)]
pub struct Writable(Kind);

#[derive(Clone)]
enum Kind {
    Local(Arc<Writer>),
    Remote(Arc<RemoteWriter>),
}

impl Writable {
    /// A stream into `target`, which is asked to `write(chunk)`, then to `close()` or to
    /// `abort(reason)`, one at a time and in order.
    pub fn new(target: impl Target) -> Writable {
        Writable::local(Arc::new(Writer(Into::Sink(Sink::new(Arc::new(target))))))
    }

    pub(crate) fn local(writer: Arc<Writer>) -> Writable {
        Writable(Kind::Local(writer))
    }

    pub(crate) fn remote(writer: Arc<RemoteWriter>) -> Writable {
        Writable(Kind::Remote(writer))
    }

    /// What to export when this is sent. A peer's stream is passed on through us.
    pub(crate) fn hook(&self) -> Hook {
        match &self.0 {
            Kind::Local(writer) => Hook::Writer(Arc::clone(writer)),
            Kind::Remote(writer) => {
                let relay = Sink::new(Arc::new(Relay(Arc::clone(writer))));
                Hook::Writer(Arc::new(Writer(Into::Sink(relay))))
            }
        }
    }

    /// Where a call that reached this stream through a path goes.
    pub(crate) fn callee(&self) -> Hook {
        match &self.0 {
            Kind::Local(writer) => Hook::Writer(Arc::clone(writer)),
            Kind::Remote(writer) => Hook::Import(Arc::clone(writer.import())),
        }
    }

    /// Sends a chunk. Returns when the next one may follow, which is usually at once, and with
    /// the first error once a chunk was refused.
    pub async fn write(&self, chunk: impl std::convert::Into<Value>) -> Result<(), Thrown> {
        let chunk = chunk.into();
        match &self.0 {
            Kind::Remote(writer) => {
                writer.write(chunk)?;
                poll_fn(|cx| writer.poll_room(cx)).await
            }
            Kind::Local(writer) => wait(writer, "write", vec![chunk]).await,
        }
    }

    /// Ends the stream. Returns when everything was accepted, with the first error otherwise.
    pub async fn close(&self) -> Result<(), Thrown> {
        match &self.0 {
            Kind::Remote(writer) => {
                let closed = answered(writer.close()?).await;
                writer.failure().map_or(closed, Err)
            }
            Kind::Local(writer) => wait(writer, "close", Vec::new()).await,
        }
    }

    /// Gives the stream up.
    pub fn abort(&self, reason: impl std::convert::Into<Thrown>) {
        let reason = reason.into();
        match &self.0 {
            Kind::Remote(writer) => writer.abort(&reason),
            Kind::Local(writer) => {
                drop(writer.call(&[PathPart::from("abort")], vec![reason.0], &turn::origin()));
            }
        }
    }
}

async fn wait(writer: &Arc<Writer>, method: &str, args: Vec<Value>) -> Result<(), Thrown> {
    let answer = writer.call(&[PathPart::from(method)], args, &turn::origin());
    crate::Promise(answer.into()).await.map(drop)
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

    /// Exactly three things can be asked of a stream, by a path of one name.
    pub(crate) fn call(&self, path: &[PathPart], args: Vec<Value>, origin: &Origin) -> Hook {
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
struct Relay(Arc<RemoteWriter>);

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

impl PartialEq for Writable {
    fn eq(&self, other: &Writable) -> bool {
        match (&self.0, &other.0) {
            (Kind::Local(a), Kind::Local(b)) => Arc::ptr_eq(a, b),
            (Kind::Remote(a), Kind::Remote(b)) => Arc::ptr_eq(a, b),
            (Kind::Local(_), Kind::Remote(_)) | (Kind::Remote(_), Kind::Local(_)) => false,
        }
    }
}

impl std::fmt::Debug for Writable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Kind::Local(_) => "Writable(local)",
            Kind::Remote(_) => "Writable(remote)",
        })
    }
}
