//! Rust types in and out of values, one by one. For whole structs see `serde`.

use super::{
    BigInt, Blob, Bytes, ErrorValue, Headers, Object, Promise, Readable, Request, Response, Stub, Thrown,
    Url, Value, Writable,
};

/// A value that is not what was asked for. Becomes a `TypeError` at the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {wanted}, found {found}")]
pub struct Unexpected {
    pub wanted: &'static str,
    pub found: &'static str,
}

impl From<Unexpected> for Thrown {
    fn from(unexpected: Unexpected) -> Thrown {
        ErrorValue::type_error(unexpected.to_string()).into()
    }
}

macro_rules! from_into {
    ($($source:ty => |$name:ident| $value:expr;)*) => {$(
        impl From<$source> for Value {
            fn from($name: $source) -> Value {
                $value
            }
        }
    )*};
}

from_into! {
    () => |_nothing| Value::Undefined;
    bool => |flag| Value::Bool(flag);
    f64 => |number| Value::Number(number);
    i32 => |number| Value::Number(f64::from(number));
    u32 => |number| Value::Number(f64::from(number));
    &str => |text| Value::String(text.to_owned());
    String => |text| Value::String(text);
    BigInt => |number| Value::BigInt(number);
    Bytes => |bytes| Value::Bytes(bytes);
    Object => |object| Value::Object(object);
    ErrorValue => |error| Value::Error(Box::new(error));
    Url => |url| Value::Url(Box::new(url));
    Headers => |headers| Value::Headers(headers);
    Request => |request| Value::Request(Box::new(request));
    Response => |response| Value::Response(Box::new(response));
    Readable => |stream| Value::Readable(stream);
    Writable => |stream| Value::Writable(stream);
    Stub => |stub| Value::Stub(stub);
    Promise => |promise| Value::Promise(promise);
}

// Integers a double cannot hold become bigints, so that none arrives as its neighbour.
macro_rules! from_wide {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(number: $integer) -> Value {
                const EXACT: $integer = 9_007_199_254_740_991;
                #[allow(unused_comparisons, reason = "the same text serves unsigned types")]
                let negative = number < 0;
                let magnitude = if negative { (0 as $integer).wrapping_sub(number) } else { number };
                if (0..=EXACT).contains(&magnitude) {
                    Value::Number(number as f64)
                } else {
                    Value::BigInt(BigInt::from(i128::from(number)))
                }
            }
        }
    )*};
}
from_wide!(i64, u64);

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::from(number as u64)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::array(items)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

macro_rules! try_from_value {
    ($($wanted:ty, $word:literal, $pattern:pat => $value:expr;)*) => {$(
        impl TryFrom<Value> for $wanted {
            type Error = Unexpected;
            fn try_from(value: Value) -> Result<$wanted, Unexpected> {
                match value {
                    $pattern => Ok($value),
                    other => Err(Unexpected { wanted: $word, found: other.kind() }),
                }
            }
        }
    )*};
}

try_from_value! {
    bool, "a boolean", Value::Bool(flag) => flag;
    f64, "a number", Value::Number(number) => number;
    String, "a string", Value::String(text) => text;
    BigInt, "a bigint", Value::BigInt(number) => number;
    Bytes, "bytes", Value::Bytes(bytes) => bytes;
    Vec<Value>, "an array", Value::Array(items) => items;
    Object, "an object", Value::Object(object) => object;
    Url, "a URL", Value::Url(url) => *url;
    Headers, "headers", Value::Headers(headers) => headers;
    Request, "a request", Value::Request(request) => *request;
    Response, "a response", Value::Response(response) => *response;
    Blob, "a blob", Value::Blob(blob) => blob;
    Readable, "a readable stream", Value::Readable(stream) => stream;
    Writable, "a writable stream", Value::Writable(stream) => stream;
    Stub, "a stub", Value::Stub(stub) => stub;
}

macro_rules! try_into_integer {
    ($($integer:ty),*) => {$(
        impl TryFrom<Value> for $integer {
            type Error = Unexpected;
            fn try_from(value: Value) -> Result<$integer, Unexpected> {
                let found = value.kind();
                let whole = match &value {
                    Value::Number(number) if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 => {
                        <$integer>::try_from(*number as i64).ok()
                    }
                    Value::BigInt(digits) => digits.as_str().parse().ok(),
                    _ => None,
                };
                whole.ok_or(Unexpected { wanted: "an integer in range", found })
            }
        }
    )*};
}
try_into_integer!(i32, u32, i64, u64, usize);
