//! Captured trees of the worktrees in use, and who changed what.
//!
//! A step begins with the tree of its worktree: scanned when a turn begins, because a person may have
//! written anything since, and taken over from the step before within a turn. Each call of a step that can write is
//! watched. Our own tools say of a file before they change it, so it is captured alone; around anything
//! else (a command, a tool of an MCP server, a subtask) the worktree is scanned. What the calls of a
//! step changed is a ledger: each file with the state in which the step found it.
//!
//! Files that another session's tools changed while a command of this one ran are not this session's.
//!
//! Not here: what an undo does with it (`requests/revert.rs`).

mod ledger;
mod watch;

pub(crate) use ledger::Ledger;
pub(crate) use watch::Watch;

use crate::directory::instance::Instance;
use crate::engine::Inner;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_worktree::snapshot::{SnapshotError, StoreOptions, TreeId, TreePath, TreeStore, store_name};
use tracing::{debug, warn};

/// A prompt waits this long for the tree before it. The first scan of a large worktree takes longer; it goes
/// on by itself, and the steps that begin before it is done cannot be undone.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many changes by tools are remembered, to tell the sessions of one worktree apart.
const CHANGES_MAX: usize = 4_096;

/// Worktrees kept open at once.
const OPEN_MAX: usize = 64;

/// Switches captures on where there are none otherwise: in directories without git, in the home directory and above.
const ANYWHERE: &str = "STURDY_CAPTURE_ANYWHERE";
/// The worktrees that are captured.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    open: Mutex<HashMap<PathBuf, Arc<Worktree>>>,
}

/// One captured worktree.
#[derive(Debug)]
pub(crate) struct Worktree {
    pub(crate) store: TreeStore,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The last tree of everything.
    tree: Option<TreeId>,
    /// For which prompt of which session it was scanned last.
    turns: HashMap<SessionId, MessageId>,
    /// Who changed which file by a tool of ours.
    changes: VecDeque<(Vec<SessionId>, TreePath)>,
    /// How many changes were ever noted.
    count: u64,
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// The captured trees of a directory; none when captures are switched off or refused there.
    pub(crate) async fn trees_of(&self, instance: &Instance) -> Option<Arc<Worktree>> {
        if !instance.settings.snapshot() {
            return None;
        }
        let is_anywhere = self.options.environment.is_on(ANYWHERE);
        let root = match instance.worktree.as_str() {
            // Without version control nobody says what belongs together.
            "/" if !is_anywhere => return None,
            "/" => PathBuf::from(&instance.directory),
            worktree => PathBuf::from(worktree),
        };
        if let Some(known) = lock(&self.trees.open).get(&root) {
            return Some(known.clone());
        }
        let environment = &self.options.environment;
        let dirs = instance.checkout().map(|checkout| checkout.dirs.common.join("info/exclude"));
        let config = environment.filled("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.unwrap_or_else(|| environment.home.join(".config"));
        let options = StoreOptions {
            any_root: is_anywhere,
            home: Some(environment.home.clone()),
            excludes_file: Some(config.join("git/ignore")),
            repository_excludes: dirs,
            ..StoreOptions::default()
        };
        let dir = self.trees_dir().join(&instance.project.id).join(store_name(&root));
        let place = root.clone();
        let opened =
            tokio::task::spawn_blocking(move || TreeStore::open(&dir, &place, options)).await.ok()?;
        match opened {
            Ok(store) => {
                let worktree = Arc::new(Worktree { store, known: Mutex::default() });
                let mut open = lock(&self.trees.open);
                if open.len() >= OPEN_MAX {
                    open.clear();
                }
                Some(open.entry(root).or_insert(worktree).clone())
            }
            Err(SnapshotError::Refused { .. }) => None,
            Err(cause) => {
                warn!(%cause, "captured trees cannot be kept");
                None
            }
        }
    }

    /// Where captured trees are kept.
    pub(crate) fn trees_dir(&self) -> PathBuf {
        self.options.data_dir.join("trees")
    }

    /// The tree before a step. None when there is none, or when it takes too long.
    pub(crate) async fn tree_before(
        &self,
        instance: &Instance,
        session: &SessionId,
        user: &MessageId,
    ) -> Option<TreeId> {
        let worktree = self.trees_of(instance).await?;
        let known = worktree.tree_within_turn(session, user);
        if known.is_some() {
            return known;
        }
        let session = session.clone();
        let scan = worktree.clone();
        let scanning = tokio::task::spawn_blocking(move || scan.scan_for(&session));
        let tree = tokio::time::timeout(PATIENCE, scanning).await.ok()?.ok()??;
        Some(tree)
    }
}

impl Worktree {
    /// Within a turn nothing but our own calls writes, and those are captured as they end.
    fn tree_within_turn(&self, session: &SessionId, user: &MessageId) -> Option<TreeId> {
        let mut known = lock(&self.known);
        if known.turns.get(session) == Some(user) {
            return known.tree;
        }
        if known.turns.len() > OPEN_MAX {
            known.turns.clear();
        }
        known.turns.insert(session.clone(), user.clone());
        None
    }

    /// A tree of everything, kept for the session. None, with a word in the log, when there is none.
    fn scan_for(&self, session: &SessionId) -> Option<TreeId> {
        let captured = self.store.scan().and_then(|captured| {
            // Invariant I15: anchored before anybody is told of it.
            self.store.anchor(session.as_str(), &[captured.tree])?;
            Ok(captured.tree)
        });
        match captured {
            Ok(tree) => {
                lock(&self.known).tree = Some(tree);
                Some(tree)
            }
            Err(cause) if cause.is_git_missing() => {
                debug!("there is no git; only files that our own tools change are captured");
                None
            }
            Err(cause) => {
                warn!(%cause, "the worktree was not captured");
                None
            }
        }
    }

    /// The last known tree of everything.
    pub(crate) fn last(&self) -> Option<TreeId> {
        lock(&self.known).tree
    }

    fn note_change(&self, who: &[SessionId], path: TreePath) {
        let mut known = lock(&self.known);
        known.count += 1;
        known.changes.push_back((who.to_vec(), path));
        if known.changes.len() > CHANGES_MAX {
            known.changes.pop_front();
        }
    }

    fn count(&self) -> u64 {
        lock(&self.known).count
    }

    /// Whether tools of sessions that do not work for this one changed a file since then.
    fn is_anothers(&self, session: &SessionId, since: u64, path: &TreePath) -> bool {
        let known = lock(&self.known);
        let newer = (known.count.saturating_sub(since)).min(known.changes.len() as u64) as usize;
        let mut recent =
            known.changes.iter().rev().take(newer).filter(|(_, changed)| changed == path).peekable();
        recent.peek().is_some() && recent.all(|(who, _)| !who.contains(session))
    }
}
