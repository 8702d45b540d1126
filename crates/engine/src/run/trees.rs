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
//! One file although it is long: who watches, what was seen and who is told are one account.
//!
//! Not here: what an undo does with it (`requests/revert.rs`).

use crate::directory::instance::Instance;
use crate::engine::Inner;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::turn::StepFiles;
use sturdy_worktree::path::WorkPath;
use sturdy_worktree::snapshot::{
    SnapshotError, State, StoreOptions, TreeId, TreePath, TreeStore, store_name,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{debug, warn};

/// A prompt waits this long for the tree before it. The first scan of a large worktree takes longer; it goes
/// on by itself, and the steps that begin before it is done cannot be undone.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many changes by tools are remembered, to tell the sessions of one worktree apart.
const CHANGES_MAX: usize = 4_096;

/// Calls of one session that act at once; more wait.
const CALLS_MAX: u32 = 256;

/// Worktrees kept open at once.
const OPEN_MAX: usize = 64;

/// Switches captures on where there are none otherwise: in directories without git, in the home directory and above.
const ANYWHERE: &str = "STURDY_CAPTURE_ANYWHERE";

/// Tools that write nothing below the worktree.
const READERS: [&str; 13] = [
    "read",
    "grep",
    "glob",
    "list",
    "todowrite",
    "todoread",
    "webfetch",
    "websearch",
    "codesearch",
    "skill",
    "question",
    "lsp",
    "invalid",
];

/// Tools of ours that name every file before they change it.
const WRITERS: [&str; 5] = ["write", "edit", "multiedit", "patch", "apply_patch"];

/// What a call can do to the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Nothing,
    KnownFiles,
    Anything,
}

impl Reach {
    fn of(tool: &str) -> Self {
        if READERS.contains(&tool) || tool == sturdy_session::turn::STRUCTURED_TOOL {
            Self::Nothing
        } else if WRITERS.contains(&tool) {
            Self::KnownFiles
        } else {
            Self::Anything
        }
    }
}

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

/// What the calls of the step that is open have changed. One per session.
#[derive(Debug)]
pub(crate) struct Ledger {
    inner: Mutex<Pages>,
    /// A call that is watched has one of these.
    acting: Arc<Semaphore>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { inner: Mutex::default(), acting: Arc::new(Semaphore::new(CALLS_MAX as usize)) }
    }
}

#[derive(Debug, Default)]
struct Pages {
    step: Option<MessageId>,
    before: BTreeMap<TreePath, State>,
    /// The last account was heard by the session.
    is_told: bool,
}

/// A call that is being watched.
#[derive(Debug)]
pub(crate) struct Watch {
    worktree: Arc<Worktree>,
    ledger: Arc<Ledger>,
    session: SessionId,
    reach: Reach,
    base: Option<TreeId>,
    /// The tree before a call that may write anything, and how many changes were noted then.
    before: Mutex<Option<(TreeId, u64)>>,
    _acting: OwnedSemaphorePermit,
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

impl Watch {
    /// Begins to watch a call. None when it can write nothing, or nothing is captured here.
    pub(crate) async fn begin(
        inner: &Inner,
        instance: &Instance,
        ledger: &Arc<Ledger>,
        who: Vec<SessionId>,
        step: &MessageId,
        tool: &str,
        memory: &sturdy_worktree::tool::Memory,
    ) -> Option<Self> {
        let reach = Reach::of(tool);
        if reach == Reach::Nothing {
            return None;
        }
        let worktree = inner.trees_of(instance).await?;
        let session = who.first()?.clone();
        ledger.open(step);
        let witness = witness(worktree.clone(), ledger.clone(), who);
        memory.set_witness(witness);
        let before = Mutex::default();
        let _acting = ledger.acting.clone().acquire_owned().await.ok()?;
        let watch =
            Self { base: worktree.last(), worktree, ledger: ledger.clone(), session, reach, before, _acting };
        watch.look().await;
        Some(watch)
    }

    /// The call is about to act. Said again when it had to ask a person: what the person did meanwhile is not the
    /// call's.
    pub(crate) async fn look(&self) {
        if self.reach != Reach::Anything {
            return;
        }
        let tree = self.scan().await;
        *lock(&self.before) = tree;
    }

    async fn scan(&self) -> Option<(TreeId, u64)> {
        let count = self.worktree.count();
        let worktree = self.worktree.clone();
        let session = self.session.clone();
        let tree = tokio::task::spawn_blocking(move || worktree.scan_for(&session)).await.ok()??;
        Some((tree, count))
    }

