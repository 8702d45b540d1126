//! What we hold for the peer: looking it up, answering for it, letting it go.

use std::sync::Arc;

use super::{
    Shared,
    import::{ImportKind, ImportRef},
    remote::PeerStream,
    tables::Export,
};
use crate::{
    ErrorValue, Readable, Thrown, Value, Writable,
    codec::evaluate::SessionTables,
    map::Recorded,
    stream::{self, Pipe, Writer},
    value::reference::{
        cell::Cell,
        ends::Mapper,
        hook::{Hook, Ref},
    },
};

impl Shared {
    /// Enters the result of the peer's next push, and returns its id.
    pub(super) fn enter(&self, hook: Hook, once: bool) -> Result<i64, Thrown> {
        let cell = match &hook {
            Hook::Cell(cell) => Some(Arc::clone(cell)),
            Hook::Target(_) | Hook::Import(_) | Hook::Writer(_) | Hook::Variable(_) => None,
        };
        let id = {
            let mut state = self.lock();
            state.check_room(self.limits().table_entries_max)?;
            let id = state.next_received();
            state.exports.insert(id, Export { once, ..Export::new(hook) });
            id
        };
        match cell {
            Some(cell) if cell.value().is_some() => self.weigh(&cell)?,
            Some(cell) => self.weigh_when_settled(&cell),
            None => {}
        }
        Ok(id)
    }

    /// Counts what a result costs for as long as anybody keeps it: a small table of large values
    /// is large too, and a value may be kept by another after its own entry is released.
    fn weigh(&self, cell: &Cell) -> Result<(), Thrown> {
        let most = self.limits().retained_bytes_max;
        if cell.charge(&self.retained) <= most {
            return Ok(());
        }
        let text = format!("results of more than {most} bytes are kept");
        Err(ErrorValue::range_error(text).code("retained_full").into())
    }

    fn weigh_when_settled(&self, cell: &Arc<Cell>) {
        let session = self.this.clone();
        let weighed = Arc::downgrade(cell);
        cell.wait(Box::new(move || {
            if let (Some(session), Some(cell)) = (session.upgrade(), weighed.upgrade())
                && let Err(reason) = session.weigh(&cell)
            {
                session.abort(reason);
            }
        }));
    }

    /// The peer wants the value of an export; it gets it when it is there, once.
    pub(super) fn pulled(self: &Arc<Self>, id: i64) -> Result<(), Thrown> {
        let hook = {
            let mut state = self.lock();
            let Some(export) = state.exports.get_mut(&id) else { return Err(no_such_export(id)) };
            if export.pulled {
                return Ok(());
            }
            export.pulled = true;
            let hook = export.hook.clone();
            state.unanswered += 1;
            hook
        };
        match &hook {
            // Nothing to wait for, as usual when a method is quick.
            Hook::Cell(cell) if cell.settled_value().is_some() => self.answer(id, cell),
            _ => self.answer_when_settled(id, &hook.into()),
        }
        Ok(())
    }

    /// Sends `resolve` or `reject` for an export as soon as it can. Counted in `unanswered` before.
    pub(super) fn answer_when_settled(&self, id: i64, reference: &Ref) {
        let Some(this) = self.this.upgrade() else { return };
        let origin = this.origin();
        reference.resolve(&origin, Box::new(move |cell| this.answer(id, &cell)));
    }

    fn answer(self: &Arc<Self>, id: i64, cell: &Arc<Cell>) {
        let (spent, wanted) = {
            let mut state = self.lock();
            if state.ended.is_some() {
                return;
            }
            state.unanswered -= 1;
            state.wake();
            // Nobody wants the answer any more once the entry is gone.
            let (wanted, once) = match state.exports.get_mut(&id) {
                Some(export) => (!std::mem::replace(&mut export.answered, true), export.once),
                None => (false, false),
            };
            (once.then(|| state.take_export(id)).flatten(), wanted)
        };
        if wanted {
            self.post_answer(id, cell.value().unwrap_or(&Ok(Value::Undefined)));
        }
        drop(spent);
    }

    /// Rejects everything the peer still waits for.
    pub(crate) fn give_up(self: &Arc<Self>, reason: Thrown) {
        let mut waiting: Vec<i64> = {
            let mut state = self.lock();
            let open = state.exports.iter_mut().filter(|(_, export)| export.pulled && !export.answered);
            open.map(|(id, export)| {
                export.answered = true;
                *id
            })
            .collect()
        };
        waiting.sort_unstable();
        for id in waiting {
            self.post_answer(id, &Err(reason.clone()));
        }
    }

