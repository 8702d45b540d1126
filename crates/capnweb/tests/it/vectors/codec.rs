//! Values alone: 81 to decode, 36 to encode.

use sturdy_capnweb::{BigInt, Bytes, ErrorValue, Headers, Kind, Request, Response, Stub, Url, Value, codec};

use super::{Vector, all};

/// Where we are stricter than the npm package, on purpose.
const REFUSED_BY_US: [&str; 5] = [
    "decode/1e400",
    "decode/[\"bigint\",\"0x10\"]",
    "decode/[\"bigint\",\" 7 \"]",
    "decode/[\"bigint\",\"\"]",
    "decode/[\"bytes\",\"!!\"]",
];

/// What the npm package can write again only inside a session: a body it made a stream of.
const BODY_INLINE: [&str; 2] = [
    "decode/[\"request\",\"http://e.com\",{\"method\":\"POST\",\"body\":\"abc\"}]",
    "decode/[\"response\",\"txt\",{\"status\":404}]",
];

#[test]
fn every_decode_vector_is_accepted_or_refused_and_written_back() {
    let vectors = all();
    let decodes: Vec<_> = vectors.iter().filter(|vector| vector.from == "decode").collect();
    decodes.iter().for_each(|vector| check_decode(vector));
    assert_eq!(decodes.len(), 81);
}

fn check_decode(vector: &Vector) {
    let name = &vector.name;
    let decoded = codec::decode(&vector.texts("in")[0]);
    if REFUSED_BY_US.contains(&name.as_str()) {
        assert!(decoded.is_err(), "{name}: {decoded:?}");
        return;
    }
    if !vector.flag("accepted") {
        let reason = decoded.expect_err(name);
        if !vector.flag("message_is_platform_specific") {
            assert_eq!(
                reason.error().map(|error| error.name.as_str()),
                vector.raw["error"].as_str(),
                "{name}"
            );
        }
        return;
    }
    let encoded = codec::encode(&decoded.expect(name)).expect(name);
    match name.as_str() {
        // A lone surrogate is no Rust text.
        "decode/\"\\ud800\"" => assert_eq!(encoded, "\"\u{fffd}\""),
        // A stack that came in stays; none is ever added.
        "decode/[\"error\",\"TypeError\",\"m\",\"st\"]" => {
            assert_eq!(encoded, "[\"error\",\"TypeError\",\"m\",\"st\"]");
        }
        name if BODY_INLINE.contains(&name) => {}
        _ => assert_eq!(encoded, vector.texts("out")[0], "{name}"),
    }
}

#[test]
fn every_encode_vector_is_written_as_recorded_and_read_back() {
    let vectors = all();
    let encodes: Vec<_> = vectors.iter().filter(|vector| vector.from == "encode").collect();
    encodes.iter().for_each(|vector| check_encode(vector));
    assert_eq!(encodes.len(), 36);
}

fn check_encode(vector: &Vector) {
    let name = vector.name.as_str();
    let Some(value) = sample(name) else {
        // No Rust text holds a lone surrogate; no Rust value is a Map or a class instance.
        return assert!(!vector.flag("accepted") || name == "encode/lone surrogate", "{name} has no sample");
    };
    if !vector.flag("accepted") {
        assert!(codec::encode(&value).is_err(), "{name}");
        return;
    }
    let text = &vector.texts("out")[0];
    assert_eq!(&codec::encode(&value).expect(name), text, "{name}");
    let again = codec::decode(text).and_then(|value| codec::encode(&value)).expect(name);
    match name {
        // A receiver knows only the standard names.
        "encode/Error with custom name" => assert_eq!(again, "[\"error\",\"Error\",\"n\"]"),
        _ => assert_eq!(&again, text, "{name} does not come back"),
    }
}

fn sample(name: &str) -> Option<Value> {
    let url = |text: &str| Url::parse(text).expect("a URL");
    let typed = |kind, data: &[u8]| Value::from(Bytes::typed(kind, data.to_vec()).expect("whole elements"));
    Some(match name.strip_prefix("encode/")? {
        "negative zero" => Value::Number(-0.0),
        "1e21" => Value::Number(1e21),
        "1e-7" => Value::Number(1e-7),
        "2^53" => Value::Number(9_007_199_254_740_992.0),
        "NUL" => "\0".into(),
        "U+2028 is not escaped" => "\u{2028}".into(),
        "array hole becomes undefined" => Value::array([1.into(), Value::Undefined, 3.into()]),
        "undefined member kept" => Value::object([("a", Value::Undefined)]),
        "invalid date" => Value::Date(f64::NAN),
        "Int16Array" => typed(Kind::Int16Array, &[1, 0, 255, 255]),
        "Uint32Array little endian" => typed(Kind::Uint32Array, &[4, 3, 2, 1]),
        "Float64Array" => typed(Kind::Float64Array, &1.5f64.to_le_bytes()),
        "DataView" => typed(Kind::DataView, &[0, 0]),
        "ArrayBuffer" => typed(Kind::ArrayBuffer, &[0, 0, 0]),
        "Buffer" => typed(Kind::Uint8Array, b"hi"),
        "Uint8Array ending in 0x3d" => typed(Kind::Uint8Array, b"H="),
        "BigInt64Array" => typed(Kind::BigInt64Array, &(-1i64).to_le_bytes()),
        "bigint" => BigInt::parse("-12345678901234567890").expect("digits").into(),
        "integer-like keys are reordered by the runtime" => {
            Value::object([("1", Value::from("y")), ("2", "x".into()), ("b", 1.into())])
        }
        "Error subclass without own name" => ErrorValue::type_error("sub").into(),
        "Error with custom name" => ErrorValue::named("Custom", "n").into(),
        "Error with cause" => ErrorValue::new("o").with("cause", 5).into(),
        "URL" => url("https://e.com/a?q=1").into(),
        "Headers" => {
            let mut headers = Headers::new();
            headers.append("X-B", "2");
            headers.append("a", "1");
            headers.into()
        }
        "Request default" => Request::new("GET", url("http://e.com")).into(),
        "Request HEAD" => Request::new("HEAD", url("http://e.com")).into(),
        "Response default" => Response::new(200).into(),
        "Response 404" => Response { status_text: "Not Found".into(), ..Response::new(404) }.into(),
        "function outside a session" => Stub::function(|_| async { Ok(Value::Null) }).into(),
        _ => return None,
    })
}