    /// The call is over: what the step has changed so far. None when that is nothing.
    pub(crate) async fn end(self: &Arc<Self>) -> Option<StepFiles> {
        let after = match self.reach {
            Reach::Anything => self.scan().await,
            Reach::Nothing | Reach::KnownFiles => None,
        };
        let watch = self.clone();
        let work = move || watch.account(after.map(|(tree, _)| tree));
        match tokio::task::spawn_blocking(work).await.ok()? {
            Ok(files) => files,
            Err(cause) => {
                warn!(%cause, "what a call changed is not known");
                None
            }
        }
    }

    fn account(&self, after: Option<TreeId>) -> Result<Option<StepFiles>, SnapshotError> {
        let before = *lock(&self.before);
        if let (Some((before, since)), Some(after)) = (before, after) {
            for changed in self.worktree.store.changed(&before, &after)? {
                if !self.worktree.is_anothers(&self.session, since, &changed.path) {
                    self.ledger.note(changed.path, changed.before);
                }
            }
        }
        self.ledger.account(&self.worktree, self.base, &self.session)
    }
}

/// Captures a file before a tool of ours changes it.
fn witness(
    worktree: Arc<Worktree>,
    ledger: Arc<Ledger>,
    who: Vec<SessionId>,
) -> Arc<sturdy_worktree::tool::Witness> {
    Arc::new(move |path: &WorkPath| {
        // Outside of the worktree nothing is captured, and nothing is undone.
        let Some(path) = worktree.store.path_of(path.real()) else { return };
        match worktree.store.state_now(&path) {
            Ok(state) => {
                ledger.note(path.clone(), state);
                worktree.note_change(&who, path);
            }
            Err(cause) => warn!(%cause, "a file was not captured before it was changed"),
        }
    })
}

impl Ledger {
    /// A new step begins a new page, unless the last one was never heard: then its files are added to this step's.
    fn open(&self, step: &MessageId) {
        let mut pages = lock(&self.inner);
        if pages.step.as_ref() == Some(step) {
            return;
        }
        if pages.is_told {
            pages.before.clear();
        }
        pages.step = Some(step.clone());
        pages.is_told = false;
    }

    /// Waits until no call of the session is watched any more: what was cut off is in the ledger then.
    pub(crate) async fn settled(&self) {
        // Nobody closes it.
        drop(self.acting.acquire_many(CALLS_MAX).await);
    }

    /// The first state counts.
    fn note(&self, path: TreePath, before: State) {
        let mut pages = lock(&self.inner);
        pages.is_told = false;
        pages.before.entry(path).or_insert(before);
    }

    /// What stands in the ledger, as two trees and the files that differ.
    pub(crate) fn account(
        &self,
        worktree: &Worktree,
        base: Option<TreeId>,
        session: &SessionId,
    ) -> Result<Option<StepFiles>, SnapshotError> {
        let before = lock(&self.inner).before.clone();
        if before.is_empty() {
            return Ok(None);
        }
        let store = &worktree.store;
        let mut after = BTreeMap::new();
        for path in before.keys() {
            after.insert(path.clone(), store.state_now(path)?);
        }
        let files: Vec<&TreePath> = before.keys().filter(|path| before[*path] != after[*path]).collect();
        if files.is_empty() {
            return Ok(None);
        }
        let files = files.into_iter().map(|path| absolute(store.root(), path)).collect();
        let before = store.with_states(base.as_ref(), &before)?;
        let after = store.with_states(base.as_ref(), &after)?;
        store.anchor(session.as_str(), &[before, after])?;
        lock(&worktree.known).tree = Some(after);
        Ok(Some(StepFiles { before: before.to_string(), after: after.to_string(), files }))
    }

    /// The session has heard of everything in it.
    pub(crate) fn told(&self) {
        lock(&self.inner).is_told = true;
    }

    /// The step of which something stands in it that the session has not heard.
    pub(crate) fn news_of(&self) -> Option<MessageId> {
        let pages = lock(&self.inner);
        pages.step.clone().filter(|_| !pages.is_told && !pages.before.is_empty())
    }
}

/// As the wire names files: absolute, with `/` between names.
fn absolute(root: &Path, path: &TreePath) -> String {
    root.join(path.to_path()).to_string_lossy().into_owned()
}
