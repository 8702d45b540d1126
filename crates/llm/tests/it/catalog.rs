//! What a catalog is made of, and what a client sees of it.

use serde_json::{Value, json};
use sturdy_llm::auth::{Credential, Credentials};
use sturdy_llm::catalog::{RedirectedProvider, Source, Sources};
use sturdy_llm::{Catalog, Http, Secret};
use sturdy_session::types::failure::Failure;

#[derive(Default)]
pub(crate) struct World {
    pub(crate) config: Value,
    pub(crate) env: Vec<(&'static str, &'static str)>,
    pub(crate) credentials: Credentials,
    pub(crate) enabled: Option<Vec<String>>,
    pub(crate) disabled: Vec<String>,
    pub(crate) redirected: Vec<RedirectedProvider>,
    pub(crate) cached: Value,
}

impl World {
    pub(crate) fn config(config: Value) -> Self {
        Self { config, ..Self::default() }
    }

    pub(crate) fn catalog(&self) -> Catalog {
        let env = |name: &str| {
            self.env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Catalog::build(&Sources {
            config: &self.config,
            redirected: &self.redirected,
            cached: &self.cached,
            enabled: self.enabled.as_deref(),
            disabled: &self.disabled,
            env: &env,
            credentials: &self.credentials,
            http: Http::new(),
        })
    }
}

pub(crate) fn ids(catalog: &Catalog) -> Vec<&str> {
    catalog.providers.iter().map(|provider| provider.id.as_str()).collect()
}

#[test]
fn without_anything_only_the_demo_is_available_and_the_rest_is_known() {
    let catalog = World::default().catalog();

    assert_eq!(ids(&catalog), ["demo"]);
    let known: Vec<_> = catalog.known.iter().map(|provider| provider.id.as_str()).collect();
    assert_eq!(known, ["anthropic", "openai", "google", "deepseek", "xai", "demo"]);
    let default = catalog.default_model(None, &[]).unwrap();
    assert_eq!((default.provider.id.as_str(), default.info.id.as_str()), ("demo", "echo"));
}

#[test]
fn a_configured_model_looks_to_a_client_as_the_reference_shows_it() {
    let config = json!({ "acme": {
        "npm": "@ai-sdk/openai-compatible", "options": { "baseURL": "http://x", "apiKey": "sk-secret-123", "headers": { "Authorization": "Bearer sk-other-456", "x-a": "1" } },
        "models": { "main": { "name": "Main", "cost": { "input": 1, "output": 2, "cache_read": 0.1, "cache_write": 1.25 }, "limit": { "context": 200000, "output": 8192 } } },
    } });
    let catalog = World::config(config).catalog();

    let shown = serde_json::to_value(catalog.provider("acme").unwrap().as_ref()).unwrap();

    assert_eq!(
        shown,
        json!({
            "id": "acme", "name": "acme", "source": "config", "env": [],
            "options": { "baseURL": "http://x", "headers": { "Authorization": "***", "x-a": "1" } },
            "models": { "main": {
                "id": "main", "name": "Main", "providerID": "acme", "status": "active",
                "cost": { "input": 1, "output": 2, "cache": { "read": 0.1, "write": 1.25 } },
                "api": { "id": "main", "npm": "@ai-sdk/openai-compatible", "url": "" },
                "capabilities": {
                    "input": { "text": true, "audio": false, "image": false, "pdf": false, "video": false },
                    "output": { "text": true, "audio": false, "image": false, "pdf": false, "video": false },
                    "reasoning": false, "attachment": false, "interleaved": false, "temperature": false, "toolcall": true,
                },
                "family": "", "headers": {}, "limit": { "output": 8192, "context": 200000 }, "options": {},
                "release_date": "", "variants": {},
            } },
        })
    );
    for text in [shown.to_string(), format!("{catalog:?}")] {
        assert!(!text.contains("sk-"), "{text}");
    }
}

#[test]
fn a_model_without_settings_has_defaults() {
    let catalog = World::config(json!({ "p": { "models": { "m": {}, "deepseek-x": {} } } })).catalog();

    let plain = catalog.model("p", "m").unwrap();
    let deepseek = catalog.model("p", "deepseek-x").unwrap();

    assert_eq!(plain.info.api.npm, "@ai-sdk/openai-compatible");
    assert_eq!((plain.info.api.id.as_str(), plain.info.name.as_str()), ("m", "m"));
    assert_eq!(plain.info.limit.context.count(), 0);
    assert_eq!(
        serde_json::to_value(&deepseek.info.capabilities.interleaved).unwrap(),
        json!({ "field": "reasoning_content" })
    );
}

#[test]
fn configuration_lies_over_the_built_in_table() {
    let config = json!({ "openai": { "name": "Mine", "models": {
        "gpt-5": { "limit": { "output": 7 }, "cost": { "input": 9 }, "headers": { "x": "1" } },
        "own": { "id": "gpt-5-2026", "provider": { "npm": "@ai-sdk/openai-compatible", "api": "http://y" } },
    } } });
    let catalog = World::config(config).catalog();

    let known = catalog.model("openai", "gpt-5").unwrap();
    let own = catalog.model("openai", "own").unwrap();

    assert_eq!(known.provider.name, "Mine");
    assert_eq!((known.info.limit.output.count(), known.info.limit.context.count()), (7, 400_000));
    assert_eq!((known.info.cost.input.0, known.info.cost.output.0), (9.0, 10.0));
    assert_eq!(
        (own.info.api.id.as_str(), own.info.api.npm.as_str(), own.info.api.url.as_str()),
        ("gpt-5-2026", "@ai-sdk/openai-compatible", "http://y")
    );
    assert!(catalog.model("openai", "gpt-4.1").is_ok());
}

#[test]
fn a_price_for_long_contexts_is_kept() {
    let config = json!({ "p": { "models": { "m": { "cost": { "input": 1, "output": 2, "context_over_200k": { "input": 3, "output": 4 } } } } } });
    let model = World::config(config).catalog().model("p", "m").unwrap();

    assert_eq!(model.info.cost.over_200k.as_ref().unwrap().input.0, 3.0);
}

#[test]
fn a_key_in_the_environment_or_the_store_makes_a_provider_available() {
    let mut world =
        World { env: vec![("OPENAI_API_KEY", "sk-env"), ("XAI_API_KEY", "")], ..World::default() };
    world.credentials.set("anthropic", Credential::Api { key: Secret::new("sk-store"), metadata: None });

    let catalog = world.catalog();

    assert_eq!(ids(&catalog), ["anthropic", "openai", "demo"]);
    let key = |id: &str| catalog.provider(id).unwrap().key.as_ref().unwrap().reveal().to_owned();
    assert_eq!((key("anthropic"), key("openai")), ("sk-store".to_owned(), "sk-env".to_owned()));
    assert_eq!(catalog.provider("openai").unwrap().source, Source::Env);
    assert_eq!(catalog.provider("anthropic").unwrap().source, Source::Api);
}

#[test]
fn the_users_own_key_wins_and_several_names_are_no_key() {
    let config = json!({
        "openai": { "options": { "apiKey": "sk-own" } },
        "two": { "env": ["A", "B"], "models": { "m": {} } },
    });
    let world = World { env: vec![("OPENAI_API_KEY", "sk-env"), ("A", "a")], ..World::config(config) };
    let catalog = world.catalog();

    assert_eq!(catalog.provider("openai").unwrap().key, Some(Secret::new("sk-own")));
    assert_eq!(catalog.provider("two").unwrap().key, None);
    assert_eq!(catalog.provider("two").unwrap().source, Source::Config);
}

fn login(expires: i64) -> Credential {
    let access = Secret::new("token-of-a-login");
    let refresh = Secret::new("refresh");
    Credential::OAuth { access, refresh, expires, extra: serde_json::Map::new() }
}

#[test]
fn a_stored_login_is_used_where_a_token_is_a_key_and_said_to_be_unusable_elsewhere() {
    let config = json!({ "acme": { "api": "http://127.0.0.1:1/v1", "models": { "m": {} } } });
    let mut world = World::config(config);
    let never = 0;
    world.credentials.set("acme", login(never));
    world.credentials.set("anthropic", login(never));
    let refused = |world: &World, provider: &str, model: &str| {
        let catalog = world.catalog();
        let Err(Failure::ProviderAuth { message, .. }) = catalog.model(provider, model).unwrap().connect()
        else {
            panic!("{provider} connects")
        };
        assert!(!message.contains("token-of-a-login"));
        message
    };

    assert!(world.catalog().model("acme", "m").unwrap().connect().is_ok());
    let model = world.catalog().provider("anthropic").unwrap().models[0].id.clone();
    assert_eq!(
        refused(&world, "anthropic", &model),
        "The stored login for Anthropic (OAuth) is not supported: set ANTHROPIC_API_KEY or options.apiKey in opencode.json"
    );
    world.credentials.set("acme", login(1));
    assert_eq!(
        refused(&world, "acme", "m"),
        "The stored login for acme has run out: set options.apiKey in opencode.json"
    );
    // A key of the user's own makes the login unnecessary.
    world.config["acme"]["options"] = json!({ "apiKey": "sk-own" });
    assert!(world.catalog().model("acme", "m").unwrap().connect().is_ok());
}

#[test]
fn lists_say_which_models_and_providers_are_seen() {
    let config = json!({
        "a": { "whitelist": ["x", "y"], "blacklist": ["y"], "models": { "x": {}, "y": {}, "z": {} } },
        "b": { "models": { "old": { "status": "deprecated" }, "new": { "status": "alpha" } } },
        "c": { "models": { "m": {} } },
        "d": { "models": { "m": { "status": "beta" } } },
    });
    let only = World {
        enabled: Some(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]),
        disabled: vec!["c".to_owned()],
        ..World::config(config.clone())
    };
    let alpha = World { env: vec![("OPENCODE_ENABLE_EXPERIMENTAL_MODELS", "1")], ..World::config(config) };

