//! Variants, base options and sampling, by package and family.

use serde_json::{Value, json};
use std::sync::Arc;
use sturdy_llm::auth::Credentials;
use sturdy_llm::catalog::{Ask, PromptStyle, Sampling, Sources, Traits};
use sturdy_llm::{Catalog, Http, ModelEntry};

fn model(npm: &str, id: &str, extra: Value) -> Arc<ModelEntry> {
    let mut entry = json!({ "id": id, "reasoning": true, "temperature": true, "limit": { "context": 0, "output": 64000 } });
    for (name, value) in extra.as_object().unwrap() {
        entry[name] = value.clone();
    }
    let config = json!({ "p": { "npm": npm, "models": { "m": entry } } });
    let catalog = Catalog::build(&Sources {
        redirected: &[],
        cached: &Value::Null,
        config: &config,
        enabled: None,
        disabled: &[],
        env: &|_| None,
        credentials: &Credentials::default(),
        http: Http::new(),
    });
    catalog.model("p", "m").unwrap()
}

fn names(npm: &str, id: &str) -> Vec<String> {
    model(npm, id, json!({})).info.variants.keys().cloned().collect()
}

#[test]
fn variants_follow_package_and_generation() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("@ai-sdk/openai-compatible", "some-model", &["low", "medium", "high"]),
        ("@ai-sdk/openai-compatible", "deepseek-r1", &[]),
        ("@ai-sdk/openai-compatible", "qwen3", &[]),
        ("@ai-sdk/openai-compatible", "grok-3-mini", &["low", "high"]),
        ("@ai-sdk/openai-compatible", "deepseek-v4-pro", &["low", "medium", "high", "max"]),
        ("@ai-sdk/openai-compatible", "mistral-large", &["low", "medium", "high"]),
        ("@ai-sdk/openai", "gpt-5", &["minimal", "low", "medium", "high"]),
        ("@ai-sdk/openai", "gpt-5.1", &["none", "low", "medium", "high"]),
        ("@ai-sdk/openai", "gpt-5.2", &["none", "low", "medium", "high", "xhigh"]),
        ("@ai-sdk/openai", "gpt-5-codex", &["low", "medium", "high"]),
        ("@ai-sdk/openai", "gpt-5.1-codex-max", &["low", "medium", "high", "xhigh"]),
        ("@ai-sdk/openai", "gpt-5.3-codex", &["none", "low", "medium", "high", "xhigh"]),
        ("@ai-sdk/openai", "gpt-5-pro", &["high"]),
        ("@ai-sdk/openai", "gpt-5.4-pro", &["medium", "high", "xhigh"]),
        ("@ai-sdk/openai", "gpt-5-chat-latest", &[]),
        ("@ai-sdk/openai", "o3", &["low", "medium", "high"]),
        ("@ai-sdk/anthropic", "claude-sonnet-4-5", &["high", "max"]),
        ("@ai-sdk/anthropic", "claude-opus-4.5", &["low", "medium", "high"]),
        ("@ai-sdk/anthropic", "claude-opus-4-6", &["low", "medium", "high", "max"]),
        ("@ai-sdk/anthropic", "claude-opus-4-8", &["low", "medium", "high", "xhigh", "max"]),
        ("@ai-sdk/anthropic", "claude-sonnet-5", &["low", "medium", "high", "xhigh", "max"]),
        ("@ai-sdk/anthropic", "minimax-m2", &[]),
        ("@ai-sdk/google", "gemini-3-pro-preview", &["low", "medium", "high"]),
        ("@ai-sdk/google", "gemini-3.1-flash-lite", &["minimal", "low", "medium", "high"]),
        ("@ai-sdk/google", "gemini-2.5-pro", &["high", "max"]),
        ("@openrouter/ai-sdk-provider", "x", &["low", "medium", "high"]),
        ("@openrouter/ai-sdk-provider", "openai/gpt-5.2", &["none", "low", "medium", "high", "xhigh"]),
        (
            "@openrouter/ai-sdk-provider",
            "openai/gpt-5",
            &["none", "minimal", "low", "medium", "high", "xhigh"],
        ),
        ("@openrouter/ai-sdk-provider", "qwen/qwen3", &[]),
        ("@openrouter/ai-sdk-provider", "x-ai/grok-3-mini", &["low", "high"]),
        ("@ai-sdk/groq", "x", &["none", "low", "medium", "high"]),
        ("@ai-sdk/groq", "openai/gpt-oss-120b", &["low", "medium", "high"]),
        ("@ai-sdk/groq", "qwen/qwen3-32b", &[]),
        ("@ai-sdk/mistral", "mistral-small-latest", &["high"]),
        ("@ai-sdk/mistral", "devstral-medium", &[]),
        ("@ai-sdk/deepseek", "deepseek-reasoner", &[]),
        ("@ai-sdk/cohere", "x", &[]),
    ];
    for (npm, id, expected) in rows {
        assert_eq!(names(npm, id), *expected, "{npm} {id}");
    }
    assert!(model("@ai-sdk/openai", "gpt-5", json!({ "reasoning": false })).info.variants.is_empty());
}

