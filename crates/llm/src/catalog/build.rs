//! From a built-in table, configuration, environment and stored keys to providers.
//!
//! The built-in table has the form of `opencode.json`, so one reader serves both: the table is
//! read first, and what the user wrote is laid over it, field by field.

use super::info::{
    Api, Capabilities, Headers, Interleaved, Limit, Modalities, ModelInfo, Options, Provider, Source, Status,
};
use super::protocol::{COMPATIBLE, Protocol};
use super::traits::usual_interleaving;
use super::{RedirectedProvider, Sources, Traits, merge, variants};
use crate::demo;
use crate::secret::Secret;
use serde_json::{Map, Value};
use std::sync::Arc;
use sturdy_session::json::Num;
use sturdy_session::types::usage::{CacheTokens, Prices};

const BUILT_IN: &str = include_str!("builtin.json");
const ALPHA_VARIABLE: &str = "OPENCODE_ENABLE_EXPERIMENTAL_MODELS";

/// A provider being put together.
pub(super) struct Draft {
    pub(super) provider: Provider,
    pub(super) is_available: bool,
    npm: Option<String>,
    api: String,
}

fn built_in() -> Map<String, Value> {
    serde_json::from_str(BUILT_IN).expect("BUG: the built-in table of models is not JSON")
}

/// Where people get a key for a provider that is built in.
#[must_use]
pub fn key_page(provider: &str) -> Option<String> {
    built_in().get(provider)?["key_page"].as_str().map(str::to_owned)
}

/// Every known provider, in order of preference; `demo` is the last.
pub(super) fn drafts(sources: &Sources<'_>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = built_in().iter().map(|(id, entry)| listed(id, entry)).collect();
    let empty = Map::new();
    for (id, entry) in sources.cached.as_object().unwrap_or(&empty) {
        draft_of(&mut drafts, id).learn(entry);
    }

    let configured = sources.config.as_object().unwrap_or(&empty);
    for (id, entry) in configured {
        draft_of(&mut drafts, id).extend(entry);
    }
    for draft in &mut drafts {
        let entry = configured.get(&draft.provider.id);
        draft.find_key(sources, entry);
        draft.finish(sources, entry.unwrap_or(&Value::Null));
    }
    drafts
}

/// The draft of a provider, before that of the demo if it is new.
fn draft_of<'a>(drafts: &'a mut Vec<Draft>, id: &str) -> &'a mut Draft {
    let at = drafts.iter().position(|draft| draft.provider.id == id).unwrap_or_else(|| {
        let before_demo = drafts.len() - 1;
        drafts.insert(before_demo, Draft::new(id));
        before_demo
    });
    &mut drafts[at]
}

fn listed(id: &str, entry: &Value) -> Draft {
    let mut draft = Draft::new(id);
    draft.learn(entry);
    draft.is_available = id == demo::PROVIDER;
    draft.provider.is_built_in = true;
    draft.provider.passes_on = id != demo::PROVIDER;
    draft
}

/// What a person should know about a provider they configured.
pub(super) fn remark(provider: &Provider, is_available: bool) -> Option<String> {
    let Provider { id, models, api, source, .. } = provider;
    if !is_available || *source != Source::Config {
        return None;
    }
    match Protocol::of(&api.npm) {
        None if api.npm != demo::PACKAGE => Some(format!(
            "provider {id}: the protocol of {} is not supported, so its models cannot be used",
            api.npm
        )),
        _ if models.is_empty() => Some(format!(
            "provider {id} has no models: add \"models\": {{ \"NAME\": {{}} }} to it. Until then any name is passed on, as in \
             \"model\": \"{id}/NAME\""
        )),
        _ => None,
    }
}

/// A model of which nothing is known but its name.
pub(super) fn unlisted(provider: &Provider, model: &str) -> ModelInfo {
    let mut info = unknown_model(&provider.id, model);
    info.api.npm.clone_from(&provider.api.npm);
    info.api.url.clone_from(&provider.api.url);
    info.traits = Traits::of(&info);
    info
}

impl Draft {
    fn new(id: &str) -> Self {
        let provider = Provider {
            id: id.to_owned(),
            name: id.to_owned(),
            source: Source::Config,
            env: Vec::new(),
            key: None,
            login: None,
            is_key_withheld: false,
            options: Options::default(),
            is_built_in: false,
            passes_on: false,
            api: Api::default(),
            models: Vec::new(),
        };
        Self { provider, is_available: false, npm: None, api: String::new() }
    }

    /// Takes in what a list of providers says; that alone makes none available.
    fn learn(&mut self, entry: &Value) {
        let was_available = self.is_available;
        self.extend(entry);
        self.provider.source = Source::Custom;
        self.provider.passes_on = true;
        self.is_available = was_available;
    }

