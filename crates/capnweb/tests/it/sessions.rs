//! What a server that is built on this crate relies on.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use sturdy_capnweb::{Connection, ErrorValue, Interface, Options, Stub, Thrown, Value, from_value, to_value};

use crate::support::{EMPTY, Joined};

/// Who calls.
struct Actor(&'static str);

fn who() -> Stub {
    Interface::named("Who")
        .method("who", |_: Arc<()>, call| async move {
            Ok(call.context().get::<Actor>().map(|actor| actor.0).into())
        })
        .build()
        .stub(())
}

#[test]
fn a_call_knows_on_whose_behalf_it_is_made() {
    let shared = who();
    for name in ["ann", "bob"] {
        let mut joined = Joined::serving(shared.clone(), Options::default().with_context(Actor(name)));
        let promise = joined.root().call("who", []);
        assert_eq!(joined.ask(promise), Some(Ok(name.into())));
    }
    assert_eq!(shared.call("who", []).into_future().now_or_never(), Some(Ok(Value::Null)));
}

/// A subscription lives as long as its handle.
struct Feed(Mutex<Vec<Stub>>);

#[test]
fn a_subscription_ends_when_its_handle_is_dropped_and_when_the_line_goes_dead() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let subscriptions = Interface::<Stub>::named("Subscription")
        .disposed(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build();
    let feed = Interface::named("Feed")
        .method("subscribe", move |this: Arc<Feed>, mut call| {
            let subscriptions = Arc::clone(&subscriptions);
            async move {
                let sink: Stub = call.take()?;
                drop(sink.invoke(["first".into()]));
                this.0.lock().map_err(|_| ErrorValue::new("poisoned"))?.push(sink.clone());
                Ok(subscriptions.stub(sink).into())
            }
        })
        .build()
        .stub(Feed(Mutex::default()));
    let mut joined = Joined::serving(feed, Options::default());
    let heard = Arc::new(AtomicUsize::new(0));
    let sink = || {
        let heard = Arc::clone(&heard);
        Stub::function(move |_| {
            heard.fetch_add(1, Ordering::Relaxed);
            async { Ok(Value::Undefined) }
        })
    };

    let subscribe = joined.root().call("subscribe", [sink().into()]);
    let first = joined.ask(subscribe).expect("answered").expect("a handle");
    assert_eq!((heard.load(Ordering::Relaxed), ended.load(Ordering::Relaxed)), (1, 0));
    drop(first);
    joined.settle();
    assert_eq!(ended.load(Ordering::Relaxed), 1);

    let subscribe = joined.root().call("subscribe", [sink().into()]);
    let second = joined.ask(subscribe).expect("answered").expect("a handle");
    joined.server.handle().lost(ErrorValue::new("the line is dead"));
    assert_eq!(ended.load(Ordering::Relaxed), 2);
    drop(second);
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Query {
    limit: Option<u32>,
    name: String,
    large: u64,
    tags: Vec<String>,
}

#[test]
fn structs_travel_through_serde() {
    let query = Query { limit: None, name: "x".into(), large: u64::MAX, tags: vec!["a".into()] };
    let value = to_value(&query).expect("plain data");
    assert_eq!(value.get("limit"), Some(&Value::Null));
    assert!(matches!(value.get("large"), Some(Value::BigInt(_))));

    let mut joined = Joined::new();
    let echo = joined.root().call("echo", [value]);
    let back: Query = from_value(joined.ask(echo).expect("answered").expect("echoed")).expect("a query");

    assert_eq!(back, query);
    assert!(from_value::<Query>(Value::object([("name", 5)])).is_err());
}

#[test]
fn everything_pending_fails_when_the_session_ends_and_callbacks_run_in_order() {
    let connection = Connection::new(None, Options::default());
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let order = Arc::clone(&order);
        move |_: Thrown| order.lock().expect("order").push(name)
    };
    let root = connection.remote();
    root.on_broken(note("first"));
    root.clone().on_broken(note("second"));
    let pending = root.call("slow", []).ask();

    connection.handle().abort(ErrorValue::new("enough"));

    assert_eq!(
        pending.now_or_never().map(|outcome| outcome.map_err(|reason| reason.message())),
        Some(Err("enough".into()))
    );
    assert_eq!(*order.lock().expect("order"), ["first", "second"]);
    root.on_broken(note("late"));
    assert_eq!(order.lock().expect("order").len(), 3);
}

#[test]
fn a_stub_of_one_session_works_over_another() {
    let mut one = Joined::new();
    let mut two = Joined::new();
    let made = one.root().call("makeCounter", [4.into()]);
    let counter = Stub::try_from(one.ask(made).expect("answered").expect("a counter")).expect("a stub");

    let mut asked = two.root().call("incrementCounter", [counter.clone().into(), 3.into()]).ask();
    for _ in 0..4 {
        two.settle();
        one.settle();
    }

    assert_eq!((&mut asked).now_or_never(), Some(Ok(7.into())));
    drop((asked, counter));
    for _ in 0..4 {
        two.settle();
        one.settle();
    }
    assert_eq!((one.stats(), two.stats()), ((EMPTY, EMPTY), (EMPTY, EMPTY)));
}

#[test]
fn thousands_of_pipelined_calls_need_no_deep_stack() {
    let mut joined = Joined::new();
    let mut promise = joined.root().call("square", [1.into()]);
    for _ in 0..9_000 {
        promise = joined.root().call("echo", [promise.into()]);
    }

    assert_eq!(joined.ask(promise), Some(Ok(1.into())));
    joined.settle();
    assert_eq!(joined.stats(), (EMPTY, EMPTY));
}
