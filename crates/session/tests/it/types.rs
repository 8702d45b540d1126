//! The wire's types: each is read, printed and compared as text, bare and with everything set.

mod asks;
mod failures;
mod messages;
mod parts;
mod random;
mod sessions;
mod tools;
