//! Which variables the programs of a directory inherit.
//!
//! Commands, formatters, language servers and MCP servers get the user's environment, without the keys of the
//! providers that are configured or used in their directory, what `{env:…}` of its settings takes, and what
//! `experimental.hidden_variables` lists. `experimental.visible_variables` gives back, in the settings of the user
//! alone. What is not inherited is said once in the log, by name.
//!
//! Every directory has its own: what one project hides, the others still have.

use super::config::Settings;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use sturdy_llm::{Catalog, ModelEntry};
use sturdy_worktree::process::Inherited;
use tracing::info;

/// Named in the log since the process started.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// What programs of a directory with these settings inherit.
pub(crate) fn inherited(settings: &Settings, catalog: &Catalog, directory: &Path) -> Inherited {
    let inherited = Inherited::without([], settings.visible_variables().to_vec());
    hide(&inherited, settings, catalog, directory);
    inherited
}

/// Hides what these settings and providers use, besides what is hidden already.
pub(crate) fn hide(inherited: &Inherited, settings: &Settings, catalog: &Catalog, directory: &Path) {
    let mut names: Vec<String> = settings.hidden_variables().cloned().collect();
    names.extend(settings.variables_read().iter().cloned());
    names.extend(catalog.key_variables(&|provider| settings.names_provider(provider)));
    tell(inherited.hide(names), directory);
}

/// A model is used here: its commands do not get the key it is paid with.
pub(crate) fn hide_keys_of(inherited: &Inherited, model: &ModelEntry, directory: &str) {
    tell(inherited.hide(model.provider.key_variables().iter().cloned()), Path::new(directory));
}

fn tell(hidden: Vec<String>, directory: &Path) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let new: Vec<String> = hidden.into_iter().filter(|name| told.insert(name.clone())).collect();
    if !new.is_empty() {
        info!(
            directory = %directory.display(),
            variables = new.join(", "),
            "commands and MCP servers are not given these variables; experimental.visible_variables gives them back"
        );
    }
}
