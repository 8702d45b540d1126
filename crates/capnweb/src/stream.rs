//! Values one after another, with the reader setting the pace.
//!
//! A readable that is sent becomes a pipe: the sender opens it, mentions its reading end
//! in a message, and pumps chunks into it (`pump`) no faster than they are acknowledged
//! (`flow`). A writable that is sent stays where it is: the holder writes to it from afar
//! (`remote`). What others write into here goes through a `Writer`: into the pipe a
//! `Readable` reads from (`pipe`), or into a target that serves `write`, `close` and
//! `abort` (`sink`).

mod blob;
mod flow;
mod pipe;
mod pump;
mod readable;
mod remote;
mod sink;
mod writable;

pub(crate) use blob::collect_blob;
pub use flow::{Flow, Ticket};
pub(crate) use pipe::Pipe;
pub(crate) use pump::pump;
pub use readable::Readable;
pub(crate) use remote::RemoteWriter;
pub use writable::Writable;
pub(crate) use writable::Writer;
