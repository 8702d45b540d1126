//! Endings and limits.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use sturdy_capnweb::{BigInt, Options, Stub, Thrown, Value, batch::Batch, http};
use tokio_tungstenite::tungstenite::Message;

use super::{Context, cases, connect};

cases! {
    "IC-096 an empty batch" batch async |context: Arc<Context>| {
        let batch = Batch::new(Options::default());
        http::post(&reqwest::Client::new(), context.http.parse().expect("a URL"), batch).await.expect("a response");
    };
    "IC-099 a batch to something that is not a batch endpoint" batch async |context: Arc<Context>| {
        let batch = Batch::new(Options::default());
        let asked = batch.root().call("nope", [Value::Undefined]).ask();
        let text = reqwest::Client::new().get(&context.http).send().await.expect("an answer").status();
        batch.response(text.as_u16(), text.canonical_reason().unwrap_or_default(), b"").await;
        assert_eq!(asked.await.expect_err("405").message(), "RPC request failed: 405 Method Not Allowed");
    };
    "IC-028 a misaligned typed buffer" ending async |context: Arc<Context>| {
        let said = raw(&context.ws, &["[\"push\",[\"bytes\",\"AQID\",\"Int16Array\"]]"]).await;
        assert!(said[0].starts_with("[\"abort\""), "{said:?}");
    };
    "IC-043 an error named constructor" ending async |context: Arc<Context>| {
        let said = raw(&context.ws, &["[\"push\",[\"error\",\"constructor\",\"m\"]]", "[\"pull\",1]"]).await;
        assert_eq!(said, ["[\"resolve\",1,[\"error\",\"Error\",\"m\"]]"]);
    };
    "IC-076 a map with a bad body" ending async |context: Arc<Context>| {
        let said = raw(&context.ws, &["[\"push\",[[1,2]]]", "[\"push\",[\"remap\",1,[],[],[]]]", "[\"pull\",2]"]).await;
        assert!(said[0].starts_with("[\"reject\",2"), "{said:?}");
        let failed = context.root().call("fib", [3.into()]).map(|_, n| Value::array([Value::from(n), Value::from(sturdy_capnweb::Readable::of([]))]));
        assert!(failed.await.is_err());
        assert_eq!(context.root().call("square", [3.into()]).await, Ok(9.into()));
    };
    "IC-101 main disposed by the client" ending async |context: Arc<Context>| {
        assert_eq!(context.root().call("square", [2.into()]).await, Ok(4.into()));
        let pending = context.root().call("slow", [60_000.into()]).ask();
        context.handle().close();
        assert_eq!(pending.await.expect_err("closed").message(), "RPC session was shut down by disposing the main stub");
        assert_eq!(context.handle().ended().map(|ended| ended.close_code), Some(3000));
    };
    "IC-103 the reason carries the close code" ending async |context: Arc<Context>| {
        for (code, reason) in [(1000, "bye"), (1001, "away")] {
            let (root, _) = connect(&context.ws, None).await;
            let pending = root.call("slow", [60_000.into()]).ask();
            drop(root.call("closeWith", [code.into(), reason.into()]));
            assert_eq!(pending.await.expect_err("closed").message(), format!("Peer closed WebSocket: {code} {reason}"));
        }
        let (root, _) = connect(&context.ws, None).await;
        let pending = root.call("slow", [60_000.into()]).ask();
        drop(root.call("dropConnection", []));
        assert_eq!(pending.await.expect_err("dropped").message(), "Peer closed WebSocket: 1006 ");
    };
    "IC-104 an abort frame comes in" ending async |context: Arc<Context>| {
        let pending = context.root().call("slow", [60_000.into()]).ask();
        drop(context.root().call("sayAbort", ["server says stop".into()]));
        assert_eq!(pending.await.expect_err("aborted").message(), "server says stop");
        assert_eq!(context.root().call("square", [1.into()]).await.expect_err("dead").message(), "server says stop");
    };
    "IC-104 an abort frame goes out" ending async |context: Arc<Context>| {
        let pending = context.root().call("slow", [60_000.into()]).ask();
        context.handle().abort(sturdy_capnweb::ErrorValue::new("client says stop"));
        assert_eq!(pending.await.expect_err("aborted").message(), "client says stop");
    };
    "IC-108 depth 255 and 256" socket async |context: Arc<Context>| {
        let nested = |levels: usize| (0..levels).fold(Value::from(1), |inner, _| Value::Array(vec![inner]));
        // The call itself is one level, and the answer starts at none.
        assert_eq!(context.root().call("echo", [nested(250)]).await, Ok(nested(250)));
        assert!(context.root().call("echo", [nested(256)]).await.is_err());
        assert_eq!(context.root().call("square", [2.into()]).await, Ok(4.into()));
    };
    "IC-109 bigints of 16384 and 16385 digits" ending async |context: Arc<Context>| {
        let number = |digits: usize| Value::from(BigInt::parse(&"9".repeat(digits)).expect("digits"));
        assert_eq!(context.root().call("echo", [number(16_384)]).await, Ok(number(16_384)));
        let reason = context.root().call("echo", [number(16_385)]).await.expect_err("npm aborts");
        assert!(reason.message().contains("16384 digits"), "{reason}");
    };
    "IC-110 a message at and over the size limit" ending async |context: Arc<Context>| {
        // ["push",["pipeline",0,["ignore"],["…"]]]
        let around = "[\"push\",[\"pipeline\",0,[\"ignore\"],[\"\"]]]".len();
        let text = |length: usize| Value::from("a".repeat(length - around));
        assert_eq!(context.root().call("ignore", [text(33_554_432)]).await, Ok("ignored".into()));
        let reason = context.root().call("ignore", [text(33_554_433)]).await.expect_err("npm aborts");
        assert!(reason.message().contains("maximum size"), "{reason}");
    };
    "IC-102 the server process dies" ending async |context: Arc<Context>| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let order = Arc::clone(&order);
            move |_: Thrown| order.lock().expect("order").push(name)
        };
        let counter = Stub::try_from(context.root().call("makeCounter", [1.into()]).await.expect("a stub")).expect("a stub");
        let root = context.root();
        root.on_broken(note("root"));
        counter.on_broken(note("counter"));
        let pending = root.call("slow", [60_000.into()]).ask();
        drop(root.call("endProcess", []));
        assert!(pending.await.is_err());
        assert_eq!(*order.lock().expect("order"), ["root", "counter"]);
    };
}

/// Frames by hand, and what comes back within a moment.
async fn raw(url: &str, frames: &[&str]) -> Vec<String> {
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("a connection");
    for frame in frames {
        socket.send(Message::text(*frame)).await.expect("sent");
    }
    let mut said = Vec::new();
    while let Ok(Some(Ok(Message::Text(text)))) =
        tokio::time::timeout(Duration::from_millis(300), socket.next()).await
    {
        said.push(text.to_string());
    }
    said
}
