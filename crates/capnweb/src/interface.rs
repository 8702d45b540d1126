//! A target from closures: the methods and properties of a type, said once.
//!
//! ```
//! use std::sync::{Arc, atomic::{AtomicI64, Ordering}};
//! use sturdy_capnweb::{Call, Interface, Stub, Value};
//!
//! struct Counter(AtomicI64);
//!
//! fn counters() -> Arc<Interface<Counter>> {
//!     Interface::named("Counter")
//!         .method("increment", async |this: Arc<Counter>, mut call: Call| {
//!             let by = call.take_or(1i64)?;
//!             Ok(Value::from(this.0.fetch_add(by, Ordering::Relaxed) + by))
//!         })
//!         .getter("value", async |this, _| Ok(this.0.load(Ordering::Relaxed).into()))
//!         .build()
//! }
//!
//! let counter: Stub = counters().stub(Counter(AtomicI64::new(4)));
//! # let _ = counter;
//! ```

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use crate::{
    Call, Member, Outcome, Reply, Stub, Target,
    value::reference::path::{PathPart, not_a_function},
};

type End<T> = Box<dyn Fn(&T) + Send + Sync>;
type Serve<T> = Box<dyn Fn(Arc<T>, Call) -> Reply + Send + Sync>;

/// The names are ours, so nobody can choose them to collide; a peer only asks for them.
type ByName<T> = HashMap<&'static str, T, BuildHasherDefault<NameHasher>>;

/// FNV-1a.
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// What a type answers to. Shared by all its stubs.
pub struct Interface<T> {
    name: &'static str,
    methods: ByName<Serve<T>>,
    getters: ByName<Serve<T>>,
    invoke: Option<Serve<T>>,
    private: Vec<&'static str>,
    disposed: Option<End<T>>,
}

impl<T: Send + Sync + 'static> Interface<T> {
    pub fn named(name: &'static str) -> Interface<T> {
        Interface {
            name,
            methods: ByName::default(),
            getters: ByName::default(),
            invoke: None,
            private: Vec::new(),
            disposed: None,
        }
    }

    /// An async method. It runs up to its first wait before the next message is looked at.
    #[must_use]
    pub fn method<F, R>(self, name: &'static str, serve: F) -> Interface<T>
    where
        F: Fn(Arc<T>, Call) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.quick(name, move |this, call| Reply::later(serve(this, call)))
    }

    /// A method that answers as it likes, without a future if it has none.
    #[must_use]
    pub fn quick<F>(mut self, name: &'static str, serve: F) -> Interface<T>
    where
        F: Fn(Arc<T>, Call) -> Reply + Send + Sync + 'static,
    {
        self.methods.insert(name, Box::new(serve));
        self
    }

    /// A property.
    #[must_use]
    pub fn getter<F, R>(mut self, name: &'static str, serve: F) -> Interface<T>
    where
        F: Fn(Arc<T>, Call) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.getters.insert(name, Box::new(move |this, call| Reply::later(serve(this, call))));
        self
    }

    /// What happens when the object itself is called.
    #[must_use]
    pub fn invoke<F, R>(mut self, serve: F) -> Interface<T>
    where
        F: Fn(Arc<T>, Call) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.invoke = Some(Box::new(move |this, call| Reply::later(serve(this, call))));
        self
    }

    /// A name that exists and is refused, rather than "undefined".
    #[must_use]
    pub fn private(mut self, name: &'static str) -> Interface<T> {
        self.private.push(name);
        self
    }

    /// Runs when the last stub of an object is gone.
    #[must_use]
    pub fn disposed(mut self, end: impl Fn(&T) + Send + Sync + 'static) -> Interface<T> {
        self.disposed = Some(Box::new(end));
        self
    }

    pub fn build(self) -> Arc<Interface<T>> {
        Arc::new(self)
    }

    /// A stub for a new object.
    pub fn stub(self: &Arc<Self>, this: T) -> Stub {
        self.stub_of(Arc::new(this))
    }

    /// A stub for an object that is also used elsewhere.
    pub fn stub_of(self: &Arc<Self>, this: Arc<T>) -> Stub {
        Stub::new(Served { this, interface: Arc::clone(self) })
    }
}

impl<T> fmt::Debug for Interface<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interface({})", self.name)
    }
}

struct Served<T> {
    this: Arc<T>,
    interface: Arc<Interface<T>>,
}

impl<T: Send + Sync + 'static> Target for Served<T> {
    fn member(&self, name: &str) -> Member {
        if self.interface.methods.contains_key(name) {
            Member::Method
        } else if self.interface.getters.contains_key(name) {
            Member::Property
        } else if self.interface.private.contains(&name) {
            Member::Private
        } else {
            Member::Unknown
        }
    }

    fn call(self: Arc<Self>, name: &str, call: Call) -> Reply {
        match self.interface.methods.get(name) {
            Some(serve) => serve(Arc::clone(&self.this), call),
            None => Reply::error(not_a_function(&[PathPart::from(name)])),
        }
    }

    fn get(self: Arc<Self>, name: &str, call: Call) -> Reply {
        match self.interface.getters.get(name) {
            Some(serve) => serve(Arc::clone(&self.this), call),
            None => Reply::value(()),
        }
    }

    fn invoke(self: Arc<Self>, call: Call) -> Reply {
        match &self.interface.invoke {
            Some(serve) => serve(Arc::clone(&self.this), call),
            None => Reply::error(not_a_function(&[])),
        }
    }

    fn disposed(&self) {
        if let Some(end) = &self.interface.disposed {
            end(&self.this);
        }
    }
}

/// A function of this process.
struct Function<F>(F);

impl<F, R> Target for Function<F>
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    fn member(&self, _: &str) -> Member {
        Member::Unknown
    }

    fn call(self: Arc<Self>, name: &str, _: Call) -> Reply {
        Reply::error(not_a_function(&[PathPart::from(name)]))
    }

    fn invoke(self: Arc<Self>, call: Call) -> Reply {
        Reply::later((self.0)(call))
    }
}

impl Stub {
    /// A stub for a function: what JavaScript would pass as a callback.
    pub fn function<F, R>(function: F) -> Stub
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        Stub::new(Function(function))
    }
}
