//! What the recorded JavaScript clients did, in Rust.

use std::sync::Arc;

use futures_util::{future::join_all, stream};
use sturdy_capnweb::{
    Blob, Body, Bytes, Call, ErrorValue, Headers, Member, Outcome, Promise, Readable, Reply, Request, Stub,
    Target, Url, Value, Writable,
};

use crate::service::counter;

/// Runs the script of a vector.
pub(super) async fn run(name: String, root: Stub) -> Outcome {
    match name.split('-').next().unwrap_or_default() {
        "error" | "no" => errors(&name, &root).await,
        "map" => maps(&name, &root).await,
        "raw" => raw(&name, &root).await,
        "writable" | "readable" | "blob" | "headers" | "request" | "response" | "flow" => {
            streams(&name, &root).await
        }
        _ => sessions(&name, &root).await,
    }
}

async fn sessions(name: &str, root: &Stub) -> Outcome {
    let times_ten =
        || Stub::function(|mut call: Call| async move { Ok((call.take::<f64>()? * 10.0).into()) });
    let double = || Stub::function(|mut call: Call| async move { Ok((call.take::<f64>()? * 2.0).into()) });
    match name {
        "call" => root.call("square", [5.into()]).await,
        "call-not-awaited" | "call-not-awaited-disposed" => {
            drop(root.call("square", [5.into()]));
            Ok(Value::Null)
        }
        "release-before-resolve" => {
            drop(root.call("slow", [30.into(), Value::date(1.0)]).ask());
            Ok(Value::Null)
        }
        "property-get" => root.get("prop").get("a").await,
        "property-get-array-index-as-string" => root.get("prop").get("a").get("b").get("0").await,
        "pipelined-call" => {
            let counter = root.call("makeCounter", [4.into()]);
            counter.call("increment", [3.into()]).await
        }
        "promise-as-argument" => {
            let two = root.call("square", [2.into()]);
            root.call("square", [two.clone().into()]).await
        }
        "promise-property-as-argument" => {
            let three = root.call("square", [3.into()]);
            let x = root.get("prop").get("a").get("b");
            root.call("echo", [Value::object([("x", x), ("y", three.clone())])]).await
        }
        "return-target" => {
            let counter = stub(root.call("makeCounter", [4.into()]).await?)?;
            counter.call("increment", []).await?;
            counter.get("value").await
        }
        "return-function" => stub(root.call("getFunction", []).await?)?.invoke([4.into()]).await,
        "return-record-of-stubs" => {
            let record = root.call("getRecord", []).await?;
            member(&record, "add")?.invoke([4.into()]).await?;
            member(&record, "c")?.call("increment", []).await
        }
        "same-target-twice-in-result" => {
            let pair = root.call("pair", []).await?;
            for item in pair.as_array().unwrap_or_default() {
                stub(item.clone())?.call("increment", []).await?;
            }
            Ok(Value::Null)
        }
        "callback-parameter" => root.call("callFunction", [times_ten().into(), 7.into()]).await,
        "target-parameter" => root.call("incrementCounter", [counter(10).into(), 5.into()]).await,
        "stub-sent-back" => {
            let counter = stub(root.call("makeCounter", [4.into()]).await?)?;
            root.call("incrementCounter", [counter.clone().into(), 2.into()]).await
        }
        "main-stub-as-argument" => root.call("callSquare", [root.clone().into(), 3.into()]).await,
        "keep-duplicate-of-parameter" => {
            root.call("keep", [counter(7).into()]).await?;
            root.call("useKept", []).await?;
            root.call("dropKept", []).await
        }
        "server-returns-promise-of-client-call" => {
            root.call("callAndReturnPromise", [double().into(), 21.into()]).await
        }
        "server-returns-nested-promise-of-client-call" => {
            root.call("callAndReturnNested", [double().into(), 21.into()]).await
        }
        "client-target-returned-at-root" => root.call("dupBack", [counter(1).into()]).await,
        "client-target-returned-nested" => {
            let back = root.call("dupBackNested", [counter(1).into()]).await?;
            member(&back, "c")?.call("increment", []).await
        }
        "dup-and-dispose" => {
            let one = stub(root.call("makeCounter", [1.into()]).await?)?;
            let two = one.clone();
            drop(one);
            two.call("increment", []).await
        }
        "dup-of-promise" => {
            let one = root.call("makeCounter", [1.into()]);
            let two = one.dup();
            let result = two.call("increment", []).await;
            drop((one, two));
            result
        }
        "dispose-main" => root.call("square", [2.into()]).await,
        "share-subscribe" => {
            let redeemed = root.call("redeemShare", ["EXAMPLESHARE".into(), "ok".into()]);
            redeemed.get("share").call("subscribe", [0.into(), Stub::new(Events).into()]).await
        }
        other => panic!("no script for {other}"),
    }
}

