//! Reading a value as a Rust type.

use serde::de::{
    Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
    value::{MapDeserializer, SeqDeserializer},
};

use super::ConvertError;
use crate::Value;

pub(super) struct FromValue(pub(super) Value);

impl IntoDeserializer<'_, ConvertError> for FromValue {
    type Deserializer = FromValue;

    fn into_deserializer(self) -> FromValue {
        self
    }
}

impl<'de> Deserializer<'de> for FromValue {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        match self.0 {
            Value::Undefined | Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Number(number) => visit_number(number, visitor),
            Value::Date(milliseconds) => visit_number(milliseconds, visitor),
            Value::BigInt(number) => match (number.as_str().parse(), number.as_str().parse()) {
                (Ok(small), _) => visitor.visit_i64(small),
                (_, Ok(large)) => visitor.visit_u64(large),
                _ => visitor.visit_string(number.as_str().to_owned()),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Url(url) => visitor.visit_string(url.to_string()),
            Value::Bytes(bytes) => visitor.visit_byte_buf(bytes.into_vec()),
            Value::Blob(blob) => visitor.visit_byte_buf(blob.bytes().to_vec()),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(FromValue))),
            Value::Object(object) => visitor.visit_map(MapDeserializer::new(
                // An absent member and an undefined one are the same thing.
                object
                    .into_iter()
                    .filter(|(_, value)| !value.is_undefined())
                    .map(|(name, value)| (name, FromValue(value))),
            )),
            other => Err(ConvertError::invalid_type(Unexpected::Other(other.kind()), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        if self.0.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.into_deserializer()),
            Value::Object(object) if object.len() == 1 => {
                visitor.visit_enum(serde::de::value::MapAccessDeserializer::new(MapDeserializer::new(
                    object.into_iter().map(|(name, value)| (name, FromValue(value))),
                )))
            }
            other => Err(ConvertError::invalid_type(Unexpected::Other(other.kind()), &"a variant")),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A whole number is offered as an integer, which every numeric type accepts.
fn visit_number<'de, V: Visitor<'de>>(number: f64, visitor: V) -> Result<V::Value, ConvertError> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() >= EXACT {
        return visitor.visit_f64(number);
    }
    if number < 0.0 { visitor.visit_i64(number as i64) } else { visitor.visit_u64(number as u64) }
}
