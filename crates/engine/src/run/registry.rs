//! Id to handle: sessions are started on demand and sleep when idle.

use crate::engine::Inner;
use crate::error::EngineError;
use crate::run::actor::Actor;
use crate::run::effects::Effects;
use crate::run::handle::{Asleep, Handle, INBOX, View};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::SessionId;
use sturdy_session::turn::{Input, State};
use sturdy_session::types::message::{Message, MessageWithParts};
use sturdy_session::types::session::Session;
use sturdy_session::types::status::Status;
use sturdy_store::RawMessage;
use sturdy_worktree::tool::Memory;
use tokio::sync::{OnceCell, mpsc, watch};

/// A session that falls asleep while we talk to it is woken again this often.
const WAKE_TRIES: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    sessions: Mutex<HashMap<SessionId, Arc<OnceCell<Handle>>>>,
}

impl Registry {
    /// What every session that is awake is doing; those that are idle are left out.
    pub(crate) fn statuses(&self) -> Vec<(SessionId, Status)> {
        let busy = |(id, cell): (&SessionId, &Arc<OnceCell<Handle>>)| {
            let view = cell.get()?.view();
            (view.status != Status::Idle).then(|| (id.clone(), view.status))
        };
        self.lock().iter().filter_map(busy).collect()
    }

    fn cell(&self, id: &SessionId) -> Arc<OnceCell<Handle>> {
        self.lock().entry(id.clone()).or_default().clone()
    }

    /// Forgets this cell, unless somebody has put a new one in its place already.
    fn forget(&self, id: &SessionId, cell: &Arc<OnceCell<Handle>>) {
        let mut sessions = self.lock();
        if sessions.get(id).is_some_and(|known| Arc::ptr_eq(known, cell)) {
            sessions.remove(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<OnceCell<Handle>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The running session with this id, started if need be.
    pub(crate) async fn session(self: &Arc<Self>, id: &SessionId) -> Result<Handle, EngineError> {
        for _ in 0..WAKE_TRIES {
            let cell = self.registry.cell(id);
            let started = cell.get_or_try_init(|| self.load(id)).await;
            match started {
                Ok(handle) if !handle.is_asleep() => return Ok(handle.clone()),
                Ok(_) => self.registry.forget(id, &cell),
                Err(cause) => {
                    self.registry.forget(id, &cell);
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
                Err(Asleep(unsaid)) => inputs = unsaid,
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
        let handle = {
            let cell = self.registry.cell(&id);
            let seq = self.store.seq(&id).await?;
            let start = || async { Ok::<_, EngineError>(self.start(id.clone(), State::default(), seq)) };
            cell.get_or_try_init(start).await?.clone()
        };
        let mut inputs = vec![Input::Create { info: Box::new(info) }];
        inputs.extend(then);
        match handle.say(inputs).await {
            Ok(outcome) => outcome.map(|()| handle),
            Err(Asleep(_)) => Err(EngineError::Closing),
        }
    }

    async fn load(self: &Arc<Self>, id: &SessionId) -> Result<Handle, EngineError> {
        if self.tasks.stopping().is_cancelled() {
            return Err(EngineError::Closing);
        }
        let loaded = self.store.load(id).await?.ok_or_else(|| EngineError::NoSession(id.clone()))?;
        let damaged = |source| EngineError::Damaged { session: id.clone(), source };
        let unreadable = |source| damaged(sturdy_session::turn::RestoreError::Machine(source));
        let info: Session = serde_json::from_str(&loaded.info).map_err(unreadable)?;
        let open = match State::open_message(&loaded.machine).map_err(damaged)? {
            Some(message) => match self.store.message(id, &message).await? {
                Some(raw) => Some(parse_message(&raw).map_err(unreadable)?),
                None => None,
            },
            None => None,
        };
        let state = State::restore(info, &loaded.machine, open).map_err(damaged)?;
        let (mut actor, handle, inbox) = self.actor(id.clone(), state, loaded.seq);
        actor.stamp.go_on_after(loaded.last_at);
        actor.settle().await?;
        self.tasks.spawn("session", actor.run(inbox));
        Ok(handle)
    }

    fn start(self: &Arc<Self>, id: SessionId, state: State, seq: u64) -> Handle {
        let (actor, handle, inbox) = self.actor(id, state, seq);
        self.tasks.spawn("session", actor.run(inbox));
        handle
    }

    fn actor(
        self: &Arc<Self>,
        id: SessionId,
        state: State,
        seq: u64,
    ) -> (Actor, Handle, mpsc::Receiver<crate::run::handle::Mail>) {
        let (inbox, mail) = mpsc::channel(INBOX);
        let (view, watching) = watch::channel(View::of(&state));
        let memory = Arc::<Memory>::default();
        let handle = Handle { id: id.clone(), inbox: inbox.clone(), view: watching, memory: memory.clone() };
        let actor = Actor {
            effects: Effects::new(self.clone(), id.clone(), inbox, memory),
            id,
            state,
            seq,
            stamp: self.clock.stamp(),
            clock: self.clock.clone(),
            store: self.store.clone(),
            feed: self.feed.clone(),
            view,
        };
        (actor, handle, mail)
    }
}

/// A message as the store gives it, in our types.
pub(crate) fn parse_message(raw: &RawMessage) -> Result<MessageWithParts, serde_json::Error> {
    let info: Message = serde_json::from_str(&raw.info)?;
    let parts = raw.parts.iter().map(|part| serde_json::from_str(part)).collect::<Result<_, _>>()?;
    Ok(MessageWithParts { info, parts })
}