async fn errors(name: &str, root: &Stub) -> Outcome {
    match name {
        "error-pipelined" => {
            let failed = root.call("throwRange", []);
            let pipelined = failed.call("foo", [1.into()]);
            let square = root.call("square", [failed.clone().into()]);
            let results = join_all([pipelined.ask(), square.ask()]).await;
            assert!(
                results
                    .iter()
                    .all(|result| result.as_ref().is_err_and(|reason| reason.message() == "test error"))
            );
            Ok(Value::Null)
        }
        "error-instance-field" => root.get("instanceField").await,
        "error-rewritten-with-stack" | "error-rewritten-stack-only" => root.call("nope", []).await,
        "no-main" => root.call("foo", []).await,
        other => root.call(other.trim_start_matches("error-"), []).await,
    }
}

async fn maps(name: &str, root: &Stub) -> Outcome {
    let square = |list: &Promise| list.map(|scope, n| scope.capture(root).call("square", [n.into()]));
    let fib = |count: i32| root.call("fib", [count.into()]);
    match name {
        "map-array" => {
            let list = fib(3);
            list.map(|scope, n| {
                let squared = scope.capture(root).call("square", [n.clone().into()]);
                Value::object([("sq", squared), ("x", n)])
            })
            .await
        }
        "map-null" => square(&root.call("returnNull", [])).await,
        "map-undefined" => square(&root.call("returnUndefined", [])).await,
        "map-scalar" => square(&root.call("square", [3.into()])).await,
        "map-property" => {
            let item = |n: i32| Value::object([("a", Value::object([("b", n)]))]);
            let list = root.call("echo", [Value::array([item(1), item(2)])]);
            list.map(|_, item| item.get("a").get("b")).await
        }
        "map-nested" => {
            let list = fib(4);
            let mapped = list.map(|scope, n| {
                let api = scope.capture(root);
                api.call("fib", [n.into()])
                    .map(|inner, m| inner.capture_promise(&api).call("fib", [m.into()]))
            });
            drop(list);
            mapped.await
        }
        "map-captures-local-stub" => {
            let local = counter(0);
            let list = fib(3);
            list.map(|scope, n| scope.capture(&local).call("increment", [n.into()])).await
        }
        "map-returns-stubs" => {
            let list = fib(3);
            let counters = list.map(|scope, n| scope.capture(root).call("makeCounter", [n.into()])).await?;
            let values = counters.as_array().unwrap_or_default().iter();
            let values: Vec<_> =
                values.filter_map(Value::as_stub).map(|counter| counter.get("value").ask()).collect();
            Ok(Value::Array(join_all(values).await.into_iter().collect::<Result<_, _>>()?))
        }
        "map-literals" => {
            let list = fib(2);
            list.map(|scope, n| {
                let squared = scope.capture(root).call("square", [n.clone().into()]);
                Value::array([n.into(), squared.into(), "lit".into(), Value::date(3.0)])
            })
            .await
        }
        other => panic!("no script for {other}"),
    }
}

async fn raw(name: &str, root: &Stub) -> Outcome {
    match name {
        "raw-server-same-export-in-two-results" | "raw-server-promise-reuses-id" => {
            let first = root.call("foo", []).await?;
            let second = root.call("bar", []).await;
            drop(first);
            second
        }
        "raw-server-resolves-unpulled" => {
            let promise = root.call("foo", []);
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            promise.await
        }
        "raw-server-resolves-to-call-on-client-object" => root.call("foo", [counter(5).into()]).await,
        _ => root.call("foo", []).await,
    }
}

