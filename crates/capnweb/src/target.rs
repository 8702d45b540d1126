//! What can be served: objects with methods and properties, and functions.
//!
//! `Target` is the one open trait of the crate. Most users do not write it by hand but
//! build an `Interface` once and make stubs from it.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use crate::{
    CallContext, ErrorValue, Outcome, Stub, Thrown, Value,
    promise::gather,
    value::reference::{
        caller::Origin,
        cell::{Cell, Resolver, Task, poll_once},
        ends::LocalObject,
        hook::{Hook, Ref},
        path::{Path, PathPart, not_a_function, read_of_undefined},
    },
    value::reserved::is_inherited,
};

/// The answer of a method: there at once, or on its way.
pub enum Reply {
    Now(Outcome),
    Later(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

impl Reply {
    pub fn value(value: impl Into<Value>) -> Reply {
        Reply::Now(Ok(value.into()))
    }

    pub fn error(reason: impl Into<Thrown>) -> Reply {
        Reply::Now(Err(reason.into()))
    }

    pub fn later(future: impl Future<Output = Outcome> + Send + 'static) -> Reply {
        Reply::Later(Box::pin(future))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Now(outcome) => f.debug_tuple("Now").field(outcome).finish(),
            Reply::Later(_) => f.write_str("Later"),
        }
    }
}

/// What a name is on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    Method,
    Property,
    /// Exists, but is private: reading it is an error rather than "undefined".
    Private,
    Unknown,
}

/// Something a peer can call.
///
/// A stub is the only way to a target: whoever has one may use it, nobody else can.
pub trait Target: Send + Sync + 'static {
    /// What `name` is. Names every JavaScript object has never get here.
    fn member(&self, name: &str) -> Member;

    /// Calls a method.
    fn call(self: Arc<Self>, name: &str, call: Call) -> Reply;

    /// Reads a property.
    fn get(self: Arc<Self>, name: &str, call: Call) -> Reply {
        let _ = (name, call);
        Reply::value(())
    }

    /// Calls the target itself, as a function.
    fn invoke(self: Arc<Self>, call: Call) -> Reply {
        let _ = call;
        Reply::error(not_a_function(&[]))
    }

    /// The last stub is gone: no call will come any more.
    fn disposed(&self) {}
}

/// One call: its arguments and on whose behalf it is made.
///
/// Stubs among the arguments belong to the call. Keep a clone to use one later.
#[derive(Debug)]
pub struct Call {
    args: std::vec::IntoIter<Value>,
    context: CallContext,
}

impl Call {
    pub(crate) fn new(args: Vec<Value>, origin: &Origin) -> Call {
        let context = origin.as_ref().map_or_else(CallContext::default, |session| session.context());
        Call { args: args.into_iter(), context }
    }

    /// The next argument, `Undefined` after the last.
    pub fn arg(&mut self) -> Value {
        self.args.next().unwrap_or_default()
    }

    /// The next argument as a Rust type; a `TypeError` for the caller when it is another.
    pub fn take<T: TryFrom<Value, Error = crate::Unexpected>>(&mut self) -> Result<T, Thrown> {
        Ok(T::try_from(self.arg())?)
    }

    /// The next argument, or a default when it is missing or undefined.
    pub fn take_or<T: TryFrom<Value, Error = crate::Unexpected>>(&mut self, default: T) -> Result<T, Thrown> {
        match self.arg() {
            Value::Undefined => Ok(default),
            value => Ok(T::try_from(value)?),
        }
    }

    /// The next argument through serde.
    pub fn parse<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Thrown> {
        Ok(crate::from_value(self.arg())?)
    }

    /// The arguments that are left.
    pub fn rest(self) -> Vec<Value> {
        self.args.collect()
    }

    /// What the session was given for its calls.
    pub fn context(&self) -> &CallContext {
        &self.context
    }
}

/// A target as long as stubs hold it.
struct Held {
    target: Arc<dyn Target>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.target.disposed();
    }
}

impl LocalObject for Held {
    fn call(self: Arc<Self>, path: Path, args: Vec<Value>, origin: &Origin) -> Hook {
        call(&self, path, args, origin)
    }

    fn get(self: Arc<Self>, path: Path, origin: &Origin) -> Hook {
        get(&self, path, origin)
    }

    fn has_method(&self, name: &str) -> bool {
        !is_inherited(name) && self.target.member(name) == Member::Method
    }

    fn call_method(self: Arc<Self>, name: &str, mut args: Vec<Value>, origin: &Origin) -> Hook {
        match complete(&mut args) {
            Ok(true) => run(invoke(&self, Some(name), args, origin), origin),
            Ok(false) => call_when_settled(&self, Some(name.to_owned()), args, origin),
            Err(reason) => Hook::rejected(reason),
        }
    }
}

