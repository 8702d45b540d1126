//! What a stub or promise of the peer's holds.
//!
//! All clones of a stub share one `ImportRef`. When the last is dropped the peer gets one
//! `release`, with the number of times it has introduced the thing. A promise that has
//! settled was released then, and its `ImportRef` passes everything on to the result.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use super::{Mode, Shared};
use crate::{
    ErrorValue, Thrown, Value,
    value::reference::{
        caller::Caller,
        cell::{Cell, Resolver},
        ends::{Mapper, OnBroken, RemoteObject},
        hook::Hook,
        path::PathPart,
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImportKind {
    /// The peer's main object.
    Main,
    /// An object the peer sent.
    Object,
    /// The result of something we pushed.
    Result,
    /// A promise the peer sent, and will resolve unasked.
    Promise,
    /// The answer to a `stream` message.
    Once,
    /// The writing end of a pipe we opened.
    Pipe,
}

pub(crate) struct ImportRef {
    session: Arc<Shared>,
    id: i64,
    generation: u64,
    kind: ImportKind,
    cell: Arc<Cell>,
    resolver: Mutex<Option<Resolver>>,
    pulled: AtomicBool,
}

impl ImportRef {
    pub(super) fn new(session: &Arc<Shared>, id: i64, generation: u64, kind: ImportKind) -> Arc<ImportRef> {
        let (cell, resolver) = Cell::pending();
        Arc::new(ImportRef {
            session: Arc::clone(session),
            id,
            generation,
            kind,
            cell,
            resolver: Mutex::new(Some(resolver)),
            pulled: AtomicBool::new(false),
        })
    }

    pub(super) fn id(&self) -> i64 {
        self.id
    }

    pub(super) fn session(&self) -> &Arc<Shared> {
        &self.session
    }

    pub(super) fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    pub(super) fn settle(&self, value: Result<Value, Thrown>) {
        let resolver = self.resolver.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(resolver) = resolver {
            resolver.settle(value);
        }
    }
}

impl RemoteObject for ImportRef {
    fn id(&self) -> i64 {
        self.id
    }

    fn is_of(&self, session: &dyn Caller) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.session), session)
    }

    fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    fn is_object(&self) -> bool {
        matches!(self.kind, ImportKind::Main | ImportKind::Object | ImportKind::Pipe)
    }

    fn pull(&self) {
        if self.kind != ImportKind::Result || self.pulled.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.session.mode() == Mode::BatchServer {
            return self.settle(Err(no_return_path()));
        }
        self.session.post_pull(self.id);
    }

    fn call(&self, path: &[PathPart], args: Vec<Value>) -> Hook {
        self.session.push_call(self.id, path, &args)
    }

    fn get(&self, path: &[PathPart]) -> Hook {
        self.session.push_get(self.id, path)
    }

    fn map(&self, path: &[PathPart], mapper: &dyn Mapper) -> Hook {
        self.session.push_map(self.id, path, mapper)
    }

    fn on_broken(&self, react: OnBroken) {
        self.session.on_broken(self.id, react);
    }
}

impl Drop for ImportRef {
    fn drop(&mut self) {
        let gone = {
            let mut state = self.session.lock();
            match state.imports.get(&self.id) {
                Some(import) if import.generation == self.generation => {
                    let gone = state.imports.remove(&self.id);
                    let count = gone.as_ref().map_or(1, |import| import.introductions);
                    // The peer's main is held as long as the session; a stream answer releases itself.
                    // A batch client has said all it can say.
                    let silent = matches!(self.kind, ImportKind::Main | ImportKind::Once)
                        || self.session.mode() == Mode::BatchClient;
                    if !silent {
                        state.post_release(self.id, count);
                    }
                    gone
                }
                // Settled and released, introduced anew, or the session is over.
                _ => None,
            }
        };
        drop(gone);
    }
}

/// In a batch the peer cannot answer any more.
pub(crate) fn no_return_path() -> Thrown {
    let text = "batch_no_return_path: in an HTTP batch the client cannot answer the server";
    ErrorValue::new(text).code("batch_no_return_path").into()
}
