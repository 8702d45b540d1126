//! Captured trees of the worktrees in use, and who changed what.
//!
//! A step begins with the tree of its worktree: scanned when a turn begins, because a person may have
//! written anything since, and taken over from the step before within a turn. Each call of a step that can write is
//! watched. Our own tools say of a file before they change it, so it is captured alone; around anything
//! else (a command, a tool of an MCP server, a subtask) the worktree is scanned. What the calls of a
//! step changed is a ledger: each file with the state in which the step found it.
//!
//! Before a call acts, a note of what it may change is on the disk (`journal`), so that the files of a call which dies
//! with its process can be told afterwards.
//!
//! Files that another session's tools changed while a command of this one ran are not this session's; those that
//! commands of both may have changed are shared (`sharing`).
//!
//! Not here: what an undo does with it (`requests/revert.rs`).

mod changes;
mod journal;
mod ledger;
mod moved;
mod sharing;
mod watch;

pub(crate) use changes::{changes_of, kept_changes_of, remaining, steps, totals, trees_before};
pub(crate) use journal::{Acting, acting_notes};
pub(crate) use ledger::{Ledger, absolute};
pub(crate) use sharing::are_related;
pub(crate) use watch::{Watch, can_write};

use crate::directory::instance::Instance;
use crate::run::Sessions;
use crate::task::Tasks;
use moved::From;
use sharing::Commands;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_worktree::git::user_excludes_file;
use sturdy_worktree::snapshot::{SnapshotError, StoreOptions, TreeId, TreePath, TreeStore};
use tokio::sync::Semaphore;
use tracing::{debug, warn};

/// A prompt waits this long for the tree before it. The first scan of a large worktree takes longer; it goes
/// on by itself, and the steps that begin before it is done cannot be undone.
const PROMPT_PATIENCE: Duration = Duration::from_secs(2);

/// A command waits this long for the tree before it.
const CALL_PATIENCE: Duration = Duration::from_secs(15);

/// Files that were changed a moment ago have to settle first; and who scans again at once does it better alone.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// A worktree that is too large to be scanned is not tried again for so long.
const REST: Duration = Duration::from_secs(600);

/// How many changes by tools are remembered, to tell the sessions of one worktree apart.
const CHANGES_MAX: usize = 4_096;

/// Worktrees kept open at once.
const OPEN_MAX: usize = 64;

/// Without a repository: more files than a project that people write by hand has.
const LOOSE_FILES_MAX: usize = 50_000;
const LOOSE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
const LOOSE_SCAN_TIMEOUT: Duration = Duration::from_secs(30);

/// Captures the home directory and `/` too, and directories without git whatever is in them.
const CAPTURE_ANYWHERE: &str = "STURDY_CAPTURE_ANYWHERE";

/// What the captured trees of one project may take on the disk, in megabytes.
const CAPTURE_BUDGET: &str = "STURDY_CAPTURE_MAX_MB";

/// Larger files are recorded as being there, and not captured; in megabytes.
const FILE_LIMIT: &str = "STURDY_CAPTURE_FILE_MAX_MB";

/// A captured file is held in memory while it is read.
const FILE_LIMIT_MAX_MB: u64 = 128;

/// Sessions in directories without git have this project in common, and nothing else.
const NO_PROJECT: &str = "global";

/// The worktrees that are captured.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    open: Mutex<HashMap<PathBuf, Arc<Worktree>>>,
    /// Sessions that are being made as copies: trees are kept for them before they exist.
    in_creation: Mutex<HashSet<SessionId>>,
}

/// A session that is being created; dropped when it exists or was given up.
pub(crate) struct SessionInCreation {
    sessions: Arc<Sessions>,
    session: SessionId,
}

impl Drop for SessionInCreation {
    fn drop(&mut self) {
        lock(&self.sessions.trees.in_creation).remove(&self.session);
    }
}

/// The tree before a step that follows another one.
pub(crate) enum TreeWithin {
    Known(TreeId),
    /// It has to be scanned.
    Unknown,
    /// None is captured here.
    NoTrees,
}

