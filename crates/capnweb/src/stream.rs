//! Values one after another, with the reader setting the pace.
//!
//! A readable that is sent becomes a pipe: the sender opens it, mentions its reading end
//! in a message, and pumps chunks into it no faster than they are acknowledged (`flow`). A
//! writable that is sent stays where it is: the holder writes to it from afar. What others
//! write into here goes through a `Writer`: into the pipe a `Readable` reads from (`pipe`),
//! or into a target that serves `write`, `close` and `abort` (`sink`).
//!
//! Not here: the messages of a stream (`session/pump.rs`, `session/remote.rs`).

mod blob;
mod flow;
mod pipe;
mod sink;
mod writable;

pub(crate) use blob::collect_blob;
pub use flow::{Flow, Ticket};
pub(crate) use pipe::{Pipe, closed};
pub(crate) use writable::{Writer, answered};
