//! Changes of configuration files: what is accepted can be loaded.
//!
//! What the file would hold is laid in its place, and everything is read as the next load would, before and after the
//! project is trusted. Only then it is written, in one step: whatever dies, the file that is there can be loaded. A file
//! that was broken before can still be changed: that is how it is mended.

use crate::directory::agents::Agents;
use crate::directory::config::{self, ConfigError, Draft, Judge, Places, UpdateError};
use crate::directory::instance::absolute;
use crate::engine::Engine;
use crate::error::EngineError;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The directory whose configuration was changed.
#[derive(Debug)]
pub struct ChangedSettings {
    pub directory: String,
    pub project: String,
}

/// One change of a file at a time: what is checked must be what is written. Files that hang hold up their own changes
/// and nobody else's.
static CHANGING: Mutex<BTreeMap<PathBuf, Weak<Mutex<()>>>> = Mutex::new(BTreeMap::new());

impl Engine {
    /// Changes the configuration file of the project a directory belongs to, which may be broken.
    pub async fn change_settings(
        &self,
        directory: &str,
        patch: Map<String, Value>,
    ) -> Result<ChangedSettings, EngineError> {
        let directory = absolute(&self.options().directory, directory);
        let place = PathBuf::from(&directory);
        let runtime = tokio::runtime::Handle::current();
        let resolving = {
            let place = place.clone();
            move || runtime.block_on(sturdy_worktree::project::resolve(&place))
        };
        let found = self.look_at_files(&directory, resolving).await?;
        let environment = self.options().environment.clone();
        let worktree = found.worktree.clone();
        self.change(&directory, move || {
            let places = Places::new(&place, &worktree, &environment);
            let file = places.project_file();
            let check = |draft: Option<Draft>| {
                let places = places.clone().with_draft(draft);
                for is_trusted in [false, true] {
                    let judge = Judge { cautions: &[], is_trusted: &|_| is_trusted };
                    Agents::build(&config::load_from(&places, &judge)?)?;
                }
                Ok(())
            };
            one_at_a_time(&file, || update(&file, &patch, &check))
        })
        .await?;
        Ok(ChangedSettings { directory, project: found.id })
    }

    /// Changes the user's configuration file, which may be broken.
    pub async fn change_global_settings(&self, patch: Map<String, Value>) -> Result<(), EngineError> {
        let environment = self.options().environment.clone();
        let directory = self.options().directory.clone();
        let named = directory.to_string_lossy().into_owned();
        self.change(&named, move || {
            let file = Places::new(&directory, &directory, &environment).global_file();
            let places = Places::new(&environment.home, &environment.home, &environment);
            let check = |draft: Option<Draft>| {
                let settings = config::load_global_from(&places.clone().with_draft(draft))?;
                Agents::build(&settings).map(drop)
            };
            one_at_a_time(&file, || update(&file, &patch, &check))
        })
        .await
    }

    /// Works on the disk where that holds nobody up.
    async fn change<F>(&self, directory: &str, change: F) -> Result<(), EngineError>
    where
        F: FnOnce() -> Result<(), UpdateError> + Send + 'static,
    {
        self.look_at_files(directory, change).await?.map_err(refused)
    }
}

fn one_at_a_time<T>(file: &Path, change: impl FnOnce() -> T) -> T {
    let own = {
        let mut changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that nobody changes now.
        changing.retain(|_, lock| lock.strong_count() > 0);
        let held = changing.get(file).and_then(Weak::upgrade);
        let own = held.unwrap_or_default();
        changing.insert(file.to_owned(), Arc::downgrade(&own));
        own
    };
    let _one = own.lock().unwrap_or_else(PoisonError::into_inner);
    change()
}

fn update(
    file: &Path,
    patch: &Map<String, Value>,
    check: &dyn Fn(Option<Draft>) -> Result<(), ConfigError>,
) -> Result<(), UpdateError> {
    let draft = config::draft_of(file, patch)?;
    let was_whole = check(None).is_ok();
    match check(Some(draft.clone())) {
        Ok(()) => {}
        // Broken before and elsewhere: nothing of it can be mended here.
        Err(cause) if !was_whole && cause.path() != file.to_string_lossy() => {}
        Err(cause) => return Err(cause.into()),
    }
    config::write_draft(&draft)
}

fn refused(cause: UpdateError) -> EngineError {
    match cause {
        UpdateError::Config(cause) => EngineError::Config(cause),
        UpdateError::Unwritable { path, source } => {
            tracing::warn!(path = %path.display(), %source, "a configuration file cannot be written");
            EngineError::Bad(format!("{} cannot be written: {source}", path.display()))
        }
    }
}
