//! What can be said over the wire.
//!
//! A `Value` is a JavaScript value as far as the protocol carries it. Plain data,
//! dates, bytes and errors are data; a stub, a promise and the two ends of a stream
//! are references, and dropping the last copy of one tells the peer.
//!
//! A reference answers with values, so both are in this room; who answers is above, behind the
//! traits of `reference/ends.rs`.
//!
//! Children: `object` (ordered members), `name` (their names), `bytes` (typed buffers), `bigint`, `error`
//! (errors and what is thrown), `fetch` (URL-shaped things: headers, requests,
//! responses, blobs), `convert` (from and to Rust types), `reserved` (names that never cross the wire), `reference`
//! (what is behind a reference), `stub` (objects and promises), `readable` and `writable` (the ends of a stream).

mod bigint;
mod bytes;
mod convert;
mod error;
mod fetch;
mod name;
mod object;
mod readable;
pub(crate) mod reference;
pub(crate) mod reserved;
mod stub;
mod writable;

pub use bigint::BigInt;
pub use bytes::{Bytes, Kind};
pub use convert::Unexpected;
pub use error::{ErrorValue, Thrown};
pub(crate) use fetch::is_token;
pub use fetch::{Blob, Body, Headers, Request, Response};
pub use object::Object;
pub use readable::Readable;
pub use reference::caller::CallContext;
pub use reference::path::PathPart;
pub use stub::{Promise, Stub};
pub use url::Url;
pub use writable::Writable;
pub(crate) use writable::WritingEnd;

/// What a method ends with.
pub type Outcome = Result<Value, Thrown>;

/// A value of the protocol.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Undefined,
    Null,
    Bool(bool),
    /// Any double, NaN and the infinities included.
    Number(f64),
    BigInt(BigInt),
    String(String),
    /// Milliseconds since 1970; NaN is JavaScript's invalid date.
    Date(f64),
    Bytes(Bytes),
    Array(Vec<Value>),
    Object(Object),
    Error(Box<ErrorValue>),
    Url(Box<Url>),
    Headers(Headers),
    Request(Box<Request>),
    Response(Box<Response>),
    Blob(Blob),
    /// The reading end of a stream. Copies share it: what one reads, the other misses.
    Readable(Readable),
    /// The writing end of a stream.
    Writable(Writable),
    /// An object or function, here or at a peer.
    Stub(Stub),
    /// Something that will be a value. A method never sees one: it is called when they are settled.
    Promise(Promise),
}

impl Value {
    /// An object from its members.
    pub fn object<N: AsRef<str>, V: Into<Value>>(members: impl IntoIterator<Item = (N, V)>) -> Value {
        let mut object = Object::new();
        members.into_iter().for_each(|(name, value)| object.insert(name, value));
        Value::Object(object)
    }

    /// An array from its items.
    pub fn array<V: Into<Value>>(items: impl IntoIterator<Item = V>) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }

    /// A date, invalid when outside the range a JavaScript date has.
    pub fn date(milliseconds: f64) -> Value {
        const FARTHEST: f64 = 8.64e15;
        // A JavaScript date has no fractions; an instant outside its range is no instant.
        let whole = milliseconds.trunc();
        Value::Date(if whole.abs() <= FARTHEST { whole + 0.0 } else { f64::NAN })
    }

    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    /// Null or undefined.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Value::Undefined | Value::Null)
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    pub fn as_stub(&self) -> Option<&Stub> {
        match self {
            Value::Stub(stub) => Some(stub),
            _ => None,
        }
    }

    /// The member of an object; `None` for anything else.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }

    /// What JavaScript's `typeof` would make of it, for error texts.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::BigInt(_) => "bigint",
            Value::String(_) => "string",
            Value::Date(_) => "date",
            Value::Bytes(_) => "bytes",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Error(_) => "error",
            Value::Url(_) => "url",
            Value::Headers(_) => "headers",
            Value::Request(_) => "request",
            Value::Response(_) => "response",
            Value::Blob(_) => "blob",
            Value::Readable(_) => "readable stream",
            Value::Writable(_) => "writable stream",
            Value::Stub(_) => "stub",
            Value::Promise(_) => "promise",
        }
    }

    /// Roughly the bytes this holds, for the bounds on what waits in a stream.
    pub(crate) fn weight(&self) -> usize {
        const EACH: usize = 16;
        EACH + match self {
            Value::String(text) => text.len(),
            Value::BigInt(number) => number.as_str().len(),
            Value::Bytes(bytes) => bytes.as_slice().len(),
            Value::Blob(blob) => blob.bytes().len(),
            Value::Array(items) => items.iter().map(Value::weight).sum(),
            Value::Object(object) => object.iter().map(|(name, value)| name.len() + value.weight()).sum(),
            _ => 0,
        }
    }
}