async fn streams(name: &str, root: &Stub) -> Outcome {
    let bytes = |data: &[u8]| Value::from(Bytes::new(data.to_vec()));
    let numbers = |count: i32| Readable::of((0..count).map(Value::from));
    match name {
        "writable-parameter" => root.call("writeTo", [sink(false).into()]).await,
        "writable-parameter-abort" => root.call("writeThenAbort", [sink(false).into()]).await,
        "writable-parameter-not-closed" => root.call("writeNoClose", [sink(false).into()]).await,
        "writable-parameter-ignored" => root.call("ignore", [sink(false).into()]).await,
        "writable-parameter-failing" => root.call("writeTo", [sink(true).into()]).await,
        "flow-control-initial-window" => root.call("pump", [stuck().into()]).await,
        "writable-result" | "writable-result-failing" => {
            let method = if name == "writable-result" { "getWritable" } else { "getFailingWritable" };
            let stream = Writable::try_from(root.call(method, []).await?)?;
            stream.write("q").await?;
            if name == "writable-result-failing" {
                stream.write("r").await?;
            }
            let closed = stream.close().await;
            assert_eq!(closed.is_err(), name == "writable-result-failing");
            Ok(Value::Null)
        }
        "readable-parameter" => {
            root.call("readAll", [Readable::of(["a".into(), bytes(&[1, 2])]).into()]).await
        }
        "readable-parameter-cancelled" => root.call("readOneThenCancel", [numbers(4).into()]).await,
        "readable-parameter-ignored" => root.call("ignore", [numbers(3).into()]).await,
        "readable-parameter-error" => {
            let broken = stream::iter([Err(ErrorValue::type_error("src broke").into())]);
            root.call("readAll", [Readable::new(broken).into()]).await
        }
        "readable-result" => {
            Ok(readable(root.call("getReadable", [3.into()])).await?.read_all().await?.into())
        }
        "readable-result-error" => {
            let failed = readable(root.call("getFailingReadable", [])).await?.read_all().await;
            assert_eq!(failed.expect_err("failing").message(), "src failed");
            Ok(Value::Null)
        }
        "readable-result-disposed" => {
            drop(readable(root.call("getReadable", [3.into()])).await?);
            Ok(Value::Null)
        }
        "readable-of-stubs" => {
            let mut stream = readable(root.call("getStubStream", [])).await?;
            while let Some(chunk) = stream.next().await {
                stub(chunk?)?.call("increment", []).await?;
            }
            Ok(Value::Null)
        }
        "blob-parameter" => {
            root.call("blobInfo", [Blob::new("text/plain", b"hello blob".to_vec()).into()]).await
        }
        "blob-empty" => root.call("blobInfo", [Blob::new("", Vec::new()).into()]).await,
        "blob-result" => root.call("getBlob", []).await,
        "headers-parameter" => {
            let mut headers = Headers::new();
            headers.append("Content-Type", "text/plain");
            headers.append("x-a", "1");
            root.call("headerPairs", [headers.into()]).await
        }
        "request-with-body" => {
            let mut request = Request::new("POST", Url::parse("http://example.com/p").expect("a URL"));
            request.headers.append("content-type", "text/plain;charset=UTF-8");
            request.body = Body::Stream(Readable::of([bytes(b"abc")]));
            root.call("requestInfo", [request.into()]).await
        }
        "response-with-body" => match root.call("getResponse", []).await? {
            Value::Response(response) => match response.body {
                Body::Stream(stream) => Ok(Bytes::new(stream.read_bytes().await?).into()),
                _ => Err(ErrorValue::new("no stream").into()),
            },
            _ => Err(ErrorValue::new("no response").into()),
        },
        "response-empty" => root.call("getEmptyResponse", []).await,
        other => panic!("no script for {other}"),
    }
}

fn stub(value: Value) -> Result<Stub, sturdy_capnweb::Thrown> {
    Ok(Stub::try_from(value)?)
}

fn member(value: &Value, name: &str) -> Result<Stub, sturdy_capnweb::Thrown> {
    stub(value.get(name).cloned().unwrap_or_default())
}

async fn readable(promise: Promise) -> Result<Readable, sturdy_capnweb::Thrown> {
    Ok(Readable::try_from(promise.await?)?)
}

/// Takes events and says nothing.
struct Events;

impl Target for Events {
    fn member(&self, _: &str) -> Member {
        Member::Method
    }

    fn call(self: Arc<Self>, _: &str, _: Call) -> Reply {
        Reply::value(())
    }
}

fn sink(fails: bool) -> Writable {
    struct Sink(bool);
    impl Target for Sink {
        fn member(&self, _: &str) -> Member {
            Member::Method
        }
        fn call(self: Arc<Self>, name: &str, _: Call) -> Reply {
            match (self.0, name) {
                (true, "write") => Reply::error(ErrorValue::range_error("nope")),
                _ => Reply::value(()),
            }
        }
    }
    Writable::new(Sink(fails))
}

/// Never takes its first chunk.
fn stuck() -> Writable {
    struct Stuck;
    impl Target for Stuck {
        fn member(&self, _: &str) -> Member {
            Member::Method
        }
        fn call(self: Arc<Self>, _: &str, _: Call) -> Reply {
            Reply::later(std::future::pending())
        }
    }
    Writable::new(Stuck)
}