    let catalog = only.catalog();
    assert_eq!(ids(&catalog), ["a"]);
    assert_eq!(catalog.provider("a").unwrap().models.len(), 1);
    assert_eq!(ids(&alpha.catalog()), ["a", "b", "c", "d", "demo"]);
}

#[test]
fn a_model_that_is_not_there_is_refused_with_names_that_look_like_it() {
    // Who says which models may be used gets no others.
    let limited = json!({ "anthropic": { "blacklist": ["claude-3"] } });
    let catalog = World { env: vec![("ANTHROPIC_API_KEY", "k")], ..World::config(limited) }.catalog();

    let model = catalog.model("anthropic", "claude-sonet-4.5").unwrap_err();
    let provider = catalog.model("antropic", "x").unwrap_err();
    let nothing = catalog.model("zzz", "x").unwrap_err();

    assert_eq!(model.suggestions[0], "claude-sonnet-4-5");
    assert!(model.suggestions.len() <= 3);
    assert!(
        model
            .to_string()
            .starts_with("Model not found: anthropic/claude-sonet-4.5. Did you mean: claude-sonnet-4-5, ")
    );
    assert_eq!(provider.suggestions, ["anthropic"]);
    // Nothing looks like it: then the names there are.
    assert!(nothing.to_string().starts_with("Model not found: zzz/x. Did you mean: anthropic"), "{nothing}");
    assert_eq!(nothing.failure(), Failure::unknown(nothing.to_string()));
}

