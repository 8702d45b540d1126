//! Walking a directory as ripgrep does: in parallel, by the ignore rules, without following links.

use crate::path::WorkPath;
use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder, WalkState};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// What is walked and what is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// Names with a leading dot are walked too; `.git` never is.
    pub hidden: bool,
    /// Only what matches; `!` excludes. As in `rg -g`.
    pub globs: Vec<String>,
    /// Directories are visited as well as files.
    pub directories: bool,
    pub depth_max: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{glob} is not a pattern for file names: {why}")]
pub(crate) struct GlobError {
    pub glob: String,
    pub why: String,
}

pub(crate) type Visit<'a> = Box<dyn FnMut(&Path, bool) + Send + 'a>;

impl Walk {
    /// Visits every entry below `root`, by its path from there and whether it is a directory.
    /// `make` is called once per thread.
    pub(crate) fn run<'a>(
        &self,
        root: &WorkPath,
        stop: &CancellationToken,
        make: impl Fn() -> Visit<'a>,
    ) -> Result<(), GlobError> {
        let walker = self.builder(root)?.build_parallel();
        walker.run(|| {
            let mut visit = make();
            Box::new(move |entry| {
                if stop.is_cancelled() {
                    return WalkState::Quit;
                }
                // What cannot be read is passed over, as ripgrep does after complaining.
                let Ok(entry) = entry else { return WalkState::Continue };
                let Some((below, is_directory)) = self.wanted(&entry, root) else {
                    return WalkState::Continue;
                };
                visit(below, is_directory);
                WalkState::Continue
            })
        });
        Ok(())
    }

    fn wanted<'e>(&self, entry: &'e DirEntry, root: &WorkPath) -> Option<(&'e Path, bool)> {
        let kind = entry.file_type()?;
        let is_wanted = kind.is_file() || (self.directories && kind.is_dir());
        if !is_wanted {
            return None;
        }
        let below = entry.path().strip_prefix(root.real()).ok()?;
        (!below.as_os_str().is_empty()).then_some((below, kind.is_dir()))
    }

    fn builder(&self, root: &WorkPath) -> Result<WalkBuilder, GlobError> {
        let mut overrides = OverrideBuilder::new(root.real());
        for glob in &self.globs {
            let bad = |error: ignore::Error| GlobError { glob: glob.clone(), why: error.to_string() };
            overrides.add(glob).map_err(bad)?;
        }
        let bad = |error: ignore::Error| GlobError { glob: self.globs.join(" "), why: error.to_string() };
        let mut builder = WalkBuilder::new(root.real());
        builder
            .hidden(!self.hidden)
            .follow_links(false)
            .overrides(overrides.build().map_err(bad)?)
            .max_depth(self.depth_max)
            .threads(std::thread::available_parallelism().map_or(2, |count| count.get().min(12)))
            .filter_entry(|entry| entry.file_name() != ".git");
        Ok(builder)
    }
}

/// Collects from several threads, a batch at a time.
pub(crate) struct Gather<'a, T> {
    batch: Vec<T>,
    all: &'a Mutex<Vec<T>>,
}

impl<'a, T> Gather<'a, T> {
    pub(crate) fn new(all: &'a Mutex<Vec<T>>) -> Self {
        Self { batch: Vec::new(), all }
    }

    pub(crate) fn push(&mut self, one: T) {
        self.batch.push(one);
    }
}

impl<T> Drop for Gather<'_, T> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.batch);
    }
}
