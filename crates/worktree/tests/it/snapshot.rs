//! Captured trees: what is in them, what comes back from them, and what never happens.

mod at_once;
mod bring_back;
mod capture;
mod collect;
mod die;
mod directories;
mod keep;
mod large;
mod odd;
mod random;
mod show;
mod stat_cache;

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use sturdy_worktree::snapshot::{Captured, StoreOptions, TreeId, TreePath, TreeStore};

/// A worktree, a store for it, and a runtime in which git can be run.
pub(crate) struct Place {
    top: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    pub(crate) root: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) store: TreeStore,
}

/// The place of a store that nobody has open.
pub(crate) struct Closed {
    _top: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Closed {
    pub(crate) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.runtime.enter()
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(StoreOptions::default())
    }

    pub(crate) fn with(options: StoreOptions) -> Self {
        let top = tempfile::tempdir().unwrap();
        let base = top.path().canonicalize().unwrap();
        let root = base.join("work");
        let dir = base.join("trees");
        std::fs::create_dir(&root).unwrap();
        let store = TreeStore::open(&dir, &root, options).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { top, runtime, root, dir, store }
    }

    /// A worktree that is a git repository.
    pub(crate) fn repository() -> Self {
        let place = Self::new();
        git(&place.root, &["init", "--quiet"]);
        place
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.root.join(path)).unwrap();
    }

    pub(crate) fn run<T>(&self, work: impl FnOnce(&TreeStore) -> T) -> T {
        let _inside = self.runtime.enter();
        work(&self.store)
    }

    pub(crate) fn scan(&self) -> Captured {
        self.run(|store| store.scan().unwrap())
    }

    pub(crate) fn tree(&self) -> TreeId {
        self.scan().tree
    }

    /// Closes the store. What is left: a runtime, the worktree and the directory of the store.
    pub(crate) fn closed(self) -> (Closed, PathBuf, PathBuf) {
        let Self { top, runtime, root, dir, store } = self;
        drop(store);
        (Closed { _top: top, runtime }, root, dir)
    }

    /// Opens the store again, as after a restart.
    pub(crate) fn reopened(self) -> Self {
        self.reopened_with(StoreOptions::default())
    }

    pub(crate) fn reopened_with(mut self, options: StoreOptions) -> Self {
        self.store = TreeStore::open(&self.dir, &self.root, options).unwrap();
        self
    }

    /// What git says of a tree: `mode path` for each file.
    pub(crate) fn listed(&self, tree: &TreeId) -> Vec<String> {
        let id = tree.to_string();
        let out = Command::new("git")
            .args(["ls-tree", "-r", "-z", "--format=%(objectmode) %(path)", &id])
            .env("GIT_DIR", &self.dir)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let entries = out.stdout.split(|byte| *byte == 0).filter(|one| !one.is_empty());
        entries.map(|one| String::from_utf8_lossy(one).into_owned()).collect()
    }

    /// Every file and link of the worktree with its content and rights, every empty directory, and every directory with
    /// rights that a umask does not give.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root.clone()];
        while let Some(here) = open.pop() {
            for entry in here.read_dir().unwrap() {
                let path = entry.unwrap().path();
                let below = path.strip_prefix(&self.root).unwrap().to_owned();
                let meta = path.symlink_metadata().unwrap();
                if below.starts_with(".git") {
                    continue;
                }
                if meta.is_dir() {
                    let mode = meta.permissions().mode() & 0o777;
                    let is_usual = mode == 0o755;
                    match path.read_dir().unwrap().next().is_none() {
                        true => drop(found.insert(below, format!("an empty directory {mode:o}"))),
                        false if is_usual => {}
                        false => drop(found.insert(below, format!("a directory {mode:o}"))),
                    }
                    open.push(path);
                } else if meta.is_symlink() {
                    found.insert(below, format!("-> {}", path.read_link().unwrap().display()));
                } else {
                    let mode = meta.permissions().mode() & 0o777;
                    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                    found.insert(below, format!("{mode:o} {text}"));
                }
            }
        }
        found
    }
}

pub(crate) fn path(text: &str) -> TreePath {
    TreePath::from_bytes(text.as_bytes()).unwrap()
}

pub(crate) fn git(dir: &Path, arguments: &[&str]) -> String {
    let out = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(dir)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

pub(crate) fn chmod(at: &Path, mode: u32) {
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn program(at: &Path, text: &str) {
    std::fs::write(at, text).unwrap();
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn link(target: &str, at: &Path) {
    symlink(target, at).unwrap();
}
