//! How much a model can be told to think, by package and generation.

use crate::demo;
use serde_json::{Value, json};
use sturdy_session::json::Map;

/// Compatible servers of these families ignore or refuse an effort.
const WITHOUT_EFFORT: [&str; 9] = [
    "deepseek-chat",
    "deepseek-r1",
    "deepseek-v3",
    "minimax",
    "glm",
    "kimi",
    "qwen",
    "big-pickle",
    "mistral",
];

/// Claude models that decide themselves how long to think.
const ADAPTIVE: [&str; 6] = ["opus-4-6", "opus-4.6", "sonnet-4-6", "sonnet-4.6", "opus-4-7", "opus-4.7"];

/// Names and the options they stand for, in the order of effort.
pub(super) fn of(npm: &str, id: &str, output_tokens_max: u64) -> Map {
    match npm {
        "@ai-sdk/openai" | "@ai-sdk/azure" | "@ai-sdk/amazon-bedrock/mantle" => each(
            openai_efforts(id),
            |effort| json!({ "reasoningEffort": effort, "reasoningSummary": "auto", "include": ["reasoning.encrypted_content"] }),
        ),
        "@ai-sdk/anthropic" | "@ai-sdk/google-vertex/anthropic" => anthropic(id, output_tokens_max),
        "@ai-sdk/google" | "@ai-sdk/google-vertex" => google(id),
        "@openrouter/ai-sdk-provider" => {
            each(&["low", "medium", "high"], |effort| json!({ "reasoning": { "effort": effort } }))
        }
        "@ai-sdk/groq" => each(&["none", "low", "medium", "high"], effort_only),
        "@ai-sdk/mistral" | "@ai-sdk/cohere" | "@ai-sdk/perplexity" | demo::PACKAGE => Map::new(),
        _ if WITHOUT_EFFORT.iter().any(|family| id.contains(family)) => Map::new(),
        _ => each(&["low", "medium", "high"], effort_only),
    }
}

fn effort_only(effort: &str) -> Value {
    json!({ "reasoningEffort": effort })
}

fn each(names: &[&str], options: impl Fn(&str) -> Value) -> Map {
    names.iter().map(|name| ((*name).to_owned(), options(name))).collect()
}

fn openai_efforts(id: &str) -> &'static [&'static str] {
    // "gpt-5.2-codex" is generation 2 of 5; plain "gpt-5" is generation 0.
    let generation =
        id.split_once("gpt-5.").and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    let generation: u32 = generation.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let is_codex = id.contains("codex");
    match generation {
        _ if id.contains("gpt-5-pro") || id.contains("chat") => &[],
        _ if is_codex && (generation >= 2 || id.contains("codex-max")) => &["low", "medium", "high", "xhigh"],
        _ if is_codex => &["low", "medium", "high"],
        2.. => &["none", "low", "medium", "high", "xhigh"],
        1 => &["none", "low", "medium", "high"],
        0 if id.contains("gpt-5") => &["minimal", "low", "medium", "high"],
        0 => &["low", "medium", "high"],
    }
}

fn anthropic(id: &str, output_tokens_max: u64) -> Map {
    if ADAPTIVE.iter().any(|name| id.contains(name)) {
        return each(
            &["low", "medium", "high", "max"],
            |effort| json!({ "thinking": { "type": "adaptive" }, "effort": effort }),
        );
    }
    let room = if output_tokens_max == 0 { u64::MAX } else { output_tokens_max };
    let budget = |tokens: u64| json!({ "thinking": { "type": "enabled", "budgetTokens": tokens } });
    let mut variants = Map::new();
    variants.insert("high".to_owned(), budget(16_000.min(room / 2)));
    variants.insert("max".to_owned(), budget(31_999.min(room - 1)));
    variants
}

fn google(id: &str) -> Map {
    let think =
        |name: &str, value: Value| json!({ "thinkingConfig": { "includeThoughts": true, name: value } });
    if id.contains("gemini-3") {
        let levels: &[&str] =
            if id.contains("flash") { &["minimal", "low", "medium", "high"] } else { &["low", "high"] };
        return each(levels, |level| think("thinkingLevel", json!(level)));
    }
    if !id.contains("2.5") {
        return Map::new();
    }
    let most = if id.contains("pro") { 32_768 } else { 24_576 };
    let mut variants = Map::new();
    variants.insert("high".to_owned(), think("thinkingBudget", json!(16_000)));
    variants.insert("max".to_owned(), think("thinkingBudget", json!(most)));
    variants
}
