//! A reference to an object or a function.
//!
//! Clones are cheap and local. When the last clone of a remote stub is dropped, the peer
//! is told; when the last clone of a local one is, its target is disposed.

use crate::{
    MapScope, Promise, Thrown, Value, map,
    target::asker,
    value::reference::hook::{Hook, Ref},
    value::reference::path::PathPart,
};

/// An object or function, here or at a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Stub(pub(crate) Ref);

impl Stub {
    /// Calls a method. The call is on its way when this returns; await the promise for the
    /// result, pipeline on it, or drop it.
    pub fn call(&self, method: &str, args: impl IntoIterator<Item = Value>) -> Promise {
        Promise(Ref::from(self.0.call(vec![PathPart::from(method)], args.into_iter().collect(), &asker())))
    }

    /// Calls the function this is.
    pub fn invoke(&self, args: impl IntoIterator<Item = Value>) -> Promise {
        Promise(Ref::from(self.0.call(Vec::new(), args.into_iter().collect(), &asker())))
    }

    /// A member. Nothing is sent until it is awaited, called or passed on.
    pub fn get(&self, part: impl Into<PathPart>) -> Promise {
        Promise(Ref { hook: self.0.hook.clone(), path: self.0.joined(vec![part.into()]) })
    }

    /// Runs `body` where the object is. See [`Promise::map`].
    pub fn map<V: Into<Value>>(&self, body: impl FnOnce(&MapScope, Promise) -> V) -> Promise {
        map::record(&self.0, body)
    }

    /// Runs `react` when the stub can no longer work because its session ended, with the reason.
    /// Callbacks run in the order they were registered.
    pub fn on_broken(&self, react: impl FnOnce(Thrown) + Send + 'static) {
        if let Hook::Import(import) = &self.0.hook {
            import.on_broken(Box::new(react));
        }
    }
}
