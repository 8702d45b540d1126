//! Chooses the model when a request names none.

use super::traits::{PREFERRED, small_families};
use super::{Catalog, ModelEntry, ModelInfo, NotFound, Provider, Source};
use crate::demo;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

const SUGGESTIONS_MAX: usize = 3;
/// Below this two names have nothing in common but chance.
const ALIKE_MIN: f64 = 0.3;

/// `provider/model`, split at the first slash: model ids may contain more.
#[must_use]
fn split(reference: &str) -> Option<(&str, &str)> {
    reference.split_once('/')
}

impl Catalog {
    /// The model of a turn that names none: the configured one, else the most recently used one
    /// that is still there, else the best of the first provider.
    ///
    /// # Errors
    /// A configured model that does not exist is an error, not a reason to take another.
    pub fn default_model(
        &self,
        configured: Option<&str>,
        recent: &[(String, String)],
    ) -> Result<Arc<ModelEntry>, NotFound> {
        if let Some(reference) = configured {
            let (provider, model) = split(reference).unwrap_or((reference, ""));
            return self.model(provider, model);
        }
        let used = recent.iter().find_map(|(provider, model)| self.model(provider, model).ok());
        if let Some(used) = used {
            return Ok(used);
        }
        let is_configured =
            |provider: &Provider| provider.source == Source::Config && !provider.models.is_empty();
        let any_configured = self.providers.iter().any(|provider| is_configured(provider));
        let mut candidates =
            self.providers.iter().filter(|provider| !any_configured || is_configured(provider));
        let found = candidates.find_map(|provider| Some(self.entry(provider, best(&provider.models)?)));
        found.map(Arc::new).ok_or_else(|| NotFound {
            provider: demo::PROVIDER.to_owned(),
            model: "echo".to_owned(),
            suggestions: Vec::new(),
        })
    }

    /// A cheap model for titles. `None`: use the model of the turn.
    #[must_use]
    pub fn small_model(&self, provider: &str, configured: Option<&str>) -> Option<Arc<ModelEntry>> {
        if let Some(reference) = configured {
            let (provider, model) = split(reference)?;
            return self.model(provider, model).ok();
        }
        let families = small_families(provider);
        let found = self.provider(provider)?;
        let newest = |family: &&str| {
            let members = found.models.iter().filter(|model| model.family == **family);
            members.max_by_key(|model| model.release_date.as_str())
        };
        families.iter().find_map(newest).map(|info| Arc::new(self.entry(found, info)))
    }
}

/// The model a provider is best known for.
pub(super) fn best(models: &[Arc<ModelInfo>]) -> Option<&Arc<ModelInfo>> {
    models.iter().max_by_key(|model| {
        let preference = PREFERRED.iter().rposition(|name| model.id.contains(name));
        // A stranger's first prompt should come back, not begin a story.
        let is_echo = model.provider_id == demo::PROVIDER && model.id == "echo";
        (preference, is_echo, model.id.contains("latest"), model.id.as_str())
    })
}

/// Up to three names that look like the wanted one, the most alike first. If none does, the first ones
/// there are: a person sees how such names look.
pub(super) fn alike<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = pairs(wanted);
    let mut scored: Vec<(f64, &str)> = names.map(|name| (likeness(&wanted, &pairs(name)), name)).collect();
    if scored.iter().any(|(score, _)| *score >= ALIKE_MIN) {
        scored.retain(|(score, _)| *score >= ALIKE_MIN);
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| Reverse(b.1).cmp(&Reverse(a.1))));
    scored.into_iter().take(SUGGESTIONS_MAX).map(|(_, name)| name.to_owned()).collect()
}

/// Neighbouring letters, without punctuation and case.
fn pairs(name: &str) -> HashSet<(char, char)> {
    let letters: Vec<char> = name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

fn likeness(a: &HashSet<(char, char)>, b: &HashSet<(char, char)>) -> f64 {
    let shared = a.intersection(b).count() as f64;
    let all = (a.len() + b.len()).max(1) as f64;
    2.0 * shared / all
}
