//! Calls, properties, errors, pipelining, maps.

use std::{sync::Arc, time::Duration};

use sturdy_capnweb::{PathPart, Promise, Stub, Thrown, Value};

use super::{Context, cases, connect, values::error_name};

cases! {
    "IC-003 1000 sequential calls" socket async |context: Arc<Context>| {
        for number in 0..1000 {
            assert_eq!(context.root().call("square", [number.into()]).await, Ok((number * number).into()));
        }
    };
    "IC-004 a call never awaited runs" both async |context: Arc<Context>| {
        let seen = context.ask(|root| {
            drop(root.call("note", ["ran".into()]));
            root.call("seen", [])
        }).await;
        assert_eq!(seen, Ok(Value::array(["ran"])));
    };
    "IC-005 a call disposed without being awaited" socket async |context: Arc<Context>| {
        drop(context.root().call("square", [5.into()]));
    };
    "IC-006 disposed after the pull" socket async |context: Arc<Context>| {
        drop(context.root().call("slow", [30.into(), 1.into()]).ask());
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(context.root().call("square", [3.into()]).await, Ok(9.into()));
    };
    "IC-010 an unknown method" both async |context: Arc<Context>| {
        let reason = context.ask(|root| root.call("nope", [])).await.expect_err("unknown");
        assert_eq!((error_name(&reason), reason.message().as_str()), ("TypeError", "'nope' is not a function."));
    };
    "IC-011 a property" both async |context: Arc<Context>| {
        assert_eq!(context.ask(|root| root.get("prop")).await.map(|prop| prop.get("a").is_some()), Ok(true));
    };
    "IC-012 a nested property" both async |context: Arc<Context>| {
        let list = context.ask(|root| root.get("prop").get("a").get("b")).await.expect("a list");
        assert_eq!(list.as_array().map(<[Value]>::len), Some(3));
    };
    "IC-013 an array index by number" both async |context: Arc<Context>| {
        let item = context.ask(|root| root.get("prop").get("a").get("b").get(PathPart::from(1usize))).await;
        assert_eq!(item, Ok(20.into()));
    };
    "IC-015 a property of a missing property" both async |context: Arc<Context>| {
        let reason = context.ask(|root| root.get("prop").get("missing").get("x")).await.expect_err("missing");
        assert_eq!(error_name(&reason), "TypeError");
    };
    "IC-016 names every object has" socket async |context: Arc<Context>| {
        for name in ["constructor", "toString", "__proto__"] {
            assert_eq!(context.root().get(name).await, Ok(Value::Undefined));
        }
    };
    "IC-037 a RangeError" both async |context: Arc<Context>| {
        let reason = context.ask(|root| root.call("throwRange", [])).await.expect_err("thrown");
        assert_eq!((error_name(&reason), reason.message().as_str()), ("RangeError", "test error"));
    };
    "IC-038 an error with properties" both async |context: Arc<Context>| {
        let reason = context.ask(|root| root.call("throwProps", [])).await.expect_err("thrown");
        let details = Value::object([("n", Value::from(1)), ("when", Value::Date(5.0))]);
        assert_eq!((reason.code(), reason.error().and_then(|error| error.props.get("details"))), (Some("E_X"), Some(&details)));
    };
    "IC-039 cause and AggregateError" both async |context: Arc<Context>| {
        let outer = context.ask(|root| root.call("throwCause", [])).await.expect_err("thrown");
        let cause = outer.error().and_then(|error| error.props.get("cause")).cloned().expect("a cause");
        assert_eq!((error_name(&Thrown(cause.clone())), Thrown(cause).message().as_str()), ("RangeError", "inner"));
        let many = context.ask(|root| root.call("throwAggregate", [])).await.expect_err("thrown");
        let errors = many.error().and_then(|error| error.props.get("errors")).and_then(Value::as_array).map(<[Value]>::len);
        assert_eq!((error_name(&many), errors), ("AggregateError", Some(2)));
    };
    "IC-040 a property that cannot be sent" both async |context: Arc<Context>| {
        let reason = context.ask(|root| root.call("throwMixedProps", [])).await.expect_err("thrown");
        let props = &reason.error().expect("an error").props;
        assert_eq!((props.get("ok"), props.get("stub")), (Some(&1.into()), None));
    };
    "IC-041 anything can be thrown" both async |context: Arc<Context>| {
        let thrown = |name: &'static str| { let context = Arc::clone(&context); async move { context.ask(|root| root.call(name, [])).await } };
        assert_eq!(thrown("throwString").await, Err(Thrown("just a string".into())));
        assert_eq!(thrown("throwRecord").await, Err(Thrown(Value::object([("code", 7)]))));
        assert_eq!(thrown("throwUndefined").await, Err(Thrown(Value::Undefined)));
    };
    "IC-042 a stack only when the hook says so" both async |context: Arc<Context>| {
        let plain = context.ask(|root| root.call("throwRange", [])).await.expect_err("thrown");
        assert_eq!(plain.error().and_then(|error| error.stack.clone()), None);
        let shown = context.ask_at("?hook=stack", |root| vec![root.call("throwRange", [])]).await.remove(0).expect_err("thrown");
        assert_eq!(shown.error().and_then(|error| error.stack.as_deref()), Some("STACK"));
    };
    "IC-044 a pipelined call" both async |context: Arc<Context>| {
        assert_eq!(context.ask(|root| root.call("makeCounter", [4.into()]).call("increment", [3.into()])).await, Ok(7.into()));
    };
    "IC-045 a promise as an argument" both async |context: Arc<Context>| {
        let result = context.ask(|root| root.call("square", [root.call("square", [2.into()]).into()])).await;
        assert_eq!(result, Ok(16.into()));
    };
    "IC-046 a property promise inside an argument" both async |context: Arc<Context>| {
        let result = context.ask(|root| {
            let argument = Value::object([("x", root.get("prop").get("a").get("b")), ("y", root.call("square", [3.into()]))]);
            root.call("echo", [argument])
        }).await.expect("an object");
        assert_eq!(result.get("y"), Some(&9.into()));
        assert_eq!(result.get("x").and_then(Value::as_array).map(<[Value]>::len), Some(3));
    };
    "IC-047 a chain of ten" both async |context: Arc<Context>| {
        let result = context.ask(|root| {
            (0..10).fold(root.call("square", [1.into()]), |promise, _| root.call("echo", [promise.into()]))
        }).await;
        assert_eq!(result, Ok(1.into()));
    };
    "IC-048 an error reaches what depends on it" both async |context: Arc<Context>| {
        let results = context.ask_all(|root| {
            let failed = root.call("throwRange", []);
            vec![failed.call("foo", [1.into()]), root.call("square", [failed.into()])]
        }).await;
        for result in results {
            assert_eq!(result.expect_err("thrown").message(), "test error");
        }
    };
    "IC-049 a result that holds a promise" both async |context: Arc<Context>| {
        let result = context.ask(|root| root.call("callSquare", [root.clone().into(), 3.into()])).await;
        assert_eq!(result, Ok(Value::object([("result", 9)])));
    };
    "IC-050 calls start in order" socket async |context: Arc<Context>| {
        for at in 0..50 {
            drop(context.root().call("note", [at.to_string().into()]));
        }
        let wanted: Vec<String> = (0..50).map(|at| at.to_string()).collect();
        assert_eq!(context.root().call("seen", []).await, Ok(wanted.into()));
    };
    "IC-051 calls on a slow promise keep their order" socket async |context: Arc<Context>| {
        let slow = context.root().call("slowCounter", [20.into()]);
        let mut asked: Vec<_> = (0..5).map(|_| slow.get("c").call("increment", []).ask()).collect();
        drop(slow.clone().await);
        asked.push(slow.get("c").call("increment", []).ask());
        let mut results = Vec::new();
        for one in asked {
            results.push(one.await);
        }
        assert_eq!(results, (1..=6).map(|n| Ok(Value::from(n))).collect::<Vec<_>>());
    };
    "IC-052 a waiting call may be overtaken" socket async |context: Arc<Context>| {
        let slow = context.root().call("slow", [20.into(), 7.into()]);
        let waits = context.root().call("square", [slow.into()]).ask();
        assert_eq!(context.root().call("square", [2.into()]).await, Ok(4.into()));
        assert_eq!(waits.await, Ok(49.into()));
    };
    "IC-069 map with calls" both async |context: Arc<Context>| {
        let result = context.ask(|root| squares(root, &root.call("fib", [6.into()]))).await;
        assert_eq!(result, Ok(Value::array([0, 1, 1, 4, 9, 25])));
    };
    "IC-070 map over nothing and a scalar" both async |context: Arc<Context>| {
        let results = context.ask_all(|root| {
            ["returnNull", "returnUndefined"].map(|name| squares(root, &root.call(name, [])))
                .into_iter().chain([squares(root, &root.call("square", [3.into()]))]).collect()
        }).await;
        assert_eq!(results, [Ok(Value::Null), Ok(Value::Undefined), Ok(81.into())]);
    };
    "IC-071 map with property access only" both async |context: Arc<Context>| {
        let item = |n: i32| Value::object([("a", Value::object([("b", n)]))]);
        let result = context.ask(|root| root.call("echo", [Value::array([item(1), item(2)])]).map(|_, item| item.get("a").get("b"))).await;
        assert_eq!(result, Ok(Value::array([1, 2])));
    };
    "IC-072 a nested map" both async |context: Arc<Context>| {
        let result = context.ask(|root| root.call("fib", [4.into()]).map(|scope, n| {
            let api = scope.capture(root);
            api.call("fib", [n.into()]).map(|inner, m| inner.capture_promise(&api).call("fib", [m.into()]))
        })).await;
        let empty = || Value::Array(vec![]);
        let wanted = Value::array([empty(), Value::array([empty()]), Value::array([empty()]), Value::array([empty(), Value::array([0])])]);
        assert_eq!(result, Ok(wanted));
    };
    "IC-073 a map that captures a local stub" socket async |context: Arc<Context>| {
        let local = Stub::function(|mut call| async move { Ok((call.take::<f64>()? * 10.0).into()) });
        let result = context.root().call("fib", [4.into()]).map(|scope, n| scope.capture(&local).invoke([n.into()])).await;
        assert_eq!(result, Ok(Value::array([0, 10, 10, 20])));
    };
    "IC-074 a map that returns stubs" socket async |context: Arc<Context>| {
        let root = context.root();
        let counters = root.call("fib", [3.into()]).map(|scope, n| scope.capture(&root).call("makeCounter", [n.into()])).await.expect("stubs");
        let mut values = Vec::new();
        for counter in counters.as_array().expect("an array") {
            values.push(counter.as_stub().expect("a stub").get("value").await);
        }
        assert_eq!(values, [Ok(0.into()), Ok(1.into()), Ok(1.into())]);
    };
    "IC-075 a map with literals" both async |context: Arc<Context>| {
        let result = context.ask(|root| root.call("fib", [2.into()]).map(|scope, n| {
            let square = scope.capture(root).call("square", [n.clone().into()]);
            Value::array([n.into(), square.into(), "lit".into(), Value::date(3.0)])
        })).await;
        let row = |n: i32| Value::array([n.into(), n.into(), "lit".into(), Value::date(3.0)]);
        assert_eq!(result, Ok(Value::array([row(0), row(1)])));
    };
    "IC-077 a map on a pending promise with a path" socket async |context: Arc<Context>| {
        let root = context.root();
        let slow = root.call("slow", [20.into(), Value::object([("a", Value::array([1, 2]))])]);
        assert_eq!(squares(&root, &slow.get("a")).await, Ok(Value::array([1, 4])));
    };
    "IC-112 both sides serve a main" ending async |context: Arc<Context>| {
        let main = crate::service::Service::root();
        let (root, handle) = connect(&context.ws, Some(main)).await;
        let asked: Vec<_> = (0..50).map(|n| root.call("callClientMain", [n.into()]).ask()).collect();
        for (n, one) in (0..50).zip(asked) {
            assert_eq!(one.await, Ok((n * n).into()));
        }
        handle.close();
    };
    "IC-113 64 sessions with 200 calls each" ending async |context: Arc<Context>| {
        let runs = (0..64u64).map(|seed| tokio::spawn(random_calls(context.ws.clone(), seed)));
        for run in runs.collect::<Vec<_>>() {
            run.await.expect("a session without errors");
        }
    };
}

fn squares(root: &Stub, list: &Promise) -> Promise {
    list.map(|scope, n| scope.capture(root).call("square", [n.into()]))
}

async fn random_calls(url: String, mut seed: u64) {
    let (root, handle) = connect(&url, None).await;
    for _ in 0..200 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let n = i32::try_from(seed >> 33).unwrap_or(0) % 90;
        match (seed >> 20) % 4 {
            0 => assert_eq!(root.call("square", [n.into()]).await, Ok((n * n).into())),
            1 => assert_eq!(
                root.call("makeCounter", [n.into()]).call("increment", [2.into()]).await,
                Ok((n + 2).into())
            ),
            2 => assert!(root.call("throwRange", []).await.is_err()),
            _ => assert_eq!(
                root.call("square", [root.call("square", [n.into()]).into()]).await,
                Ok((n * n * n * n).into())
            ),
        }
    }
    assert_eq!((handle.stats().imports, handle.stats().exports), (1, 1));
    handle.close();
}
