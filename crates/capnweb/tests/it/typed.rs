//! Clients with types: declared once, called like methods.

use std::{pin::Pin, task::Context};

use sturdy_capnweb::{Stub, Thrown, Value, batch::Batch};

use crate::support::{EMPTY, Joined};

sturdy_capnweb::client! {
    struct Api {
        fn square(n: f64) -> f64;
        fn greet(name: String) -> String;
        fn fib(n: u32) -> Vec<u32>;
        fn make_counter(start: i64) => Counter;
        fn add_to(counter: Counter, by: i64) -> i64 = "incrementCounter";
        fn throw_range() -> ();
        fn return_null() -> Option<bool>;
        fn call_function(callback: Stub, with: i64) -> Called;
    }

    struct Counter {
        fn increment(by: i64) -> i64;
    }
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Called {
    result: i64,
}

/// What a typed future comes to, carried by messages alone.
fn ask<T: serde::de::DeserializeOwned>(
    joined: &mut Joined,
    typed: sturdy_capnweb::Typed<T>,
) -> Option<Result<T, Thrown>> {
    let mut asked = typed.ask();
    for _ in 0..4 {
        joined.settle();
        let polled = Pin::new(&mut asked).poll(&mut Context::from_waker(std::task::Waker::noop()));
        if let std::task::Poll::Ready(outcome) = polled {
            return Some(outcome);
        }
    }
    None
}

#[test]
fn typed_calls_give_values_of_their_type() {
    let mut joined = Joined::new();
    let api = Api::new(joined.root());
    let double = Stub::function(|mut call| async move { Ok((call.take::<f64>()? * 2.0).into()) });

    assert_eq!(ask(&mut joined, api.square(5.0)), Some(Ok(25.0)));
    assert_eq!(ask(&mut joined, api.greet("Ada")), Some(Ok("hello Ada".to_owned())));
    assert_eq!(ask(&mut joined, api.fib(6u32)), Some(Ok(vec![0, 1, 1, 2, 3, 5])));
    assert_eq!(ask(&mut joined, api.return_null()), Some(Ok(None)));
    assert_eq!(ask(&mut joined, api.call_function(double, 21)), Some(Ok(Called { result: 42 })));
}

#[test]
fn typed_calls_build_on_each_other_before_they_are_answered() {
    let mut joined = Joined::new();
    let api = Api::new(joined.root());

    let sixteen = api.square(api.square(2.0));
    let counter = api.make_counter(4);
    let seven = counter.increment(3);
    let nine = api.add_to(counter.clone(), 2);
    let value = counter.property::<i64>("value");

    assert_eq!(ask(&mut joined, sixteen), Some(Ok(16.0)));
    assert_eq!(ask(&mut joined, seven), Some(Ok(7)));
    assert_eq!(ask(&mut joined, nine), Some(Ok(9)));
    assert_eq!(ask(&mut joined, value), Some(Ok(9)));
    drop((api, counter));
    joined.settle();
    assert_eq!(joined.stats(), (EMPTY, EMPTY));
}

#[test]
fn a_typed_call_that_fails_or_returns_another_type_says_so() {
    let mut joined = Joined::new();
    let api = Api::new(joined.root());

    let thrown = ask(&mut joined, api.throw_range()).expect("answered").expect_err("thrown");
    let other = sturdy_capnweb::Typed::<u8>::new(joined.root().call("greet", []));
    let other = ask(&mut joined, other).expect("answered").expect_err("a string is no number");

    assert_eq!(thrown.error().map(|error| error.name.as_str()), Some("RangeError"));
    assert_eq!(other.error().map(|error| error.name.as_str()), Some("TypeError"));
}

#[tokio::test]
async fn typed_calls_fit_in_a_batch() {
    let mut batch = Batch::new(sturdy_capnweb::Options::default());
    let api = Api::new(batch.root());
    let seven = api.make_counter(4).increment(3).ask();

    let body = batch.request().await;
    let answer = sturdy_capnweb::batch::serve(
        crate::service::Service::root(),
        body.as_bytes(),
        sturdy_capnweb::Options::default(),
    );
    batch.response(200, "OK", &answer.await.expect("admitted")).await;

    assert_eq!(seven.await, Ok(7));
    assert_eq!(Value::from(Api::new(Stub::function(|_| async { Ok(Value::Null) }))).kind(), "stub");
}
