//! A reference to an object or a function, and one to a value that is on its way.
//!
//! Clones are cheap and local. When the last clone of a remote one is dropped, the peer
//! is told; when the last clone of a local stub is, its target is disposed.
//!
//! Calls and reads on a promise are sent at once and run where the value will be, so a
//! chain of them costs one round trip.
//!
//! Not here: making a stub for an object (`target`), awaiting (`promise`), mapping (`map`).

use super::{
    Thrown, Value,
    reference::{
        hook::{Hook, Ref},
        path::{Path, PathPart},
        turn,
    },
};

/// An object or function, here or at a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Stub(pub(crate) Ref);

impl Stub {
    /// Calls a method. The call is on its way when this returns; await the promise for the
    /// result, pipeline on it, or drop it.
    pub fn call(&self, method: &str, args: impl IntoIterator<Item = Value>) -> Promise {
        let path = vec![PathPart::from(method)];
        Promise(Ref::from(self.0.call(path, args.into_iter().collect(), &turn::origin())))
    }

    /// Calls the function this is.
    pub fn invoke(&self, args: impl IntoIterator<Item = Value>) -> Promise {
        Promise(Ref::from(self.0.call(Path::new(), args.into_iter().collect(), &turn::origin())))
    }

    /// A member. Nothing is sent until it is awaited, called or passed on.
    pub fn get(&self, part: impl Into<PathPart>) -> Promise {
        Promise(Ref { hook: self.0.hook.clone(), path: self.0.joined(vec![part.into()]) })
    }

    /// Runs `react` when the stub can no longer work because its session ended, with the reason.
    /// Callbacks run in the order they were registered.
    pub fn on_broken(&self, react: impl FnOnce(Thrown) + Send + 'static) {
        if let Hook::Import(import) = &self.0.hook {
            import.on_broken(Box::new(react));
        }
    }
}

/// Something that will be a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise(pub(crate) Ref);

impl Promise {
    /// A promise that is already kept.
    pub fn ready(value: impl Into<Value>) -> Promise {
        Promise(Ref::from(Hook::value(value.into())))
    }

    /// Calls a method of the value to come.
    pub fn call(&self, method: &str, args: impl IntoIterator<Item = Value>) -> Promise {
        let path = vec![PathPart::from(method)];
        Promise(Ref::from(self.0.call(path, args.into_iter().collect(), &turn::origin())))
    }

    /// Calls the function to come.
    pub fn invoke(&self, args: impl IntoIterator<Item = Value>) -> Promise {
        Promise(Ref::from(self.0.call(Path::new(), args.into_iter().collect(), &turn::origin())))
    }

    /// A member of the value to come. Nothing is sent until it is awaited, called or passed on.
    pub fn get(&self, part: impl Into<PathPart>) -> Promise {
        Promise(Ref { hook: self.0.hook.clone(), path: self.0.joined(vec![part.into()]) })
    }

    /// A second promise for the same value, with an entry of its own at the peer. A clone is
    /// cheaper and shares the first one's.
    #[must_use]
    pub fn dup(&self) -> Promise {
        Promise(Ref::from(self.0.read(Path::new(), &turn::origin())))
    }

    /// The object to come, usable as one already. Passed to a peer, it arrives as a stub and the
    /// call does not wait for it.
    pub fn into_stub(self) -> Stub {
        Stub(self.0)
    }
}

/// An object is a promise of itself.
impl From<Stub> for Promise {
    fn from(stub: Stub) -> Promise {
        Promise(stub.0)
    }
}
