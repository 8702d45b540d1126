//! How much a model can be told to think, by package and generation.

use super::claude;
use serde_json::{Value, json};
use sturdy_session::json::Map;

/// Families that ignore or refuse an effort.
const WITHOUT_EFFORT: [&str; 9] = [
    "deepseek-chat",
    "deepseek-r1",
    "deepseek-reasoner",
    "deepseek-v3",
    "minimax",
    "glm",
    "kimi",
    "qwen",
    "big-pickle",
];

/// Models of Mistral that can be told to think.
const THINKING_MISTRALS: [&str; 2] = ["mistral-small-latest", "mistral-medium-3.5"];

/// Names and the options they stand for, in the order of effort.
pub(super) fn of(npm: &str, id: &str, output_tokens_max: u64) -> Map {
    match npm {
        "@ai-sdk/openai" | "@ai-sdk/azure" | "@ai-sdk/amazon-bedrock/mantle" => each(
            openai_efforts(id),
            |effort| json!({ "reasoningEffort": effort, "reasoningSummary": "auto", "include": ["reasoning.encrypted_content"] }),
        ),
        "@ai-sdk/anthropic" | "@ai-sdk/google-vertex/anthropic" => anthropic(id, output_tokens_max),
        "@ai-sdk/google" | "@ai-sdk/google-vertex" => google(id),
        "@ai-sdk/mistral" if THINKING_MISTRALS.contains(&id) => each(&["high"], effort_only),
        _ if WITHOUT_EFFORT.iter().any(|family| id.contains(family)) => Map::new(),
        "@openrouter/ai-sdk-provider" => {
            each(openrouter_efforts(id), |effort| json!({ "reasoning": { "effort": effort } }))
        }
        "@ai-sdk/groq" if id.contains("gpt-oss") => each(&["low", "medium", "high"], effort_only),
        "@ai-sdk/groq" => each(&["none", "low", "medium", "high"], effort_only),
        "@ai-sdk/openai-compatible"
        | "@ai-sdk/xai"
        | "@ai-sdk/cerebras"
        | "@ai-sdk/togetherai"
        | "@ai-sdk/deepinfra"
        | "venice-ai-sdk-provider" => each(compatible_efforts(id), effort_only),
        _ => Map::new(),
    }
}

fn effort_only(effort: &str) -> Value {
    json!({ "reasoningEffort": effort })
}

fn each(names: &[&str], options: impl Fn(&str) -> Value) -> Map {
    names.iter().map(|name| ((*name).to_owned(), options(name))).collect()
}

fn compatible_efforts(id: &str) -> &'static [&'static str] {
    match () {
        () if id.contains("grok-3-mini") => &["low", "high"],
        () if id.contains("deepseek-v4") => &["low", "medium", "high", "max"],
        () => &["low", "medium", "high"],
    }
}

fn openrouter_efforts(id: &str) -> &'static [&'static str] {
    match gpt_5_generation(id) {
        Some(0) => &["none", "minimal", "low", "medium", "high", "xhigh"],
        Some(_) => openai_efforts(id),
        None => compatible_efforts(id),
    }
}

/// `gpt-5.2-codex` is generation 2, plain `gpt-5` is generation 0.
fn gpt_5_generation(id: &str) -> Option<u32> {
    let (_, rest) = id.split_once("gpt-5")?;
    let digits = rest.strip_prefix('.').and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    Some(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0))
}

fn openai_efforts(id: &str) -> &'static [&'static str] {
    let generation = gpt_5_generation(id);
    let is_codex = id.contains("codex");
    match generation {
        _ if id.contains("chat") => &[],
        Some(0) if id.contains("gpt-5-pro") => &["high"],
        Some(_) if id.contains("-pro") => &["medium", "high", "xhigh"],
        Some(2) if is_codex => &["low", "medium", "high", "xhigh"],
        Some(..2) if id.contains("codex-max") => &["low", "medium", "high", "xhigh"],
        Some(..2) if is_codex => &["low", "medium", "high"],
        Some(2..) => &["none", "low", "medium", "high", "xhigh"],
        Some(1) => &["none", "low", "medium", "high"],
        Some(0) => &["minimal", "low", "medium", "high"],
        None => &["low", "medium", "high"],
    }
}

fn anthropic(id: &str, output_tokens_max: u64) -> Map {
    let room = if output_tokens_max == 0 { u64::MAX } else { output_tokens_max };
    let budget = |tokens: u64| json!({ "type": "enabled", "budgetTokens": tokens });
    let high = 16_000.min(room / 2);
    let with_effort = |thinking: Value| move |effort: &str| json!({ "thinking": thinking, "effort": effort });
    match claude::generation(id) {
        None if id.contains("minimax") => Map::new(),
        Some((4, 5)) if id.contains("opus") => each(&["low", "medium", "high"], with_effort(budget(high))),
        None | Some((..=3, _) | (4, ..=5)) => {
            let budgets = [("high", high), ("max", 31_999.min(room - 1))];
            let named =
                |(name, tokens): (&str, u64)| (name.to_owned(), json!({ "thinking": budget(tokens) }));
            budgets.map(named).into_iter().collect()
        }
        // From here on a model decides itself how long to think, and refuses a budget.
        Some((4, 6)) => each(&["low", "medium", "high", "max"], with_effort(json!({ "type": "adaptive" }))),
        // It tells nothing of a thought unless it is asked to.
        Some(_) => each(
            &["low", "medium", "high", "xhigh", "max"],
            with_effort(json!({ "type": "adaptive", "display": "summarized" })),
        ),
    }
}

fn google(id: &str) -> Map {
    let think =
        |name: &str, value: Value| json!({ "thinkingConfig": { "includeThoughts": true, name: value } });
    if id.contains("gemini-3") {
        let levels: &[&str] = if id.contains("flash") {
            &["minimal", "low", "medium", "high"]
        } else {
            &["low", "medium", "high"]
        };
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
