//! Everything this crate promises, tested through its public face.

#![allow(clippy::disallowed_methods, reason = "tests start their own tasks")]

mod limits;
mod properties;
mod service;
mod sessions;
mod support;
mod typed;
mod vectors;