/// One captured worktree.
#[derive(Debug)]
pub(crate) struct Worktree {
    pub(crate) store: TreeStore,
    known: Mutex<Known>,
    /// One scan at a time; who waits for it waits without a thread.
    scans: Arc<Semaphore>,
    tasks: Tasks,
    /// Somebody is about to look at everything, so that the next scan is quick.
    is_looking: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    /// The last tree of everything.
    tree: Option<TreeId>,
    /// For which prompt of which session it was scanned last.
    turns: HashMap<SessionId, MessageId>,
    /// The last tree that each session keeps.
    kept: HashMap<SessionId, TreeId>,
    /// Who changed which file by a tool of ours.
    changes: VecDeque<(Vec<SessionId>, TreePath)>,
    /// How many changes were ever noted.
    count: u64,
    commands: Commands,
    /// Why it was too large, and when that was found out.
    too_much: Option<(String, Instant)>,
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    /// The captured trees of a directory; none when captures are switched off or refused there.
    pub(crate) async fn trees_of(&self, instance: &Instance) -> Option<Arc<Worktree>> {
        if !instance.settings.snapshot() {
            return None;
        }
        let (root, dir) = self.store_place(instance);
        if let Some(known) = lock(&self.trees.open).get(&root) {
            return Some(known.clone());
        }
        let trees = self.trees_dir();
        let mut options = self.store_options(instance, trees.join(&instance.project.id));
        options.excludes_file = self.excludes_file().await;
        let place = root.clone();
        let open = move || {
            // A directory that became a repository, or got a remote, has another project id than its trees.
            let real = place.canonicalize().unwrap_or_else(|_| place.clone());
            if let Err(cause) = moved::follow(&trees, &real, &dir, From::AnotherProject) {
                warn!(%cause, "captured trees could not be moved with their project; earlier changes cannot be undone");
            }
            TreeStore::open(&dir, &place, options)
        };
        let opened = tokio::task::spawn_blocking(open).await.ok()?;
        match opened {
            Ok(store) => {
                let worktree = Worktree {
                    store,
                    known: Mutex::default(),
                    scans: Arc::new(Semaphore::new(1)),
                    tasks: self.tasks.clone(),
                    is_looking: AtomicBool::new(false),
                };
                let mut open = lock(&self.trees.open);
                if open.len() >= OPEN_MAX {
                    // Two of one worktree would not wait for each other.
                    open.retain(|_, worktree| Arc::strong_count(worktree) > 1);
                }
                Some(open.entry(root).or_insert_with(|| Arc::new(worktree)).clone())
            }
            Err(cause) => {
                warn!(%cause, "captured trees cannot be kept");
                None
            }
        }
    }

    fn store_options(&self, instance: &Instance, project: PathBuf) -> StoreOptions {
        let environment = &self.environment;
        let mut options = StoreOptions {
            any_root: environment.is_on(CAPTURE_ANYWHERE),
            home: Some(environment.home.clone()),
            repository_excludes: instance.checkout().map(|one| one.dirs.common.join("info/exclude")),
            search_path: environment.filled("PATH").map(OsString::from),
            budget_dir: (instance.project.id != NO_PROJECT).then_some(project),
            ..StoreOptions::default()
        };
        if let Some(megabytes) = environment.filled(CAPTURE_BUDGET).and_then(|text| text.parse::<u64>().ok())
        {
            options.store_bytes_max = megabytes.saturating_mul(1024 * 1024);
        }
        if let Some(megabytes) = environment.filled(FILE_LIMIT).and_then(|text| text.parse::<u64>().ok()) {
            options.file_bytes_max = megabytes.min(FILE_LIMIT_MAX_MB) * 1024 * 1024;
        }
        if instance.worktree == "/" && !options.any_root {
            options.files_max = LOOSE_FILES_MAX;
            options.scan_bytes_max = LOOSE_BYTES_MAX;
            options.scan_timeout = LOOSE_SCAN_TIMEOUT;
        }
        options
    }

