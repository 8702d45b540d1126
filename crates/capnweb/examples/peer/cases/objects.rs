//! Objects and callbacks handed over, kept, given back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sturdy_capnweb::{Promise, Stub, Value};

use super::{Context, cases, connect};
use crate::service::{counted, counter};

cases! {
    "IC-053 a returned target is disposed once" socket async |context: Arc<Context>| {
        let root = context.root();
        let counter = stub(root.call("makeCounter", [4.into()])).await;
        assert_eq!((counter.call("increment", []).await, counter.get("value").await), (Ok(5.into()), Ok(5.into())));
        drop(counter);
        assert_eq!(root.call("disposedCount", []).await, Ok(1.into()));
    };
    "IC-054 one target twice in a result" socket async |context: Arc<Context>| {
        let pair = context.root().call("pair", []).await.expect("a pair");
        let items = pair.as_array().expect("an array");
        assert_eq!(items[0].as_stub().expect("a stub").call("increment", []).await, Ok(2.into()));
        assert_eq!(items[1].as_stub().expect("a stub").call("increment", []).await, Ok(3.into()));
    };
    "IC-055 a returned function" socket async |context: Arc<Context>| {
        let add = stub(context.root().call("getFunction", [])).await;
        assert_eq!(add.invoke([4.into()]).await, Ok(5.into()));
    };
    "IC-056 a record of functions and targets" socket async |context: Arc<Context>| {
        let record = context.root().call("getRecord", []).await.expect("a record");
        let member = |name| record.get(name).and_then(Value::as_stub).expect("a stub");
        assert_eq!(member("add").invoke([4.into()]).await, Ok(5.into()));
        assert_eq!(member("c").call("increment", []).await, Ok(2.into()));
        drop(record);
        assert_eq!(context.root().call("disposedCount", []).await, Ok(1.into()));
    };
    "IC-057 a callback the callee awaits" socket async |context: Arc<Context>| {
        let callback = Stub::function(|mut call| async move { Ok((call.take::<f64>()? * 10.0).into()) });
        let result = context.root().call("callFunction", [callback.into(), 7.into()]).await;
        assert_eq!(result, Ok(Value::object([("result", 70)])));
    };
    "IC-058 a target the callee does not wait for" socket async |context: Arc<Context>| {
        let disposed = Arc::new(AtomicUsize::new(0));
        let result = context.root().call("incrementCounter", [counted(10, &disposed).into(), 5.into()]).await;
        assert_eq!(result, Ok(15.into()));
        until(&disposed, 1).await;
    };
    "IC-059 a target the callee keeps" socket async |context: Arc<Context>| {
        let disposed = Arc::new(AtomicUsize::new(0));
        let root = context.root();
        assert_eq!(root.call("keep", [counted(7, &disposed).into()]).await, Ok("kept".into()));
        assert_eq!(root.call("useKept", []).await, Ok(8.into()));
        assert_eq!(disposed.load(Ordering::Relaxed), 0);
        assert_eq!(root.call("dropKept", []).await, Ok("dropped".into()));
        until(&disposed, 1).await;
    };
    "IC-060 the server's own stub sent back" socket async |context: Arc<Context>| {
        let counter = stub(context.root().call("makeCounter", [4.into()])).await;
        assert_eq!(context.root().call("incrementCounter", [counter.into(), 2.into()]).await, Ok(6.into()));
    };
    "IC-061 main as an argument" socket async |context: Arc<Context>| {
        let result = context.root().call("callSquare", [context.root().into(), 3.into()]).await;
        assert_eq!(result, Ok(Value::object([("result", 9)])));
    };
    "IC-062 our own target comes back nested" socket async |context: Arc<Context>| {
        let ours = counter(1);
        let back = context.root().call("dupBackNested", [ours.clone().into()]).await.expect("an object");
        let again = back.get("c").and_then(Value::as_stub).expect("a stub").clone();
        assert_eq!(again.call("increment", []).await, Ok(2.into()));
        assert_eq!(ours.get("value").await, Ok(2.into()));
        assert_eq!(again, ours);
    };
    "IC-063 our own target comes back at the root" socket async |context: Arc<Context>| {
        let ours = counter(1);
        let back = stub(context.root().call("dupBack", [ours.clone().into()])).await;
        assert_eq!(back.call("increment", []).await, Ok(2.into()));
        assert_eq!(back, ours);
    };
    "IC-064 a stub of one session passed over another" socket async |context: Arc<Context>| {
        let (other, handle) = connect(&context.ws, None).await;
        let counter = stub(other.call("makeCounter", [4.into()])).await;
        assert_eq!(context.root().call("incrementCounter", [counter.clone().into(), 3.into()]).await, Ok(7.into()));
        assert_eq!(counter.get("value").await, Ok(7.into()));
        handle.close();
    };
    "IC-065 a proxy returns a stub and a promise" socket async |context: Arc<Context>| {
        let (other, handle) = connect(&context.ws, None).await;
        let there = other.clone();
        let make = Stub::function(move |mut call| {
            let made = there.call("makeCounter", [call.arg()]);
            async move { Ok(made.into()) }
        });
        let root = context.root();
        let pipelined = root.call("callAndReturnPromise", [make.clone().into(), 5.into()]).call("increment", [1.into()]);
        assert_eq!(pipelined.await, Ok(6.into()));
        let record = root.call("callFunction", [make.into(), 8.into()]).await;
        assert!(record.is_err() || record.is_ok_and(|record| record.get("result").is_some()));
        let add = stub(other.call("getFunction", [])).await;
        assert_eq!(root.call("callAndReturnPromise", [add.into(), 4.into()]).await, Ok(5.into()));
        handle.close();
    };
    "IC-066 duplicates dropped in any order" socket async |context: Arc<Context>| {
        let root = context.root();
        let counter = stub(root.call("makeCounter", [1.into()])).await;
        let one = counter.clone();
        let two = counter.clone();
        drop((counter, two));
        assert_eq!(one.call("increment", []).await, Ok(2.into()));
        assert_eq!(root.call("disposedCount", []).await, Ok(0.into()));
        drop(one);
        assert_eq!(root.call("disposedCount", []).await, Ok(1.into()));
    };
    "IC-067 a duplicate of a promise" socket async |context: Arc<Context>| {
        let promise = context.root().call("makeCounter", [1.into()]);
        let copy = promise.dup();
        drop(promise);
        assert_eq!(copy.call("increment", []).await, Ok(2.into()));
    };
    "IC-068 10000 stubs returned and released" socket async |context: Arc<Context>| {
        let counters = context.root().call("manyCounters", [10_000.into()]).await.expect("stubs");
        assert_eq!(counters.as_array().map(<[Value]>::len), Some(10_000));
        drop(counters);
        assert_eq!(context.root().call("disposedCount", []).await, Ok(10_000.into()));
    };
    "IC-095 a one-way callback in a batch" batch async |context: Arc<Context>| {
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        let callback = Stub::function(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok(Value::Undefined) }
        });
        assert_eq!(context.ask(|root| root.call("notify", [callback.into()])).await, Ok("sent".into()));
        until(&heard, 1).await;
    };
}

pub(super) async fn stub(promise: Promise) -> Stub {
    Stub::try_from(promise.await.expect("a result")).expect("a stub")
}

pub(super) async fn until(counter: &AtomicUsize, wanted: usize) {
    for _ in 0..100 {
        if counter.load(Ordering::Relaxed) == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} instead of {wanted}", counter.load(Ordering::Relaxed));
}
