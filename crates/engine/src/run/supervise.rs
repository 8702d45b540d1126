//! Sessions that their own task cannot look after: lost ones and damaged ones.
//!
//! A session is *lost* when its task ended before its work did: a commit was refused for good, or the task
//! panicked. On disk it is still busy. It is loaded again as soon as the store answers, which settles it: what
//! was open is closed, clients are told, and the next prompt works.
//!
//! A session is *damaged* when what is stored of it does not fit together. It is quarantined: listed with what is
//! wrong and where, read as far as it can be read, and it can be removed. Nothing else suffers from it.

use crate::behalf;
use crate::error::EngineError;
use crate::feed::Published;
use crate::records::{self, readable_record};
use crate::run::Sessions;
use crate::run::actor::new_entry;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::rows::{Folded, fold};
use sturdy_session::turn::State;
use sturdy_session::types::event::Event;
use sturdy_session::types::failure::Failure;
use sturdy_session::types::session::Session;
use sturdy_store::{Commit, CommitError};
use tokio::sync::Notify;
use tracing::{error, info, warn};

/// A store that refuses is asked again after so long, then after twice that, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Sessions that wait to be settled. At most as many as were awake.
#[derive(Debug, Default)]
pub(crate) struct UnsettledSessions {
    sessions: Mutex<BTreeSet<SessionId>>,
    wake: Notify,
}

impl UnsettledSessions {
    pub(crate) fn add(&self, id: SessionId) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        self.wake.notify_one();
    }

    fn take(&self) -> BTreeSet<SessionId> {
        mem::take(&mut *self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is wrong with a session, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub session: SessionId,
    pub what: String,
    pub place: String,
}

/// More are damaged only if the whole store is; they are found again when they are asked for.
const QUARANTINED_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    damaged: Mutex<BTreeMap<SessionId, Damage>>,
}

impl Quarantine {
    pub(crate) fn list(&self) -> Vec<Damage> {
        self.lock().values().cloned().collect()
    }

    fn add(&self, damage: Damage) {
        let mut damaged = self.lock();
        if damaged.len() < QUARANTINED_MAX {
            damaged.insert(damage.session.clone(), damage);
        }
    }

    pub(crate) fn holds(&self, id: &SessionId) -> bool {
        self.lock().contains_key(id)
    }

    pub(crate) fn release(&self, id: &SessionId) {
        self.lock().remove(id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<SessionId, Damage>> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Settles lost sessions as soon as the store answers.
pub(crate) async fn run(sessions: Arc<Sessions>) {
    let stopping = sessions.tasks.stopping().clone();
    loop {
        tokio::select! {
            () = sessions.lost.wake.notified() => {}
            () = stopping.cancelled() => return,
        }
        let mut pause = FIRST_PAUSE;
        let mut waiting = sessions.lost.take();
        while !waiting.is_empty() {
            let mut left = BTreeSet::new();
            for id in waiting {
                if let Err(id) = settle(&sessions, id).await {
                    left.insert(id);
                }
            }
            if left.is_empty() {
                break;
            }
            if !sessions.tasks.pause(pause).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            left.append(&mut sessions.lost.take());
            waiting = left;
        }
    }
}

/// Loading a session settles it. Gives the id back when it is worth another try.
async fn settle(sessions: &Arc<Sessions>, id: SessionId) -> Result<(), SessionId> {
    match sessions.session(&id).await {
        Ok(_) => {
            info!(session = %id, "a session that stopped in the middle is settled");
            Ok(())
        }
        // It was never created, or is removed; or nothing can be settled any more.
        Err(EngineError::NoSession(_) | EngineError::Damaged { .. } | EngineError::Closing) => Ok(()),
        Err(cause) => {
            warn!(session = %id, %cause, "a session cannot be settled yet");
            Err(id)
        }
    }
}

impl Sessions {
    /// Tells who looks at a session that it stopped because it cannot be stored. It is settled later.
    pub(crate) fn tell_unwritten(&self, info: &Session, cause: &CommitError) {
        let message = format!("The session stopped because it cannot be stored: {}.", reason(cause));
        let error = Some(Failure::unknown(message));
        let event = Event::SessionError { session_id: Some(info.id.clone()), error };
        self.feed.tell(self.clock.now(), Some(&info.directory), Some(&info.project_id), event);
    }

    /// Keeps a session that cannot be run out of the way of the others, and says so.
    pub(crate) fn set_damaged(&self, session: &SessionId, what: String, place: String) -> EngineError {
        error!(%session, what, place, "a session is damaged and quarantined");
        self.quarantine.add(Damage { session: session.clone(), what: what.clone(), place: place.clone() });
        EngineError::Damaged { session: session.clone(), what, place }
    }

    /// Removes a session without running it: its rows and its log go, readers are told.
    pub(crate) async fn remove_damaged(self: &Arc<Self>, id: &SessionId) -> Result<(), EngineError> {
        let info = self.last_record(id).await?;
        let seq = self.store.seq(id).await?;
        let mut state = State::default();
        let fact = Fact::SessionRemoved { info: Box::new(info.clone()) };
        let Folded { entries, rows } = fold(&mut state, [fact], seq, self.clock.now());
        let by = behalf::current();
        let actor = by.as_ref().map(|by| &by.actor);
        let stored = entries.iter().map(|entry| new_entry(entry, actor)).collect();
        let commit =
            Commit { session: id.clone(), expected: seq, entries: stored, rows, parent: None, grant: None };
        let published = Published::new(id.clone(), &info.directory, &info.project_id, &entries);
        let feed = self.feed.clone();
        let on_durable =
            Box::new(move |done: sturdy_store::Committed| feed.publish(done.first_position, published));
        self.store.commit_then(commit, on_durable).await?;
        self.quarantine.release(id);
        Ok(())
    }

    /// The record as it is stored, or as much as is known without it.
    async fn last_record(&self, id: &SessionId) -> Result<Session, EngineError> {
        let gone = || EngineError::NoSession(id.clone());
        let record = readable_record(&self.store, id).await?.ok_or_else(gone)?;
        records::session(id, &record).map_err(|damaged| self.set_damaged(id, damaged.what(), damaged.record))
    }
}

fn reason(cause: &CommitError) -> String {
    match cause {
        CommitError::Unavailable(driver) | CommitError::Unknown(driver) => driver.to_string(),
        CommitError::Conflict { .. }
        | CommitError::Denied(_)
        | CommitError::ParentRemoved(_)
        | CommitError::Broken { .. }
        | CommitError::Crashed => cause.to_string(),
    }
}
