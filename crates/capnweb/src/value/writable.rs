//! The writing end of a stream, as a value.
//!
//! Not here: writing to it (`stream`).

use std::{fmt, sync::Arc};

use super::reference::{
    ends::{LocalWriter, RemoteWriter},
    hook::Hook,
};

/// A stream to write to: here, or at a peer. Clones share it. Dropping the last one without
/// closing it aborts the stream.
#[derive(Clone)]
pub struct Writable(pub(crate) WritingEnd);

/// Where what is written goes.
#[derive(Clone)]
pub(crate) enum WritingEnd {
    Local(Arc<dyn LocalWriter>),
    Remote(Arc<dyn RemoteWriter>),
}

impl Writable {
    pub(crate) fn local(writer: Arc<dyn LocalWriter>) -> Writable {
        Writable(WritingEnd::Local(writer))
    }

    pub(crate) fn remote(writer: Arc<dyn RemoteWriter>) -> Writable {
        Writable(WritingEnd::Remote(writer))
    }

    /// Where a call that reached this stream through a path goes.
    pub(crate) fn callee(&self) -> Hook {
        match &self.0 {
            WritingEnd::Local(writer) => Hook::Writer(Arc::clone(writer)),
            WritingEnd::Remote(writer) => Hook::Import(writer.import()),
        }
    }
}

impl PartialEq for Writable {
    fn eq(&self, other: &Writable) -> bool {
        match (&self.0, &other.0) {
            (WritingEnd::Local(a), WritingEnd::Local(b)) => Arc::ptr_eq(a, b),
            (WritingEnd::Remote(a), WritingEnd::Remote(b)) => Arc::ptr_eq(a, b),
            (WritingEnd::Local(_), WritingEnd::Remote(_)) | (WritingEnd::Remote(_), WritingEnd::Local(_)) => {
                false
            }
        }
    }
}

impl fmt::Debug for Writable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            WritingEnd::Local(_) => "Writable(local)",
            WritingEnd::Remote(_) => "Writable(remote)",
        })
    }
}
