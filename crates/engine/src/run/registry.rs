//! Id to handle: sessions are started on demand and sleep when idle.
//!
//! One task per session, whatever fails meanwhile, and a bound on those that are awake with nothing to do.

use crate::error::EngineError;
use crate::records::{self, DamagedRecord};
use crate::run::Sessions;
use crate::run::actor::{Actor, Ended};
use crate::run::effects::Effects;
use crate::run::handle::{ActorEnded, Handle, INBOX, Mail, View};
use crate::run::memory::SessionMemory;
use crate::run::trees::Ledger;
use futures_util::FutureExt as _;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::SessionId;
use sturdy_session::turn::{Input, Refusal, RestoreError, State};
use sturdy_session::types::message::MessageWithParts;
use sturdy_session::types::session::Session;
use sturdy_session::types::status::Status;
use sturdy_store::ReadError;
use tokio::sync::{Notify, OnceCell, mpsc, watch};
use tracing::error;

/// A session that falls asleep while we talk to it is woken again this often.
const WAKE_TRIES: usize = 4;

/// Sessions that may be awake with nothing to do. Beyond that those that were not asked for the longest sleep.
const AWAKE_MAX: usize = 256;
/// So many are sent to sleep at once, so that looking for them is done rarely.
const REST_AT_ONCE: usize = AWAKE_MAX / 4;

/// The way to one session. It is started by the first who wants it; the others wait for that.
type Cell = Arc<OnceCell<Handle>>;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    sessions: Mutex<HashMap<SessionId, Cell>>,
    /// Tasks that run.
    awake: AtomicUsize,
    /// Counts uses, to know which is the oldest.
    uses: AtomicU64,
    /// What awake sessions keep of what they have sent.
    pub(crate) kept_bytes: Arc<AtomicUsize>,
}

impl Registry {
    /// What every session that is awake is doing; those that are idle are left out.
    pub(crate) fn statuses(&self) -> Vec<(SessionId, Status)> {
        let busy = |(id, cell): (&SessionId, &Cell)| {
            let view = cell.get()?.view();
            (view.status != Status::Idle).then(|| (id.clone(), view.status))
        };
        self.lock().iter().filter_map(busy).collect()
    }

