//! Streams, blobs, and how fast they may go.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::stream;
use sturdy_capnweb::{
    BigInt, Blob, Bytes, Call, ErrorValue, Member, Readable, Reply, Target, Thrown, Value, Writable,
};

use super::{Context, cases, objects::until, values::error_name};
use crate::service::counter;

cases! {
    "IC-078 a writable parameter" socket async |context: Arc<Context>| {
        let (sink, seen) = Sink::watched(false);
        assert_eq!(context.root().call("writeTo", [sink.into()]).await, Ok("done".into()));
        assert_eq!(*seen.lock().expect("seen"), ["write hello", "write", "close"]);
    };
    "IC-079 a writable parameter aborted with a reason" socket async |context: Arc<Context>| {
        let (sink, seen) = Sink::watched(false);
        assert_eq!(context.root().call("writeThenAbort", [sink.into()]).await, Ok("aborted".into()));
        noted(&seen, "abort stop").await;
    };
    "IC-080 a writable parameter ignored or left open" socket async |context: Arc<Context>| {
        let (ignored, first) = Sink::watched(false);
        let (left, second) = Sink::watched(false);
        assert_eq!(context.root().call("ignore", [ignored.into()]).await, Ok("ignored".into()));
        assert_eq!(context.root().call("writeNoClose", [left.into()]).await, Ok("left open".into()));
        noted(&first, "abort").await;
        noted(&second, "abort").await;
    };
    "IC-081 a sink that fails" socket async |context: Arc<Context>| {
        let (sink, _) = Sink::watched(true);
        let reason = context.root().call("writeTo", [sink.into()]).await.expect_err("failing");
        assert_eq!(error_name(&reason), "RangeError");
        let theirs = writable(&context, "getFailingWritable").await;
        let _ = theirs.write("q").await;
        let _ = theirs.write("r").await;
        assert_eq!(theirs.close().await.expect_err("failing").message(), "disk full");
    };
    "IC-081 a writable result" socket async |context: Arc<Context>| {
        let theirs = writable(&context, "getWritable").await;
        theirs.write("q").await.expect("written");
        theirs.close().await.expect("closed");
        assert_eq!(context.root().call("seen", []).await, Ok(Value::array(["write q", "close"])));
    };
    "IC-082 a readable parameter with mixed chunks" socket async |context: Arc<Context>| {
        let chunks = vec!["a".into(), Bytes::new(vec![1, 2]).into(), Value::object([("n", Value::array([1]))]), BigInt::from(5).into(), Value::date(7.0)];
        let back = context.root().call("readAll", [Readable::of(chunks.clone()).into()]).await;
        assert_eq!(back, Ok(Value::Array(chunks)));
    };
    "IC-083 a readable parameter whose consumer cancels" socket async |context: Arc<Context>| {
        let (source, dropped) = watched(1_000_000);
        assert_eq!(context.root().call("readOneThenCancel", [source.into()]).await, Ok(0.into()));
        until(&dropped, 1).await;
    };
    "IC-084 a readable parameter never read" socket async |context: Arc<Context>| {
        let (source, dropped) = watched(1_000_000);
        assert_eq!(context.root().call("ignore", [source.into()]).await, Ok("ignored".into()));
        until(&dropped, 1).await;
    };
    "IC-085 a readable result" socket async |context: Arc<Context>| {
        let read = readable(&context, "getReadable", &[3.into()]).await.read_all().await;
        assert_eq!(read, Ok(["c0", "c1", "c2"].map(Value::from).to_vec()));
        drop(readable(&context, "getReadable", &[3.into()]).await);
        let reason = readable(&context, "getFailingReadable", &[]).await.read_all().await.expect_err("failing");
        assert_eq!(reason.message(), "src failed");
        let broken = [Ok("x".into()), Err(ErrorValue::type_error("src broke").into())];
        let reason = context.root().call("readAll", [Readable::new(stream::iter(broken)).into()]).await.expect_err("broken");
        assert_eq!(reason.message(), "src broke");
    };
    "IC-086 50 MiB through a pipe" socket async |context: Arc<Context>| {
        let chunks = (0..800).map(|_| Ok(Value::from(Bytes::new(vec![7; 64 * 1024]))));
        let result = context.root().call("readSlowly", [Readable::new(stream::iter(chunks)).into(), 5.into()]).await;
        assert_eq!(result, Ok(Value::object([("bytes", 800 * 64 * 1024), ("chunks", 800)])));
        let mut stream = readable(&context, "getBytes", &[800.into(), (64 * 1024).into()]).await;
        let mut bytes = 0;
        while let Some(Ok(Value::Bytes(piece))) = stream.next().await {
            bytes += piece.as_slice().len();
        }
        assert_eq!(bytes, 800 * 64 * 1024);
    };
    "IC-087 a sink that never acknowledges" ending async |context: Arc<Context>| {
        let theirs = writable(&context, "getStuckWritable").await;
        let chunk = "x".repeat(40_000);
        let mut written = 0;
        while tokio::time::timeout(Duration::from_millis(200), theirs.write(chunk.as_str())).await.is_ok() {
            written += 1;
        }
        // The seventh passes the window: it is sent, and then blocks.
        assert_eq!(written + 1, 7);
    };
    "IC-088 a blocked writer hears of a failure" ending async |context: Arc<Context>| {
        let theirs = writable(&context, "getLateWritable").await;
        let chunk = "x".repeat(40_000);
        let reason = loop {
            if let Err(reason) = theirs.write(chunk.as_str()).await {
                break reason;
            }
        };
        assert_eq!(reason.message(), "late");
    };
    "IC-089 stubs as chunks" socket async |context: Arc<Context>| {
        let chunks = readable(&context, "getStubStream", &[]).await.read_all().await.expect("chunks");
        assert_eq!(chunks[0].as_stub().expect("a stub").call("increment", []).await, Ok(6.into()));
        drop(chunks);
        let ours = Readable::of([counter(0), counter(1)].map(Value::from));
        assert_eq!(context.root().call("useStubStream", [ours.into()]).await, Ok(Value::array([1, 2])));
    };
    "IC-090 blobs" socket async |context: Arc<Context>| {
        let info = context.root().call("blobInfo", [Blob::new("text/plain", b"hello blob".to_vec()).into()]).await;
        assert_eq!(info, Ok(Value::object([("type", "text/plain"), ("text", "hello blob")])));
        let empty = context.root().call("blobInfo", [Blob::new("", vec![]).into()]).await;
        assert_eq!(empty, Ok(Value::object([("type", ""), ("text", "")])));
        assert_eq!(context.root().call("getBlob", []).await, Ok(Blob::new("text/plain", b"hi there".to_vec()).into()));
        let large = Blob::new("application/x", (0..10 * 1024 * 1024).map(|at| at as u8).collect());
        assert_eq!(context.root().call("echoBlob", [large.clone().into()]).await, Ok(large.into()));
    };
    "IC-091 two blobs and a stream in one call" socket async |context: Arc<Context>| {
        let args = [Blob::new("", b"abc".to_vec()).into(), Blob::new("", b"12345".to_vec()).into(), Readable::of(["x".into(), "y".into()]).into()];
        let result = context.root().call("blobAndStream", args).await;
        assert_eq!(result, Ok(Value::array([3.into(), 5.into(), Value::array(["x", "y"])])));
    };
    "IC-092 a finite readable uploaded in a batch" batch async |context: Arc<Context>| {
        let result = context.ask(|root| root.call("readAll", [Readable::of(["a".into(), "b".into()]).into()])).await;
        assert_eq!(result, Ok(Value::array(["a", "b"])));
    };
}

