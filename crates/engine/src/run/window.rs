//! How much of a model's window a conversation may fill here.

use crate::directory::config::Settings;
use crate::environment::Environment;
use sturdy_llm::ModelEntry;
use sturdy_session::json::Num;
use sturdy_session::overflow::{Budget, Limits, OUTPUT_TOKENS_MAX};

/// Most tokens of one answer, when the model would allow more.
pub(crate) fn output_tokens_max(environment: &Environment) -> u64 {
    let given = environment.filled("OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX");
    given.and_then(|text| text.trim().parse().ok()).filter(|most| *most > 0).unwrap_or(OUTPUT_TOKENS_MAX)
}

/// How many tokens of history fit; none when the window is unknown.
pub(crate) fn usable(entry: &ModelEntry, settings: &Settings, environment: &Environment) -> Option<u64> {
    let compaction = settings.compaction();
    let budget = Budget {
        auto: compaction.auto,
        reserved: compaction.reserved,
        output_tokens_max: output_tokens_max(environment),
    };
    let limit = &entry.info.limit;
    let limits = Limits {
        context: limit.context.count(),
        input: limit.input.map(Num::count),
        output: limit.output.count(),
    };
    limits.usable(&budget)
}
