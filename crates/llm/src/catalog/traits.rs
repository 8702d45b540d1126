//! What a family of models can do and wants, decided here and nowhere else.
//!
//! A model is known by the package it is spoken to with and by the name its provider gives it. Everything that
//! follows from these two is data on the model: whoever builds a request, a prompt or a list of tools reads it there.
//! What a provider or a person says about one model (`capabilities`, `limit`, `options`) stands beside it.
//!
//! To teach the server a new family, change this file.

mod claude;
mod efforts;

use super::ModelInfo;
use super::info::{Api, Interleaved};
use super::protocol::COMPATIBLE;
use serde_json::{Value, json};
use sturdy_session::json::Map;
use sturdy_session::prompt::lower::MediaInResults;

/// Models a person most likely means when they name none; later is better.
pub(super) const PREFERRED: [&str; 4] = ["gpt-5", "claude-sonnet-4", "big-pickle", "gemini-3-pro"];
/// Families of cheap models, for titles.
const SMALL: [&str; 3] = ["gemini-flash", "gpt-nano", "claude-haiku"];
/// The same for a provider that offers them under other names.
const SMALL_OF_COPILOT: [&str; 4] = ["gpt-mini", "gemini-flash", "gpt-nano", "claude-haiku"];

/// Families of cheap models that a provider is likely to have, the best first.
pub(super) fn small_families(provider: &str) -> &'static [&'static str] {
    match provider {
        // Its models are named by whoever deployed them.
        _ if provider.contains("azure") => &[],
        "github-copilot" => &SMALL_OF_COPILOT,
        _ if provider.starts_with("opencode") => &["gpt-nano"],
        _ => &SMALL,
    }
}

/// Where thoughts stand that come between calls, for a family that sends them although its list of models does not
/// say so.
pub(super) fn usual_interleaving(api: &Api) -> Option<Interleaved> {
    let is_deepseek = api.npm == COMPATIBLE && api.id.contains("deepseek");
    is_deepseek.then(|| Interleaved::Field { field: "reasoning_content".to_owned() })
}

/// What follows from the family of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// Which words the system text adds.
    pub voice: PromptStyle,
    /// It is trained on patches, and gets those instead of `edit` and `write`.
    pub takes_patches: bool,
    /// What may stand inside a tool's result.
    pub media_in_results: MediaInResults,
    pub sampling: Sampling,
    pub(crate) takes_sampling: TakesSampling,
    pub(crate) call_ids: CallIds,
    pub(crate) schema: SchemaDialect,
    /// Blocks without text are refused.
    pub(crate) refuses_empty: bool,
    /// A tool's result and a prompt may not touch.
    pub(crate) wants_filler: bool,
    /// It reasons, whatever anybody configured.
    pub(crate) always_reasons: bool,
    /// It caches only what is marked.
    pub(crate) marks_cache: bool,
    /// How a thought comes back to a server that speaks chat completions.
    pub(crate) thought_replay: ThoughtReplay,
    /// Such a server is asked to count what it streams.
    pub(crate) asks_usage: bool,
    /// Such a server takes `top_k`.
    pub(crate) takes_top_k: bool,
    /// Requests of one session are kept together by a key.
    pub(crate) keeps_cache: bool,
    /// What asks a model of Google to tell its thoughts.
    pub(crate) thinking_config: Option<Value>,
    /// Sent with every request.
    pub(crate) options: Map,
    /// Names and options of how much it thinks.
    pub(crate) efforts: Map,
}

/// Which family's system text a model gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptStyle {
    #[default]
    Plain,
    Claude,
    Codex,
    Gemini,
    Gpt,
    Kimi,
    Muse,
    /// Stops early unless it is told to go on.
    Persist,
    Trinity,
}

/// Which sampling a model takes; what it does not take, it refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TakesSampling {
    #[default]
    All,
    /// Not both of temperature and `top_p`.
    NotBoth,
    Nothing,
}

/// Under which name the blocks of a thought are kept in the metadata of its part ([`ThoughtReplay::Blocks`]).
pub(crate) const BLOCKS_OF_THOUGHT: &str = "mistral";

