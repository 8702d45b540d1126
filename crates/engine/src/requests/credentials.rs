//! Credentials that a client hands over or takes back.
//!
//! The file is shared with other programs, so each change reads it, changes one entry and replaces
//! it in one step. Changes of this server take their turn. Behind a change every directory knows its
//! models anew, so that the next prompt uses it; nothing else of a directory is touched, and what
//! runs there goes on.
//!
//! Not here: what is in the file and how it is kept private (`sturdy_llm::auth`).

use crate::engine::Engine;
use crate::error::EngineError;
use std::sync::{Arc, PoisonError};
use sturdy_llm::auth::{AuthError, Credential, Credentials};
use tracing::warn;

impl Engine {
    /// Keeps a credential for a provider, instead of the one it had.
    ///
    /// # Errors
    /// The file cannot be read or written; it is then as it was.
    pub async fn keep_credential(&self, provider: &str, credential: Credential) -> Result<(), EngineError> {
        let provider = provider.to_owned();
        self.change_credentials(move |all| all.set(&provider, credential)).await
    }

    /// Forgets the credential of a provider. One that has none is no error.
    ///
    /// # Errors
    /// The file cannot be read or written; it is then as it was.
    pub async fn forget_credential(&self, provider: &str) -> Result<(), EngineError> {
        let provider = provider.to_owned();
        self.change_credentials(move |all| {
            all.remove(&provider);
        })
        .await
    }

    /// The providers that have a stored credential. None of what is stored is answered.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn providers_with_credentials(&self) -> Result<Vec<String>, EngineError> {
        let environment = self.inner.options.environment.clone();
        let read = tokio::task::spawn_blocking(move || environment.credentials());
        let stored = read.await.map_err(|_| EngineError::Closing)?.map_err(|cause| refused(&cause))?;
        Ok(stored.providers().map(str::to_owned).collect())
    }

    async fn change_credentials(
        &self,
        change: impl FnOnce(&mut Credentials) + Send + 'static,
    ) -> Result<(), EngineError> {
        let path = self.inner.options.environment.shared_data_dir().join("auth.json");
        let turn = Arc::clone(&self.inner.credentials);
        let changed = tokio::task::spawn_blocking(move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = Credentials::load(&path)?;
            change(&mut all);
            all.save(&path)
        });
        changed.await.map_err(|_| EngineError::Closing)?.map_err(|cause| refused(&cause))?;
        for instance in self.inner.directories.instances.made() {
            let catalog = self.inner.directories.catalog_maker();
            let settings = instance.settings.clone();
            let made = self.inner.files.run(&instance.directory, move || catalog.make(&settings)).await?;
            instance.renew_catalog(made);
        }
        Ok(())
    }
}

fn refused(cause: &AuthError) -> EngineError {
    warn!(%cause, "stored credentials are left as they are");
    EngineError::Bad(cause.to_string())
}
