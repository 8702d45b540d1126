//! Writing a Rust type as a value.

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::ConvertError;
use crate::{BigInt, Bytes, Object, Value};

pub(super) struct ToValue;

type Made = Result<Value, ConvertError>;

impl Serializer for ToValue {
    type Ok = Value;
    type Error = ConvertError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    fn serialize_bool(self, flag: bool) -> Made {
        Ok(Value::Bool(flag))
    }
    fn serialize_i8(self, number: i8) -> Made {
        Ok(Value::from(i32::from(number)))
    }
    fn serialize_i16(self, number: i16) -> Made {
        Ok(Value::from(i32::from(number)))
    }
    fn serialize_i32(self, number: i32) -> Made {
        Ok(Value::from(number))
    }
    fn serialize_i64(self, number: i64) -> Made {
        Ok(Value::from(number))
    }
    fn serialize_i128(self, number: i128) -> Made {
        Ok(Value::BigInt(BigInt::from(number)))
    }
    fn serialize_u8(self, number: u8) -> Made {
        Ok(Value::from(u32::from(number)))
    }
    fn serialize_u16(self, number: u16) -> Made {
        Ok(Value::from(u32::from(number)))
    }
    fn serialize_u32(self, number: u32) -> Made {
        Ok(Value::from(number))
    }
    fn serialize_u64(self, number: u64) -> Made {
        Ok(Value::from(number))
    }
    fn serialize_u128(self, number: u128) -> Made {
        Ok(Value::BigInt(BigInt::from(number)))
    }
    fn serialize_f32(self, number: f32) -> Made {
        Ok(Value::Number(f64::from(number)))
    }
    fn serialize_f64(self, number: f64) -> Made {
        Ok(Value::Number(number))
    }
    fn serialize_char(self, letter: char) -> Made {
        Ok(Value::String(letter.to_string()))
    }
    fn serialize_str(self, text: &str) -> Made {
        Ok(Value::from(text))
    }
    fn serialize_bytes(self, bytes: &[u8]) -> Made {
        Ok(Value::Bytes(Bytes::new(bytes.to_vec())))
    }
    fn serialize_none(self) -> Made {
        Ok(Value::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Made {
        Ok(Value::Null)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Made {
        Ok(Value::Null)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made {
        Ok(Value::from(variant))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Made {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Made {
        Ok(Value::object([(variant, value.serialize(self)?)]))
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Items, ConvertError> {
        Ok(Items::default())
    }
    fn serialize_tuple(self, _: usize) -> Result<Items, ConvertError> {
        Ok(Items::default())
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items, ConvertError> {
        Ok(Items::default())
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items, ConvertError> {
        Ok(Items { variant: Some(variant), ..Items::default() })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Members, ConvertError> {
        Ok(Members::default())
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members, ConvertError> {
        Ok(Members::default())
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members, ConvertError> {
        Ok(Members { variant: Some(variant), ..Members::default() })
    }
}

/// An array being made.
#[derive(Default)]
pub(super) struct Items {
    variant: Option<&'static str>,
    items: Vec<Value>,
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        self.items.push(value.serialize(ToValue)?);
        Ok(())
    }

    fn done(self) -> Made {
        Ok(wrapped(self.variant, Value::Array(self.items)))
    }
}

fn wrapped(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(name) => Value::object([(name, value)]),
        None => value,
    }
}

macro_rules! items {
    ($($kind:ident :: $push:ident),*) => {$(
        impl $kind for Items {
            type Ok = Value;
            type Error = ConvertError;
            fn $push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
                self.push(value)
            }
            fn end(self) -> Made {
                self.done()
            }
        }
    )*};
}
items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// An object being made.
#[derive(Default)]
pub(super) struct Members {
    variant: Option<&'static str>,
    object: Object,
    name: Option<String>,
}

impl SerializeMap for Members {
    type Ok = Value;
    type Error = ConvertError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        self.name = Some(match key.serialize(ToValue)? {
            Value::String(name) => name,
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            other => return Err(ConvertError::custom(format!("{} cannot be a member name", other.kind()))),
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let name = self.name.take().ok_or_else(|| ConvertError::custom("a member has a name"))?;
        self.object.insert(name, value.serialize(ToValue)?);
        Ok(())
    }

    fn end(self) -> Made {
        Ok(wrapped(self.variant, Value::Object(self.object)))
    }
}

macro_rules! members {
    ($($kind:ident),*) => {$(
        impl $kind for Members {
            type Ok = Value;
            type Error = ConvertError;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), ConvertError> {
                self.object.insert(name, value.serialize(ToValue)?);
                Ok(())
            }
            fn end(self) -> Made {
                Ok(wrapped(self.variant, Value::Object(self.object)))
            }
        }
    )*};
}
members!(SerializeStruct, SerializeStructVariant);
