//! Opening: the store, the rooms, what was running.

mod rooms;

use crate::clock::Clock;
use crate::engine::{Engine, EngineOptions};
use crate::environment::Environment;
use crate::error::{BootError, EngineError};
use crate::records::{self, readable};
use crate::run::{Handle, supervise};
use futures_util::{StreamExt as _, stream};
use rooms::assemble;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use sturdy_session::id::SessionId;
use sturdy_store::{Options, Store};
use sturdy_worktree::process::kill_orphans;
use tokio::time::{Instant, timeout_at};
use tracing::{error, info, warn};

/// How long a start waits for the files that a dead process was changing.
const FILES_PATIENCE: Duration = Duration::from_secs(30);

/// As many as fit into one commit of the store.
const SETTLED_AT_ONCE: usize = 256;

impl Engine {
    /// Opens the store and settles what a dead process left open. Nothing is served before that is durable.
    pub async fn open(options: EngineOptions) -> Result<Self, BootError> {
        open(options).await
    }
}

/// Settles open sessions before anything is served, so that no client sees a step that will never end.
async fn open(mut options: EngineOptions) -> Result<Engine, BootError> {
    options.environment = options.environment.with_data_in(options.data_dir.clone());
    let mut store_options = Options::new(&options.data_dir);
    store_options.durability = options.durability;
    store_options.crash = options.crash;
    if let Some(patience) = patience(&options.environment) {
        store_options.patience = patience;
    }
    let store = Store::open(store_options).await?;
    notice_restore(&store).await;
    let clock = Clock::new(store.last_time().await?);
    let engine = assemble(options, store, clock);
    end_orphans(&engine).await;
    settle(&engine).await?;
    if let Err(cause) = engine.inner.remove_left_behind().await {
        // The next start tries again.
        error!(%cause, "sessions whose parent was removed could not be removed with it");
    }
    let sessions = engine.inner.sessions.clone();
    engine.tasks().keep("supervise", move || supervise::run(sessions.clone()));
    settle_files(&engine).await;
    engine.inner.shares.resume().await;
    keep_up(&engine);
    Ok(engine)
}

/// Ends undos, and tells what calls changed, that the last process left in the middle. Nobody is served before, unless the
/// files do not answer, as on a mount that is gone: then it goes on behind, and only their sessions wait for it.
async fn settle_files(engine: &Engine) {
    // No need to wait for files that only a test lets hang.
    let is_planned = engine.options().hang.is_planned();
    let ends = Instant::now() + if is_planned { Duration::ZERO } else { FILES_PATIENCE };
    let own = engine.clone();
    settle_until(ends, engine, async move { crate::requests::revert::recover(&own).await }).await;
    let own = engine.clone();
    settle_until(ends, engine, async move { crate::requests::revert::tell_of_the_dead(&own).await }).await;
}

async fn settle_until(ends: Instant, engine: &Engine, work: impl Future<Output = ()> + Send + 'static) {
    let stop = engine.tasks().stopping().clone();
    // Much to hold for something that a start rarely has to do.
    let work = Box::pin(work);
    let settling = engine.tasks().spawn("recover", async move { stop.run_until_cancelled(work).await });
    match timeout_at(ends, settling).await {
        Ok(Ok(_)) => {}
        Ok(Err(_)) => error!(
            "undos and tool calls that the last process did not finish could not be settled: a task panicked"
        ),
        Err(_) => {
            warn!("files that the last process was changing do not respond; other directories are served");
        }
    }
}

/// What is done now and then for as long as the engine runs.
fn keep_up(engine: &Engine) {
    let directories = engine.inner.directories.clone();
    engine.tasks().keep("branch", move || crate::directory::branch::run(directories.clone()));
    let inner = engine.inner.clone();
    engine.tasks().keep("sweep", move || crate::upkeep::sweep(inner.clone()));
    let inner = engine.inner.clone();
    engine.tasks().keep("upkeep", move || crate::upkeep::run(inner.clone()));
}

/// A disk that refuses even this is full or read-only: what is stored is served all the same.
async fn notice_restore(store: &Store) {
    match store.replace_mark().await {
        Ok(true) => warn!("the store was restored from a copy: clients are told to read everything anew"),
        Ok(false) => {}
        Err(cause) => warn!(%cause, "cannot tell whether the store was restored from a copy"),
    }
}

/// How long commits that the disk refuses are tried again, if somebody wants it otherwise.
fn patience(environment: &Environment) -> Option<Duration> {
    environment.filled("STURDY_DISK_PATIENCE_MS")?.parse().ok().map(Duration::from_millis)
}

/// Commands of a process that was killed go on without anybody. The store has one serving process and
/// that is us, so whoever carries its name and another process's is one of them.
async fn end_orphans(engine: &Engine) {
    let realm = engine.inner.directories.realm();
    let ended = tokio::task::spawn_blocking(move || kill_orphans(&realm)).await.unwrap_or(0);
    if ended > 0 {
        info!(processes = ended, "ended commands that the last process left running");
    }
}

async fn settle(engine: &Engine) -> Result<(), BootError> {
    let open = engine.store().busy_sessions().await?;
    if open.is_empty() {
        return Ok(());
    }
    info!(sessions = open.len(), "settling what the last process left open");
    let before = engine.store().head();
    // Not the handles of all: each holds an inbox, and there may be ten thousand.
    let mut over = BTreeSet::new();
    let mut waiting = Vec::new();
    // Many at a time, so that one fsync settles many.
    let mut settling = stream::iter(open)
        .map(|id| async move { (engine.session(&id).await, id) })
        .buffer_unordered(SETTLED_AT_ONCE);
    while let Some((outcome, id)) = settling.next().await {
        match outcome {
            Ok(handle) if handle.view().is_idle => {
                over.insert(id);
            }
            Ok(handle) => waiting.push(handle),
            // One damaged session is quarantined; the others are served.
            Err(EngineError::Damaged { .. }) => {}
            // Half a copy is removed.
            Err(EngineError::NoSession(_)) => {}
            Err(EngineError::Read(cause)) => return Err(cause.into()),
            // A full disk, most likely: it is read meanwhile, and settled as soon as it can be.
            Err(cause) => {
                error!(session = %id, %cause, "a session could not be settled");
                engine.inner.sessions.lost.add(id);
            }
        }
    }
    drop(settling);
    stop_forsaken(engine, &over, &waiting).await?;
    engine.feed().settled(before, engine.clock().now());
    Ok(())
}

/// A child may wait for a person and so be kept, while the call it works for was interrupted. Nobody would read
/// what it finds out: it is stopped, and what it asked is taken back.
async fn stop_forsaken(
    engine: &Engine,
    over: &BTreeSet<SessionId>,
    waiting: &[Handle],
) -> Result<(), BootError> {
    let by_id: HashMap<&SessionId, &Handle> = waiting.iter().map(|one| (one.id(), one)).collect();
    let stopped = |id: &SessionId| by_id.get(id).is_some_and(|one| one.view().is_idle);
    let is_over = |id: &SessionId| over.contains(id) || stopped(id);
    for waiting in waiting.iter().filter(|one| !one.view().is_idle) {
        let record = engine.store().session(waiting.id()).await?;
        let info = record.and_then(|text| readable(records::session(waiting.id(), &text)));
        if info.and_then(|info| info.parent_id).is_some_and(|parent| is_over(&parent))
            && let Err(cause) = engine.abort(waiting.id()).await
        {
            error!(session = %waiting.id(), %cause, "a session could not be settled");
        }
    }
    Ok(())
}
