//! Cap'n Web: objects, promises and streams over one ordered channel of text.
//!
//! A [`Stub`] is an object somewhere; calling it returns a [`Promise`], which can be called,
//! read and mapped before it is kept, so that a chain of calls costs one round trip. What is
//! served is a [`Target`], usually made with an [`Interface`]. A [`Connection`] joins two
//! peers and does no IO; [`batch`], `ws`, `http` and [`pair`] carry its messages.
//!
//! The wire is that of the npm package `capnweb`, against which this crate is tested in both
//! directions.

pub mod batch;
mod cell;
mod encode;
mod evaluate;
mod gather;
mod hook;
#[cfg(feature = "http")]
pub mod http;
mod interface;
mod json;
mod limits;
mod map;
mod names;
pub mod pair;
mod path;
mod promise;
mod serde;
mod session;
mod stream;
mod stub;
mod target;
mod turn;
pub mod typed;
mod value;
#[cfg(feature = "tokio")]
pub mod wire;
#[cfg(feature = "ws")]
pub mod ws;

pub use interface::Interface;
pub use limits::Limits;
pub use map::MapScope;
pub use path::PathPart;
pub use promise::{Asked, Promise};
pub use serde::{ConvertError, from_value, to_value};
pub use session::{Connection, Ended, Handle, Options, Stats};
pub use stream::{Flow, Readable, Ticket, Writable};
pub use stub::Stub;
pub use target::{Call, CallContext, Member, Outcome, Reply, Target};
pub use typed::{Arg, Typed};
pub use value::{
    BigInt, Blob, Body, Bytes, ErrorValue, Headers, Kind, Object, Request, Response, Thrown, Unexpected, Url,
    Value,
};

pub(crate) use value::is_token as value_token;

/// Values as text and back, without a session: plain data only.
pub mod codec {
    use crate::{
        ErrorValue, Limits, Thrown, Value,
        encode::{Encoder, ReferenceTarget},
        evaluate::{Evaluator, Scope},
        json,
    };

    /// The expression a value is written as.
    pub fn encode(value: &Value) -> Result<String, Thrown> {
        let depth_max = Limits::default().depth_max;
        let mut encoder =
            Encoder { out: String::new(), place: ReferenceTarget::Alone, depth_max, allow_dropped: false };
        encoder.value(value, 0)?;
        Ok(encoder.out)
    }

    /// The value an expression stands for.
    pub fn decode(text: &str) -> Result<Value, Thrown> {
        let limits = Limits::default();
        let mut arena = json::Arena::default();
        let (tree, _) = json::read(text, limits.bracket_depth_max, arena.fresh())
            .map_err(|reason| ErrorValue::named("SyntaxError", reason.to_string()))?;
        Evaluator { scope: Scope::Alone, limits: &limits, origin: &None, fills: false }.value(&tree, 0)
    }
}

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "ws"))]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
