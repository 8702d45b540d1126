//! Processes that commands left in the background, and whose they are.
//!
//! A command that ends may leave something running: a dev server, a build daemon. It is kept here under a
//! name, with the end of what it prints, until it ends by itself, somebody stops it, or its session, or one above
//! it, is removed or archived. With the server end those of models; what a person's own command left is
//! that person's, and goes on.
//!
//! Nothing of this is stored: no process outlives its keeper unnoticed, because the next start ends what a
//! killed server left (`boot.rs`).

use crate::error::EngineError;
use crate::run::Sessions;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::SessionId;
use sturdy_session::types::event::{BackgroundProcess, Event};
use sturdy_worktree::process::{Owner, Watched};
use sturdy_worktree::tool::Background;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// So many commands of one session may have left something running.
const OF_SESSION_MAX: usize = 16;

/// And of all sessions together.
const MAX: usize = 256;

/// What is kept of what one of them prints.
const OUTPUT_BYTES_MAX: usize = 32 * 1024;

/// Everything that commands left running.
#[derive(Debug, Default)]
pub(crate) struct Backgrounds {
    kept: Mutex<BTreeMap<u64, Kept>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Kept {
    session: SessionId,
    shown: BackgroundProcess,
    output: Arc<Mutex<VecDeque<u8>>>,
    stop: CancellationToken,
    /// Closed when nothing of it is watched any more.
    over: watch::Receiver<()>,
}

/// Which directory and project an event about a process belongs to.
#[derive(Clone, Debug)]
pub(crate) struct EventTarget {
    pub(crate) directory: String,
    pub(crate) project: String,
}

impl Backgrounds {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, session: &SessionId) -> Vec<BackgroundProcess> {
        let kept = self.lock();
        kept.values().filter(|one| one.session == *session).map(|one| one.shown.clone()).collect()
    }
}

impl Sessions {
    /// Keeps what a command left running; its name, or `None` if it was ended because there are too many.
    pub(crate) fn keep_background(
        self: &Arc<Self>,
        session: &SessionId,
        place: EventTarget,
        left: Background,
    ) -> Option<String> {
        let Background { command, directory, mut leftover } = left;
        let number = self.backgrounds.next.fetch_add(1, Ordering::Relaxed) + 1;
        let owner = leftover.owner();
        let shown = BackgroundProcess {
            id: format!("bg_{number}"),
            session_id: session.clone(),
            command,
            cwd: directory.to_string_lossy().into_owned(),
            pids: leftover.processes(),
            user: owner == Owner::User,
            time: self.clock.now(),
        };
        let id = shown.id.clone();
        let stop = CancellationToken::new();
        let output = Arc::<Mutex<VecDeque<u8>>>::default();
        let (is_over, over) = watch::channel(());
        let mut kept = self.backgrounds.lock();
        let of_session = kept.values().filter(|one| one.session == *session).count();
        if of_session >= OF_SESSION_MAX || kept.len() >= MAX {
            info!(%session, "a background process was ended: there are too many");
            return None;
        }
        let tail = output.clone();
        let told = stop.clone();
        kept.insert(number, Kept { session: session.clone(), shown, output, stop, over });
        drop(kept);
        self.tell_background(session, &place);
        let sessions = self.clone();
        let session = session.clone();
        self.tasks.spawn("background", async move {
            let stopping = sessions.tasks.stopping().clone();
            let watched = tokio::select! {
                watched = leftover.watch(&told, |bytes| keep_tail(&tail, bytes)) => Some(watched),
                () = stopping.cancelled() => None,
            };
            if watched.is_none() && owner == Owner::Model {
                // The server ends, and what models started with it.
                told.cancel();
                leftover.watch(&told, |_| {}).await;
            }
            sessions.backgrounds.lock().remove(&number);
            if let Some(watched) = watched {
                let by = if watched == Watched::Stopped { "somebody" } else { "itself" };
                info!(%session, by, "a background process has ended");
                sessions.tell_background(&session, &place);
            }
            drop(is_over);
        });
        Some(id)
    }

    /// Ends what the commands of a session left running; it is gone when this is.
    pub(crate) async fn end_backgrounds(&self, session: &SessionId) {
        let mut ending = Vec::new();
        for one in self.backgrounds.lock().values().filter(|one| one.session == *session && !one.shown.user) {
            one.stop.cancel();
            ending.push(one.over.clone());
        }
        for mut over in ending {
            // An error says that the one who watched it is done.
            while over.changed().await.is_ok() {}
        }
    }

    fn tell_background(&self, session: &SessionId, place: &EventTarget) {
        let event =
            Event::SturdyProcesses { session_id: session.clone(), processes: self.backgrounds.of(session) };
        self.feed.tell(self.clock.now(), Some(&place.directory), Some(&place.project), event);
    }

    /// What commands of all sessions left running, oldest first.
    pub(crate) fn background_processes(&self) -> Vec<BackgroundProcess> {
        self.backgrounds.lock().values().map(|one| one.shown.clone()).collect()
    }

    /// The end of what one of them has printed.
    pub(crate) fn background_output(&self, session: &SessionId, id: &str) -> Option<String> {
        let kept = self.backgrounds.lock();
        let one = kept.values().find(|one| one.session == *session && one.shown.id == id)?;
        let output = one.output.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = output.iter().copied().collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Ends one; it is gone when this is.
    pub(crate) async fn stop_background(&self, session: &SessionId, id: &str) -> Result<(), EngineError> {
        let found = {
            let kept = self.backgrounds.lock();
            let one = kept.values().find(|one| one.session == *session && one.shown.id == id);
            one.map(|one| (one.stop.clone(), one.over.clone()))
        };
        let (stop, mut over) = found.ok_or(EngineError::Absent)?;
        stop.cancel();
        // An error says that the one who watched it is done.
        while over.changed().await.is_ok() {}
        Ok(())
    }
}

fn keep_tail(tail: &Mutex<VecDeque<u8>>, bytes: &[u8]) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.extend(bytes);
    let surplus = tail.len().saturating_sub(OUTPUT_BYTES_MAX);
    tail.drain(..surplus);
}
