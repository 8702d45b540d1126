//! A person's home and a project in it, on a disk of their own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use sturdy_engine::Environment;
use sturdy_engine::directory::config::{self, ConfigError, Settings};
use tempfile::TempDir;

pub(crate) struct Desk {
    root: TempDir,
    variables: HashMap<String, String>,
    below: &'static str,
    has_git: bool,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home").display().to_string();
        let variables = HashMap::from([
            ("HOME".to_owned(), home),
            ("USER".to_owned(), "ada".to_owned()),
            ("STURDY_TRUST_ALL".to_owned(), "1".to_owned()),
        ]);
        let desk = Self { root, variables, below: "", has_git: true };
        std::fs::create_dir_all(desk.home()).unwrap();
        std::fs::create_dir_all(desk.worktree()).unwrap();
        desk
    }

    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.variables.insert(variable.to_owned(), value.to_owned());
        self
    }

    /// No project is trusted.
    pub(crate) fn trusting_nobody(mut self) -> Self {
        self.variables.remove("STURDY_TRUST_ALL");
        self
    }

    /// Work is done in a directory below the top of the worktree.
    pub(crate) fn in_directory(mut self, below: &'static str) -> Self {
        self.below = below;
        std::fs::create_dir_all(self.directory()).unwrap();
        self
    }

    /// As a directory without version control looks: the worktree is the root of the disk.
    pub(crate) fn without_git(mut self) -> Self {
        self.has_git = false;
        self
    }

    /// Writes a file below the home directory.
    pub(crate) fn at_home(self, path: &str, text: &str) -> Self {
        write(&self.home().join(path), text);
        self
    }

    /// Writes a file below the top of the worktree.
    pub(crate) fn in_project(self, path: &str, text: &str) -> Self {
        write(&self.worktree().join(path), text);
        self
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn worktree(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.worktree().join(self.below)
    }

    pub(crate) fn environment(&self) -> Environment {
        Environment::new(self.variables.clone())
    }

    pub(crate) fn try_load(&self) -> Result<Settings, ConfigError> {
        let worktree = if self.has_git { self.worktree() } else { PathBuf::from("/") };
        config::load(&self.directory(), &worktree, &self.environment())
    }

    pub(crate) fn load(&self) -> Settings {
        self.try_load().unwrap()
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
