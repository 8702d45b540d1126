//! A client with types: the methods of an object said once, and called like methods.
//!
//! ```
//! use sturdy_capnweb::{Stub, Thrown};
//!
//! sturdy_capnweb::client! {
//!     /// What the server's main object answers to.
//!     pub struct Api {
//!         fn square(n: i64) -> i64;
//!         /// `makeCounter` on the wire; another name is said with `= "name"`.
//!         fn make_counter(start: i64) => Counter;
//!     }
//!
//!     pub struct Counter {
//!         fn increment(by: i64) -> i64;
//!     }
//! }
//!
//! async fn both(root: Stub) -> Result<(i64, i64), Thrown> {
//!     let api = Api::new(root);
//!     // One round trip each: what is not awaited is built upon.
//!     let sixteen = api.square(api.square(2)).await?;
//!     let seven = api.make_counter(4).increment(3).await?;
//!     Ok((sixteen, seven))
//! }
//! # let _ = both;
//! ```
//!
//! `-> T` is a value, through serde: a [`Typed`] promise, which is awaited or passed on. `=> T` is
//! an object with types of its own: it can be called at once.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use serde::de::DeserializeOwned;

use crate::{Asked, Promise, Thrown, Value, from_value};

/// A promise of a value of one Rust type.
#[must_use = "the value is asked for when this is awaited"]
pub struct Typed<T> {
    promise: Promise,
    kind: PhantomData<fn() -> T>,
}

impl<T> Typed<T> {
    /// Says of which type the value will be. Whether it is shows when it arrives.
    pub fn new(promise: Promise) -> Typed<T> {
        Typed { promise, kind: PhantomData }
    }

    /// The promise without its type: to read a member, to map, to pipeline.
    pub fn into_promise(self) -> Promise {
        self.promise
    }
}

impl<T: DeserializeOwned> Typed<T> {
    /// Asks for the value now; see [`Promise::ask`].
    pub fn ask(self) -> Parsing<T> {
        Parsing { asked: self.promise.ask(), kind: PhantomData }
    }
}

impl<T> Clone for Typed<T> {
    fn clone(&self) -> Typed<T> {
        Typed::new(self.promise.clone())
    }
}

impl<T> fmt::Debug for Typed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Typed<{}>({:?})", std::any::type_name::<T>(), self.promise)
    }
}

impl<T> From<Typed<T>> for Value {
    fn from(typed: Typed<T>) -> Value {
        Value::Promise(typed.promise)
    }
}

impl<T: DeserializeOwned> IntoFuture for Typed<T> {
    type Output = Result<T, Thrown>;
    type IntoFuture = Parsing<T>;

    fn into_future(self) -> Parsing<T> {
        self.ask()
    }
}

/// A value that was asked for, and will be of one Rust type.
#[derive(Debug)]
#[must_use = "nothing waits for the value unless this is awaited"]
pub struct Parsing<T> {
    asked: Asked,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Future for Parsing<T> {
    type Output = Result<T, Thrown>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, Thrown>> {
        let value = ready!(Pin::new(&mut self.asked).poll(cx))?;
        Poll::Ready(Ok(from_value(value)?))
    }
}

/// An argument of one Rust type: the value, or a promise of it.
pub struct Arg<T> {
    value: Value,
    kind: PhantomData<fn(T)>,
}

impl<T> fmt::Debug for Arg<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Arg<T> {
    pub fn into_value(self) -> Value {
        self.value
    }
}

impl<T: Into<Value>> From<T> for Arg<T> {
    fn from(value: T) -> Arg<T> {
        Arg { value: value.into(), kind: PhantomData }
    }
}

impl<T> From<Typed<T>> for Arg<T> {
    fn from(typed: Typed<T>) -> Arg<T> {
        Arg { value: typed.into(), kind: PhantomData }
    }
}

impl From<&str> for Arg<String> {
    fn from(text: &str) -> Arg<String> {
        Arg { value: text.into(), kind: PhantomData }
    }
}

/// The name on the wire of a method: `make_counter` is `makeCounter` there.
#[doc(hidden)]
pub fn wire_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut whole, word| {
        let mut letters = word.chars();
        whole.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        whole.push_str(letters.as_str());
        whole
    })
}

/// Declares clients: a type for each kind of object, a function for each method. See [`typed`](crate::typed).
#[macro_export]
macro_rules! client {
    ($(
        $(#[$about:meta])*
        $shown:vis struct $name:ident {
            $(
                $(#[$said:meta])*
                fn $method:ident($($arg:ident: $kind:ty),* $(,)?) $(-> $value:ty)? $(=> $object:ty)? $(= $wire:literal)?;
            )*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug)]
        $shown struct $name($crate::Promise);

        #[allow(dead_code, reason = "what is declared need not all be used")]
        impl $name {
            /// The object behind a stub or a promise.
            $shown fn new(object: impl Into<$crate::Promise>) -> Self {
                Self(object.into())
            }

            /// A property, of the type it should have.
            $shown fn property<T>(&self, name: &str) -> $crate::Typed<T> {
                $crate::Typed::new(self.0.get(name))
            }

            $(
                $(#[$said])*
                $shown fn $method(&self, $($arg: impl Into<$crate::Arg<$kind>>),*) -> $($crate::Typed<$value>)? $($object)? {
                    let args: Vec<$crate::Value> = vec![$(Into::<$crate::Arg<$kind>>::into($arg).into_value()),*];
                    #[allow(unused_mut, unused_assignments, reason = "only if the name is said")]
                    let mut name = $crate::typed::wire_name(stringify!($method));
                    $(name = String::from($wire);)?
                    let promise = self.0.call(&name, args);
                    $($crate::Typed::<$value>::new(promise))? $(<$object>::new(promise))?
                }
            )*
        }

        impl From<$name> for $crate::Promise {
            fn from(object: $name) -> $crate::Promise {
                object.0
            }
        }

        /// As an argument it is the object, which the call does not wait for.
        impl From<$name> for $crate::Value {
            fn from(object: $name) -> $crate::Value {
                $crate::Value::Stub(object.0.into_stub())
            }
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::wire_name;

    #[test]
    fn a_name_is_written_as_javascript_writes_it() {
        assert_eq!(wire_name("echo"), "echo");
        assert_eq!(wire_name("make_counter"), "makeCounter");
        assert_eq!(wire_name("a_b_c2"), "aBC2");
    }
}
