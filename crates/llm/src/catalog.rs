//! Which providers and models there are, what they can do and what they cost.
//!
//! `build.rs` puts the providers together, `info.rs` is how they look to a client, `choose.rs`
//! picks one when nobody said which, `traits.rs` says what follows from
//! the family of a model, `variants.rs` and `options.rs` what to send along, and `../connect.rs` makes something that answers.
//!
//! Not here: reading configuration files. The `provider` section comes in as JSON, with
//! `{env:…}` and `{file:…}` already replaced.

use crate::auth::Credentials;
use crate::http::Http;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use sturdy_session::types::failure::Failure;
use tracing::warn;

mod build;
mod choose;
mod info;
mod key_variables;
mod merge;
mod options;
pub(crate) mod protocol;
mod traits;
mod variants;

pub use build::key_page;
pub use info::{
    Api, Capabilities, Headers, Interleaved, Limit, Modalities, ModelInfo, Options, Provider, Source, Status,
};
pub use options::Ask;
pub(crate) use traits::{BLOCKS_OF_THOUGHT, CallIds, SchemaDialect, TakesSampling, ThoughtReplay};
pub use traits::{PromptStyle, Sampling, Traits, takes_patches};

/// What a catalog is made from.
pub struct Sources<'a> {
    /// The `provider` section of the configuration; `Null` if there is none.
    pub config: &'a Value,
    /// Providers whose base URL was set by a project. Only the key that is set beside that URL is sent there, and no
    /// variable is put into it.
    pub redirected: &'a [RedirectedProvider],
    /// What OpenCode last fetched about providers and models; `Null` if there is nothing.
    pub cached: &'a Value,
    /// `enabled_providers`; `None` is all.
    pub enabled: Option<&'a [String]>,
    /// `disabled_providers`.
    pub disabled: &'a [String],
    pub env: &'a dyn Fn(&str) -> Option<String>,
    pub credentials: &'a Credentials,
    /// Shared by all catalogs of the process.
    pub http: Http,
}

/// A provider whose base URL was set by a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectedProvider {
    pub id: String,
    /// The user configured a key for another address.
    pub has_other_key: bool,
}

impl Sources<'_> {
    fn redirected_provider(&self, id: &str) -> Option<&RedirectedProvider> {
        self.redirected.iter().find(|provider| provider.id == id)
    }
}

impl fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("enabled", &self.enabled)
            .field("disabled", &self.disabled)
            .finish_non_exhaustive()
    }
}

/// All providers, as known at one moment. Build another one when configuration or keys change.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Usable now, in order of preference.
    pub providers: Vec<Arc<Provider>>,
    /// Usable or not, for a list to choose from.
    pub known: Vec<Arc<Provider>>,
    /// What a person should know about what they configured.
    pub warnings: Vec<String>,
    /// Models nobody knows that were asked for: warned about once.
    passed_on: Arc<Mutex<HashSet<String>>>,
    pub(crate) http: Http,
    pub(crate) demo_pace_ms: Option<u64>,
}

/// One model with everything needed to use it.
#[derive(Clone, Debug)]
pub struct ModelEntry {
    pub info: Arc<ModelInfo>,
    pub provider: Arc<Provider>,
    pub(crate) http: Http,
    pub(crate) demo_pace_ms: Option<u64>,
}

/// No such model, or none that is available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Model not found: {provider}/{model}.{}", did_you_mean(suggestions))]
pub struct NotFound {
    pub provider: String,
    pub model: String,
    pub suggestions: Vec<String>,
}

fn did_you_mean(suggestions: &[String]) -> String {
    if suggestions.is_empty() { String::new() } else { format!(" Did you mean: {}?", suggestions.join(", ")) }
}

impl NotFound {
    /// As clients see it.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure::unknown(self.to_string())
    }
}

impl Catalog {
    #[must_use]
    pub fn build(sources: &Sources<'_>) -> Self {
        let is_wanted = |id: &String| {
            sources.enabled.is_none_or(|enabled| enabled.contains(id)) && !sources.disabled.contains(id)
        };
        let mut drafts = build::drafts(sources);
        for draft in
            drafts.iter_mut().filter(|draft| sources.redirected_provider(&draft.provider.id).is_none())
        {
            options::expand_addresses(&mut draft.provider, sources.env);
        }
        drafts.retain(|draft| {
            let has_use = !draft.provider.models.is_empty() || draft.provider.passes_on;
            is_wanted(&draft.provider.id) && has_use
        });
        // Nobody who names no model means a provider of which none is known.
        drafts.sort_by_key(|draft| draft.provider.models.is_empty());
        let mut providers = Vec::new();
        let mut known = Vec::new();
        let mut warnings = Vec::new();
        for draft in drafts {
            let provider = Arc::new(draft.provider);
            warnings.extend(build::remark(&provider, draft.is_available));
            if draft.is_available {
                providers.push(Arc::clone(&provider));
            }
            known.push(provider);
        }
        let demo_pace_ms =
            (sources.env)(crate::demo::PACE_VARIABLE).and_then(|value| value.trim().parse().ok());
        Self {
            providers,
            known,
            warnings,
            http: sources.http.clone(),
            demo_pace_ms,
            passed_on: Arc::default(),
        }
    }

    #[must_use]
    pub fn provider(&self, id: &str) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|provider| provider.id == id)
    }

    /// A provider by its id, usable or not.
    #[must_use]
    pub fn known_provider(&self, id: &str) -> Option<&Arc<Provider>> {
        self.known.iter().find(|provider| provider.id == id)
    }

    /// # Errors
    /// `NotFound` names up to three that look alike.
    pub fn model(&self, provider: &str, model: &str) -> Result<Arc<ModelEntry>, NotFound> {
        let not_found =
            |suggestions| NotFound { provider: provider.to_owned(), model: model.to_owned(), suggestions };
        let Some(found) = self.provider(provider) else {
            let ids = self.providers.iter().map(|provider| provider.id.as_str());
            return Err(not_found(choose::alike(provider, ids)));
        };
        match found.models.iter().find(|info| info.id == model) {
            Some(info) => Ok(Arc::new(self.entry(found, info))),
            // Lists of models are old the day they are made.
            None if found.passes_on && !model.is_empty() => Ok(Arc::new(self.unknown(found, model))),
            None => Err(not_found(choose::alike(model, found.models.iter().map(|info| info.id.as_str())))),
        }
    }

    /// Per provider, what a client should pick when nothing is configured.
    #[must_use]
    pub fn default_models(&self) -> BTreeMap<String, String> {
        let best = |provider: &Arc<Provider>| {
            Some((provider.id.clone(), choose::best(&provider.models)?.id.clone()))
        };
        self.known.iter().filter_map(best).collect()
    }

    fn unknown(&self, provider: &Arc<Provider>, model: &str) -> ModelEntry {
        let reference = format!("{}/{model}", provider.id);
        if self.passed_on.lock().unwrap_or_else(PoisonError::into_inner).insert(reference.clone()) {
            let alike = choose::alike(model, provider.models.iter().map(|info| info.id.as_str())).join(", ");
            warn!(
                model = reference,
                alike, "this model is not known; its name is passed on, without prices and limits"
            );
        }
        self.entry(provider, &Arc::new(build::unlisted(provider, model)))
    }

    fn entry(&self, provider: &Arc<Provider>, info: &Arc<ModelInfo>) -> ModelEntry {
        ModelEntry {
            info: Arc::clone(info),
            provider: Arc::clone(provider),
            http: self.http.clone(),
            demo_pace_ms: self.demo_pace_ms,
        }
    }
}