    /// The user's own list of what git ignores everywhere: the one that their settings name, or the usual one.
    async fn excludes_file(&self) -> Option<PathBuf> {
        let environment = &self.environment;
        let config = environment.filled("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.unwrap_or_else(|| environment.home.join(".config"));
        let named = user_excludes_file(&environment.home, &config, environment.filled("PATH")).await;
        Some(named.unwrap_or_else(|| config.join("git/ignore")))
    }

    /// Where captured trees are kept.
    pub(crate) fn trees_dir(&self) -> PathBuf {
        self.data_dir.join("trees")
    }

    /// The tree before a step. None when there is none, or when it takes too long.
    pub(crate) async fn tree_before(
        self: &Arc<Self>,
        instance: &Arc<Instance>,
        session: &SessionId,
        user: &MessageId,
    ) -> Option<TreeId> {
        let sessions = self.clone();
        let instance = instance.clone();
        let session = session.clone();
        let user = user.clone();
        // Opening a store waits for a disk too, and keeping a tree for git; both go on when nobody waits any more.
        let looking = self
            .tasks
            .spawn("tree", async move { sessions.find_tree_before(&instance, &session, &user).await });
        match tokio::time::timeout(PROMPT_PATIENCE, looking).await {
            Ok(found) => found.ok().flatten(),
            Err(_) => {
                warn!(
                    patience_s = PROMPT_PATIENCE.as_secs(),
                    "a step starts without a captured tree to compare with"
                );
                None
            }
        }
    }

    async fn find_tree_before(
        &self,
        instance: &Instance,
        session: &SessionId,
        user: &MessageId,
    ) -> Option<TreeId> {
        let worktree = self.trees_of(instance).await?;
        if worktree.is_within_turn(session, user)
            && let Some(tree) = worktree.last_for(session).await
        {
            return Some(tree);
        }
        worktree.scan(session, PROMPT_PATIENCE).await.ok()
    }

    /// The tree before the next step of a turn, if it is known without a scan.
    pub(crate) async fn tree_within_turn(
        &self,
        instance: &Instance,
        session: &SessionId,
        user: &MessageId,
    ) -> TreeWithin {
        let Some(worktree) = self.trees_of(instance).await else { return TreeWithin::NoTrees };
        if lock(&worktree.known).turns.get(session) != Some(user) {
            return TreeWithin::Unknown;
        }
        worktree.last_for(session).await.map_or(TreeWithin::Unknown, TreeWithin::Known)
    }

    /// Until the answer is dropped, what is kept for this session is not taken for that of a removed one.
    pub(crate) fn in_creation(self: &Arc<Self>, session: &SessionId) -> SessionInCreation {
        lock(&self.trees.in_creation).insert(session.clone());
        SessionInCreation { sessions: self.clone(), session: session.clone() }
    }

    pub(crate) fn is_in_creation(&self, session: &SessionId) -> bool {
        lock(&self.trees.in_creation).contains(session)
    }

    /// The worktrees whose stores are open.
    pub(crate) fn open_trees(&self) -> Vec<Arc<Worktree>> {
        lock(&self.trees.open).values().cloned().collect()
    }
}

impl Worktree {
    /// Within a turn nothing but our own calls writes, and those are captured as they end.
    fn is_within_turn(&self, session: &SessionId, user: &MessageId) -> bool {
        let mut known = lock(&self.known);
        if known.turns.get(session) == Some(user) {
            return true;
        }
        if known.turns.len() > OPEN_MAX {
            known.turns.clear();
        }
        known.turns.insert(session.clone(), user.clone());
        false
    }

    /// The last known tree of everything. Another session may have captured it, so it is kept for this one too before
    /// a step of it names it (invariant I15).
    pub(crate) async fn last_for(self: &Arc<Self>, session: &SessionId) -> Option<TreeId> {
        let tree = {
            let known = lock(&self.known);
            let tree = known.tree?;
            if known.kept.get(session) == Some(&tree) {
                return Some(tree);
            }
            tree
        };
        let worktree = self.clone();
        let session = session.clone();
        let keep = move || worktree.keep(&session, &[tree]);
        match tokio::task::spawn_blocking(keep).await.ok()? {
            Ok(()) => Some(tree),
            Err(cause) => {
                warn!(%cause, "the tree captured before a step could not be anchored");
                None
            }
        }
    }

