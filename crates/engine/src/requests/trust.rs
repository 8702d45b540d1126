//! Trust that a person gives, or takes back, without being asked: `sturdy trust`, while a server runs.
//!
//! Through the server, because it knows its own commands: one that a model wrote must not trust a project.

use crate::directory::config::Trust;
use crate::directory::instance::absolute;
use crate::directory::trust::{Inspected, inspect, trusted_checkout};
use crate::engine::Engine;
use crate::error::EngineError;
use std::path::PathBuf;

impl Engine {
    /// Trusts the checkout of a directory as it is now. The next prompt in it obeys its settings.
    pub async fn trust(&self, directory: &str) -> Result<Trust, EngineError> {
        let directory = absolute(&self.options().directory, directory);
        let inspected = self.inspect(&directory).await?;
        let trust = inspected.trust.clone();
        if !trust.dangers.is_empty() {
            let now = self.inner.clock.now();
            let added = self.look_at_files(&directory, move || inspected.list.add(&inspected.trust.key, now));
            added.await?.map_err(|cause| EngineError::Bad(cause.to_string()))?;
        }
        Ok(trust)
    }

    /// Takes back all trust in the checkout of a directory: gives its real path, and whether it was trusted. What runs
    /// because it was trusted is ended, and its settings are read anew.
    pub async fn distrust(&self, directory: &str) -> Result<(PathBuf, bool), EngineError> {
        let directory = absolute(&self.options().directory, directory);
        let place = PathBuf::from(&directory);
        let environment = self.options().environment.clone();
        let runtime = tokio::runtime::Handle::current();
        let looking = move || runtime.block_on(trusted_checkout(&place, &environment));
        let checkout = self.look_at_files(&directory, looking).await?;
        let trusting = self.inner.directories.trust.clone();
        let forgotten = checkout.clone();
        let forgetting = self.look_at_files(&directory, move || trusting.forget(&forgotten));
        let was_trusted = forgetting.await?.map_err(|cause| EngineError::Bad(cause.to_string()))?;
        for instance in self.inner.directories.instances.made() {
            if instance.settings.trust().key.checkout == checkout {
                self.inner.directories.read_again(&instance.directory, &instance.project.id);
            }
        }
        Ok((checkout, was_trusted))
    }

    /// How a directory stands. Its files and the list are read on a thread that may hang with them.
    async fn inspect(&self, directory: &str) -> Result<Inspected, EngineError> {
        let place = PathBuf::from(directory);
        let data_dir = self.options().data_dir.clone();
        let environment = self.options().environment.clone();
        let runtime = tokio::runtime::Handle::current();
        let looking = move || runtime.block_on(inspect(place, &data_dir, &environment));
        self.look_at_files(directory, looking).await?.map_err(EngineError::Config)
    }
}