/// How a thought comes back to a server that speaks chat completions. A field it does not know is refused by some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThoughtReplay {
    /// In this field, if there is one.
    Field(&'static str),
    /// In this field, even when it is empty.
    Always(&'static str),
    /// In the pieces that the server told it in, with their seals.
    Details,
    /// In the blocks that the server told it in, among the content.
    Blocks,
    #[default]
    Never,
}

/// Which letters the id of a call may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallIds {
    #[default]
    Any,
    Claude,
    Mistral,
}

/// What the schema of a tool's arguments may say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SchemaDialect {
    #[default]
    Full,
    Gemini,
    Moonshot,
    OpenAi,
}

/// Sampling a family is known to work best with; `None` leaves it to the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u64>,
}

impl Traits {
    /// Of a model with its package, name and limits.
    pub(super) fn of(model: &ModelInfo) -> Self {
        let id = model.api.id.to_lowercase();
        let npm = model.api.npm.as_str();
        let provider = model.provider_id.to_lowercase();
        let is_mistral = provider == "mistral"
            || ["mistral", "devstral", "codestral"].iter().any(|name| id.contains(name));
        Self {
            voice: voice(&id, &provider),
            takes_patches: takes_patches(&id),
            media_in_results: media_in_results(npm, &id),
            sampling: sampling(&id),
            takes_sampling: claude::takes_sampling(&id),
            call_ids: match () {
                () if is_mistral => CallIds::Mistral,
                () if id.contains("claude") => CallIds::Claude,
                () => CallIds::Any,
            },
            schema: schema(npm, &id),
            refuses_empty: npm.contains("anthropic") || npm.contains("amazon-bedrock"),
            wants_filler: is_mistral,
            always_reasons: always_reasons(&id),
            marks_cache: marks_cache(npm, &id),
            thought_replay: thought_replay(npm, &id),
            takes_top_k: npm == "@openrouter/ai-sdk-provider",
            asks_usage: !["@ai-sdk/mistral", "@ai-sdk/perplexity"].contains(&npm),
            keeps_cache: ["@ai-sdk/openai", "@ai-sdk/azure", "@ai-sdk/xai", "@ai-sdk/mistral"].contains(&npm),
            thinking_config: thinking_config(npm, &id),
            options: options(npm, &id),
            efforts: efforts::of(npm, &id, model.limit.output.count()),
        }
    }
}

fn voice(id: &str, provider: &str) -> PromptStyle {
    let has = |word: &str| id.contains(word);
    match () {
        () if has("muse") => PromptStyle::Muse,
        () if has("gpt-4") || has("o1") || has("o3") => PromptStyle::Persist,
        () if has("gpt") && has("codex") => PromptStyle::Codex,
        () if has("gpt") => PromptStyle::Gpt,
        () if has("gemini-") => PromptStyle::Gemini,
        () if has("claude") => PromptStyle::Claude,
        () if has("trinity") => PromptStyle::Trinity,
        () if has("kimi") || provider.contains("moonshot") || provider.contains("kimi") => PromptStyle::Kimi,
        () => PromptStyle::Plain,
    }
}

/// By the provider's name of a model alone, for lists of models that are not configured.
#[must_use]
pub fn takes_patches(id: &str) -> bool {
    id.contains("gpt-") && !id.contains("oss") && !id.contains("gpt-4")
}

fn media_in_results(npm: &str, id: &str) -> MediaInResults {
    match npm {
        "@ai-sdk/anthropic"
        | "@ai-sdk/google-vertex/anthropic"
        | "@ai-sdk/openai"
        | "@ai-sdk/amazon-bedrock/mantle" => MediaInResults::ImagesAndDocuments,
        "@ai-sdk/google" if id.contains("gemini-3") => MediaInResults::ImagesAndDocuments,
        "@ai-sdk/amazon-bedrock"
            if ["anthropic.", "nova", "llama4", "llama-4"].iter().any(|mark| id.contains(mark)) =>
        {
            MediaInResults::Images
        }
        "@ai-sdk/xai" => MediaInResults::Images,
        _ => MediaInResults::None,
    }
}