    /// The peer gives back `count` introductions of an export.
    pub(super) fn released(&self, id: i64, count: i64) -> Result<(), Thrown> {
        let gone = {
            let mut state = self.lock();
            let Some(export) = state.exports.get_mut(&id) else { return Err(no_such_export(id)) };
            let count = match u64::try_from(count) {
                Ok(count) if count > 0 => count,
                _ => return Err(ErrorValue::new(format!("a release of {count} is none")).into()),
            };
            match export.count.checked_sub(count) {
                None => {
                    let text = format!("refcount would go negative: {} < {count}", export.count);
                    return Err(ErrorValue::new(text).into());
                }
                Some(0) => state.take_export(id),
                Some(left) => {
                    export.count = left;
                    None
                }
            }
        };
        drop(gone);
        Ok(())
    }

    /// `["pipe"]`: the peer will write, and mention the reading end once.
    pub(super) fn open_pipe(&self, id: i64) -> Result<(), Thrown> {
        let (pipe, readable) =
            Pipe::open(self.limits().pipe_bytes_max, self.limits().session_pipe_bytes_max, &self.piped);
        let mut state = self.lock();
        let refused = state.check_room(self.limits().table_entries_max).and_then(|()| {
            let most = self.limits().pipes_max;
            if state.pipes < most {
                return Ok(());
            }
            Err(ErrorValue::range_error(format!("more than {most} pipes are open"))
                .code("too_many_pipes")
                .into())
        });
        if let Err(reason) = refused {
            drop(state);
            return Err(reason);
        }
        state.pipes += 1;
        let hook = Hook::Writer(Arc::new(Writer::pipe(pipe)));
        state.exports.insert(id, Export { is_pipe: true, readable: Some(readable), ..Export::new(hook) });
        Ok(())
    }

    /// An object of the peer's, perhaps one we know.
    fn introduced(self: &Arc<Self>, id: i64) -> Result<Arc<ImportRef>, Thrown> {
        check_introduced(id)?;
        let mut state = self.lock();
        if let Some(import) = state.imports.get_mut(&id) {
            import.introductions += 1;
            if let Some(held) = import.held.upgrade() {
                return Ok(held);
            }
            // Its last holder is going and has not told yet: a new one takes over the count.
            let kind = import.kind;
            let introductions = import.introductions;
            return Ok(state.add_import(self, id, kind, introductions));
        }
        state.check_room(self.limits().table_entries_max)?;
        Ok(state.add_import(self, id, ImportKind::Object, 1))
    }
}

/// For the session as it is shared: what is introduced holds on to it.
impl SessionTables for Arc<Shared> {
    fn export(&self, id: i64) -> Option<Hook> {
        self.lock().exports.get(&id).map(|export| export.hook.clone())
    }

    fn introduce(&self, id: i64) -> Result<Hook, Thrown> {
        Ok(Hook::Import(self.introduced(id)?))
    }

    fn take_readable(&self, id: i64) -> Result<Readable, Thrown> {
        let taken = self.lock().exports.get_mut(&id).and_then(|export| export.readable.take());
        let refused = || format!("Export {id} is not a pipe or its readable end was already consumed.");
        taken.ok_or_else(|| ErrorValue::new(refused()).into())
    }

    fn take_blob(&self, id: i64, mime: String) -> Result<Value, Thrown> {
        let readable = self.take_readable(id)?;
        Ok(stream::collect_blob(readable, mime, self.limits().blob_bytes_max))
    }

    fn introduce_promise(&self, id: i64) -> Result<Hook, Thrown> {
        check_introduced(id)?;
        let mut state = self.lock();
        if state.imports.contains_key(&id) {
            drop(state);
            let text = "Bug in RPC system: The peer sent a promise reusing an existing export ID.";
            return Ok(Hook::rejected(ErrorValue::new(text)));
        }
        state.check_room(self.limits().table_entries_max)?;
        Ok(Hook::Import(state.add_import(self, id, ImportKind::Promise, 1)))
    }

    fn introduce_writable(&self, id: i64) -> Result<Writable, Thrown> {
        Ok(Writable::remote(Arc::new(PeerStream::new(self.introduced(id)?))))
    }

    fn mapper(&self, captures: Vec<Ref>, instructions: Arc<[String]>) -> Arc<dyn Mapper> {
        Arc::new(Recorded::new(captures, instructions, self.limits().map_evaluations_max))
    }
}

fn check_introduced(id: i64) -> Result<(), Thrown> {
    if id < 0 {
        return Ok(());
    }
    Err(ErrorValue::new(format!("{id} is not the id of an export")).into())
}

pub(super) fn no_such_export(id: i64) -> Thrown {
    ErrorValue::new(format!("no such export ID: {id}")).into()
}