#[test]
fn variants_stand_for_options() {
    let of = |npm: &str, id: &str, name: &str| model(npm, id, json!({})).info.variants[name].clone();

    assert_eq!(
        of("@ai-sdk/openai", "gpt-5.1", "high"),
        json!({ "reasoningEffort": "high", "reasoningSummary": "auto", "include": ["reasoning.encrypted_content"] })
    );
    assert_eq!(
        of("@ai-sdk/anthropic", "claude-sonnet-4-5", "high"),
        json!({ "thinking": { "type": "enabled", "budgetTokens": 16000 } })
    );
    assert_eq!(
        of("@ai-sdk/anthropic", "claude-sonnet-4-5", "max"),
        json!({ "thinking": { "type": "enabled", "budgetTokens": 31999 } })
    );
    assert_eq!(
        of("@ai-sdk/anthropic", "claude-opus-4-6", "low"),
        json!({ "thinking": { "type": "adaptive" }, "effort": "low" })
    );
    assert_eq!(
        of("@ai-sdk/anthropic", "claude-opus-4-5", "low"),
        json!({ "thinking": { "type": "enabled", "budgetTokens": 16000 }, "effort": "low" })
    );
    // Was: a budget, which these models refuse.
    assert_eq!(
        of("@ai-sdk/anthropic", "claude-sonnet-5", "xhigh"),
        json!({ "thinking": { "type": "adaptive", "display": "summarized" }, "effort": "xhigh" })
    );
    assert_eq!(
        of("@openrouter/ai-sdk-provider", "openai/gpt-5.2", "none"),
        json!({ "reasoning": { "effort": "none" } })
    );
    assert_eq!(
        of("@ai-sdk/google", "gemini-2.5-pro", "max"),
        json!({ "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 32768 } })
    );
    assert_eq!(
        of("@ai-sdk/google", "gemini-2.5-flash", "max"),
        json!({ "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 24576 } })
    );
    let small =
        model("@ai-sdk/anthropic", "claude-sonnet-4-5", json!({ "limit": { "context": 0, "output": 8000 } }));
    assert_eq!(small.info.variants["high"]["thinking"]["budgetTokens"], 4000);
    assert_eq!(small.info.variants["max"]["thinking"]["budgetTokens"], 7999);
}

#[test]
fn configured_variants_lie_over_them_and_disabled_takes_one_away() {
    let variants =
        json!({ "variants": { "low": { "disabled": true }, "high": { "extra": 1 }, "own": { "x": 2 } } });

    let entry = model("@ai-sdk/openai-compatible", "m", variants);

    assert_eq!(
        Value::Object(entry.info.variants.clone()),
        json!({ "medium": { "reasoningEffort": "medium" }, "high": { "reasoningEffort": "high", "extra": 1 }, "own": { "x": 2 } })
    );
}

// Was: dropped without a word unless the model was said to reason.
#[test]
fn configured_variants_stay_with_a_model_that_is_not_said_to_reason() {
    let said = json!({ "reasoning": false, "variants": { "fast": { "num_ctx": 4096 } } });

    let entry = model("@ai-sdk/openai-compatible", "qwen3:8b", said);

    assert_eq!(Value::Object(entry.info.variants.clone()), json!({ "fast": { "num_ctx": 4096 } }));
}

#[test]
fn options_are_laid_over_each_other_base_model_agent_variant() {
    let entry = model(
        "@ai-sdk/openai",
        "gpt-5.1",
        json!({ "options": { "a": { "x": 1, "y": 1 }, "textVerbosity": "high" } }),
    );
    let agent = json!({ "a": { "y": 2 } });

    let options = entry.options(Ask {
        session: "ses_1",
        agent_options: agent.as_object(),
        variant: Some("low"),
        is_small: false,
    });

    assert_eq!(
        Value::Object(options),
        json!({
            "store": false, "promptCacheKey": "ses_1", "reasoningEffort": "low", "reasoningSummary": "auto",
            "textVerbosity": "high", "a": { "x": 1, "y": 2 }, "include": ["reasoning.encrypted_content"],
        })
    );
}

#[test]
fn a_small_request_thinks_as_little_as_possible() {
    let entry = model("@ai-sdk/openai", "gpt-5.1", json!({}));

    let options =
        entry.options(Ask { session: "s", variant: Some("high"), is_small: true, ..Ask::default() });

    assert_eq!(
        (options["reasoningEffort"].as_str(), options["store"].as_bool()),
        (Some("none"), Some(false))
    );
}

#[test]
fn base_options_are_the_packages_own() {
    let base = |npm: &str, id: &str| {
        Value::Object(model(npm, id, json!({})).options(Ask { session: "s", ..Ask::default() }))
    };

    assert_eq!(base("@ai-sdk/openai-compatible", "m"), json!({}));
    assert_eq!(
        base("@ai-sdk/google", "gemini-2.5-pro"),
        json!({ "thinkingConfig": { "includeThoughts": true } })
    );
    assert_eq!(
        base("@ai-sdk/google", "gemini-3-pro-preview"),
        json!({ "thinkingConfig": { "includeThoughts": true, "thinkingLevel": "high" } })
    );
    assert_eq!(base("@openrouter/ai-sdk-provider", "m"), json!({ "usage": { "include": true } }));
    assert_eq!(
        base("@openrouter/ai-sdk-provider", "google/gemini-3-pro"),
        json!({ "usage": { "include": true }, "reasoning": { "effort": "high" } })
    );
    assert_eq!(base("@ai-sdk/xai", "grok"), json!({ "promptCacheKey": "s" }));
    assert_eq!(base("@ai-sdk/openai", "gpt-5-pro"), json!({ "store": false, "promptCacheKey": "s" }));
    assert_eq!(
        base("@ai-sdk/openai", "gpt-5"),
        json!({ "store": false, "promptCacheKey": "s", "reasoningEffort": "medium", "reasoningSummary": "auto" })
    );
    assert_eq!(base("@ai-sdk/openai-compatible", "gpt-5"), json!({ "reasoningEffort": "medium" }));
}

#[test]
fn families_have_their_sampling() {
    let of = |id: &str| model("x", id, json!({})).sampling();
    let sampling = |temperature, top_p, top_k| Sampling { temperature, top_p, top_k };

    assert_eq!(of("gemini-2.5-pro"), sampling(Some(1.0), Some(0.95), Some(64)));
    assert_eq!(of("glm-4.6"), sampling(Some(1.0), None, None));
    assert_eq!(of("minimax-m2"), sampling(Some(1.0), Some(0.95), Some(20)));
    assert_eq!(of("minimax-m2.1"), sampling(Some(1.0), Some(0.95), Some(40)));
    assert_eq!(of("kimi-k2-thinking"), sampling(Some(1.0), None, None));
    assert_eq!(of("kimi-k2.5"), sampling(Some(1.0), Some(0.95), None));
    assert_eq!(of("kimi-k2"), sampling(Some(0.6), None, None));
    assert_eq!(of("claude-sonnet-4-5"), Sampling::default());
    assert_eq!(model("x", "kimi-k2", json!({ "temperature": false })).sampling().temperature, None);
}

#[test]
fn the_output_limit_is_the_smaller_one() {
    assert_eq!(model("x", "m", json!({})).output_tokens_max(32_000), 32_000);
    assert_eq!(model("x", "m", json!({ "limit": { "output": 8192 } })).output_tokens_max(32_000), 8192);
    assert_eq!(model("x", "m", json!({ "limit": { "output": 0 } })).output_tokens_max(32_000), 32_000);
}

/// A model as its provider calls it, spoken to with this package.
fn traits(provider: &str, npm: &str, id: &str) -> Traits {
    let config = json!({ provider: { "npm": npm, "models": { "m": { "id": id } } } });
    let catalog = Catalog::build(&Sources {
        redirected: &[],
        cached: &Value::Null,
        config: &config,
        enabled: None,
        disabled: &[],
        env: &|_| None,
        credentials: &Credentials::default(),
        http: Http::new(),
    });
    catalog.model(provider, "m").unwrap().info.traits.clone()
}

#[test]
fn each_family_takes_its_own_media_in_results() {
    let table = [
        ("@ai-sdk/anthropic", "claude", true, true),
        ("@ai-sdk/google-vertex/anthropic", "claude", true, true),
        ("@ai-sdk/openai", "gpt", true, true),
        ("@ai-sdk/amazon-bedrock/mantle", "gpt", true, true),
        ("@ai-sdk/amazon-bedrock", "eu.anthropic.claude", true, false),
        ("@ai-sdk/amazon-bedrock", "amazon.Nova-pro", true, false),
        ("@ai-sdk/amazon-bedrock", "meta.llama4-scout", true, false),
        ("@ai-sdk/amazon-bedrock", "meta.llama-4-scout", true, false),
        ("@ai-sdk/amazon-bedrock", "meta.llama3", false, false),
        ("@ai-sdk/xai", "grok", true, false),
        ("@ai-sdk/google", "gemini-3-pro", true, true),
        ("@ai-sdk/google", "gemini-2.5-pro", false, false),
        ("@ai-sdk/openai-compatible", "claude", false, false),
    ];
    for (npm, id, image, pdf) in table {
        let media = traits("acme", npm, id).media_in_results;
        assert_eq!((media.takes("image/png"), media.takes("application/pdf")), (image, pdf), "{npm} {id}");
    }
}

#[test]
fn each_family_is_spoken_to_in_its_own_voice() {
    let table = [
        ("acme", "unheard-of", PromptStyle::Plain),
        ("acme", "muse-1", PromptStyle::Muse),
        ("acme", "gpt-4.1", PromptStyle::Persist),
        ("openai", "o3-mini", PromptStyle::Persist),
        ("acme", "gpt-5-codex", PromptStyle::Codex),
        ("acme", "gpt-5", PromptStyle::Gpt),
        ("acme", "gemini-3-pro", PromptStyle::Gemini),
        ("acme", "claude-sonnet-4", PromptStyle::Claude),
        ("acme", "trinity-large", PromptStyle::Trinity),
        ("acme", "kimi-k2", PromptStyle::Kimi),
        ("moonshotai", "k2", PromptStyle::Kimi),
    ];
    for (provider, id, voice) in table {
        assert_eq!(traits(provider, "@ai-sdk/openai-compatible", id).voice, voice, "{provider}/{id}");
    }
}

#[test]
fn models_trained_on_patches_are_known() {
    let takes = |id| traits("acme", "@ai-sdk/openai-compatible", id).takes_patches;

    assert_eq!(
        ["gpt-5.2", "gpt-4o", "gpt-oss-120b", "claude-sonnet-4"].map(takes),
        [true, false, false, false]
    );
}
