//! What a reference leads to, as the reference sees it.
//!
//! Who answers stands above: `target` serves objects of this process, a session speaks for
//! those of its peer, `stream` takes what is written, `map` records and runs. Each
//! implements a trait of this file, so that values and the codec know none of them.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use super::{
    caller::{Caller, Origin},
    cell::{Cell, Stage},
    hook::{Hook, Ref},
    path::{Path, PathPart},
};
use crate::{Outcome, Thrown, Value};

/// Told why a stub can no longer work.
pub(crate) type OnBroken = Box<dyn FnOnce(Thrown) + Send>;

/// An object or function of this process.
pub(crate) trait LocalObject: Send + Sync {
    fn call(self: Arc<Self>, path: Path, args: Vec<Value>, origin: &Origin) -> Hook;

    fn get(self: Arc<Self>, path: Path, origin: &Origin) -> Hook;

    /// Only the first name of a path can be a method of the object.
    fn has_method(&self, name: &str) -> bool;

    /// Calls what `has_method` said is a method.
    fn call_method(self: Arc<Self>, name: &str, args: Vec<Value>, origin: &Origin) -> Hook;
}

/// Something at the peer of a session.
pub(crate) trait RemoteObject: Send + Sync {
    /// Its id in the table of the session.
    fn id(&self) -> i64;

    /// True when it is reached through this session.
    fn is_of(&self, session: &dyn Caller) -> bool;

    /// What it will come to, if it is a promise.
    fn cell(&self) -> &Arc<Cell>;

    /// True if this is settled: it will never resolve to something else.
    fn is_object(&self) -> bool;

    /// Makes the peer send the value, once.
    fn pull(&self);

    fn call(&self, path: &[PathPart], args: Vec<Value>) -> Hook;

    fn get(&self, path: &[PathPart]) -> Hook;

    fn map(&self, path: &[PathPart], mapper: &dyn Mapper) -> Hook;

    fn on_broken(&self, react: OnBroken);

    /// The cell, once it has an answer; until then the peer is asked.
    fn settled(&self) -> Option<Arc<Cell>> {
        let cell = self.cell();
        match cell.stage_when_served() {
            Stage::Pending => None,
            Stage::Linked(_) | Stage::Settled => Some(Arc::clone(cell)),
        }
    }
}

/// The writing end of a stream of this process.
pub(crate) trait LocalWriter: Send + Sync {
    fn call(&self, path: &[PathPart], args: Vec<Value>, origin: &Origin) -> Hook;
}

/// The writing end of a stream at the peer of a session.
pub(crate) trait RemoteWriter: Send + Sync {
    /// The end itself, for a single call through a path.
    fn import(&self) -> Arc<dyn RemoteObject>;

    /// Sends a chunk without waiting for it.
    fn write(&self, chunk: Value) -> Result<(), Thrown>;

    /// Ready when one more write may be sent; with the error once one has failed.
    fn poll_room(&self, cx: &Context<'_>) -> Poll<Result<(), Thrown>>;

    /// Ends the stream; what it returns settles when everything before was accepted.
    fn close(&self) -> Result<Arc<dyn RemoteObject>, Thrown>;

    /// Gives the stream up.
    fn abort(&self, reason: &Thrown);

    /// The first error, if a write has failed meanwhile.
    fn failure(&self) -> Option<Thrown>;
}

/// The reading end of a pipe of this process.
pub(crate) trait PipeReader: Send + Sync {
    /// The next chunk, `None` at the end.
    fn poll_take(&self, cx: &Context<'_>) -> Poll<Option<Outcome>>;

    /// The reader wants no more.
    fn refuse(&self, reason: Thrown);
}

/// A recorded function, with the objects it uses from outside.
pub(crate) trait Mapper: Send + Sync {
    fn captures(&self) -> &[Ref];

    /// The instructions as they stand in a message.
    fn write_instructions(&self, out: &mut String);

    /// Maps a settled value. The result is there when the body was *started* for all elements;
    /// what it waits for stands in it as promises.
    fn apply(&self, settled: &Arc<Cell>, origin: &Origin) -> Outcome;
}

/// A map that is being recorded. What is asked of a placeholder becomes an instruction.
pub(crate) trait MapRecorder: Send + Sync {
    fn call(self: Arc<Self>, index: i64, path: &[PathPart], args: Vec<Value>) -> Hook;

    fn get(self: Arc<Self>, index: i64, path: &[PathPart]) -> Hook;

    fn map(self: Arc<Self>, index: i64, path: &[PathPart], mapper: &dyn Mapper) -> Hook;
}

/// A placeholder: an entry in the table of the map being recorded.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) recorder: Arc<dyn MapRecorder>,
    pub(crate) index: i64,
}
