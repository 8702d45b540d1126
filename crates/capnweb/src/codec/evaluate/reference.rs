//! Tags that stand for objects, promises, streams and maps.

use std::sync::Arc;

use super::{Evaluator, Scope, unknown};
use crate::{
    ErrorValue, Promise, Stub, Thrown, Value,
    codec::json::Json,
    value::reference::ends::LocalObject,
    value::reference::hook::{Hook, Ref},
    value::reference::path::{Path, PathPart},
    value::reserved::is_inherited,
};

type Found = Result<Option<Value>, Thrown>;

/// What a call in an expression is made on.
enum Callee<'t> {
    /// A method of an object of ours, which nearly every call is.
    Method {
        held: Arc<dyn LocalObject>,
        name: &'t str,
    },
    Other {
        target: Ref,
        path: Path,
        is_promise: bool,
    },
}

impl Evaluator<'_> {
    /// `["import", id, path?, args?]` and `["pipeline", id, path?, args?]`: something of ours.
    pub(super) fn called(&self, json: &Json<'_>, items: &[Json<'_>], depth: usize) -> Result<Value, Thrown> {
        match items {
            [_, Json::Number(_), Json::Array(_), Json::Array(args), ..] => {
                let callee = self.callee(json, items)?;
                let fills = matches!(callee, Callee::Method { .. });
                let args = Evaluator { fills, ..*self }.items(args, depth)?;
                Ok(self.call(callee, args))
            }
            _ => self.reference(items)?.ok_or_else(|| unknown(json)),
        }
    }

    /// Looked up before the arguments are evaluated, so that errors come in the order of the text.
    #[inline(never)]
    fn callee<'t>(&self, json: &Json<'_>, items: &[Json<'t>]) -> Result<Callee<'t>, Thrown> {
        let id = items[1].as_integer().ok_or_else(|| unknown(json))?;
        let is_promise = items[0].as_str() == Some("pipeline");
        if is_promise && let Json::Array([Json::String(name)]) = items[2] {
            let target = self.lookup(id)?;
            if let Hook::Target(held) = &target.hook
                && target.path.is_empty()
                && held.has_method(name)
            {
                return Ok(Callee::Method { held: Arc::clone(held), name });
            }
        }
        let path = self.path(&items[2])?.ok_or_else(|| unknown(json))?;
        Ok(Callee::Other { path, target: self.lookup(id)?, is_promise })
    }

    #[inline(never)]
    fn call(&self, callee: Callee<'_>, args: Vec<Value>) -> Value {
        let (hook, is_promise) = match callee {
            Callee::Method { held, name } => (held.call_method(name, args, self.origin), true),
            Callee::Other { target, path, is_promise } => (target.call(path, args, self.origin), is_promise),
        };
        let found = Ref::from(hook);
        if is_promise { Value::Promise(Promise(found)) } else { Value::Stub(Stub(found)) }
    }

    /// What a promise came to, if that is known and a scalar. Anything larger could nest deeper with
    /// every call, and is left to whoever watches over that.
    fn filled(&self, id: i64, path: Option<&Json<'_>>) -> Option<Value> {
        let Scope::Session(session) = self.scope else { return None };
        let Hook::Cell(cell) = session.export(id)? else { return None };
        let Ok(value) = cell.settled_value()? else { return None };
        let found = match path {
            None | Some(Json::Array([])) => value,
            Some(Json::Array([Json::String(name)])) if !is_inherited(name) => value.get(name)?,
            Some(_) => return None,
        };
        let is_scalar = matches!(
            found,
            Value::Undefined
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Date(_)
        );
        is_scalar.then(|| found.clone())
    }

    fn reference(&self, items: &[Json<'_>]) -> Found {
        let Some(id) = items.get(1).and_then(Json::as_integer) else { return Ok(None) };
        let is_promise = items[0].as_str() == Some("pipeline");
        if self.fills
            && is_promise
            && items.len() <= 3
            && let Some(value) = self.filled(id, items.get(2))
        {
            return Ok(Some(value));
        }
        let path = match items.get(2) {
            None => Path::new(),
            Some(json) => match self.path(json)? {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        if items.len() > 3 {
            // With arguments, and they are not a list.
            return Ok(None);
        }
        let wanted = self.lookup(id)?;
        let found = match path.is_empty() {
            false => Ref::from(wanted.read(path, self.origin)),
            true if is_promise => self.as_promise(wanted, id),
            true => wanted,
        };
        Ok(Some(if is_promise { Value::Promise(Promise(found)) } else { Value::Stub(Stub(found)) }))
    }

    /// An object that was sent as a stub is no promise. Main is both.
    fn as_promise(&self, wanted: Ref, id: i64) -> Ref {
        match (&self.scope, &wanted.hook) {
            (Scope::Session(_), Hook::Target(_)) if id != 0 => {
                Ref::from(Hook::rejected(ErrorValue::new("Can't dup an RpcTarget stub as a promise.")))
            }
            _ => wanted,
        }
    }

    fn lookup(&self, id: i64) -> Result<Ref, Thrown> {
        let found = match &self.scope {
            Scope::Session(session) => session.export(id).map(Ref::from),
            Scope::Map(frame) => frame.entry(id),
            Scope::Alone => None,
        };
        found.ok_or_else(|| ErrorValue::new(format!("no such entry on exports table: {id}")).into())
    }

    /// `None` when it is not a path.
    fn path(&self, json: &Json<'_>) -> Result<Option<Path>, Thrown> {
        let Some(parts) = json.as_array() else { return Ok(None) };
        let most = self.limits.path_elements_max;
        if parts.len() > most {
            return Err(ErrorValue::type_error(format!("a path has at most {most} elements")).into());
        }
        let part = |json: &Json<'_>| match json {
            Json::String(name) => Some(PathPart::Name((*name).to_owned())),
            Json::Number(place) => Some(PathPart::Index(*place)),
            _ => None,
        };
        Ok(parts.iter().map(part).collect())
    }

    /// Something of the sender's, mentioned in this message.
    pub(super) fn introduction(&self, tag: &str, items: &[Json<'_>]) -> Found {
        let Some(id) = items.get(1).and_then(Json::as_integer) else { return Ok(None) };
        let session = match &self.scope {
            Scope::Session(session) => session,
            Scope::Map(_) => return Err(ErrorValue::new("A mapper function cannot refer to exports.").into()),
            Scope::Alone => {
                return Err(ErrorValue::new("Cannot deserialize RPC stubs without an RPC session.").into());
            }
        };
        let value = match tag {
            "export" => Value::Stub(Stub(Ref::from(session.introduce(id)?))),
            "promise" => Value::Promise(Promise(Ref::from(session.introduce_promise(id)?))),
            "writable" => Value::Writable(session.introduce_writable(id)?),
            _ => Value::Readable(session.take_readable(id)?),
        };
        Ok(Some(value))
    }

    /// `["remap", id, path, captures, instructions]`.
    pub(super) fn remap(&self, items: &[Json<'_>]) -> Found {
        let [_, id, path, Json::Array(captures), Json::Array(instructions), ..] = items else {
            return Ok(None);
        };
        let (Some(id), Some(path)) = (id.as_integer(), self.path(path)?) else { return Ok(None) };
        self.check_map(captures.len(), instructions.len())?;

        let wanted = self.lookup(id)?;
        let captures = captures.iter().map(|capture| self.capture(capture)).collect::<Result<_, _>>()?;
        let instructions = instructions.iter().map(Json::text).collect();
        let mapper = match &self.scope {
            Scope::Session(session) => session.mapper(captures, instructions),
            Scope::Map(frame) => frame.mapper(captures, instructions),
            // Plain data has no entry that could have been found above.
            Scope::Alone => return Ok(None),
        };
        Ok(Some(Value::Promise(Promise(Ref::from(wanted.map(path, mapper, self.origin))))))
    }

    fn check_map(&self, captures: usize, instructions: usize) -> Result<(), Thrown> {
        let most_captures = self.limits.map_captures_max;
        let most_instructions = self.limits.map_instructions_max;
        if captures > most_captures || instructions > most_instructions {
            let text =
                format!("a map has at most {most_captures} captures and {most_instructions} instructions");
            return Err(ErrorValue::type_error(text).into());
        }
        Ok(())
    }

    fn capture(&self, json: &Json<'_>) -> Result<Ref, Thrown> {
        let refused = || -> Thrown {
            ErrorValue::type_error(format!("unknown map capture: {}", json.excerpt())).into()
        };
        let (tag, id) = match json.as_array() {
            Some([Json::String(tag), id]) => (*tag, id.as_integer().ok_or_else(refused)?),
            _ => return Err(refused()),
        };
        match tag {
            "import" => self.lookup(id),
            "export" => match self.introduction("export", json.as_array().unwrap_or_default())? {
                Some(Value::Stub(stub)) => Ok(stub.0),
                _ => Err(unknown(json)),
            },
            _ => Err(refused()),
        }
    }
}