fn schema(npm: &str, id: &str) -> SchemaDialect {
    match npm {
        "@ai-sdk/google" | "@ai-sdk/google-vertex" => SchemaDialect::Gemini,
        "@ai-sdk/openai" | "@ai-sdk/azure" => SchemaDialect::OpenAi,
        _ if id.contains("gemini") => SchemaDialect::Gemini,
        _ if id.contains("kimi") || id.contains("moonshot") => SchemaDialect::Moonshot,
        _ => SchemaDialect::Full,
    }
}

/// `o3`, `o4-mini`, `gpt-5…`, `codex-…`.
fn always_reasons(id: &str) -> bool {
    let is_o = id.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_o || (id.starts_with("gpt-5") && !id.contains("chat")) || id.starts_with("codex")
}

/// Claude behind a compatible server caches only what is marked.
fn marks_cache(npm: &str, id: &str) -> bool {
    let is_claude = ["claude", "anthropic"].iter().any(|name| id.contains(name));
    (is_claude && npm != "@ai-sdk/gateway") || npm == "@ai-sdk/alibaba"
}

fn thought_replay(npm: &str, id: &str) -> ThoughtReplay {
    match npm {
        "@openrouter/ai-sdk-provider" => ThoughtReplay::Details,
        "@ai-sdk/groq" | "@ai-sdk/cerebras" => ThoughtReplay::Field("reasoning"),
        "@ai-sdk/mistral" => ThoughtReplay::Blocks,
        "@ai-sdk/perplexity" | "@ai-sdk/xai" => ThoughtReplay::Never,
        _ if id.contains("deepseek") => ThoughtReplay::Always("reasoning_content"),
        _ => ThoughtReplay::Field("reasoning_content"),
    }
}

fn thinking_config(npm: &str, id: &str) -> Option<Value> {
    let is_google = npm.starts_with("@ai-sdk/google") && !npm.ends_with("anthropic");
    let config = if id.contains("gemini-3") {
        json!({ "includeThoughts": true, "thinkingLevel": "high" })
    } else {
        json!({ "includeThoughts": true })
    };
    is_google.then_some(config)
}

fn options(npm: &str, id: &str) -> Map {
    let speaks_responses = matches!(npm, "@ai-sdk/openai" | "@ai-sdk/azure" | "@ai-sdk/github-copilot");
    let mut options = Map::new();
    let mut set = |name: &str, value: Value| drop(options.insert(name.to_owned(), value));
    if speaks_responses {
        set("store", json!(false));
    }
    let is_openrouter = npm == "@openrouter/ai-sdk-provider";
    if is_openrouter {
        set("usage", json!({ "include": true }));
    }
    let is_gpt_5 = id.contains("gpt-5") && !id.contains("chat") && !id.contains("gpt-5-pro");
    match () {
        // It has a word of its own for the effort, and refuses two.
        () if is_openrouter && is_gpt_5 => set("reasoning", json!({ "effort": "medium" })),
        () if is_openrouter && id.contains("gemini-3") => set("reasoning", json!({ "effort": "high" })),
        () if is_gpt_5 => set("reasoningEffort", json!("medium")),
        () => {}
    }
    if is_gpt_5 && speaks_responses {
        set("reasoningSummary", json!("auto"));
        if id.contains("gpt-5.") && !id.contains("codex") {
            set("textVerbosity", json!("low"));
        }
    }
    options
}

fn sampling(id: &str) -> Sampling {
    let has = |part: &str| id.contains(part);
    let is_gemini = ["gemini-2.5", "gemini-3-flash", "gemini-3-pro", "gemini-3.1", "gemini-3.5-flash"]
        .iter()
        .any(|name| has(name))
        && !(has("gemini-3.5-flash") && has("lite"));
    let is_kimi_k2 = has("kimi-k2");
    let is_kimi_25 = has("kimi-k2.5") || has("kimi-k2p5");
    // Those with a number take this temperature and no other.
    let is_numbered_kimi = has("kimi-k2.") || has("kimi-k2p");
    let temperature = match () {
        () if is_gemini || has("glm-4.6") || has("glm-4.7") || has("minimax-m2") => Some(1.0),
        () if is_numbered_kimi || (is_kimi_k2 && has("thinking")) => Some(1.0),
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
