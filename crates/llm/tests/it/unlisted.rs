//! Providers without models, models nobody listed, packages nobody speaks, and the list OpenCode fetched.

use crate::catalog::{World, ids};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use sturdy_session::types::failure::Failure;

#[test]
fn a_configured_provider_without_models_stays_and_says_what_to_add() {
    let config = json!({ "acme": { "options": { "baseURL": "http://x" } } });
    let catalog = World::config(config).catalog();

    let entry = catalog.model("acme", "large-2").unwrap();
    let default = catalog.default_model(None, &[]).unwrap();

    assert_eq!(ids(&catalog), ["demo", "acme"]);
    assert!(
        catalog.warnings[0].starts_with("provider acme has no models: add \"models\""),
        "{:?}",
        catalog.warnings
    );
    assert_eq!(
        (entry.info.api.id.as_str(), entry.info.api.npm.as_str()),
        ("large-2", "@ai-sdk/openai-compatible")
    );
    assert!(entry.connect().is_ok() && entry.info.capabilities.toolcall);
    assert_eq!(default.provider.id, "demo", "a provider without models is nobody's default");
}

#[test]
fn a_model_that_a_known_provider_does_not_list_is_passed_on() {
    let world = |config| World { env: vec![("OPENAI_API_KEY", "k")], ..World::config(config) };

    let newer = world(Value::Null).catalog().model("openai", "gpt-99").unwrap();
    let limited = world(json!({ "openai": { "whitelist": ["gpt-5"] } })).catalog().model("openai", "gpt-99");
    let own = World::config(json!({ "acme": { "models": { "main": {} } } })).catalog().model("acme", "man");
    let demo = World::default().catalog().model("demo", "opera");

    assert_eq!((newer.info.api.id.as_str(), newer.info.api.npm.as_str()), ("gpt-99", "@ai-sdk/openai"));
    assert!(newer.connect().is_ok());
    assert!(limited.is_err(), "who lists models means those");
    assert_eq!(own.unwrap_err().suggestions, ["main"], "a list of one's own is complete");
    assert!(demo.is_err());
}

/// Keeps what is said to whoever reads the log: the names of models.
struct Log(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            if field.name() == "model" {
                self.0.lock().unwrap().push(format!("{value:?}"));
            }
        });
    }

    fn enter(&self, _: &tracing::Id) {}

    fn exit(&self, _: &tracing::Id) {}
}

#[test]
fn a_model_that_is_passed_on_is_warned_about_once() {
    let world = World { env: vec![("OPENAI_API_KEY", "k")], ..World::default() };
    let catalog = world.catalog();
    let told = Arc::default();

    tracing::subscriber::with_default(Log(Arc::clone(&told)), || {
        for _ in 0..2 {
            catalog.model("openai", "gpt-99").unwrap();
        }
        catalog.model("openai", "gpt-5").unwrap();
    });

    assert_eq!(*told.lock().unwrap(), ["\"openai/gpt-99\""]);
}

#[test]
fn a_package_whose_protocol_is_not_spoken_is_refused_by_name() {
    for npm in ["@ai-sdk/azure", "@ai-sdk/amazon-bedrock", "@ai-sdk/google-vertex", "somebodys-provider"] {
        let config = json!({ "acme": { "npm": npm, "name": "Acme", "options": { "apiKey": "k", "baseURL": "http://x" }, "models": { "m": {} } } });
        let catalog = World::config(config).catalog();

        let refused = catalog.model("acme", "m").unwrap().connect();

        let Err(Failure::ProviderAuth { message, .. }) = refused else { panic!("{npm} is spoken to") };
        assert!(
            message.starts_with(&format!("Acme is configured with the package {npm}, whose protocol")),
            "{message}"
        );
        assert!(catalog.warnings[0].contains(npm), "{:?}", catalog.warnings);
    }
}

#[test]
fn what_opencode_last_fetched_is_known_and_needs_a_key_to_be_used() {
    let cached = json!({
        "groq": { "id": "groq", "name": "Groq", "env": ["GROQ_API_KEY"], "npm": "@ai-sdk/groq",
            "models": { "fast": { "id": "fast", "name": "Fast", "limit": { "context": 1000, "output": 10 }, "cost": { "input": 1, "output": 2 } } } },
        "bedrock": { "name": "Bedrock", "env": ["AWS_KEY"], "npm": "@ai-sdk/amazon-bedrock", "models": { "big": {} } },
        "anthropic": { "name": "Anthropic", "env": ["ANTHROPIC_API_KEY"], "npm": "@ai-sdk/anthropic", "models": { "claude-new": { "name": "New" } } },
    });
    let world = World { cached, env: vec![("GROQ_API_KEY", "k"), ("AWS_KEY", "k")], ..World::default() };
    let catalog = world.catalog();

    let fast = catalog.model("groq", "fast").unwrap();

    assert_eq!(
        ids(&catalog),
        ["groq", "demo"],
        "one without a key, and one that is not spoken to, are only known"
    );
    let known: Vec<_> = catalog.known.iter().map(|provider| provider.id.as_str()).collect();
    assert!(known.contains(&"bedrock"), "{known:?}");
    let anthropic = catalog.known.iter().find(|provider| provider.id == "anthropic").unwrap();
    let models: Vec<_> = anthropic.models.iter().map(|model| model.id.as_str()).collect();
    assert!(models.contains(&"claude-new") && models.contains(&"claude-opus-4-6"), "{models:?}");
    assert_eq!(fast.info.limit.context.count(), 1000);
    assert!(fast.connect().is_ok(), "its address is known");
}
