//! Streams, blobs, requests and responses, both ways.

use std::sync::Arc;

use futures_util::stream;
use sturdy_capnweb::{
    Blob, Body, Bytes, Call, ErrorValue, Headers, Interface, Member, Readable, Reply, Request, Response,
    Stub, Target, Thrown, Value, Writable,
};

use super::{Service, counter};

pub(super) fn add(interface: Interface<Service>) -> Interface<Service> {
    bodies(readables(writables(interface)))
}

fn writables(interface: Interface<Service>) -> Interface<Service> {
    interface
        .method("writeTo", |_, mut call| async move {
            let stream: Writable = call.take()?;
            stream.write("hello").await?;
            stream.write(Value::object([("n", 1)])).await?;
            stream.close().await?;
            Ok("done".into())
        })
        .method("writeThenAbort", |_, mut call| async move {
            let stream: Writable = call.take()?;
            stream.write("x").await?;
            stream.abort(ErrorValue::new("stop"));
            Ok("aborted".into())
        })
        .method("writeNoClose", |_, mut call| async move {
            call.take::<Writable>()?.write("x").await?;
            Ok("left open".into())
        })
        .method("writeMany", |_, mut call| async move {
            let stream: Writable = call.take()?;
            let count: u32 = call.take()?;
            let size: usize = call.take()?;
            let chunk = "x".repeat(size);
            for _ in 0..count {
                stream.write(chunk.as_str()).await?;
            }
            stream.close().await?;
            Ok(count.into())
        })
        .method("pump", |_, mut call| async move {
            let stream: Writable = call.take()?;
            let chunk = "x".repeat(40_000);
            for _ in 0..100 {
                stream.write(chunk.as_str()).await?;
            }
            Ok(Value::Undefined)
        })
        .quick("getWritable", |this, _| Reply::value(Writable::new(Sink { service: this, fails: false })))
        .quick("getFailingWritable", |this, _| {
            Reply::value(Writable::new(Sink { service: this, fails: true }))
        })
}

/// Notes what it is asked to do.
struct Sink {
    service: Arc<Service>,
    fails: bool,
}

impl Target for Sink {
    fn member(&self, _: &str) -> Member {
        Member::Method
    }

    fn call(self: Arc<Self>, name: &str, mut call: Call) -> Reply {
        if self.fails && name == "write" {
            return Reply::error(ErrorValue::range_error("disk full"));
        }
        let what = match call.arg() {
            Value::String(text) => format!("{name} {text}"),
            Value::Error(reason) => format!("{name} {}", reason.message),
            _ => name.to_owned(),
        };
        self.service.note(what);
        Reply::value(())
    }
}

fn readables(interface: Interface<Service>) -> Interface<Service> {
    interface
        .method("readAll", |_, mut call| async move { Ok(call.take::<Readable>()?.read_all().await?.into()) })
        .method("readOneThenCancel", |_, mut call| async move {
            let mut stream: Readable = call.take()?;
            let first = stream.next().await.transpose()?.unwrap_or_default();
            stream.cancel(Thrown("enough".into()));
            Ok(first)
        })
        .method("readSlowly", |_, mut call| async move {
            let mut stream: Readable = call.take()?;
            let wait: u64 = call.take_or(0)?;
            let mut bytes = 0usize;
            let mut chunks = 0u32;
            while let Some(chunk) = stream.next().await.transpose()? {
                bytes += match &chunk {
                    Value::Bytes(piece) => piece.as_slice().len(),
                    Value::String(text) => text.len(),
                    _ => 0,
                };
                chunks += 1;
                if chunks.is_multiple_of(64) {
                    tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
                }
            }
            Ok(Value::object([("bytes", Value::from(bytes)), ("chunks", chunks.into())]))
        })
        .quick("getReadable", |_, mut call| match call.take_or(0u32) {
            Ok(count) => Reply::value(Readable::of((0..count).map(|at| Value::from(format!("c{at}"))))),
            Err(reason) => Reply::error(reason),
        })
        .quick("getBytes", |_, mut call| match (call.take_or(0u32), call.take_or(0usize)) {
            (Ok(count), Ok(size)) => {
                let chunks = (0..count).map(move |at| Ok(Value::Bytes(Bytes::new(vec![at as u8; size]))));
                Reply::value(Readable::new(stream::iter(chunks)))
            }
            (Err(reason), _) | (_, Err(reason)) => Reply::error(reason),
        })
        .quick("getFailingReadable", |_, _| {
            let chunks = [Ok("one".into()), Err(ErrorValue::type_error("src failed").into())];
            Reply::value(Readable::new(stream::iter(chunks)))
        })
        .quick("getStubStream", |_, _| Reply::value(Readable::of([counter(5).into()])))
        .method("useStubStream", |_, mut call| async move {
            let mut stream: Readable = call.take()?;
            let mut results = Vec::new();
            while let Some(chunk) = stream.next().await.transpose()? {
                results.push(Stub::try_from(chunk)?.call("increment", []).await?);
            }
            Ok(results.into())
        })
}

fn bodies(interface: Interface<Service>) -> Interface<Service> {
    interface
        .quick("blobInfo", |_, mut call| match call.take::<Blob>() {
            Ok(blob) => {
                let text = String::from_utf8_lossy(blob.bytes()).into_owned();
                Reply::value(Value::object([("type", blob.mime().to_owned()), ("text", text)]))
            }
            Err(reason) => Reply::error(reason),
        })
        .quick("blobAndStream", |_, mut call| {
            let first = call.take::<Blob>();
            let second = call.take::<Blob>();
            let stream = call.take::<Readable>();
            Reply::later(async move {
                let first = first?;
                let second = second?;
                let chunks = stream?.read_all().await?;
                Ok(Value::array([
                    first.bytes().len().into(),
                    second.bytes().len().into(),
                    Value::from(chunks),
                ]))
            })
        })
        .quick("getBlob", |_, _| Reply::value(Blob::new("text/plain", b"hi there".to_vec())))
        .quick("echoBlob", |_, mut call| Reply::Now(Ok(call.arg())))
        .quick("headerPairs", |_, mut call| match call.take::<Headers>() {
            Ok(headers) => {
                Reply::value(Value::array(headers.iter().map(|(name, value)| Value::array([name, value]))))
            }
            Err(reason) => Reply::error(reason),
        })
        .method("requestInfo", |_, mut call| async move {
            let request: Request = call.take()?;
            let text = body_text(request.body).await?;
            Ok(Value::object([("method", request.method), ("url", request.url.to_string()), ("text", text)]))
        })
        .method("responseInfo", |_, mut call| async move {
            let response: Response = call.take()?;
            let status = response.status;
            Ok(Value::object([
                ("status", Value::from(u32::from(status))),
                ("text", body_text(response.body).await?.into()),
            ]))
        })
        .quick("getResponse", |_, _| {
            let mut response = Response::new(201);
            response.headers.append("content-type", "text/plain;charset=UTF-8");
            response.headers.append("x-a", "b");
            response.body = Body::Stream(Readable::of([Bytes::new(b"body text".to_vec()).into()]));
            Reply::value(response)
        })
        .quick("getEmptyResponse", |_, _| Reply::value(Response::new(204)))
}

async fn body_text(body: Body) -> Result<String, Thrown> {
    let bytes = match body {
        Body::Empty => Vec::new(),
        Body::Text(text) => return Ok(text),
        Body::Bytes(bytes) => bytes,
        Body::Stream(stream) => stream.read_bytes().await?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