/// Notes what it is asked to do.
struct Sink {
    seen: Arc<Mutex<Vec<String>>>,
    fails: bool,
}

impl Sink {
    fn watched(fails: bool) -> (Writable, Arc<Mutex<Vec<String>>>) {
        let seen = Arc::default();
        (Writable::new(Sink { seen: Arc::clone(&seen), fails }), seen)
    }
}

impl Target for Sink {
    fn member(&self, _: &str) -> Member {
        Member::Method
    }

    fn call(self: Arc<Self>, name: &str, mut call: Call) -> Reply {
        if self.fails && name == "write" {
            return Reply::error(ErrorValue::range_error("nope"));
        }
        let what = match call.arg() {
            Value::String(text) => format!("{name} {text}"),
            Value::Error(reason) => format!("{name} {}", reason.message),
            _ => name.to_owned(),
        };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(what);
        Reply::value(())
    }
}

async fn noted(seen: &Mutex<Vec<String>>, start: &str) {
    for _ in 0..100 {
        if seen.lock().is_ok_and(|seen| seen.iter().any(|line| line.starts_with(start))) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{seen:?} has no {start}");
}

/// Numbers that count when they are no longer wanted.
fn watched(length: u32) -> (Readable, Arc<AtomicUsize>) {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let guard = Guard(Arc::clone(&dropped));
    let numbers = (0..length).map(move |number| {
        let _keep = &guard;
        Ok::<Value, Thrown>(number.into())
    });
    (Readable::new(stream::iter(numbers)), dropped)
}

async fn writable(context: &Context, method: &str) -> Writable {
    Writable::try_from(context.root().call(method, []).await.expect("a stream")).expect("a stream")
}

async fn readable(context: &Context, method: &str, args: &[Value]) -> Readable {
    Readable::try_from(context.root().call(method, args.to_vec()).await.expect("a stream")).expect("a stream")
}
