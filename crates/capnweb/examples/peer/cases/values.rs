//! Every kind of value there and back.

use std::sync::Arc;

use sturdy_capnweb::{
    BigInt, Body, Bytes, ErrorValue, Headers, Kind, Outcome, Readable, Request, Response, Thrown, Url, Value,
};

use super::{Context, cases};

cases! {
    "IC-001 call with one number" both async |context: Arc<Context>| {
        assert_eq!(context.ask(|root| root.call("square", [5.into()])).await, Ok(25.into()));
    };
    "IC-002 two independent calls" both async |context: Arc<Context>| {
        let results = context.ask_all(|root| vec![root.call("square", [3.into()]), root.call("square", [4.into()])]).await;
        assert_eq!(results, [Ok(9.into()), Ok(16.into())]);
    };
    "IC-007 undefined and null" both async |context: Arc<Context>| {
        let results = context.ask_all(|root| vec![root.call("returnUndefined", []), root.call("returnNull", [])]).await;
        assert_eq!(results, [Ok(Value::Undefined), Ok(Value::Null)]);
    };
    "IC-008 missing arguments" both async |context: Arc<Context>| {
        assert_eq!(context.ask(|root| root.call("greet", [])).await, Ok("hello world".into()));
    };
    "IC-009 extra arguments" both async |context: Arc<Context>| {
        assert_eq!(context.ask(|root| root.call("square", [5.into(), 6.into()])).await, Ok(25.into()));
    };
    "IC-018 numbers" both async |context: Arc<Context>| {
        let numbers = [0.0, -1.0, 1.5, 1e21, 9_007_199_254_740_992.0, 0.1 + 0.2, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY];
        echoes(&context, Value::array(numbers)).await;
        let nan = echo(&context, Value::Number(f64::NAN)).await;
        assert!(matches!(nan, Ok(Value::Number(number)) if number.is_nan()));
    };
    "IC-019 strings" both async |context: Arc<Context>| {
        let long = "x".repeat(1024 * 1024);
        echoes(&context, Value::array(["", "\0", "\u{2028}\u{2029}", "😀 é \"quoted\" \\", long.as_str()])).await;
    };
    "IC-021 nested and empty" both async |context: Arc<Context>| {
        let inner = Value::object([("c", Value::Array(vec![])), ("d", Value::object::<String, Value>([]))]);
        echoes(&context, Value::object([("a", Value::array([1.into(), inner])), ("", 1.into())])).await;
    };
    "IC-022 arrays of arrays" both async |context: Arc<Context>| {
        let tagged = Value::array([Value::array(["undefined"]), Value::array([Value::array(["export"])])]);
        echoes(&context, Value::array([Value::Array(vec![]), tagged])).await;
    };
    "IC-023 undefined members" both async |context: Arc<Context>| {
        let holes = Value::array([1.into(), Value::Undefined, 3.into()]);
        echoes(&context, Value::object([("a", Value::Undefined), ("b", holes)])).await;
    };
    "IC-024 bigints" both async |context: Arc<Context>| {
        let large = format!("1{}", "0".repeat(1200));
        echoes(&context, Value::array(["0", "-1", large.as_str()].map(|digits| BigInt::parse(digits).expect("digits")))).await;
    };
    "IC-025 dates" both async |context: Arc<Context>| {
        echoes(&context, Value::array([0.0, -1.0, 8.64e15, 1_234_567_890_123.0].map(Value::date))).await;
        assert_eq!(echo(&context, Value::Date(5.75)).await, Ok(Value::Date(5.0)));
        assert!(matches!(echo(&context, Value::Date(f64::NAN)).await, Ok(Value::Date(date)) if date.is_nan()));
    };
    "IC-026 bytes" both async |context: Arc<Context>| {
        let bytes = [0usize, 1, 2, 3, 4, 5, 200_000].map(|length| Bytes::new((0..length).map(|at| (at * 7) as u8).collect()));
        echoes(&context, Value::array(bytes)).await;
        echoes(&context, Bytes::new(b"H=".to_vec()).into()).await;
    };
    "IC-027 typed buffers" both async |context: Arc<Context>| {
        let typed = Kind::ALL.map(|kind| Bytes::typed(kind, (1..=8).collect()).expect("eight bytes are whole elements"));
        echoes(&context, Value::array(typed)).await;
    };
    "IC-029 URLs" both async |context: Arc<Context>| {
        echoes(&context, Url::parse("https://e.com/a b?q=ü#x").expect("a URL").into()).await;
    };
    "IC-030 headers" both async |context: Arc<Context>| {
        let mut headers = Headers::new();
        for (name, value) in [("X-A", "1"), ("x-a", "2"), ("b", "3")] {
            headers.append(name, value);
        }
        echoes(&context, headers.clone().into()).await;
        let pairs = context.ask(|root| root.call("headerPairs", [headers.into()])).await;
        assert_eq!(pairs, Ok(Value::array([Value::array(["b", "3"]), Value::array(["x-a", "1, 2"])])));
    };
    "IC-031 requests and responses without a body" both async |context: Arc<Context>| {
        let mut request = Request::new("DELETE", Url::parse("http://e.com/x").expect("a URL"));
        request.headers.append("a", "b");
        match echo(&context, request.clone().into()).await {
            Ok(Value::Request(back)) => assert_eq!((back.method, back.url, back.headers), (request.method, request.url, request.headers)),
            other => panic!("{other:?}"),
        }
        let response = Response { status_text: "Not Found".into(), ..Response::new(404) };
        echoes(&context, response.into()).await;
    };
    "IC-032 requests and responses with a body" socket async |context: Arc<Context>| {
        let mut request = Request::new("POST", Url::parse("http://e.com/p").expect("a URL"));
        request.body = Body::Stream(Readable::of([Bytes::new(b"abc".to_vec()).into()]));
        let info = context.ask(|root| root.call("requestInfo", [request.into()])).await.expect("info");
        assert_eq!(info.get("text"), Some(&"abc".into()));
        let response = Response { body: Body::Text("xyz".into()), ..Response::new(201) };
        let info = context.ask(|root| root.call("responseInfo", [response.into()])).await.expect("info");
        assert_eq!(info, Value::object([("status", Value::from(201)), ("text", "xyz".into())]));
        match context.ask(|root| root.call("getResponse", [])).await {
            Ok(Value::Response(response)) => {
                let Body::Stream(stream) = response.body else { panic!("no stream") };
                assert_eq!((response.status, stream.read_bytes().await), (201, Ok(b"body text".to_vec())));
            }
            other => panic!("{other:?}"),
        }
    };
    "IC-034 a blocked member name is refused locally" both async |context: Arc<Context>| {
        let reason = echo(&context, Value::object([("constructor", 1)])).await.expect_err("refused");
        assert_eq!(reason.code(), Some("member_would_be_lost"));
    };
    "IC-035 a value the server cannot send" both async |context: Arc<Context>| {
        let reason = context.ask(|root| root.call("returnUnsupported", [])).await.expect_err("a Map");
        assert_eq!(error_name(&reason), "TypeError");
    };
}

async fn echo(context: &Context, value: Value) -> Outcome {
    context.ask(|root| root.call("echo", [value])).await
}

async fn echoes(context: &Context, value: Value) {
    assert_eq!(echo(context, value.clone()).await, Ok(value));
}

pub(super) fn error_name(reason: &Thrown) -> &str {
    reason.error().map_or("", |error: &ErrorValue| error.name.as_str())
}
