//! Where configuration may stand.
//!
//! The user's directory first, then `OPENCODE_CONFIG`, then the files of the project from the top of
//! the checkout down to the directory, then the `.opencode` directories in the same order: what
//! stands nearer wins.

use crate::environment::Environment;
use std::path::{Path, PathBuf};

/// File names of one directory, later wins. The first two are shared with OpenCode, the others ours.
const PROJECT_NAMES: [&str; 4] = ["opencode.json", "opencode.jsonc", "sturdy.json", "sturdy.jsonc"];
const GLOBAL_NAMES: [&str; 5] =
    ["config.json", "opencode.json", "opencode.jsonc", "sturdy.json", "sturdy.jsonc"];

/// The directory inside a project that holds agents, commands and skills.
const DOT_DIR: &str = ".opencode";

/// Deeper than anybody nests agents; stops a loop of links.
const DEPTH_MAX: usize = 8;
/// More files than this in one place are somebody's notes, not agents.
const FILES_MAX: usize = 2000;
/// Looked at in one walk; a pattern over a whole disk ends here.
const ENTRIES_MAX: usize = 50_000;

/// One directory as the configuration sees it, and the person who works in it.
#[derive(Clone, Debug)]
pub struct Places {
    pub directory: PathBuf,
    /// Top of the checkout; `/` without version control.
    pub worktree: PathBuf,
    pub environment: Environment,
    /// `$XDG_CONFIG_HOME/opencode`.
    pub config_dir: PathBuf,
}

impl Places {
    #[must_use]
    pub fn new(directory: &Path, worktree: &Path, environment: &Environment) -> Self {
        Self {
            directory: directory.to_owned(),
            worktree: worktree.to_owned(),
            config_dir: environment.config_dir(),
            environment: environment.clone(),
        }
    }

    /// Whether a switch of the environment is on: `1` or `true`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.environment.get(name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    pub(super) fn global_files(&self) -> Vec<PathBuf> {
        GLOBAL_NAMES.iter().map(|name| self.config_dir.join(name)).collect()
    }

    /// The file named by `OPENCODE_CONFIG`.
    pub(super) fn named_file(&self) -> Option<PathBuf> {
        let named = PathBuf::from(self.environment.filled("OPENCODE_CONFIG")?);
        Some(self.directory.join(named))
    }

    pub(super) fn project_files(&self) -> Vec<PathBuf> {
        if self.is_on("OPENCODE_DISABLE_PROJECT_CONFIG") {
            return Vec::new();
        }
        let files = |dir: PathBuf| PROJECT_NAMES.map(|name| dir.join(name));
        self.downwards().into_iter().flat_map(files).collect()
    }

    /// Files inside a `.opencode` directory.
    pub(super) fn files_in(dir: &Path) -> [PathBuf; 4] {
        PROJECT_NAMES.map(|name| dir.join(name))
    }

    /// Directories that may hold agents, commands and skills: the user's, then the project's, later wins.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.config_dir.clone()];
        let mut add = |dir: PathBuf| {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        };
        add(self.environment.home.join(DOT_DIR));
        if !self.is_on("OPENCODE_DISABLE_PROJECT_CONFIG") {
            self.downwards().into_iter().map(|dir| dir.join(DOT_DIR)).for_each(&mut add);
        }
        if let Some(extra) = self.environment.filled("OPENCODE_CONFIG_DIR") {
            add(PathBuf::from(extra));
        }
        dirs
    }

    /// From the top of the worktree down to the directory.
    pub(crate) fn downwards(&self) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = self.upwards();
        dirs.reverse();
        dirs
    }

    /// From the directory up to the top of the worktree.
    pub(crate) fn upwards(&self) -> Vec<PathBuf> {
        // A directory outside the worktree stands alone: walking up from it would end at the root.
        if !self.directory.starts_with(&self.worktree) {
            return vec![self.directory.clone()];
        }
        let inside = |dir: &&Path| dir.starts_with(&self.worktree);
        self.directory.ancestors().take_while(inside).map(Path::to_owned).collect()
    }

    /// The file a change of the project's configuration goes into: the nearest there is, else a new one.
    #[must_use]
    pub fn project_file(&self) -> PathBuf {
        let existing =
            PROJECT_NAMES.iter().rev().map(|name| self.directory.join(name)).find(|path| path.is_file());
        existing.unwrap_or_else(|| self.directory.join("opencode.json"))
    }

    /// The file a change of the user's configuration goes into.
    #[must_use]
    pub fn global_file(&self) -> PathBuf {
        let existing = self.global_files().into_iter().rev().find(|path| path.is_file());
        existing.unwrap_or_else(|| self.config_dir.join("opencode.json"))
    }

    /// A path as a person writes it: `~/x` is in the home directory, `x` is beside `base`.
    pub(crate) fn resolve(&self, written: &str, base: &Path) -> PathBuf {
        match written.strip_prefix("~/") {
            Some(rest) => self.environment.home.join(rest),
            None => base.join(written),
        }
    }
}

/// Files below a directory whose name passes, in order of their paths. A directory that is not there
/// has none; what cannot be read is left out.
pub(crate) fn files_below(dir: &Path, recursive: bool, wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut walk = Walk { wanted, found: Vec::new(), entries: 0 };
    walk.enter(dir, if recursive { DEPTH_MAX } else { 0 });
    walk.found.sort();
    walk.found
}

struct Walk<'a> {
    wanted: &'a dyn Fn(&Path) -> bool,
    found: Vec<PathBuf>,
    entries: usize,
}

impl Walk<'_> {
    fn enter(&mut self, dir: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(dir) else { return };
        for entry in entries.filter_map(Result::ok) {
            self.entries += 1;
            if self.found.len() >= FILES_MAX || self.entries >= ENTRIES_MAX {
                return;
            }
            let path = entry.path();
            // Following links: people link a shared directory of agents into their projects.
            let Ok(kind) = std::fs::metadata(&path) else { continue };
            let is_foreign = matches!(entry.file_name().to_str(), Some(".git" | "node_modules"));
            if kind.is_dir() && depth > 0 && !is_foreign {
                self.enter(&path, depth - 1);
            } else if kind.is_file() && (self.wanted)(&path) {
                self.found.push(path);
            }
        }
    }
}