fn call(held: &Arc<Held>, path: Path, mut args: Vec<Value>, origin: &Origin) -> Hook {
    if let [PathPart::Name(name)] = path.as_slice()
        && held.has_method(name)
    {
        return Arc::clone(held).call_method(name, args, origin);
    }
    if !path.is_empty() {
        // Not a method here, so perhaps one of a property: ask that, in order.
        return match path.split_first() {
            Some((_, [])) if !is_property(held, &path) => Hook::rejected(not_a_function(&path)),
            Some((first, rest)) => get(held, vec![first.clone()], origin).call(rest.to_vec(), args, origin),
            None => Hook::rejected(not_a_function(&path)),
        };
    }
    match complete(&mut args) {
        Ok(true) => run(invoke(held, None, args, origin), origin),
        Ok(false) => call_when_settled(held, None, args, origin),
        Err(reason) => Hook::rejected(reason),
    }
}

/// True when the arguments are values, all promises among them being kept.
fn complete(args: &mut [Value]) -> Result<bool, Thrown> {
    if gather::has_promise(args) { gather::complete_now(args) } else { Ok(true) }
}

fn is_property(held: &Arc<Held>, path: &[PathPart]) -> bool {
    matches!(path, [PathPart::Name(name)] if !is_inherited(name) && held.target.member(name) == Member::Property)
}

fn invoke(held: &Arc<Held>, method: Option<&str>, args: Vec<Value>, origin: &Origin) -> Reply {
    let target = Arc::clone(&held.target);
    let call = Call::new(args, origin);
    match method {
        Some(name) => target.call(name, call),
        None => target.invoke(call),
    }
}

/// A method is called with values only, so this call waits; others may overtake it.
fn call_when_settled(held: &Arc<Held>, method: Option<String>, args: Vec<Value>, origin: &Origin) -> Hook {
    let (cell, resolver) = Cell::pending();
    let held = Arc::clone(held);
    let asker = origin.clone();
    let task: Task = Box::pin(async move {
        let args = match gather::complete_all(args).await {
            Ok(args) => args,
            Err(reason) => return resolver.settle(Err(reason)),
        };
        match invoke(&held, method.as_deref(), args, &asker) {
            Reply::Now(outcome) => resolver.settle(outcome),
            Reply::Later(future) => {
                // Not this session's for the time of the wait: it is driven by it.
                drop(asker);
                resolver.settle(future.await);
            }
        }
    });
    start(task, &cell, origin);
    Hook::Cell(cell)
}

fn run(reply: Reply, origin: &Origin) -> Hook {
    match reply {
        Reply::Now(Ok(Value::Promise(promise))) if promise.0.path.is_empty() => promise.0.hook,
        Reply::Now(outcome) => Hook::Cell(Cell::settled(outcome)),
        Reply::Later(future) => {
            let (cell, resolver) = Cell::pending();
            let task: Task = Box::pin(settle_with(future, resolver));
            start(task, &cell, origin);
            Hook::Cell(cell)
        }
    }
}

async fn settle_with(future: Pin<Box<dyn Future<Output = Outcome> + Send>>, resolver: Resolver) {
    resolver.settle(future.await);
}

/// Runs the beginning of a call at once, so that calls start in the order they came, and
/// leaves the rest to the session.
fn start(mut task: Task, cell: &Arc<Cell>, origin: &Origin) {
    if poll_once(&mut task) {
        return;
    }
    match origin {
        Some(session) => session.spawn(task),
        None => cell.keep(task),
    }
}

fn get(held: &Arc<Held>, mut path: Path, origin: &Origin) -> Hook {
    if path.is_empty() {
        let object: Arc<Held> = Arc::clone(held);
        return Hook::Target(object);
    }
    let rest = path.split_off(1);
    let member = match &path[0] {
        PathPart::Name(name) if !is_inherited(name) => held.target.member(name),
        _ => Member::Unknown,
    };
    let found = match (member, &path[0]) {
        (Member::Property, PathPart::Name(name)) => {
            let call = Call::new(Vec::new(), origin);
            run(Arc::clone(&held.target).get(name, call), origin)
        }
        (Member::Method, PathPart::Name(name)) => {
            let method = Bound { held: Arc::clone(held), name: name.clone() };
            Hook::value(Value::Stub(Stub::new(method)))
        }
        (Member::Private, name) => Hook::rejected(ErrorValue::type_error(format!("'{name}' is private."))),
        _ => match rest.first() {
            Some(wanted) => Hook::rejected(read_of_undefined(wanted)),
            None => Hook::value(Value::Undefined),
        },
    };
    if rest.is_empty() { found } else { found.get(rest, origin) }
}

/// A method read but not called: a function that remembers its object.
struct Bound {
    held: Arc<Held>,
    name: String,
}

impl Target for Bound {
    fn member(&self, _: &str) -> Member {
        Member::Unknown
    }

    fn call(self: Arc<Self>, name: &str, _: Call) -> Reply {
        Reply::error(not_a_function(&[PathPart::from(name)]))
    }

    fn invoke(self: Arc<Self>, call: Call) -> Reply {
        Arc::clone(&self.held.target).call(&self.name, call)
    }
}

impl Stub {
    /// A stub for an object of this process.
    pub fn new(target: impl Target) -> Stub {
        Stub::shared(Arc::new(target))
    }

    /// A stub for an object that is also used elsewhere.
    pub fn shared(target: Arc<dyn Target>) -> Stub {
        Stub(Ref::from(Hook::Target(Arc::new(Held { target }))))
    }
}
