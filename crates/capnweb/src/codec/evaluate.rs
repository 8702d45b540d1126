//! Expressions to values.
//!
//! A JSON array is never a literal: it is an escaped array, or it is tagged. Tags for
//! data are read in `data`, tags for references in `reference`. Calls inside an
//! expression are made while it is evaluated, in order.
//!
//! An error here is an error of the message, not of a call: it ends the session, or the
//! map whose body it stands in.

mod data;
mod reference;

pub(crate) use data::plain_members;

use crate::{
    BigInt, ErrorValue, Limits, Object, Readable, Thrown, Value, Writable,
    codec::json::Json,
    value::reference::{
        caller::Origin,
        ends::Mapper,
        hook::{Hook, Ref},
    },
    value::reserved::is_dropped,
};
use std::sync::Arc;

/// The tables of a session, as a message refers to them.
pub(crate) trait SessionTables {
    /// Something of ours.
    fn export(&self, id: i64) -> Option<Hook>;

    /// An object of the sender's, perhaps one we know.
    fn introduce(&self, id: i64) -> Result<Hook, Thrown>;

    /// A promise of the sender's, always a new one.
    fn introduce_promise(&self, id: i64) -> Result<Hook, Thrown>;

    fn introduce_writable(&self, id: i64) -> Result<Writable, Thrown>;

    /// The reading end of a pipe, once.
    fn take_readable(&self, id: i64) -> Result<Readable, Thrown>;

    /// A blob, which is there when its pipe is closed.
    fn take_blob(&self, id: i64, mime: String) -> Result<Value, Thrown>;

    fn mapper(&self, captures: Vec<Ref>, instructions: Arc<[String]>) -> Arc<dyn Mapper>;
}

/// The private table of a map's body.
pub(crate) trait MapTable {
    fn entry(&self, id: i64) -> Option<Ref>;

    /// A map inside of the map.
    fn mapper(&self, captures: Vec<Ref>, instructions: Arc<[String]>) -> Arc<dyn Mapper>;
}

/// Where references lead.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'s> {
    Session(&'s dyn SessionTables),
    Map(&'s dyn MapTable),
    /// Plain data: no reference is allowed.
    Alone,
}

#[derive(Clone, Copy)]
pub(crate) struct Evaluator<'s> {
    pub(crate) scope: Scope<'s>,
    pub(crate) limits: &'s Limits,
    pub(crate) origin: &'s Origin,
    /// True for the arguments of a call that is made here and now: a promise that is kept
    /// already is read as the value it would be replaced by.
    pub(crate) fills: bool,
}

type Evaluated = Result<Value, Thrown>;

impl Evaluator<'_> {
    /// The value of an expression. `depth` is how many arrays, objects and calls are around it.
    ///
    /// Recursive, to a depth that is counted; so its frames are kept small: what is not needed
    /// around a nested value lives in functions of its own, and loops are plain loops.
    pub(crate) fn value(&self, json: &Json<'_>, depth: usize) -> Evaluated {
        if depth >= self.limits.depth_max {
            return Err(self.too_deep());
        }
        match json {
            Json::Array(items) => match items {
                [Json::Array(escaped)] => self.array(escaped, depth),
                [Json::String("pipeline" | "import"), ..] => self.called(json, items, depth),
                _ => self.special(json, items, depth),
            },
            Json::Object(members) => self.object(members, depth),
            _ => Ok(scalar(json)),
        }
    }

    fn array(&self, items: &[Json<'_>], depth: usize) -> Evaluated {
        Ok(Value::Array(self.items(items, depth)?))
    }

    #[cold]
    fn too_deep(&self) -> Thrown {
        let most = self.limits.depth_max;
        ErrorValue::type_error(format!("Deserialization exceeded maximum allowed message depth of {most}."))
            .into()
    }

    fn object(&self, members: &[(&str, Json<'_>)], depth: usize) -> Evaluated {
        let mut object = Object::with_capacity(members.len());
        for (name, member) in members {
            // Evaluated even if dropped: stubs inside have to be released.
            let value = self.value(member, depth + 1)?;
            if !is_dropped(name) {
                object.insert(*name, value);
            }
        }
        Ok(Value::Object(object))
    }

    pub(crate) fn items(&self, items: &[Json<'_>], depth: usize) -> Result<Vec<Value>, Thrown> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.value(item, depth + 1)?);
        }
        Ok(values)
    }

    fn special(&self, json: &Json<'_>, items: &[Json<'_>], depth: usize) -> Evaluated {
        let tag = match items {
            [Json::String(tag), ..] => *tag,
            _ => return Err(unknown(json)),
        };
        let found = match tag {
            "export" | "promise" | "writable" | "readable" => self.introduction(tag, items)?,
            "remap" => self.remap(items)?,
            "undefined" if items.len() == 1 => Some(Value::Undefined),
            "inf" => Some(Value::Number(f64::INFINITY)),
            "-inf" => Some(Value::Number(f64::NEG_INFINITY)),
            "nan" => Some(Value::Number(f64::NAN)),
            "bigint" => self.bigint(items)?,
            "date" => data::date(items),
            "bytes" => data::bytes(items)?,
            "error" => self.error(items, depth)?,
            "url" => data::url(items)?,
            "headers" => data::header_list(items.get(1))?.map(Value::Headers),
            "request" => self.request(items, depth)?,
            "response" => self.response(items, depth)?,
            "blob" => self.blob(items)?,
            _ => None,
        };
        found.ok_or_else(|| unknown(json))
    }

    fn bigint(&self, items: &[Json<'_>]) -> Result<Option<Value>, Thrown> {
        let Some(digits) = items.get(1).and_then(Json::as_str) else { return Ok(None) };
        let most = self.limits.bigint_digits_max;
        if digits.len() > most {
            let text = format!("Deserialized bigint exceeds maximum length of {most} digits.");
            return Err(ErrorValue::type_error(text).into());
        }
        match BigInt::parse(digits) {
            Some(number) => Ok(Some(Value::BigInt(number))),
            None => Err(ErrorValue::named("SyntaxError", "a bigint is written in decimal digits").into()),
        }
    }
}

fn scalar(json: &Json<'_>) -> Value {
    match json {
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => Value::Number(*number),
        Json::String(text) => Value::String((*text).to_owned()),
        Json::Null | Json::Array(_) | Json::Object(_) => Value::Null,
    }
}

pub(crate) fn unknown(json: &Json<'_>) -> Thrown {
    ErrorValue::type_error(format!("unknown special value: {}", json.excerpt())).into()
}
