//! The files and directories that configuration is read from.
//!
//! The user's directory first, then `OPENCODE_CONFIG`, then the files of the project from the top of
//! the checkout down to the directory, then the `.opencode` directories in the same order: what
//! stands nearer wins. Outside a repository nothing above the home directory is read, and nothing above
//! the directory itself if that is not below home.

use super::merge::Level;
use crate::environment::Environment;
use std::path::{Path, PathBuf};
use sturdy_worktree::path::foreign_writer;

/// File names of one directory, later wins. The first two are shared with OpenCode, the others ours.
const PROJECT_NAMES: [&str; 4] = ["opencode.json", "opencode.jsonc", "sturdy.json", "sturdy.jsonc"];
const GLOBAL_NAMES: [&str; 5] =
    ["config.json", "opencode.json", "opencode.jsonc", "sturdy.json", "sturdy.jsonc"];

/// The directory inside a project that holds agents, commands and skills.
const DOT_DIR: &str = ".opencode";

/// Files for agents, in the order of preference: the first name that is found decides for the whole project.
const INSTRUCTION_NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

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
    /// Read in the place of a file, which may not be there.
    pub(super) draft: Option<Draft>,
}

/// What a file would hold: to know whether it can be loaded before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
}

impl Places {
    #[must_use]
    pub fn new(directory: &Path, worktree: &Path, environment: &Environment) -> Self {
        Self {
            directory: directory.to_owned(),
            worktree: worktree.to_owned(),
            config_dir: environment.config_dir(),
            environment: environment.clone(),
            draft: None,
        }
    }

    /// The same, with a draft in the place of a file.
    pub(crate) fn with_draft(self, draft: Option<Draft>) -> Self {
        Self { draft, ..self }
    }

    /// What would be in this file.
    pub(super) fn draft_of(&self, file: &Path) -> Option<&str> {
        self.draft.as_ref().filter(|draft| draft.file == file).map(|draft| draft.text.as_str())
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
        let named = self.environment.filled("OPENCODE_CONFIG")?;
        // Beside where the server was started: whoever opens a stranger's directory does not mean a file in it.
        std::path::absolute(named).ok()
    }

    pub(super) fn project_files(&self) -> Vec<PathBuf> {
        if self.is_on("OPENCODE_DISABLE_PROJECT_CONFIG") {
            return Vec::new();
        }
        let files = |dir: PathBuf| PROJECT_NAMES.map(|name| dir.join(name));
        // Who works in the directory of their own settings has read them already.
        self.downwards().into_iter().filter(|dir| *dir != self.config_dir).flat_map(files).collect()
    }

    /// What is trusted as one: the checkout, or the directory outside of one.
    #[must_use]
    pub fn checkout(&self) -> &Path {
        if self.has_repository() { &self.worktree } else { &self.directory }
    }

    fn has_repository(&self) -> bool {
        self.worktree != Path::new("/")
    }

    /// Whether a file that stands in the project is really somewhere else, by a link.
    pub(crate) fn leads_outside(&self, path: &Path) -> bool {
        let Some(holder) = self.holder(path) else { return false };
        match (path.canonicalize(), holder.canonicalize()) {
            (Ok(real), Ok(holder)) => !real.starts_with(holder),
            // What is not there is read by nobody.
            _ => false,
        }
    }

    /// The part of the project a path stands in, as it is written; none if it stands elsewhere.
    fn holder<'a>(&'a self, path: &Path) -> Option<&'a Path> {
        let mut holders: Vec<&Path> = vec![self.checkout()];
        if !self.has_repository() {
            holders.extend(self.directory.ancestors().skip(1).take_while(|dir| dir.starts_with(self.top())));
        }
        holders.into_iter().find(|holder| path.starts_with(holder))
    }

    /// Whether files that other programs of this kind read are read here, too.
    pub(crate) fn reads_claude(&self) -> bool {
        !self.is_on("OPENCODE_DISABLE_CLAUDE_CODE") && !self.is_on("OPENCODE_DISABLE_CLAUDE_CODE_PROMPT")
    }

    /// `AGENTS.md` and its relatives, from the directory upwards.
    pub(crate) fn instruction_files(&self) -> Vec<PathBuf> {
        if self.is_on("OPENCODE_DISABLE_PROJECT_CONFIG") {
            return Vec::new();
        }
        let names = INSTRUCTION_NAMES.iter().filter(|name| self.reads_claude() || **name != "CLAUDE.md");
        names.map(|name| self.on_the_way_up(name)).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// The files of a name, from the directory upwards.
    pub(crate) fn on_the_way_up(&self, name: &str) -> Vec<PathBuf> {
        self.upwards().into_iter().map(|dir| dir.join(name)).filter(|path| path.is_file()).collect()
    }

    /// Why a file or directory is not obeyed whoever is trusted: somebody else could have written it.
    pub(crate) fn refusal(&self, path: &Path) -> Option<String> {
        if self.environment.trusts_all() { None } else { foreign_writer(path) }
    }

    /// Settings of whoever runs the machine.
    pub(super) fn managed_files(&self) -> [PathBuf; 2] {
        let usual =
            if cfg!(target_os = "macos") { "/Library/Application Support/opencode" } else { "/etc/opencode" };
        let dir = PathBuf::from(self.environment.filled("OPENCODE_TEST_MANAGED_CONFIG_DIR").unwrap_or(usual));
        ["opencode.json", "opencode.jsonc"].map(|name| dir.join(name))
    }

    /// Files inside a `.opencode` directory.
    pub(super) fn files_in(dir: &Path) -> [PathBuf; 4] {
        PROJECT_NAMES.map(|name| dir.join(name))
    }

    /// Directories that may hold agents, commands and skills: the user's, then the project's, later wins.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        self.leveled_directories().into_iter().map(|(_, dir)| dir).collect()
    }

    /// The same, and whose they are.
    pub(super) fn leveled_directories(&self) -> Vec<(Level, PathBuf)> {
        let mut dirs = vec![(Level::User, self.config_dir.clone())];
        let mut add = |level: Level, dir: PathBuf| {
            if !dirs.iter().any(|(_, known)| *known == dir) {
                dirs.push((level, dir));
            }
        };
        add(Level::User, self.environment.home.join(DOT_DIR));
        if !self.is_on("OPENCODE_DISABLE_PROJECT_CONFIG") {
            self.downwards().into_iter().for_each(|dir| add(Level::Project, dir.join(DOT_DIR)));
        }
        if let Some(extra) = self.environment.filled("OPENCODE_CONFIG_DIR") {
            add(Level::User, PathBuf::from(extra));
        }
        dirs
    }

    /// The highest directory that is read.
    fn top(&self) -> &Path {
        let home = self.environment.home.as_path();
        match () {
            () if self.has_repository() => &self.worktree,
            () if home != Path::new("/") && self.directory.starts_with(home) => home,
            () => &self.directory,
        }
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
        let top = self.top();
        if !self.directory.starts_with(top) {
            return vec![self.directory.clone()];
        }
        let inside = |dir: &&Path| dir.starts_with(top);
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