    /// Keeps trees for a session; the last of them is remembered as kept.
    fn keep(&self, session: &SessionId, trees: &[TreeId]) -> Result<(), SnapshotError> {
        if let [tree] = trees
            && lock(&self.known).kept.get(session) == Some(tree)
        {
            return Ok(());
        }
        self.store.anchor(session.as_str(), trees)?;
        let mut known = lock(&self.known);
        if known.kept.len() > OPEN_MAX {
            known.kept.clear();
        }
        if let Some(last) = trees.last() {
            known.kept.insert(session.clone(), *last);
        }
        Ok(())
    }

    /// Releases the trees of a session that is gone. The last tree may have been kept by it alone, so it is forgotten:
    /// whoever needs one scans.
    pub(crate) fn release(&self, name: &str) -> Result<(), SnapshotError> {
        let mut known = lock(&self.known);
        known.tree = None;
        known.kept.retain(|session, _| session.as_str() != name);
        drop(known);
        self.store.release(name)
    }

    /// A tree of everything, kept for the session. When there is none, the reason, for people. A scan that takes
    /// longer than `patience` goes on by itself.
    async fn scan(self: &Arc<Self>, session: &SessionId, patience: Duration) -> Result<TreeId, String> {
        if let Some((why, since)) = &lock(&self.known).too_much
            && since.elapsed() < REST
        {
            return Err(why.clone());
        }
        let worktree = self.clone();
        let session = session.clone();
        let scan = async move {
            let alone = worktree.scans.clone().acquire_owned().await.ok()?;
            let work = move || {
                let _alone = alone;
                worktree.scan_for(&session)
            };
            tokio::task::spawn_blocking(work).await.ok()
        };
        let scanned = tokio::time::timeout(patience, scan).await;
        self.clone().look_soon();
        match scanned {
            Ok(Some(tree)) => tree,
            Ok(None) => Err("the server is shutting down".to_owned()),
            Err(_) => {
                let why = match self.store.was_scanned() {
                    true => format!("looking at the worktree took more than {} s", patience.as_secs()),
                    false => "the worktree is still being captured for the first time".to_owned(),
                };
                warn!("gave up waiting for a captured tree: {why}");
                Err(why)
            }
        }
    }

    /// Remembers how everything looks, a moment after a scan, so that the next one needs no git if nothing changes.
    fn look_soon(self: Arc<Self>) {
        if self.store.knows_stats() || self.is_looking.swap(true, Ordering::AcqRel) {
            return;
        }
        let tasks = self.tasks.clone();
        tasks.clone().spawn("looks", async move {
            if tasks.pause(LOOK_AFTER).await {
                let worktree = self.clone();
                let look = move || worktree.store.remember_stats();
                if let Ok(Err(cause)) = tokio::task::spawn_blocking(look).await {
                    debug!(%cause, "how the worktree looks is not known; git is asked each time");
                }
            }
            self.is_looking.store(false, Ordering::Release);
        });
    }

    fn scan_for(&self, session: &SessionId) -> Result<TreeId, String> {
        let captured = self.store.scan().and_then(|captured| {
            // Invariant I15: anchored before anybody is told of it.
            self.keep(session, &[captured.tree])?;
            Ok(captured.tree)
        });
        let mut known = lock(&self.known);
        match captured {
            Ok(tree) => {
                known.tree = Some(tree);
                known.too_much = None;
                Ok(tree)
            }
            Err(cause) => {
                let why = cause.reason();
                if cause.is_too_much() {
                    known.too_much = Some((why.clone(), Instant::now()));
                }
                if cause.is_git_missing() {
                    debug!("there is no git; only files that our own tools change are captured");
                } else {
                    warn!(%cause, "the worktree was not captured; files that our own tools change are");
                }
                Err(why)
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
        let mut recent = known.changes_since(since).filter(|(_, changed)| changed == path).peekable();
        recent.peek().is_some() && recent.all(|(who, _)| !who.contains(session))
    }

    /// Whether a tool of any session changed a file since then.
    fn is_by_a_tool(&self, since: u64, path: &TreePath) -> bool {
        lock(&self.known).changes_since(since).any(|(_, changed)| changed == path)
    }
}

impl Known {
    /// The newest first.
    fn changes_since(&self, since: u64) -> impl Iterator<Item = &(Vec<SessionId>, TreePath)> {
        let newer = (self.count.saturating_sub(since)).min(self.changes.len() as u64) as usize;
        self.changes.iter().rev().take(newer)
    }
}