    /// Prompts nobody has begun to answer, in all sessions that have a task.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().values().filter_map(|cell| cell.get()).map(|handle| handle.view().waiting).sum()
    }

    pub(crate) fn awake(&self) -> usize {
        self.awake.load(Ordering::Relaxed)
    }

    fn cell(&self, id: &SessionId) -> Cell {
        let cell = self.lock().entry(id.clone()).or_default().clone();
        if let Some(handle) = cell.get() {
            handle.used.store(self.next_use(), Ordering::Relaxed);
        }
        cell
    }

    fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }

    /// Forgets this cell, unless somebody has put a new one in its place already. One that is not started is
    /// kept as long as anybody else waits for it: a new cell beside it would be a second task for one session.
    fn forget(&self, id: &SessionId, cell: Cell) {
        let mut sessions = self.lock();
        let is_known = sessions.get(id).is_some_and(|known| Arc::ptr_eq(known, &cell));
        // Ours, and the map's. A new one is made only under the lock we hold.
        let is_wanted = cell.get().is_none() && Arc::strong_count(&cell) > 2;
        if is_known && !is_wanted {
            sessions.remove(id);
        }
    }

    /// The task behind this handle has ended.
    fn ended(&self, handle: &Handle) {
        self.awake.fetch_sub(1, Ordering::Relaxed);
        let mut sessions = self.lock();
        let is_it = |known: &Handle| known.inbox.same_channel(&handle.inbox);
        if sessions.get(&handle.id).and_then(|cell| cell.get()).is_some_and(is_it) {
            sessions.remove(&handle.id);
        }
    }

    /// Sends those to sleep that were not asked for the longest, when too many are awake.
    fn make_room(&self) {
        if self.awake.fetch_add(1, Ordering::Relaxed) < AWAKE_MAX {
            return;
        }
        let sessions = self.lock();
        let mut idle: Vec<&Handle> =
            sessions.values().filter_map(|cell| cell.get()).filter(|one| one.view.borrow().is_idle).collect();
        if idle.len() < AWAKE_MAX {
            return;
        }
        idle.sort_unstable_by_key(|handle| handle.used.load(Ordering::Relaxed));
        for handle in idle.into_iter().take(REST_AT_ONCE) {
            handle.rest.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Cell>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    /// The running session with this id, started if need be.
    pub(crate) async fn session(self: &Arc<Self>, id: &SessionId) -> Result<Handle, EngineError> {
        for _ in 0..WAKE_TRIES {
            let cell = self.registry.cell(id);
            let started = cell.get_or_try_init(|| self.load(id)).await.cloned();
            match started {
                Ok(handle) if !handle.is_asleep() => return Ok(handle),
                Ok(_) => self.registry.forget(id, cell),
                Err(cause) => {
                    self.registry.forget(id, cell);
                    return Err(cause);
                }
            }
        }
        Err(EngineError::Overloaded(id.clone()))
    }

    /// Says something to a session, waking it if it sleeps.
    pub(crate) async fn say(self: &Arc<Self>, id: &SessionId, inputs: Vec<Input>) -> Result<(), EngineError> {
        let mut inputs = inputs;
        for _ in 0..WAKE_TRIES {
            match self.session(id).await?.say(inputs).await {
                Ok(outcome) => return outcome,
                Err(ActorEnded(unsaid)) => inputs = unsaid,
            }
        }
        Err(EngineError::Overloaded(id.clone()))
    }

    /// Starts a session that does not exist yet, with what is to be in it from its first moment.
    pub(crate) async fn create(
        self: &Arc<Self>,
        info: Session,
        then: Vec<Input>,
    ) -> Result<Handle, EngineError> {
        let id = info.id.clone();
        let cell = self.registry.cell(&id);
        // Asked here, where nobody else can start it: a session that sleeps is there all the same.
        let start = || async {
            if self.store.session_columns(&id).await?.is_some() {
                return Err(EngineError::Refused(Refusal::Exists));
            }
            let seq = self.store.seq(&id).await?;
            Ok(self.start(id.clone(), State::default(), seq))
        };
        let handle = match cell.get_or_try_init(start).await.cloned() {
            Ok(handle) => handle,
            Err(cause) => {
                self.registry.forget(&id, cell);
                return Err(cause);
            }
        };
        let mut inputs = vec![Input::Create { info: Box::new(info) }];
        inputs.extend(then);
        match handle.say(inputs).await {
            Ok(outcome) => outcome.map(|()| handle),
            Err(ActorEnded(_)) => Err(EngineError::Closing),
        }
    }

    async fn load(self: &Arc<Self>, id: &SessionId) -> Result<Handle, EngineError> {
        if self.tasks.stopping().is_cancelled() {
            return Err(EngineError::Closing);
        }
        // What is stored may lead the machine where it has never been. That is damage, not an end of ours.
        let panicked = "it cannot be started: the server's log says more";
        match AssertUnwindSafe(self.load_and_settle(id)).catch_unwind().await {
            Ok(Err(EngineError::Read(ReadError::Broken { what, place }))) => {
                Err(self.set_damaged(id, what, place))
            }
            Ok(loaded) => loaded,
            Err(_) => Err(self.set_damaged(id, panicked.to_owned(), format!("session {id}"))),
        }
    }

    async fn load_and_settle(self: &Arc<Self>, id: &SessionId) -> Result<Handle, EngineError> {
        let loaded = self.store.load(id).await?.ok_or_else(|| EngineError::NoSession(id.clone()))?;
        let place = || format!("session {id}");
        let damaged = |cause: RestoreError| self.set_damaged(id, with_source(&cause), place());
        let unreadable = |damaged: DamagedRecord| self.set_damaged(id, damaged.what(), damaged.record);
        let info = records::session(id, &loaded.info).map_err(unreadable)?;
        let wanted = State::open_messages(&loaded.machine).map_err(damaged)?;
        let mut open = Vec::new();
        if let Some(step) = &wanted.step
            && let Some(raw) = self.store.whole_message(id, step).await?
        {
            open.push(records::message_with_parts(&raw).map_err(unreadable)?);
        }
        for (message, text) in self.store.rows_of(id, &wanted.prompts, &[]).await?.messages {
            let info = records::message(&message, &text).map_err(unreadable)?;
            open.push(MessageWithParts { info, parts: Vec::new() });
        }
        let state = State::restore(info, &loaded.machine, open).map_err(damaged)?;
        let (mut actor, handle, inbox) = self.actor(id.clone(), state, loaded.seq);
        actor.keyframe = loaded.keyframe;
        actor.stamp.go_on_after(self.clock.believed(loaded.last_at));
        actor.settle().await?;
        if actor.state.info().is_none() {
            // Half a copy, which was removed.
            return Err(EngineError::NoSession(id.clone()));
        }
        self.quarantine.release(id);
        self.launch(actor, handle.clone(), inbox);
        Ok(handle)
    }

    fn start(self: &Arc<Self>, id: SessionId, state: State, seq: u64) -> Handle {
        let (actor, handle, inbox) = self.actor(id, state, seq);
        self.launch(actor, handle.clone(), inbox);
        handle
    }

    /// Runs a session's task, and sees to it that somebody settles the session if it does not end in order.
    fn launch(self: &Arc<Self>, actor: Actor, handle: Handle, inbox: mpsc::Receiver<Mail>) {
        self.registry.make_room();
        let sessions = self.clone();
        self.tasks.spawn("session", async move {
            // What it held is dropped by the panic, its effects are stopped by that, and the session is loaded anew.
            let ended = AssertUnwindSafe(actor.run(inbox)).catch_unwind().await;
            sessions.registry.ended(&handle);
            match ended {
                Ok(Ended::InOrder) => {}
                Ok(Ended::Unwritten { cause, info }) => {
                    if let Some(info) = info {
                        sessions.tell_unwritten(&info, &cause);
                    }
                    sessions.lost.add(handle.id);
                }
                Err(_) => {
                    error!(session = %handle.id, "the task of a session panicked; it is started again");
                    sessions.lost.add(handle.id);
                }
            }
        });
    }

    fn actor(
        self: &Arc<Self>,
        id: SessionId,
        state: State,
        seq: u64,
    ) -> (Actor, Handle, mpsc::Receiver<Mail>) {
        let (inbox, mail) = mpsc::channel(INBOX);
        let (view, watching) = watch::channel(View::of(&state));
        let memory = Arc::<SessionMemory>::default();
        let rest = Arc::<Notify>::default();
        let ledger = Arc::<Ledger>::default();
        let handle = Handle {
            id: id.clone(),
            inbox: inbox.clone(),
            view: watching,
            memory: memory.clone(),
            rest: rest.clone(),
            used: Arc::new(AtomicU64::new(self.registry.next_use())),
            ledger: ledger.clone(),
        };
        let actor = Actor {
            effects: Effects::new(self.clone(), id.clone(), inbox, memory, ledger),
            id,
            state,
            seq,
            keyframe: 0,
            stamp: self.clock.stamp(),
            clock: self.clock.clone(),
            store: self.store.clone(),
            feed: self.feed.clone(),
            view,
            rest,
        };
        (actor, handle, mail)
    }
}

/// What does not fit, and why.
fn with_source(cause: &RestoreError) -> String {
    match std::error::Error::source(cause) {
        Some(source) => format!("{cause}: {source}"),
        None => cause.to_string(),
    }
}
