//! Cap'n Web: objects, promises and streams over one ordered channel of text.
//!
//! A [`Stub`] is an object somewhere; calling it returns a [`Promise`], which can be called,
//! read and mapped before it is kept, so that a chain of calls costs one round trip. What is
//! served is a [`Target`], usually made with an [`Interface`]. A [`Connection`] joins two
//! peers and does no IO; [`batch`], `ws`, `http` and [`pair`] carry its messages.
//!
//! The wire is that of the npm package `capnweb`, against which this crate is tested in both
//! directions.

// From the bottom: limits, value; codec, serde; promise; target, interface, typed, map, stream; session;
// transport. None knows one that comes after it.
pub mod codec;
mod interface;
mod limits;
mod map;
mod promise;
mod serde;
mod session;
mod stream;
mod target;
mod transport;
pub mod typed;
mod value;

pub use interface::Interface;
pub use limits::Limits;
pub use map::MapScope;
pub use promise::Asked;
pub use serde::{ConvertError, from_value, to_value};
pub use session::{Connection, Ended, Handle, Options, Stats};
pub use stream::{Flow, Ticket};
pub use target::{Call, Member, Reply, Target};
pub use transport::{batch, pair};
pub use typed::{Arg, Typed};
pub use value::{
    BigInt, Blob, Body, Bytes, CallContext, ErrorValue, Headers, Kind, Object, Outcome, PathPart, Promise,
    Readable, Request, Response, Stub, Thrown, Unexpected, Url, Value, Writable,
};

#[cfg(feature = "http")]
pub use transport::http;
#[cfg(feature = "tokio")]
pub use transport::wire;
#[cfg(feature = "ws")]
pub use transport::ws;

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "ws"))]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