#[test]
fn the_default_is_the_configured_the_recent_or_the_best() {
    let world = World {
        env: vec![("OPENAI_API_KEY", "k"), ("GOOGLE_GENERATIVE_AI_API_KEY", "k")],
        ..World::default()
    };
    let catalog = world.catalog();
    let name = |configured: Option<&str>, recent: &[(&str, &str)]| {
        let recent: Vec<_> = recent.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let entry = catalog.default_model(configured, &recent).unwrap();
        format!("{}/{}", entry.provider.id, entry.info.id)
    };

    assert_eq!(name(Some("google/gemini-2.5-pro"), &[("openai", "o3")]), "google/gemini-2.5-pro");
    assert_eq!(name(None, &[("gone", "x"), ("openai", "o3")]), "openai/o3");
    assert_eq!(name(None, &[]), "openai/gpt-5.2-codex");
    assert!(catalog.default_model(Some("nobody/nope"), &[]).is_err());
    assert_eq!(catalog.default_models()["google"], "gemini-3-pro-preview");
    assert_eq!(catalog.default_models()["anthropic"], "claude-sonnet-4-6");

    let configured =
        World { config: json!({ "mine": { "models": { "a": {}, "b-latest": {}, "c": {} } } }), ..world }
            .catalog();
    assert_eq!(configured.default_model(None, &[]).unwrap().info.id, "b-latest");
}

