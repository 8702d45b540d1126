//! Values to and from Rust types that know serde.
//!
//! `None` is null, and null, undefined and absence are `None`. Integers that a double cannot
//! hold travel as bigints. Bytes are bytes. Stubs, promises and streams are not data: take
//! them out of the value by hand.

mod de;
mod ser;

use ::serde::{Serialize, de::DeserializeOwned};

use crate::{ErrorValue, Thrown, Value};

/// Why a value does not fit a type. Becomes a `TypeError` at the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConvertError(String);

impl From<ConvertError> for Thrown {
    fn from(reason: ConvertError) -> Thrown {
        ErrorValue::type_error(reason.0).into()
    }
}

impl ::serde::ser::Error for ConvertError {
    fn custom<T: std::fmt::Display>(text: T) -> ConvertError {
        ConvertError(text.to_string())
    }
}

impl ::serde::de::Error for ConvertError {
    fn custom<T: std::fmt::Display>(text: T) -> ConvertError {
        ConvertError(text.to_string())
    }
}

/// The value a Rust value is sent as.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ConvertError> {
    value.serialize(ser::ToValue)
}

/// The Rust value a value stands for.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ConvertError> {
    T::deserialize(de::FromValue(value))
}