    /// Lays an entry over what is known so far.
    fn extend(&mut self, entry: &Value) {
        let provider = &mut self.provider;
        self.is_available = true;
        provider.source = Source::Config;
        set_text(&mut provider.name, &entry["name"]);
        set_text(&mut self.api, &entry["api"]);
        if let Some(npm) = entry["npm"].as_str() {
            self.npm = Some(npm.to_owned());
        }
        if let Some(env) = strings(&entry["env"]) {
            provider.env = env;
        }
        if let Some(options) = entry["options"].as_object() {
            merge::deep(&mut provider.options.0, options);
        }
        let Some(models) = entry["models"].as_object() else { return };
        for (id, entry) in models {
            let known = provider.models.iter().position(|model| model.id == *id);
            let base = known.map(|at| ModelInfo::clone(&provider.models[at]));
            let base = base.unwrap_or_else(|| unknown_model(&provider.id, id));
            let model = Arc::new(lay_over(base, entry));
            match known {
                Some(at) => provider.models[at] = model,
                None => provider.models.push(model),
            }
        }
    }

    /// A key in the environment or the store makes a provider available; the user's own wins.
    fn find_key(&mut self, sources: &Sources<'_>, entry: Option<&Value>) {
        if let Some(provider) = sources.redirected_provider(&self.provider.id) {
            return self.find_own_key(sources, provider);
        }
        let provider = &mut self.provider;
        let set = |name: &String| (sources.env)(name).filter(|value| !value.is_empty());
        let found: Vec<String> = provider.env.iter().filter_map(set).collect();
        if let Some(value) = found.into_iter().next() {
            self.is_available = true;
            provider.source = Source::Env;
            // With several names, which one is the key is the provider's own business.
            provider.key = (provider.env.len() == 1).then(|| Secret::new(value));
        }
        if let Some(key) = sources.credentials.key(&provider.id) {
            self.is_available = true;
            provider.source = Source::Api;
            provider.key = Some(key.clone());
        }
        if let Some((token, expires)) = sources.credentials.login(&provider.id) {
            self.is_available = true;
            provider.source = Source::Api;
            provider.login = Some((token.clone(), expires));
        }
        if entry.is_some() {
            provider.source = Source::Config;
        }
        let own = provider.options.get("apiKey").and_then(Value::as_str).filter(|key| !key.is_empty());
        if let Some(own) = own {
            provider.key = Some(Secret::new(own));
        }
    }

    /// Who chose the address brings the key. One that is stored or in the environment belongs to another address.
    fn find_own_key(&mut self, sources: &Sources<'_>, redirected: &RedirectedProvider) {
        let provider = &mut self.provider;
        let own = provider.options.get("apiKey").and_then(Value::as_str).filter(|key| !key.is_empty());
        provider.key = own.map(Secret::new);
        let is_set = |name: &String| (sources.env)(name).is_some_and(|value| !value.is_empty());
        let has_other = redirected.has_other_key
            || provider.env.iter().any(is_set)
            || sources.credentials.key(&provider.id).is_some()
            || sources.credentials.login(&provider.id).is_some();
        provider.is_key_withheld = provider.key.is_none() && has_other;
    }

    /// What needs all of it: package, address, variants, and which models may be seen.
    fn finish(&mut self, sources: &Sources<'_>, entry: &Value) {
        let allow_alpha = (sources.env)(ALPHA_VARIABLE).is_some_and(|value| value == "1" || value == "true");
        let only = strings(&entry["whitelist"]);
        let never = strings(&entry["blacklist"]).unwrap_or_default();
        let provider = &mut self.provider;
        // Who lists what may be used means that and nothing else.
        let is_limited = only.is_some() || !never.is_empty();
        provider.passes_on = !is_limited && (provider.passes_on || provider.models.is_empty());
        let models = std::mem::take(&mut provider.models).into_iter().filter(|model| {
            let is_hidden = match model.status {
                Status::Deprecated => true,
                Status::Alpha => !allow_alpha,
                Status::Beta | Status::Active => false,
            };
            !is_hidden
                && !never.contains(&model.id)
                && only.as_ref().is_none_or(|only| only.contains(&model.id))
        });
        let npm = self.npm.as_deref().unwrap_or(COMPATIBLE);
        let api = self.api.as_str();
        provider.api = Api { id: String::new(), npm: npm.to_owned(), url: api.to_owned() };
        // A variable that happens to be set is no reason to offer what cannot be spoken to.
        if provider.source != Source::Config && Protocol::of(npm).is_none() && npm != demo::PACKAGE {
            self.is_available = false;
        }
        provider.models = models
            .map(|model| {
                let mut model = ModelInfo::clone(&model);
                let fill = |field: &mut String, value: &str| {
                    if field.is_empty() {
                        value.clone_into(field);
                    }
                };
                fill(&mut model.api.npm, npm);
                fill(&mut model.api.url, api);
                if model.capabilities.interleaved == Interleaved::Plain(false)
                    && let Some(usual) = usual_interleaving(&model.api)
                {
                    model.capabilities.interleaved = usual;
                }
                model.traits = Traits::of(&model);
                model.variants = variants::of(&model);
                Arc::new(model)
            })
            .collect();
    }
}