#[test]
fn small_models_are_the_newest_of_a_cheap_family() {
    let env =
        vec![("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("GOOGLE_GENERATIVE_AI_API_KEY", "k")];
    let catalog = World { env, ..World::default() }.catalog();
    let small = |provider: &str, configured: Option<&str>| {
        catalog.small_model(provider, configured).map(|entry| entry.info.id.clone())
    };

    assert_eq!(small("openai", None).as_deref(), Some("gpt-5-nano"));
    assert_eq!(small("anthropic", None).as_deref(), Some("claude-haiku-4-5"));
    assert_eq!(small("google", None).as_deref(), Some("gemini-3-flash-preview"));
    assert_eq!(small("demo", None), None);
    assert_eq!(small("openai", Some("anthropic/claude-opus-4-5")).as_deref(), Some("claude-opus-4-5"));
    assert_eq!(small("openai", Some("gone/x")), None);
}

#[test]
fn connecting_needs_a_key_or_an_address() {
    let config = json!({
        "openai": {},
        "claude": { "npm": "@ai-sdk/anthropic", "options": { "headers": { "X-Api-Key": "k" } }, "models": { "m": {} } },
        "nowhere": { "models": { "m": {} } },
        "local": { "api": "http://127.0.0.1:1/v1", "models": { "m": {} } },
    });
    let catalog = World::config(config).catalog();
    let connect = |provider: &str, model: &str| catalog.model(provider, model).unwrap().connect().err();

    assert!(
        matches!(connect("openai", "gpt-5"), Some(Failure::ProviderAuth { provider_id, message }) if provider_id == "openai" && message.contains("OPENAI_API_KEY"))
    );
    assert!(
        matches!(connect("nowhere", "m"), Some(Failure::Unknown { message, .. }) if message.contains("baseURL"))
    );
    assert_eq!(connect("claude", "m"), None);
    assert_eq!(connect("local", "m"), None);
}

#[test]
fn names_in_addresses_come_from_the_environment() {
    let config = json!({ "p": { "api": "https://${REGION}.x/${GONE}", "options": { "baseURL": "http://${REGION}" }, "models": { "m": {} } } });
    let world = World { env: vec![("REGION", "eu")], ..World::config(config) };
    let catalog = world.catalog();
    let entry = catalog.model("p", "m").unwrap();

    assert_eq!(entry.info.api.url, "https://eu.x/${GONE}");
    assert_eq!(entry.provider.options.get("baseURL"), Some(&json!("http://eu")));
}

#[test]
fn the_demo_can_be_configured_like_any_other() {
    let catalog = World::config(json!({ "demo": { "options": { "paceMs": 0 } } })).catalog();

    assert_eq!(catalog.providers.last().unwrap().id, "demo");
    assert!(catalog.model("demo", "echo").unwrap().connect().is_ok());
}

#[test]
fn the_users_key_is_not_sent_to_an_address_that_a_project_chose() {
    let config =
        |own: Value| json!({ "anthropic": { "options": { "baseURL": "http://${HOST}/v1", "apiKey": own } } });
    let mut world = World {
        env: vec![("ANTHROPIC_API_KEY", "users"), ("HOST", "secret")],
        ..World::config(config(Value::Null))
    };
    world.redirected = vec![RedirectedProvider { id: "anthropic".to_owned(), has_other_key: false }];

    let without = world.catalog().model("anthropic", "claude-opus-4-6").unwrap();
    world.config = config(json!("its own"));
    let with = world.catalog().model("anthropic", "claude-opus-4-6").unwrap();
    world.redirected.clear();
    let own = world.catalog().model("anthropic", "claude-opus-4-6").unwrap();

    let Err(Failure::ProviderAuth { message, .. }) = without.connect() else { panic!("the key is used") };
    assert!(message.starts_with("Your Anthropic API key is not sent to the address"), "{message}");
    assert!(without.provider.key.is_none());
    assert_eq!(with.provider.key.as_ref().map(Secret::reveal), Some("its own"));
    assert_eq!(
        with.provider.options.get("baseURL"),
        Some(&json!("http://${HOST}/v1")),
        "variables stay here"
    );
    assert_eq!(own.provider.options.get("baseURL"), Some(&json!("http://secret/v1")));
}
