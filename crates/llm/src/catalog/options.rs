//! What to send along with every request to a model (spec: engine §2.2, §10.7).

use super::{ModelEntry, Provider, merge};
use serde_json::{Value, json};
use std::sync::Arc;
use sturdy_session::json::Map;

/// Sampling a family is known to work best with; `None` leaves it to the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u64>,
}

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
        let (id, npm) = (self.info.api.id.as_str(), self.info.api.npm.as_str());
        let speaks_responses = matches!(npm, "@ai-sdk/openai" | "@ai-sdk/azure" | "@ai-sdk/github-copilot");
        let mut options = Map::new();
        let mut set = |name: &str, value: Value| drop(options.insert(name.to_owned(), value));
        if speaks_responses {
            set("store", json!(false));
        }
        let keeps_cache = ["@ai-sdk/openai", "@ai-sdk/azure", "@ai-sdk/xai", "@ai-sdk/mistral"]
            .contains(&npm)
            || self.provider.id == "venice"
            || self.provider.options.get("setCacheKey") == Some(&json!(true));
        if keeps_cache && !session.is_empty() {
            set("promptCacheKey", json!(session));
        }
        if npm.starts_with("@ai-sdk/google")
            && !npm.ends_with("anthropic")
            && self.info.capabilities.reasoning
        {
            set("thinkingConfig", json!({ "includeThoughts": true }));
        }
        if npm == "@openrouter/ai-sdk-provider" {
            set("usage", json!({ "include": true }));
        }
        if id.contains("gpt-5") && !id.contains("chat") {
            if !id.contains("pro") {
                set("reasoningEffort", json!("medium"));
                if speaks_responses {
                    set("reasoningSummary", json!("auto"));
                }
            }
            if id.contains("gpt-5.") && !id.contains("codex") {
                set("textVerbosity", json!("low"));
            }
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
        let mut sampling = sampling(&self.info.api.id.to_lowercase());
        if !self.info.capabilities.temperature {
            sampling.temperature = None;
        }
        sampling
    }
}

fn sampling(id: &str) -> Sampling {
    let has = |part: &str| id.contains(part);
    let is_gemini = ["gemini-2.5", "gemini-3-flash", "gemini-3-pro", "gemini-3.1", "gemini-3.5-flash"]
        .iter()
        .any(|name| has(name))
        && !(has("gemini-3.5-flash") && has("lite"));
    let is_kimi_k2 = has("kimi-k2");
    let is_kimi_25 = has("kimi-k2.5") || has("kimi-k2p5");
    let temperature = match () {
        () if is_gemini || has("glm-4.6") || has("glm-4.7") || has("minimax-m2") => Some(1.0),
        () if is_kimi_25 || (is_kimi_k2 && has("thinking")) => Some(1.0),
        () if is_kimi_k2 => Some(0.6),
        () => None,
    };
    let top_p = (is_gemini || has("minimax-m2") || is_kimi_25).then_some(0.95);
    let top_k = match () {
        () if is_gemini => Some(64),
        () if has("minimax-m2.1") || has("minimax-m2.5") => Some(40),
        () if has("minimax-m2") => Some(20),
        () => None,
    };
    Sampling { temperature, top_p, top_k }
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