fn unknown_model(provider: &str, id: &str) -> ModelInfo {
    ModelInfo {
        id: id.to_owned(),
        name: id.to_owned(),
        provider_id: provider.to_owned(),
        status: Status::Active,
        cost: Prices::default(),
        api: Api { id: id.to_owned(), ..Api::default() },
        capabilities: Capabilities::unknown(),
        family: String::new(),
        headers: Headers::default(),
        limit: Limit::default(),
        options: Map::new(),
        release_date: String::new(),
        traits: Traits::default(),
        variants: Map::new(),
    }
}

fn lay_over(mut model: ModelInfo, entry: &Value) -> ModelInfo {
    set_text(&mut model.api.id, &entry["id"]);
    set_text(&mut model.name, &entry["name"]);
    set_text(&mut model.family, &entry["family"]);
    set_text(&mut model.release_date, &entry["release_date"]);
    set_text(&mut model.api.npm, &entry["provider"]["npm"]);
    set_text(&mut model.api.url, &entry["provider"]["api"]);
    if let Ok(status) = serde_json::from_value(entry["status"].clone()) {
        model.status = status;
    }
    let capabilities = &mut model.capabilities;
    set_flag(&mut capabilities.attachment, &entry["attachment"]);
    set_flag(&mut capabilities.reasoning, &entry["reasoning"]);
    set_flag(&mut capabilities.temperature, &entry["temperature"]);
    set_flag(&mut capabilities.toolcall, &entry["tool_call"]);
    if let Some(field) = entry["interleaved"].as_str() {
        capabilities.interleaved = Interleaved::Field { field: field.to_owned() };
    } else if let Ok(interleaved) = serde_json::from_value(entry["interleaved"].clone()) {
        capabilities.interleaved = interleaved;
    }
    set_modalities(&mut capabilities.input, &entry["modalities"]["input"]);
    set_modalities(&mut capabilities.output, &entry["modalities"]["output"]);
    set_prices(&mut model.cost, &entry["cost"]);
    set_number(&mut model.limit.context, &entry["limit"]["context"]);
    set_number(&mut model.limit.output, &entry["limit"]["output"]);
    if let Some(input) = entry["limit"]["input"].as_f64() {
        model.limit.input = Some(Num(input));
    }
    if let Some(options) = entry["options"].as_object() {
        merge::deep(&mut model.options, options);
    }
    if let Some(headers) = entry["headers"].as_object() {
        let headers =
            headers.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        model.headers.0.extend(headers);
    }
    if let Some(variants) = entry["variants"].as_object() {
        merge::deep(&mut model.variants, variants);
    }
    model
}

fn set_prices(prices: &mut Prices, cost: &Value) {
    if !cost.is_object() {
        return;
    }
    set_number(&mut prices.input, &cost["input"]);
    set_number(&mut prices.output, &cost["output"]);
    set_number(&mut prices.cache.read, &cost["cache_read"]);
    set_number(&mut prices.cache.write, &cost["cache_write"]);
    let long = &cost["context_over_200k"];
    if long.is_object() {
        let number = |name: &str| Num(long[name].as_f64().unwrap_or(0.0));
        prices.over_200k = Some(Box::new(Prices {
            input: number("input"),
            output: number("output"),
            cache: CacheTokens { read: number("cache_read"), write: number("cache_write") },
            ..Prices::default()
        }));
    }
}

fn set_modalities(modalities: &mut Modalities, list: &Value) {
    let Some(names) = strings(list) else { return };
    let has = |name: &str| names.iter().any(|known| known == name);
    *modalities = Modalities {
        text: has("text"),
        audio: has("audio"),
        image: has("image"),
        pdf: has("pdf"),
        video: has("video"),
    };
}

fn set_text(field: &mut String, value: &Value) {
    if let Some(text) = value.as_str() {
        text.clone_into(field);
    }
}

fn set_flag(field: &mut bool, value: &Value) {
    if let Some(flag) = value.as_bool() {
        *field = flag;
    }
}

fn set_number(field: &mut Num, value: &Value) {
    if let Some(number) = value.as_f64() {
        *field = Num(number);
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?;
    Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}
