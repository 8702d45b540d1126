//! What to send along with every request to a model.

use super::{ModelEntry, Provider, Sampling, merge};
use serde_json::{Value, json};
use std::sync::Arc;
use sturdy_session::json::Map;

/// Who asks, for choosing options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    pub session: &'a str,
    pub agent_options: Option<&'a Map>,
    pub variant: Option<&'a str>,
    /// A title or the like: think as little as possible.
    pub is_small: bool,
}

impl ModelEntry {
    /// `Request.options`: base, model, agent, variant; the later wins, deeply.
    #[must_use]
    pub fn options(&self, ask: Ask<'_>) -> Map {
        let mut options = self.base_options(ask.session);
        let variant = |name: &str| self.info.variants.get(name).and_then(Value::as_object);
        let least = self.info.variants.values().next().and_then(Value::as_object);
        let layers = [
            least.filter(|_| ask.is_small),
            Some(&self.info.options),
            ask.agent_options,
            ask.variant.and_then(variant).filter(|_| !ask.is_small),
        ];
        for layer in layers.into_iter().flatten() {
            merge::deep(&mut options, layer);
        }
        options
    }

    fn base_options(&self, session: &str) -> Map {
        let traits = &self.info.traits;
        let mut options = traits.options.clone();
        let keeps_cache = traits.keeps_cache
            || self.provider.id == "venice"
            || self.provider.options.get("setCacheKey") == Some(&json!(true));
        if keeps_cache && !session.is_empty() {
            options.insert("promptCacheKey".to_owned(), json!(session));
        }
        if let Some(thinking) = traits.thinking_config.as_ref().filter(|_| self.info.capabilities.reasoning) {
            options.insert("thinkingConfig".to_owned(), thinking.clone());
        }
        options
    }

    /// `min(model, max)`; a model without a known limit takes `max`.
    #[must_use]
    pub fn output_tokens_max(&self, max: u64) -> u64 {
        match self.info.limit.output.count() {
            0 => max,
            own => own.min(max),
        }
    }

    /// Defaults of the model's family. A temperature is only sent to models that take one.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        let mut sampling = self.info.traits.sampling;
        if !self.info.capabilities.temperature {
            sampling.temperature = None;
        }
        sampling
    }
}

/// Replaces `${NAME}` in addresses by the environment; an unknown name stays as it is written.
pub(super) fn expand_addresses(provider: &mut Provider, env: &dyn Fn(&str) -> Option<String>) {
    if let Some(Value::String(url)) = provider.options.0.get_mut("baseURL") {
        *url = expand(url, env);
    }
    for model in &mut provider.models {
        if model.api.url.contains("${") {
            let info = Arc::make_mut(model);
            info.api.url = expand(&info.api.url, env);
        }
    }
}

fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            expanded.push_str("${");
            rest = after;
            break;
        };
        expanded.push_str(&env(name).unwrap_or_else(|| format!("${{{name}}}")));
        rest = tail;
    }
    expanded.push_str(rest);
    expanded
}
